/* curve.h: one curve gathered into the columns of a plot.
 *
 * A run may have millions of points and a plot a hundred columns. Each dot column keeps the least,
 * greatest, first and last value that fell into it, so new points cost only themselves. Knows
 * neither ncurses nor colours nor runs.
 */
#ifndef TINCA_UI_PLOT_CURVE_H
#define TINCA_UI_PLOT_CURVE_H

#include "base/axis.h"
#include "base/error.h"
#include "ui/plot/plot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct curve_column {
    float low, high, first, last;
    float positive; /* the least value above zero; INFINITY: none */
    bool any;
    bool gap; /* a value that is no number lies between this column and the one before */
};

struct curve {
    struct curve_column *columns;
    size_t width, capacity;
    size_t nonpositive; /* values at or below zero, which a logarithmic axis has no place for */
    bool gap;           /* before the next value */
};

/* What stands at the foot of a logarithmic plot for values that have no place there. */
enum { CURVE_NONPOSITIVE = 'v' };

bool curve_reset(struct curve *curve, size_t width, struct error *error); /* starts as {0} */
void curve_free(struct curve *curve);

/* The dot column, of `width`, of a place (axis_position's on the x axis); -1: outside 0..1. */
long curve_column_at(double place, size_t width);
/* NaN makes a gap, column -1 is left out. */
void curve_add(struct curve *curve, long column, float value);
/* The same for `count` values that lie `stride` bytes apart. */
void curve_add_all(struct curve *curve, long column, const float *values, size_t stride,
                   size_t count);

/* Widens *low..*high to hold the curve's finite values (positive ones only, for a log axis). */
void curve_range(const struct curve *curve, bool log, double *low, double *high);
void curve_draw(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series);
/* Marks at the foot of a logarithmic plot the columns that hold values without a place. */
void curve_mark_nonpositive(const struct curve *curve, const struct axis *y, struct plot *plot,
                            uint8_t series);
/* A character on the curve, at its last value up to `place` (0..1 along the x axis). */
void curve_mark(const struct curve *curve, const struct axis *y, struct plot *plot, uint8_t series,
                double place, char mark);

#endif
