/* axis.h: the axis of a plot: maps values to positions, and chooses round values for its ticks. */
#ifndef TINCA_BASE_AXIS_H
#define TINCA_BASE_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_MAX_TICKS = 24 };

struct axis {
    double low, high; /* low < high; both > 0 if `log` is set */
    bool log;         /* logarithmic, else linear */
};

/* Returns the position of a value: 0 at low, 1 at high, below 0 or above 1 outside. Returns NaN if
 * the value is NaN, or not positive on a logarithmic axis. */
double axis_position(const struct axis *axis, double value);

/* Returns the value at a position. The inverse of axis_position. */
double axis_value(const struct axis *axis, double position);

/* Writes at most `limit` (2..AXIS_MAX_TICKS) tick values within [low, high] to `ticks`, ascending.
 * They are multiples of 1, 2 or 5 times a power of ten; on a logarithmic axis they are powers of
 * ten, or 1, 2 and 5 times each power if all of these fit. Returns the number of ticks. */
size_t axis_ticks(const struct axis *axis, size_t limit, double *ticks);

/* Writes the short label of a tick, such as 0.05, 1.5, 300, 20k or 1e-5. Returns `text`. */
char *axis_label(double value, char *text, size_t size);

/* Returns the least round number that is at least `value` (> 0): 1, 1.5, 2, 3, 4, 5, 6 or 8 times a
 * power of ten. A growing curve's bound moves in these steps, so the plot seldom changes scale. */
double axis_round_up(double value);

/* Returns a bound like axis_round_up, but only 1, 2 or 5 times a power of ten: for an axis along
 * which a curve grows all the time. */
double axis_round_up_far(double value);

/* Returns an axis that contains [low, high] and has round bounds. A linear axis begins at 0 if that
 * wastes at most half of it; a logarithmic axis spans at most twelve decades. */
struct axis axis_for_range(double low, double high, bool log);

#endif
