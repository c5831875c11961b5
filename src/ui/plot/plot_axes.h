/* plot_axes.h: draws a plot and its axes on the screen. */
#ifndef TINCA_UI_PLOT_PLOT_AXES_H
#define TINCA_UI_PLOT_PLOT_AXES_H

#include "base/axis.h"
#include "ui/plot/curves.h"
#include "ui/terminal/draw.h"

/* Writes the title of a plot: what it shows, whether its y axis is logarithmic, and whether all
 * values, outliers too, have made its range. Returns `text`. */
char *plot_axes_title(const char *name, bool log, bool all_values, char *text, size_t size);

/* Draws the y axis and its numbers into the `labels` of a plot_layout. */
void plot_axes_draw_y(struct canvas *canvas, struct rect labels, const struct axis *y);

/* Draws the x axis, its numbers and its name into the `axis` of a plot_layout. `labelled_left`:
 * there are labels on the left, so the line meets the y axis in a corner. */
void plot_axes_draw_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                      enum curve_x x, bool labelled_left);

/* Draws an x axis of any quantity in the same way, with its name. */
void plot_axes_draw_named_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                            const char *name, bool labelled_left);

/* Draws a plot cell by cell. `roles` and `styles` are indexed by series; index 0 is not used. */
void plot_draw(struct canvas *canvas, struct rect area, const struct plot *plot,
               const enum role *roles, const enum plot_style *styles);

#endif
