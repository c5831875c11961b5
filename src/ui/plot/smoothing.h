/* smoothing.h: the smoothed losses of a run at any of its points.
 *
 * Smoothing depends on all earlier points, but a zoomed plot begins anywhere. The state is
 * therefore stored every SMOOTHING_STRIDE points: the values at any point follow from the stored
 * state in fewer than that many steps, and a run of millions of points needs little memory.
 */
#ifndef TINCA_UI_PLOT_SMOOTHING_H
#define TINCA_UI_PLOT_SMOOTHING_H

#include "ui/plot/trace.h"

enum { SMOOTHING_STRIDE = 1024 };

/* The smoothed values at one point. */
struct smoothed {
    double values[TRACES_SMOOTHED]; /* by trace; NaN: none yet */
};

struct smoothing { /* starts as {0} */
    struct smoothed newest;
    size_t count;            /* points included */
    struct smoothed *states; /* [k]: the state before point k * SMOOTHING_STRIDE */
    size_t capacity;
};

/* Includes the points up to `count`. Returns false with an error if out of memory. */
bool smoothing_extend(struct smoothing *smoothing, const struct series *series, size_t count,
                      struct error *error);

/* Starts again for another series. */
void smoothing_clear(struct smoothing *smoothing);

/* Frees the states and leaves `*smoothing` {0}. */
void smoothing_free(struct smoothing *smoothing);

/* Returns the smoothed values before point `index`, which is at most `count`. */
struct smoothed smoothing_state_before(const struct smoothing *smoothing,
                                       const struct series *series, size_t index);

/* Advances the state over point `index`. */
void smoothing_step(struct smoothed *state, const struct series *series, size_t index);

#endif
