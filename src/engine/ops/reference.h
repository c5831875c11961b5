/* reference.h: what the plain-C kernels share. Not for use outside this room.
 *
 * These kernels are the readable truth that other devices are compared with: loops over every
 * index, in the order of the formula, one thread, never optimised. Sums of many terms are taken in
 * double, in index order.
 */
#ifndef TINCA_ENGINE_OPS_REFERENCE_H
#define TINCA_ENGINE_OPS_REFERENCE_H

#include "engine/graph/kernel.h"
#include "engine/ops/op.h"

#include <string.h>

static inline void gradient_store(float *at, bool accumulate, float value)
{
    *at = accumulate ? *at + value : value;
}

/* Before gradients are added up element by element: clears what is not to be kept. */
static inline void gradient_begin(float *gradient, bool accumulate, size_t count)
{
    if (!accumulate)
        memset(gradient, 0, count * sizeof *gradient);
}

/* The input position under element `k` of the window at output position `out`; false in the
 * padding. */
static inline bool window_tap(size_t out, size_t k, size_t stride, size_t pad, size_t size,
                              size_t *in)
{
    size_t padded = out * stride + k; /* counted from the start of the padding */
    *in = padded - pad;
    return padded >= pad && padded - pad < size;
}

/* Values in the batch: of input 0, of the output. */
static inline size_t input_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->inputs[0]);
}

static inline size_t output_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->node->output);
}

/* The loss's factor on one image's gradient: weight / N, the mean over the batch. */
static inline float loss_scale(const struct kernel_call *call)
{
    return call->site->node->attributes.loss.weight / (float)call->site->batch;
}

#endif
