/* smoothing.h: the smoothed losses of a run at any of its points.
 *
 * Smoothing depends on all earlier points, but a zoomed plot begins anywhere. The state is
 * therefore stored every SMOOTHING_STRIDE points: the values at any point follow from the stored
 * state in fewer than that many steps, and a run of millions of points needs little memory.
 *
 * The user chooses the strength: as the run's own settings say (series_smoothed), or an exponential
 * moving average as TensorBoard computes it, whose bias towards its first value is removed.
 */
#ifndef TINCA_UI_PLOT_SMOOTHING_H
#define TINCA_UI_PLOT_SMOOTHING_H

#include "ui/plot/trace.h"

enum { SMOOTHING_STRIDE = 1024 };

/* The choices of smoothing, NULL-terminated: "auto" (as the run says), then the strengths "0",
 * which leaves the values as they are, to "0.999". */
extern const char *const smoothing_names[];

/* Returns the strength of a choice: the weight of the average before the newest value; -1: auto. */
double smoothing_strength(size_t choice);

/* Writes how the losses are smoothed, in a few words for a legend: "mean of 40", "EMA 0.6". Returns
 * `text`, "" for the average that a run without such settings has. */
char *smoothing_words(size_t choice, const struct series *series, char *text, size_t size);

/* The smoothed values at one point. */
struct smoothed {
    double values[TRACES_SMOOTHED]; /* by trace; NaN: none yet */
    /* of a chosen strength: the weighted sum of the values, and of the weights */
    double sums[TRACES_SMOOTHED], weights[TRACES_SMOOTHED];
};

struct smoothing { /* starts as {0} */
    size_t choice; /* index of smoothing_names */
    struct smoothed newest;
    size_t count;            /* points included */
    struct smoothed *states; /* [k]: the state before point k * SMOOTHING_STRIDE */
    size_t capacity;
};

/* Includes the points up to `count`. Returns false with an error if out of memory. */
bool smoothing_extend(struct smoothing *smoothing, const struct series *series, size_t count,
                      struct error *error);

/* Starts again for another series or another choice. */
void smoothing_clear(struct smoothing *smoothing, size_t choice);

/* Frees the states and leaves `*smoothing` {0}. */
void smoothing_free(struct smoothing *smoothing);

/* Returns the smoothed values before point `index`, which is at most `count`. */
struct smoothed smoothing_state_before(const struct smoothing *smoothing,
                                       const struct series *series, size_t index);

/* Advances the state over point `index`. */
void smoothing_step(const struct smoothing *smoothing, struct smoothed *state,
                    const struct series *series, size_t index);

#endif
