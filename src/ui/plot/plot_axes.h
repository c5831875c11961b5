/* plot_axes.h: what stands around a plot: the axes with their numbers. */
#ifndef TINCA_UI_PLOT_PLOT_AXES_H
#define TINCA_UI_PLOT_PLOT_AXES_H

#include "base/axis.h"
#include "ui/plot/curves.h"
#include "ui/terminal/draw.h"

/* In layout_plot's `labels`. */
void plot_axes_draw_y(struct canvas *canvas, struct rect labels, const struct axis *y);

/* In layout_plot's `axis`; the rule goes around the corner when there are labels on the left. */
void plot_axes_draw_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                      enum curve_x x, bool labelled_left);

/* Draws a plot cell by cell. `roles` and `styles` are indexed by series; series 0 is not used. */
void plot_draw(struct canvas *canvas, struct rect area, const struct plot *plot,
               const enum role *roles, const enum plot_style *styles);

#endif
