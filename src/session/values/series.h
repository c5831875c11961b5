/* series.h: the points of a run's curves, written by one thread while others read.
 *
 * The room for all points is taken when the run starts; the writer fills one and then publishes the
 * count (release), readers read up to the count (acquire). Points never change, so no lock is
 * needed and the writer never waits. A run with more iterations than SERIES_MAX_POINTS keeps every
 * k-th (the journal keeps all).
 */
#ifndef TINCA_SESSION_VALUES_SERIES_H
#define TINCA_SESSION_VALUES_SERIES_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_MAX_POINTS ((size_t)1 << 22)

struct series_point {
    uint64_t iteration; /* from 1: iterations done */
    float epoch;        /* fraction of epochs done */
    float loss, loss_caffe;
    float loss_mean;
    float loss_discriminator, loss_l1; /* NaN: there is no discriminator */
    float learning_rate;
    float ms_per_image;
    float seconds;         /* since the run began, pauses not counted */
    uint64_t memory_bytes; /* resident; 0: not measured */
};

struct series_validation {
    uint64_t iteration;
    float epoch, loss, top1, top5; /* percent */
    float seconds;
    float pixel_accuracy; /* percent; NaN: the network tells classes */
};

struct series {
    struct series_point *points;
    size_t capacity;
    uint64_t stride; /* every stride-th iteration is kept */
    size_t window;   /* the smoothed loss is loss_mean, of so many iterations; 0: series_smooth */
    atomic_size_t count;
    struct series_validation *validations;
    size_t validation_capacity;
    atomic_size_t validation_count;
};

/* What the curves of so many iterations take. */
uint64_t series_bytes(uint64_t iterations);

bool series_create(struct series *series, uint64_t iterations, size_t epochs, struct error *error);
void series_free(struct series *series);
void series_add(struct series *series, const struct series_point *point);
void series_add_validation(struct series *series, const struct series_validation *validation);
size_t series_count(const struct series *series);
size_t series_validation_count(const struct series *series);

/* The index of the best validation (highest top-1, then lowest loss; without classes the lowest
 * loss), or SIZE_MAX. */
size_t series_best(const struct series *series);

/* Sets how the loss is smoothed: `average_loss` above 1 means the mean of so many iterations, which
 * each point holds as loss_mean; 1, and losses of which that mean is not known (of networks that
 * are trained against each other, of imported logs), the exponential mean. Call it once, after
 * series_create and before readers see the series. */
void series_set_smoothing(struct series *series, size_t average_loss, bool mean_known);

/* The exponential mean over the last fiftieth of the run so far, ten iterations at least, so that
 * it looks alike at every length and zoom. `n` counts from 1; NaN: none yet. */
double series_smooth(double smoothed, float loss, uint64_t n);

/* The smoothed loss at point `index`, of the one at the point before it (NaN: there is none). */
double series_smoothed(const struct series *series, double before, size_t index);

/* What the smoothed loss of this series is: "mean of the last 40 iterations". Translated. Returns
 * `text`. */
char *series_smoothing_words(const struct series *series, char *text, size_t size);

#endif
