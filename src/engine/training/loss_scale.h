/* loss_scale.h: dynamic loss scaling, for training in float16.
 *
 * Small gradients are zero in float16. The losses' gradients are therefore multiplied by a scale, a
 * power of two, and the update divides by it. If a gradient overflows, the step is skipped and the
 * scale halved; after 2000 steps without that it is doubled. These are the rules and the constants
 * of PyTorch's GradScaler.
 */
#ifndef TINCA_ENGINE_TRAINING_LOSS_SCALE_H
#define TINCA_ENGINE_TRAINING_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

struct loss_scale {
    float scale;      /* 0: the loss is not scaled */
    uint64_t steps;   /* since the scale changed */
    uint64_t skipped; /* steps of the run so far, because a gradient overflowed */
};

/* Returns the scale with which training begins. */
struct loss_scale loss_scale_start(void);

/* Changes the scale after a step, which was skipped if a gradient overflowed. */
void loss_scale_step(struct loss_scale *scale, bool overflow);

#endif
