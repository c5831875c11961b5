/* series.h: the points of a run's curves, written by one thread while others read.
 *
 * Memory for all points is allocated when the run starts. The writer fills a point and then
 * publishes the count (release); readers read up to the count (acquire). Points never change, so no
 * lock is needed and the writer never waits. A run with more than SERIES_MAX_POINTS iterations
 * stores every k-th point; the journal has all.
 */
#ifndef TINCA_RUNS_VALUES_SERIES_H
#define TINCA_RUNS_VALUES_SERIES_H

#include "base/error.h"
#include "runs/values/run_snapshot.h"
#include "runs/values/statistics.h"

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
    float loss_labels, loss_teacher;   /* the parts of the loss by distillation; NaN: no teacher */
    float learning_rate;
    float ms_per_image;
    float seconds;             /* since the run began, without pauses */
    uint64_t memory_bytes;     /* resident; 0: not measured */
    uint64_t gpu_memory_bytes; /* of a watched process on GPUs; 0: not measured */
};

struct series_validation {
    uint64_t iteration;
    float epoch, loss, top1, top5; /* percent */
    float seconds;
    float pixel_accuracy; /* percent; NaN: the network predicts classes */
    float loss_error;     /* standard error of the loss as a mean over the images; NaN: not known */
};

enum { SERIES_RESUMES = 64 };

struct series {
    struct series_point *points;
    size_t capacity;
    uint64_t stride; /* every stride-th iteration is stored */
    size_t window;   /* iterations of loss_mean, if that is the smoothed loss; 0: series_smooth */
    atomic_size_t count;
    struct series_validation *validations;
    size_t validation_capacity;
    atomic_size_t validation_count;
    uint64_t resumes[SERIES_RESUMES]; /* the iterations after which the run was resumed */
    atomic_size_t resume_count;
};

/* Returns the bytes that the curves of so many iterations take. */
uint64_t series_bytes(uint64_t iterations);

bool series_create(struct series *series, uint64_t iterations, size_t epochs, struct error *error);
void series_free(struct series *series);
void series_add(struct series *series, const struct series_point *point);
void series_add_validation(struct series *series, const struct series_validation *validation);
/* Notes that the run was resumed after an iteration; only the first SERIES_RESUMES are kept. */
void series_add_resume(struct series *series, uint64_t iteration);
size_t series_count(const struct series *series);
size_t series_validation_count(const struct series *series);
size_t series_resume_count(const struct series *series);

/* Returns the index of the best validation (highest top-1, then lowest loss; without classes the
 * lowest loss), or SIZE_MAX. */
size_t series_best(const struct series *series);

/* Sets how the loss is smoothed: if `average_loss` is above 1, by the mean of so many iterations,
 * which each point has as loss_mean; otherwise, and if that mean is unknown (adversarial networks,
 * imported logs), by an exponential moving average. Call it once, after series_create and before
 * readers see the series. */
void series_set_smoothing(struct series *series, size_t average_loss, bool mean_known);

/* Returns the exponential moving average after the next loss. Its time constant is
 * 10 iterations plus a fiftieth of the `n` done, so that a curve is equally smooth at every length.
 * `smoothed` is the average before it; NaN at first. */
double series_smooth(double smoothed, float loss, uint64_t n);

/* Returns the smoothed loss at point `index`, computed from that of the point before (NaN: none).
 */
double series_smoothed(const struct series *series, double before, size_t index);

/* Writes how this series is smoothed, translated: "mean of the last 40 iterations". Returns `text`.
 */
char *series_smoothing_words(const struct series *series, char *text, size_t size);

/* --- the curves by name --- */

/* The curves of a run by name, for files that have one series after another. */

struct series_column {
    const char *name; /* "loss", "validation/top1" */
    size_t offset;    /* of a float, or of a uint64_t if is_count, in the row */
    bool is_count;    /* 0: not measured */
    bool always;      /* a value that is NaN is recorded; those of others do not exist */
};

/* The columns of struct series_point and of struct series_validation, without their iteration,
 * epoch and seconds. */
extern const struct series_column series_point_columns[];
extern const size_t series_point_column_count;
extern const struct series_column series_validation_columns[];
extern const size_t series_validation_column_count;

/* The columns of the result on the test set, which series_test_row makes a row of. */
extern const struct series_column series_test_columns[];
extern const size_t series_test_column_count;

/* Sets *row to the result on the test set, at the end of the run, where it was computed. Returns
 * false if there is none. */
bool series_test_row(const struct run_snapshot *end, struct series_validation *row);

/* Returns the value of a column in a row. */
double series_column_value(const struct series_column *column, const void *row);

/* Returns whether a row has a value in a column. */
bool series_column_has(const struct series_column *column, const void *row);

/* --- times of iterations --- */

/* Computes statistics of ms/image over the stored points whose time is known; all NaN if there are
 * none. Returns false with an error if out of memory. */
bool timing_of_series(const struct series *series, struct statistics *statistics,
                      struct error *error);

#endif
