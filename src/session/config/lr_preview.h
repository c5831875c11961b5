/* lr_preview.h: the learning rate over a whole run, before it is started. */
#ifndef TINCA_SESSION_CONFIG_LR_PREVIEW_H
#define TINCA_SESSION_CONFIG_LR_PREVIEW_H

#include "session/config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lr_preview {
    uint64_t iterations; /* of the run; 0: not known as long as the data set is not open */
    double epochs;       /* 0: not known */
    double first, last;  /* rates */
    bool by_loss;        /* plateau: it falls when the loss stops falling, here never */
};

/* Fills `rates` with `count` (at least 2) rates at even distances over the run. `images` of the
 * training set; 0: not known. False when the schedule cannot be told without them. */
bool lr_preview_make(const struct run_config *config, size_t images, float *rates, size_t count,
                     struct lr_preview *plan);

#endif
