/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_EXCHANGE_EXPORT_INTERNAL_H
#define TINCA_EXCHANGE_EXPORT_INTERNAL_H

#include "base/axis.h"
#include "base/error.h"
#include "base/files/output_file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/formats/zip.h"
#include "exchange/export/canvas.h"
#include "exchange/export/chart.h"
#include "runs/record/run.h"
#include "runs/settings/config.h"

#include <stdio.h>

/* --- chart_panel.c: texts and lines --- */

/* Draws texts and straight lines on the canvas of a chart. */

/* A canvas with the functions that draw on it. */
struct sheet {
    const struct canvas_module *draw;
    struct canvas *canvas;
    double width, height; /* points */
};

/* The text size in points: that of a caption in a paper. */
enum { SHEET_TEXT = 8 };

/* Draws a text, which may have any encoding (sheet_append_utf8). `align` is the share of the text
 * that lies left of (x, y): 0, 0.5 or 1. A text longer than `limit` points is drawn smaller. */
void sheet_text(const struct sheet *sheet, double x, double y, double align, double limit,
                const char *text, const struct canvas_font *font);

/* Returns the length of a text in points. */
double sheet_text_width(const struct sheet *sheet, const char *text,
                        const struct canvas_font *font);

/* Appends `text` as UTF-8. Bytes that are not UTF-8 are converted from the locale's character set.
 * Control characters, and bytes that are invalid in both, become question marks. */
void sheet_append_utf8(struct text *out, const char *text);

extern const struct canvas_colour sheet_ink, sheet_grey;
/* The fonts of labels and of secondary text such as tick values. */
extern const struct canvas_font sheet_label, sheet_secondary_label;

/* --- chart_panel.c: curves --- */

/* The curves that a chart shows, and their points. */

enum chart_trace_value {
    CHART_TRACE_LOSS,
    CHART_TRACE_SMOOTHED,
    CHART_TRACE_CAFFE, /* the loss as Caffe averages it */
    CHART_TRACE_DISCRIMINATOR,
    CHART_TRACE_VALIDATION, /* this and the following have one point for each validation */
    CHART_TRACE_TOP1,
    CHART_TRACE_TOP5,
    CHART_TRACE_PIXELS
};

struct chart_trace {
    const struct run *run;
    enum chart_trace_value value;
    struct canvas_colour colour;
    double width; /* points */
    size_t dash;  /* index of the dash pattern; 0: solid */
    char label[256];
};

enum { CHART_TRACES_MAX = 2 * CHART_MAX_RUNS + 8 };

struct chart_traces {
    struct chart_trace trace[CHART_TRACES_MAX];
    size_t count;
};

/* A point of a curve, and the smoothing up to it. Starts as {.smoothed = NAN}. */
struct chart_trace_position {
    double smoothed;
    double x, y;
};

/* Fills the loss curves and the accuracy curves of `count` runs. Curves without points are left
 * out. */
void chart_traces_choose(struct chart_traces *losses, struct chart_traces *accuracies,
                         struct run *const *runs, size_t count);

/* Returns whether the losses of all runs are smoothed in the same way. */
bool chart_traces_are_smoothed_alike(struct run *const *runs, size_t count);

/* Returns the number of points of the curve. */
size_t chart_trace_point_count(const struct chart_trace *trace);

/* Sets `at` to point `i`. Call it for i = 0, 1, 2, ... in turn, since the smoothed loss follows
 * from the point before. */
void chart_trace_read_point(const struct chart_trace *trace, enum chart_x kind, size_t i,
                            struct chart_trace_position *at);

/* --- chart_panel.c --- */

/* A rectangle with two axes and curves in it. */

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
