/* batch_norm.h: helpers of the kernels of batch normalisation for plain and for channels-last
 * arrays (batch_norm.cu, batch_norm_last.cu). Only these two files use it. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_BATCH_NORM_H
#define TINCA_ENGINE_DEVICES_CUDA_BATCH_NORM_H

#include "engine/devices/cuda/launch.h"
#include "engine/devices/cuda/reduce.h"

/* --- channels-last: batch_norm_last.cu --- */

size_t batch_norm_last_workspace(const struct kernel_site *site);
void batch_norm_last_forward(const struct kernel_call *call);
void batch_norm_last_backward(const struct kernel_call *call);

/* --- the parts of a channel --- */

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

struct norm {
    struct divisor area, channels, parts;
    uint32_t values;      /* values per channel */
    uint32_t part_values; /* values in each part of a channel except the last */
    uint32_t all_parts;   /* parts per channel, on all GPUs */
    float all_values, all_but_one, ranks;
    float epsilon, momentum;
};

/* Sets the counts for `ranks` GPUs that share the batch; `values` are those of a channel on this
 * GPU. */
static inline void set_counts(struct norm *norm, size_t values, size_t part_values, size_t ranks)
{
    const size_t parts = (values + part_values - 1) / part_values, all = ranks * values;
    norm->parts = divisor_of(parts);
    norm->values = (uint32_t)values;
    norm->part_values = (uint32_t)part_values;
    norm->all_parts = (uint32_t)(ranks * parts);
    norm->all_values = (float)all;
    norm->all_but_one = all > 1 ? (float)(all - 1) : 1.0f;
    norm->ranks = (float)ranks;
}

/* --- one value, or four that are neighbours --- */

template <int WIDE> struct neighbours {
    float of[WIDE];
};

template <int WIDE>
static __device__ __forceinline__ struct neighbours<WIDE> load(const float *at) {
    struct neighbours<WIDE> loaded;
    if constexpr (WIDE == 4) {
        const float4 four = *(const float4 *)at;
        loaded.of[0] = four.x;
        loaded.of[1] = four.y;
        loaded.of[2] = four.z;
        loaded.of[3] = four.w;
    } else {
        loaded.of[0] = *at;
    }
    return loaded;
}

template <int WIDE>
static __device__ __forceinline__ void store(float *at, const struct neighbours<WIDE> &values)
{
    if constexpr (WIDE == 4)
        *(float4 *)at = make_float4(values.of[0], values.of[1], values.of[2], values.of[3]);
    else
        *at = values.of[0];
}

/* Stores gradients, or adds them to those that are there. */
template <int WIDE>
static __device__ __forceinline__ void store_gradients(float *at, bool accumulate,
                                                       struct neighbours<WIDE> values)
{
    if (accumulate) {
        const struct neighbours<WIDE> before = load<WIDE>(at);
#pragma unroll
        for (int e = 0; e < WIDE; e++)
            values.of[e] = before.of[e] + values.of[e];
    }
    store(at, values);
}

/* --- statistics of parts --- */

struct moments {
    float mean, squares; /* sum of squared differences from the mean */
};

/* Returns the index of part i of a channel, counted over all GPUs, and sets *count to the number of
 * its values. */
static __device__ __forceinline__ uint32_t place_of_part(const struct norm *norm, uint32_t channel,
                                                         uint32_t i, float *count)
{
    uint32_t k;
    const uint32_t rank = divide_rest(i, norm->parts, &k);
    const uint32_t begin = k * norm->part_values;
    *count = (float)(min(begin + norm->part_values, norm->values) - begin);
    return (rank * norm->channels.value + channel) * norm->parts.value + k;
}

static __device__ __forceinline__ struct moments
join_parts(const struct moments *parts, const struct norm *norm, uint32_t channel)
{
    struct moments all = {0, 0};
    float count;
    for (uint32_t i = threadIdx.x; i < norm->all_parts; i += blockDim.x) {
        const uint32_t at = place_of_part(norm, channel, i, &count);
        all.mean += count * parts[at].mean;
    }
    all.mean = block_sum(all.mean) / norm->all_values;
    for (uint32_t i = threadIdx.x; i < norm->all_parts; i += blockDim.x) {
        const struct moments own = parts[place_of_part(norm, channel, i, &count)];
        const float difference = own.mean - all.mean;
        all.squares += own.squares + count * difference * difference;
    }
    all.squares = block_sum(all.squares);
    return all;
}

