/* clipping.h: limits gradients before the solver uses them.
 *
 *   norm    all gradients are multiplied by min(1, norm / (n + 1e-6)), where n is the square root
 *           of the sum of their squares (Pascanu et al. 2013; PyTorch's clip_grad_norm_)
 *   value   each gradient is limited to [-value, value]
 * With both, the norm comes first.
 */
#ifndef TINCA_ENGINE_TRAINING_CLIPPING_H
#define TINCA_ENGINE_TRAINING_CLIPPING_H

#include <stddef.h>

struct pool;

struct gradient_clipping {
    float norm, value; /* 0: no limit */
};

/* Limits the gradients in place. The bits do not depend on the number of threads. Gradients that
 * are NaN stay NaN, and so does every gradient if the norm is NaN or infinite. */
void gradients_clip(const struct gradient_clipping *clipping, float *gradients, size_t count,
                    struct pool *pool);

#endif
