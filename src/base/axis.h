/* axis.h: from values to places along an axis, and the round numbers written beside it. */
#ifndef TINCA_BASE_AXIS_H
#define TINCA_BASE_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_MAX_TICKS = 24 };

struct axis {
    double low, high; /* low < high; both > 0 when logarithmic */
    bool log;
};

/* Where a value lies: 0 at low, 1 at high, beyond outside; NaN when it has no place (no number, or
 * not positive on a logarithmic axis). */
double axis_position(const struct axis *axis, double value);
/* The value at a place. */
double axis_value(const struct axis *axis, double place);

/* Round values within [low, high], ascending, at most `limit` (2..AXIS_MAX_TICKS) of them:
 * multiples of 1, 2 or 5 times a power of ten; on a logarithmic axis powers of ten, or 1-2-5 steps
 * when there are few decades. Returns how many. */
size_t axis_ticks(const struct axis *axis, size_t limit, double *ticks);

/* A tick's text, short: 0.05, 1.5, 300, 20k, 1e-5. */
char *axis_label(double value, char *text, size_t size);

/* The least round number that is at least `value` (> 0), from 1, 1.5, 2, 3, 4, 5, 6, 8 times powers
 * of ten: bounds grow in such steps so that a growing curve is seldom redrawn as a whole. */
double axis_round_up(double value);
double axis_round_down(double value);

/* An axis that holds [low, high] between round bounds. A linear one begins at 0 when that costs
 * little; a logarithmic one spans at most twelve decades. */
struct axis axis_for_range(double low, double high, bool log);

#endif
