/* chart_panel.h: a rectangle with two axes and curves in it. Internal to session/export/. */
#ifndef TINCA_SESSION_EXPORT_CHART_PANEL_H
#define TINCA_SESSION_EXPORT_CHART_PANEL_H

#include "base/axis.h"
#include "session/export/chart_sheet.h"
#include "session/export/chart_trace.h"

struct panel {
    const struct sheet *sheet;
    double left, top, right, bottom;
    struct axis x, y;
    enum chart_x kind;
};

/* Draws grid, ticks, axis titles and frame. With `x_title` NULL the x axis has no labels: it shares
 * those of the panel below. */
void panel_draw_axes(const struct panel *panel, const char *x_title, const char *y_title);

/* Draws the curves, with a disc at each validation and a ring around the best one. */
void panel_draw_traces(const struct panel *panel, const struct chart_traces *traces);

/* Draws a vertical line where each finding of the run begins, with its name. */
void panel_draw_findings(const struct panel *panel, const struct run *run);

/* Draws the sample of a curve that a legend shows, centred on (x, y). */
void panel_draw_sample(const struct sheet *sheet, const struct chart_trace *trace, double x,
                       double y, double length);

#endif
