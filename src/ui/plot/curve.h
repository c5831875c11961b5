/* curve.h: one curve, binned into the dot columns of a plot (min/max decimation).
 *
 * A run may have millions of points and a plot a hundred columns. Each dot column stores the
 * smallest, largest, first and last value in it, so a new point costs constant time. This module
 * knows nothing of ncurses, colours or runs.
 */
#ifndef TINCA_UI_PLOT_CURVE_H
#define TINCA_UI_PLOT_CURVE_H

#include "base/axis.h"
#include "base/error.h"
#include "ui/plot/plot.h"
#include "ui/plot/value_range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct curve_column {
    float low, high, first, last; /* the values in this column, if `any` */
    float positive;               /* the smallest value above zero; INFINITY: none */
    bool any;                     /* it has values */
    bool gap; /* a NaN or infinity lies between the previous column and this one */
};

/* The bounds of a curve as curve_measure has found them. Frames between two new points use them
 * again, since to find them takes sorting the values. */
struct curve_bounds {
    bool valid, log, all; /* log, all: as in struct value_range */
    struct value_bounds bounds;
};

struct curve {
    struct curve_column *columns;
    size_t width, capacity; /* dot columns in use and allocated */
    size_t nonpositive;     /* values at or below zero, which a logarithmic axis cannot show */
    bool gap;               /* the last value added was NaN or infinity */
    struct curve_bounds measured;
};

/* The marks at the edges of a plot: for values above it; for values below it, which on a
 * logarithmic axis all those at or below zero are. */
enum { CURVE_ABOVE = '^', CURVE_BELOW = 'v' };

/* Empties the curve (which starts as {0}) and gives it `width` columns. Returns false with an error
 * if out of memory. */
bool curve_reset(struct curve *curve, size_t width, struct error *error);

/* Frees the columns and leaves `*curve` {0}. */
void curve_free(struct curve *curve);

/* Returns the dot column, of `width`, for a position along the x axis (axis_position); -1 if the
 * position is outside 0..1. */
long curve_column_at(double place, size_t width);

/* Adds `count` values, which lie `stride` bytes apart, to one column. NaN and infinity leave a gap
 * in the curve. Column -1 ignores the values. */
void curve_add_all(struct curve *curve, long column, const float *values, size_t stride,
                   size_t count);

/* Adds the smallest and largest value of each column to a range as one curve. Returns false with an
 * error if out of memory. */
bool curve_measure(struct curve *curve, struct value_range *range, struct error *error);

/* Draws the curve as series `series` of the plot. */
void curve_draw(const struct curve *curve, const struct axis *y, struct plot *plot,
                uint16_t series);

/* Marks the columns with values above or below the y axis at the edges of the plot, but not values
 * at or below zero on a logarithmic axis. */
void curve_mark_outliers(const struct curve *curve, const struct axis *y, struct plot *plot,
                         uint16_t series);

/* Marks the columns with values at or below zero at the foot of a logarithmic plot. */
void curve_mark_nonpositive(const struct curve *curve, const struct axis *y, struct plot *plot,
                            uint16_t series);

/* Returns how many columns have values above or below the y axis; values at or below zero on a
 * logarithmic axis are counted in `nonpositive` instead. */
size_t curve_count_outliers(const struct curve *curve, const struct axis *y);

/* Draws a character on the curve, at its last value up to `place` (0..1 along the x axis). */
void curve_mark(const struct curve *curve, const struct axis *y, struct plot *plot, uint16_t series,
                double place, char mark);

#endif
