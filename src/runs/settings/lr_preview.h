/* lr_preview.h: computes the learning rate over a whole run before it starts, for a plot. */
#ifndef TINCA_RUNS_SETTINGS_LR_PREVIEW_H
#define TINCA_RUNS_SETTINGS_LR_PREVIEW_H

#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lr_preview {
    uint64_t iterations; /* iterations of the run; 0: unknown until the data set is open */
    double epochs;       /* 0: unknown */
    double first, last;  /* rates */
    bool by_loss; /* plateau: depends on the loss; the preview assumes that it always falls */
};

/* Fills rates[0..count) with the rates at equal distances over the run; `count` is at least 2.
 * `images` is the size of the training set, or 0 if it is unknown. Returns false if the schedule
 * depends on it and it is unknown. */
bool lr_preview_make(const struct run_config *config, size_t images, float *rates, size_t count,
                     struct lr_preview *preview);

#endif
