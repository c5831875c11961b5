/* smoothing.h: the smoothed losses of a run, at any of its points.
 *
 * Smoothing goes from the first point on, but a zoomed plot begins anywhere. The state is kept
 * every SMOOTHING_STRIDE points, so that the values at any point are at most that many steps away,
 * and a run of millions of points needs little memory for it.
 */
#ifndef TINCA_UI_PLOT_SMOOTHING_H
#define TINCA_UI_PLOT_SMOOTHING_H

#include "ui/plot/trace.h"

enum { SMOOTHING_STRIDE = 1024 };

struct smoothed {
    double values[TRACES_SMOOTHED]; /* by trace; NaN: none yet */
};

struct smoothing { /* starts as {0} */
    struct smoothed newest;
    size_t count;          /* points taken in */
    struct smoothed *kept; /* [k]: before point k * SMOOTHING_STRIDE */
    size_t capacity;
};

/* Takes in the points up to `count`. */
bool smoothing_extend(struct smoothing *smoothing, const struct series *series, size_t count,
                      struct error *error);
void smoothing_clear(struct smoothing *smoothing); /* another series */
void smoothing_free(struct smoothing *smoothing);

/* What came out before point `index` (<= count), and a step from there over one point. */
struct smoothed smoothing_state_before(const struct smoothing *smoothing,
                                       const struct series *series, size_t index);
void smoothing_step(struct smoothed *state, const struct series *series, size_t index);

#endif
