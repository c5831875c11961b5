/* loss_meter.h: the running mean of the loss, as Caffe computes it and exactly.
 *
 * Caffe has a window of the last N losses and one float32 mean. While the window fills, with n
 * losses so far: mean = (mean * (n - 1) + loss) / n. Afterwards, with slot k = iteration mod N:
 * mean += (loss - window[k]) / N. Caffe never sums the whole window again, not even for N = 1, so
 * rounding errors accumulate and can make the mean negative (BVLC/caffe issue 3029). The meter
 * reproduces this mean bit for bit, and also computes the mean of the same window without the
 * accumulated error.
 */
#ifndef TINCA_ENGINE_TRAINING_LOSS_METER_H
#define TINCA_ENGINE_TRAINING_LOSS_METER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One step of Caffe's mean, with every intermediate value that float32 arithmetic rounds. */
struct loss_step {
    bool filling;        /* the window was not full before the step */
    size_t held;         /* losses in the window after the step */
    float before;        /* the mean before the step */
    float leaving, loss; /* the loss that leaves the window (0 while it fills) and the new one */
    float first;         /* loss - leaving; filling: before * (held - 1) */
    float second;        /* first / held; filling: first + loss */
    float after;         /* the new mean: before + second; filling: second / held */
};

struct loss_meter {
    float *window;
    size_t size;   /* size of the window; Caffe's solver calls it average_loss */
    uint64_t seen; /* losses so far */
    float caffe;   /* the mean as Caffe prints it */
    double exact;  /* the mean of the same window, summed anew at each step */
};

/* Creates an empty meter with a window of `average_loss` losses (0 counts as 1); loss_meter_free
 * releases it. Returns false with an error if out of memory. */
bool loss_meter_create(struct loss_meter *meter, size_t average_loss, struct error *error);

/* Frees the window and leaves the meter zeroed. */
void loss_meter_free(struct loss_meter *meter);

/* Returns the step of Caffe's mean when `loss` follows `seen` losses whose mean is `mean`, in a
 * window of `size` from which `leaving` drops out. */
struct loss_step loss_meter_step(size_t size, uint64_t seen, float mean, float leaving, float loss);

/* Adds a loss and updates both means. */
void loss_meter_add(struct loss_meter *meter, float loss);

#endif