/* --- forward --- */

/* Returns a normalised value. Every kernel calls this one function, so that a recomputed pass gives
 * the same bits. */
static __device__ __forceinline__ float normalised(float x, float mean, float invstd, float weight,
                                                   float bias)
{
    return fmaf(weight, (x - mean) * invstd, bias);
}

/* The fused epilogue: adds the other summand, unless it is NULL, and applies a relu. */
struct ending {
    const float *other;
    bool rectify;
};

struct statistics {
    float *mean, *invstd;              /* saved */
    float *running_mean, *running_var; /* NULL: they stay as they are */
};

static __device__ __forceinline__ void keep_statistics(const struct statistics *to,
                                                       const struct norm *norm, uint32_t channel,
                                                       const struct moments *m, float invstd)
{
    const float unbiased = m->squares / norm->all_but_one;
    const float momentum = norm->momentum;
    to->mean[channel] = m->mean;
    to->invstd[channel] = invstd;
    to->running_mean[channel] = (1.0f - momentum) * to->running_mean[channel] + momentum * m->mean;
    to->running_var[channel] = (1.0f - momentum) * to->running_var[channel] + momentum * unbiased;
}

static inline struct ending ending_of(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    return {site->fused_add ? call->inputs[1] : NULL, site->fused_activation != NULL};
}

/* --- backward --- */

/* The gradient of batch norm's output (after weight and bias): the incoming gradient g, masked by
 * the fused ReLU. The mask comes from the ReLU's output y or, without a fused add, from y
 * recomputed from the input. */
struct gradient {
    const float *g;
    const float *y; /* output of the fused ReLU if there is a fused add; else NULL */
    const float *weight,
        *bias; /* to recompute y if there is a fused ReLU without an add; else NULL */
};

struct sums {
    float gradient, products; /* sum g, sum g xhat */
};

static __device__ __forceinline__ struct sums add_parts(const struct sums *parts,
                                                        const struct norm *norm, uint32_t channel)
{
    float sums[2] = {0, 0}, count;
    for (uint32_t i = threadIdx.x; i < norm->all_parts; i += blockDim.x) {
        const struct sums own = parts[place_of_part(norm, channel, i, &count)];
        sums[0] += own.gradient;
        sums[1] += own.products;
    }
    block_sums<2>(sums);
    return {sums[0], sums[1]};
}

struct norm_gradients {
    float *input, *weight, *bias; /* NULL: not needed */
    bool accumulate;
    float *other; /* gradient of the other summand; NULL: not needed */
    bool accumulate_other;
};

static inline struct norm_gradients norm_gradients_of(const struct kernel_call *call)
{
    const bool sum = call->site->fused_add;
    return {call->input_gradients[0],
            call->parameter_gradients[WEIGHT],
            call->parameter_gradients[BIAS],
            call->accumulate[0],
            sum ? call->input_gradients[1] : NULL,
            sum && call->accumulate[1]};
}

static inline struct gradient gradient_of(const struct kernel_call *call)
{
    struct gradient gradient = {call->output_gradient, NULL, NULL, NULL};
    if (call->site->fused_activation && call->site->fused_add) {
        gradient.y = call->output;
    } else if (call->site->fused_activation) {
        gradient.weight = call->parameters[WEIGHT];
        gradient.bias = call->parameters[BIAS];
    }
    return gradient;
}

/* --- several GPUs --- */

/* Returns the parts of all GPUs. With several GPUs they are gathered behind this GPU's parts. */
template <class Part>
static const Part *gather_parts(const struct kernel_call *call, const struct norm *norm, Part *own)
{
    const size_t count = norm->channels.value * norm->parts.value;
    if (cuda_rank_count(context_of(call)) == 1)
        return own;
    cuda_all_gather(context_of(call), "batch_norm of all GPUs", own + count, own,
                    count * sizeof *own);
    return own + count;
}

#endif
