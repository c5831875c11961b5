/* loss_meter.h: one loss, three means.
 *
 * The raw loss; the running mean as Caffe prints it, bit for bit, with the rounding that makes it
 * negative; and the same mean without drift. Caffe keeps a window of the last N losses and one
 * float32 mean. While the window fills (n losses so far): mean = (mean * (n - 1) + loss) / n.
 * Afterwards, with slot k = iteration mod N: mean += (loss - window[k]) / N, and it never sums the
 * window afresh, not even for N = 1. (BVLC/caffe issue 3029.)
 */
#ifndef TINCA_ENGINE_TRAINING_LOSS_METER_H
#define TINCA_ENGINE_TRAINING_LOSS_METER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One step of Caffe's mean, with every value that its float32 arithmetic rounds. */
struct loss_step {
    bool filling;        /* the window was not full before */
    size_t held;         /* losses in the window after it */
    float before;        /* the mean */
    float leaving, loss; /* what leaves the window (0 while it fills), and what enters */
    float first;         /* loss - leaving; filling: before * (held - 1) */
    float second;        /* first / held; filling: first + loss */
    float after;         /* before + second; filling: second / held */
};

struct loss_meter {
    float *window;
    size_t size;   /* N: solver's average_loss */
    uint64_t seen; /* losses so far */
    float caffe;   /* the mean as Caffe prints it */
    double exact;  /* mean of the same window, summed afresh */
};

bool loss_meter_create(struct loss_meter *meter, size_t average_loss, struct error *error);
void loss_meter_free(struct loss_meter *meter);

/* The step from `mean` after `seen` losses, in a window of `size`. */
struct loss_step loss_meter_step(size_t size, uint64_t seen, float mean, float leaving, float loss);
void loss_meter_add(struct loss_meter *meter, float loss);

#endif
