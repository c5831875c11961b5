/* reference.h: helpers of the plain-C kernels. Only the operators use it.
 *
 * Every other kernel is compared with these kernels, so they are written to be read: loops over
 * every index in the order of the formula, on one thread, never optimised. Sums of many terms are
 * taken in double, in index order.
 */
#ifndef TINCA_ENGINE_OPS_REFERENCE_H
#define TINCA_ENGINE_OPS_REFERENCE_H

#include "engine/graph/kernel.h"
#include "engine/graph/micro_batch.h"
#include "engine/ops/op.h"

#include <string.h>

/* Stores a gradient, or adds it to the one that is there. */
static inline void gradient_store(float *at, bool accumulate, float value)
{
    *at = accumulate ? *at + value : value;
}

/* Sets gradients that will be added element by element to 0, unless `accumulate`. */
static inline void gradient_begin(float *gradient, bool accumulate, size_t count)
{
    if (!accumulate)
        memset(gradient, 0, count * sizeof *gradient);
}

/* Sets *in to the input position under element `k` of the window at output position `out`, along
 * one axis. Returns false if that is padding. */
static inline bool window_tap(size_t out, size_t k, size_t stride, size_t pad, size_t size,
                              size_t *in)
{
    size_t padded = out * stride + k; /* counted from the start of the padding */
    *in = padded - pad;
    return padded >= pad && padded - pad < size;
}

/* Returns the number of values that input 0 has in the whole batch. */
static inline size_t input_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->inputs[0]);
}

/* Returns the number of values that the output has in the whole batch. */
static inline size_t output_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->node->output);
}

/* Returns the factor of one image's gradient of a loss: weight / N, since the loss is a mean over
 * the batch. */
static inline float loss_scale(const struct kernel_call *call)
{
    const size_t images = call->micro_batch ? call->micro_batch->whole_images : call->site->batch;
    return call->site->node->attributes.loss.weight / (float)images;
}

#endif
