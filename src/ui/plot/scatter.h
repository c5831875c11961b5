/* scatter.h: draws a scatter plot of two figures: each row of a table is a point with its mark in
 * one cell, and the Pareto front a line. */
#ifndef TINCA_UI_PLOT_SCATTER_H
#define TINCA_UI_PLOT_SCATTER_H

#include "base/axis.h"
#include "ui/plot/plot.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/layout.h"

enum scatter_axis { SCATTER_X, SCATTER_Y, SCATTER_AXES };

struct scatter_point {
    double at[SCATTER_AXES]; /* the values */
    size_t row;
};

struct scatter {
    const struct scatter_point *points; /* in the order of the rows, of which the first is on top */
    size_t count;
    const size_t *front; /* the rows of the Pareto front, in the order of the line */
    size_t front_count;
    struct axis axes[SCATTER_AXES];
    const char *x_name, *legend; /* names of the x axis and, above the plot, of the y axis */
    size_t selected;             /* row */
    char (*mark)(size_t row);
    enum role (*role)(const void *context, size_t row); /* of a point beside the front */
    const void *context;
    size_t rows; /* of the table: a click presses Tab until its row is selected; 0: Up or Down */
};

/* Returns an axis for the values of the points, logarithmic if `log` is set and all are positive.
 */
struct axis scatter_axis_of(const struct scatter_point *points, size_t count,
                            enum scatter_axis axis, bool log);

/* Returns the point of a row, or NULL. */
const struct scatter_point *scatter_find(const struct scatter_point *points, size_t count,
                                         size_t row);

/* Returns whether a row is on the front. */
bool scatter_is_on_front(const struct scatter *scatter, size_t row);

/* Draws the plot with its axes into `area`; `plot` is the raster to draw with. Returns false with
 * an error if out of memory. */
bool scatter_draw(const struct scatter *scatter, struct plot *plot, enum graph_symbols symbols,
                  struct canvas *canvas, struct rect area, struct error *error);

#endif
