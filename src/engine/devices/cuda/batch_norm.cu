/* Batch normalisation. The values of a channel are divided into parts, with a block for each part:
 *
 *   forward   1. the mean and the sum of squared differences of every part
 *             2. every block combines the parts of its channel, in order, and normalises its part
 *   backward  the same with sum g and sum g xhat
 *
 * With parts, few channels of many images fill the GPU too. If one part is enough, one launch does
 * both steps. The sum of squares of a part is taken after its mean, from values that are still in
 * the cache, and parts are combined by Chan, Golub & LeVeque (1979), so that nothing cancels.
 *
 * A fused add and relu are applied when values are written, and in the backward pass when gradients
 * are read. The result has the bits of separate kernels, with one pass over memory instead of
 * three.
 *
 * Four neighbouring values are loaded and stored together (WIDE) if planes have a multiple of four
 * values and arrays are aligned: parts then begin at a multiple of four.
 *
 * If several GPUs share a batch, the parts of all GPUs are gathered between the two launches, in
 * the order of the ranks: every GPU has the statistics and sums of the whole batch.
 *
 * Channels-last arrays have kernels of their own: batch_norm_last.cu.
 */
#include "engine/devices/cuda/batch_norm.h"
#include "engine/devices/cuda/kernels.h"

#include <math.h>

enum { MAX_PARTS = 64, LEAST_OF_A_PART = 2048 };

/* --- a block's part of a channel --- */

struct part {
    uint32_t number, channel, begin, end; /* values of the channel, counted over all images */
};

static __device__ __forceinline__ struct part part_of_block(const struct norm *norm)
{
    struct part part;
    part.channel = divide_rest(blockIdx.x, norm->parts, &part.number);
    part.begin = part.number * norm->part_values;
    part.end = min(part.begin + norm->part_values, norm->values);
    return part;
}

/* Returns the index of value i of a channel. */
static __device__ __forceinline__ uint32_t place(const struct norm *norm, uint32_t channel,
                                                 uint32_t i)
{
    uint32_t at;
    const uint32_t n = divide_rest(i, norm->area, &at);
    return (n * norm->channels.value + channel) * norm->area.value + at;
}

/* --- the statistics of a part --- */

template <int WIDE>
static __device__ struct moments measure_part(const float *x, const struct norm *norm,
                                              const struct part *part)
{
    struct moments m = {0, 0};
    const uint32_t first = part->begin + WIDE * threadIdx.x, step = WIDE * blockDim.x;
    for (uint32_t i = first; i < part->end; i += step) {
        const struct neighbours<WIDE> own = load<WIDE>(&x[place(norm, part->channel, i)]);
#pragma unroll
        for (int e = 0; e < WIDE; e++)
            m.mean += own.of[e];
    }
    m.mean = block_sum(m.mean) / (float)(part->end - part->begin);
    for (uint32_t i = first; i < part->end; i += step) {
        const struct neighbours<WIDE> own = load<WIDE>(&x[place(norm, part->channel, i)]);
#pragma unroll
        for (int e = 0; e < WIDE; e++) {
            const float difference = own.of[e] - m.mean;
            m.squares += difference * difference;
        }
    }
    m.squares = block_sum(m.squares);
    return m;
}

/* --- forward --- */

/* The statistics and parameters of a channel. */
struct channel {
    float mean, invstd, weight, bias;
};

/* Normalises values, applies the epilogue, and stores them. */
template <int WIDE>
static __device__ __forceinline__ void write_normalised(const float *x, float *y,
                                                        const struct channel &c,
                                                        const struct ending &ending, uint32_t at)
{
    struct neighbours<WIDE> values = load<WIDE>(&x[at]), other = {
    };
    if (ending.other)
        other = load<WIDE>(&ending.other[at]);
#pragma unroll
    for (int e = 0; e < WIDE; e++) {
        float value = normalised(values.of[e], c.mean, c.invstd, c.weight, c.bias);
        if (ending.other)
            value += other.of[e];
        values.of[e] = ending.rectify && value < 0 ? 0 : value; /* NaN stays NaN */
    }
    store(&y[at], values);
}

template <int WIDE>
static __global__ void measure(const float *x, struct moments *parts, struct norm norm)
{
    const struct part part = part_of_block(&norm);
    const struct moments m = measure_part<WIDE>(x, &norm, &part);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = m;
}

/* Normalises with the statistics of the batch. If `parts` is NULL, the channel has one part, which
 * the block measures. Without `to` a channel is one plane of one image, and there are as many
 * weights as an image has channels. */
template <int WIDE>
static __global__ void normalise(const float *x, float *y, const float *weight, const float *bias,
                                 const struct moments *parts, struct statistics to,
                                 struct divisor weights, struct norm norm, struct ending ending)
{
    uint32_t w;
    const struct part part = part_of_block(&norm);
    const struct moments m =
        parts ? join_parts(parts, &norm, part.channel) : measure_part<WIDE>(x, &norm, &part);
    const float invstd = 1.0f / sqrtf(m.squares / norm.all_values + norm.epsilon);
    if (to.mean && part.number == 0 && threadIdx.x == 0)
        keep_statistics(&to, &norm, part.channel, &m, invstd);
    divide_rest(part.channel, weights, &w);
    const struct channel channel = {m.mean, invstd, weight[w], bias[w]};
    for (uint32_t i = part.begin + WIDE * threadIdx.x; i < part.end; i += WIDE * blockDim.x)
        write_normalised<WIDE>(x, y, channel, ending, place(&norm, part.channel, i));
}

/* Normalises with given statistics: the running ones or the saved ones. */
template <int WIDE>
static __global__ void scale(const float *x, float *y, const float *weight, const float *bias,
                             const float *mean, const float *invstd, const float *variance,
                             uint32_t count, struct norm norm, struct ending ending)
{
    for (uint32_t i = stride_first(); i < count / WIDE; i += stride_step()) {
        uint32_t c;
        divide_rest(divide(WIDE * i, norm.area), norm.channels, &c);
        const float by = invstd ? invstd[c] : 1.0f / sqrtf(variance[c] + norm.epsilon);
        const struct channel channel = {mean[c], by, weight[c], bias[c]};
        write_normalised<WIDE>(x, y, channel, ending, WIDE * i);
    }
}

/* --- backward --- */

template <int WIDE>
static __device__ __forceinline__ struct neighbours<WIDE>
gradient_at(const struct gradient *gradient, uint32_t at, const struct neighbours<WIDE> &x,
            uint32_t channel, float mean, float invstd) {
    struct neighbours<WIDE> g = load<WIDE>(&gradient->g[at]), y;
    if (gradient->y)
        y = load<WIDE>(&gradient->y[at]);
#pragma unroll
    for (int e = 0; e < WIDE; e++) {
        if (gradient->bias)
            y.of[e] = normalised(x.of[e], mean, invstd, gradient->weight[channel],
                                 gradient->bias[channel]);
        if (gradient->y || gradient->bias)
            g.of[e] = y.of[e] > 0 ? g.of[e] : 0;
    }
    return g;
}

template <int WIDE>
static __device__ struct sums sum_part(const float *x, const struct gradient *gradient,
                                       const float *saved, const struct norm *norm,
                                       const struct part *part)
{
    const float mean = saved[part->channel];
    const float invstd = saved[norm->channels.value + part->channel];
    float sums[2] = {0, 0};
    for (uint32_t i = part->begin + WIDE * threadIdx.x; i < part->end; i += WIDE * blockDim.x) {
        const uint32_t at = place(norm, part->channel, i);
        const struct neighbours<WIDE> own = load<WIDE>(&x[at]);
        const struct neighbours<WIDE> g =
            gradient_at<WIDE>(gradient, at, own, part->channel, mean, invstd);
#pragma unroll
        for (int e = 0; e < WIDE; e++) {
            sums[0] += g.of[e];
            sums[1] += g.of[e] * (own.of[e] - mean) * invstd;
        }
    }
    block_sums<2>(sums);
    return {sums[0], sums[1]};
}

template <int WIDE>
static __global__ void sum_gradients(const float *x, struct gradient gradient, const float *saved,
                                     struct sums *parts, struct norm norm)
{
    const struct part part = part_of_block(&norm);
    const struct sums s = sum_part<WIDE>(x, &gradient, saved, &norm, &part);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = s;
}

/* Writes the gradients. The input's gradient may overwrite g, and the other summand's gradient g or
 * y. Both may be the same array; then the other summand's is added. The gradients of the weights
 * are averaged over the GPUs afterwards; here every GPU has the same sum already. */
template <int WIDE>
static __global__ void normalise_back(const float *x, struct gradient gradient, const float *weight,
                                      const float *saved, const struct sums *parts,
                                      struct norm_gradients to, struct norm norm)
{
    const struct part part = part_of_block(&norm);
    const uint32_t c = part.channel;
    const struct sums s =
        parts ? add_parts(parts, &norm, c) : sum_part<WIDE>(x, &gradient, saved, &norm, &part);
    if (part.number == 0 && threadIdx.x == 0) {
        if (to.weight)
            to.weight[c] = s.products / norm.ranks;
        if (to.bias)
            to.bias[c] = s.gradient / norm.ranks;
    }
    if (!to.input && !to.other)
        return;
    const float mean = saved[c], invstd = saved[norm.channels.value + c];
    const float by = weight[c] * invstd;
    const float mean_gradient = s.gradient / norm.all_values;
    const float mean_product = s.products / norm.all_values;
    for (uint32_t i = part.begin + WIDE * threadIdx.x; i < part.end; i += WIDE * blockDim.x) {
        const uint32_t at = place(&norm, c, i);
        struct neighbours<WIDE> values = load<WIDE>(&x[at]);
        const struct neighbours<WIDE> g = gradient_at<WIDE>(&gradient, at, values, c, mean, invstd);
#pragma unroll
        for (int e = 0; e < WIDE; e++) {
            const float xhat = (values.of[e] - mean) * invstd;
            values.of[e] = by * (g.of[e] - mean_gradient - xhat * mean_product);
        }
        if (to.input)
            store_gradients(&to.input[at], to.accumulate, values);
        if (to.other)
            store_gradients(&to.other[at], to.accumulate_other, g);
    }
}

/* --- calls --- */

static size_t parts_of(size_t channels, size_t values)
{
    const size_t most = (values + LEAST_OF_A_PART - 1) / LEAST_OF_A_PART;
    const size_t wanted = 4 * cuda_busy_blocks / channels;
    const size_t parts = most < wanted ? most : wanted;
    return parts < 1 ? 1 : parts > MAX_PARTS ? (size_t)MAX_PARTS : parts;
}

static struct norm norm_of(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    const struct batch_norm_attributes *attributes = &site->node->attributes.batch_norm;
    const struct shape shape = site->inputs[0];
    const size_t values = site->batch * shape_area(shape);
    const size_t wanted = parts_of(shape.channels, values);
    struct norm norm = {};
    norm.area = divisor_of(shape_area(shape));
    norm.channels = divisor_of(shape.channels);
    norm.epsilon = attributes->epsilon;
    norm.momentum = attributes->momentum;
    size_t part_values = (values + wanted - 1) / wanted;
    if (shape_area(shape) % 4 == 0)
        part_values = (part_values + 3) / 4 * 4;
    set_counts(&norm, values, part_values, cuda_rank_count(context_of(call)));
    return norm;
}

/* Returns the values that a thread loads together: 4 or 1. NULL is aligned. */
static int width_of(const struct kernel_call *call)
{
    const bool sum = call->site->fused_add;
    const void *const arrays[] = {
        call->inputs[0],       sum ? call->inputs[1] : NULL, call->output,
        call->output_gradient, call->input_gradients[0],     sum ? call->input_gradients[1] : NULL};
    bool wide = shape_area(call->site->inputs[0]) % 4 == 0;
    for (const void *array : arrays)
        wide = wide && aligned16(array);
    return wide ? 4 : 1;
}

/* Returns the threads of a block. */
static unsigned threads_of(const struct norm *norm, int width)
{
    return block_threads(blocks_for(norm->part_values, (size_t)width));
}

static bool takes_instances(const struct kernel_site *site)
{
    return !site->training && site->node->attributes.batch_norm.instance;
}

static size_t saved_batch_norm(const struct kernel_site *site)
{
    return site->training ? 2 * site->inputs[0].channels * sizeof(float) : 0;
}

static size_t workspace_batch_norm(const struct kernel_site *site)
{
    if (site->output_layout.channels_last)
        return batch_norm_last_workspace(site);
    const size_t channels = site->inputs[0].channels;
    const size_t sets = site->ranks > 1 ? site->ranks + 1 : 1; /* this GPU's parts, then all */
    return site->training
               ? sets * channels * parts_of(channels, site->batch * shape_area(site->inputs[0])) *
                     sizeof(struct moments)
               : 0;
}

/* Normalises every plane with its own statistics: each plane counts as a channel of one image. */
static void forward_instances(const struct kernel_call *call)
{
    struct norm norm = norm_of(call);
    const size_t area = shape_area(call->site->inputs[0]);
    const size_t planes = call->site->batch * call->site->inputs[0].channels;
    const struct divisor weights = norm.channels;
    norm.channels = divisor_of(planes);
    set_counts(&norm, area, area, 1);
    const int width = width_of(call);
    launch(context_of(call), "batch_norm by instances", width == 4 ? normalise<4> : normalise<1>,
           (unsigned)planes, threads_of(&norm, width), 0, call->inputs[0], call->output,
           (const float *)call->parameters[WEIGHT], (const float *)call->parameters[BIAS],
           (const struct moments *)NULL, statistics{NULL, NULL, NULL, NULL}, weights, norm,
           ending_of(call));
}

static void forward_known(const struct kernel_call *call)
{
    const float *saved = (const float *)call->saved;
    const size_t channels = call->site->inputs[0].channels;
    const bool again = call->site->training;
    const int width = width_of(call);
    launch(context_of(call), "batch_norm forward", width == 4 ? scale<4> : scale<1>,
           stride_blocks(output_values(call) / (size_t)width), BLOCK, 0, call->inputs[0],
           call->output, (const float *)call->parameters[WEIGHT],
           (const float *)call->parameters[BIAS],
           again ? saved : (const float *)call->parameters[RUNNING_MEAN],
           again ? saved + channels : NULL, (const float *)call->parameters[RUNNING_VAR],
           (uint32_t)output_values(call), norm_of(call), ending_of(call));
}

static bool takes_two_launches(const struct kernel_call *call, const struct norm *norm)
{
    return norm->parts.value > 1 || cuda_rank_count(context_of(call)) > 1;
}

static void forward_measured(const struct kernel_call *call)
{
    const struct norm norm = norm_of(call);
    const unsigned blocks = norm.channels.value * norm.parts.value;
    const int width = width_of(call);
    float *saved = (float *)call->saved;
    struct moments *own = (struct moments *)call->workspace;
    const struct moments *parts = NULL; /* NULL: one launch does both steps */
    const struct statistics to = {saved, saved + norm.channels.value,
                                  call->parameters[RUNNING_MEAN], call->parameters[RUNNING_VAR]};
    if (takes_two_launches(call, &norm)) {
        launch(context_of(call), "batch_norm statistics", width == 4 ? measure<4> : measure<1>,
               blocks, threads_of(&norm, width), 0, call->inputs[0], own, norm);
        parts = gather_parts(call, &norm, own);
    }
    launch(context_of(call), "batch_norm forward", width == 4 ? normalise<4> : normalise<1>, blocks,
           threads_of(&norm, width), 0, call->inputs[0], call->output,
           (const float *)call->parameters[WEIGHT], (const float *)call->parameters[BIAS], parts,
           to, norm.channels, norm, ending_of(call));
}

static void forward_batch_norm(const struct kernel_call *call)
{
    if (call->site->output_layout.channels_last)
        batch_norm_last_forward(call);
    else if (takes_instances(call->site))
        forward_instances(call);
    else if (!call->site->training || call->recomputing)
        forward_known(call);
    else
        forward_measured(call);
}

static void backward_batch_norm(const struct kernel_call *call)
{
    if (call->site->output_layout.channels_last) {
        batch_norm_last_backward(call);
        return;
    }
    const struct norm norm = norm_of(call);
    const unsigned blocks = norm.channels.value * norm.parts.value;
    const float *saved = (const float *)call->saved;
    struct sums *own = (struct sums *)call->workspace;
    const struct sums *parts = NULL; /* NULL: one launch does both steps */
    const int width = width_of(call);
    const struct gradient of = gradient_of(call);
    const struct norm_gradients to = norm_gradients_of(call);
    if (takes_two_launches(call, &norm)) {
        launch(context_of(call), "batch_norm sums",
               width == 4 ? sum_gradients<4> : sum_gradients<1>, blocks, threads_of(&norm, width),
               0, call->inputs[0], of, saved, own, norm);
        parts = gather_parts(call, &norm, own);
    }
    launch(context_of(call), "batch_norm backward",
           width == 4 ? normalise_back<4> : normalise_back<1>, blocks, threads_of(&norm, width), 0,
           call->inputs[0], of, (const float *)call->parameters[WEIGHT], saved, parts, to, norm);
}

struct cuda_kernel cuda_batch_norm = {
    .op = "batch_norm",
    .kernel =
        {
            .name = "batch_norm",
            .instruction_set = "cuda",
            .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE |
                      KERNEL_REUSES_SAVED | KERNEL_FUSES_EPILOGUE | KERNEL_CHANNELS_LAST,
            .supports = supports_counts,
            .saved_bytes = saved_batch_norm,
            .workspace_bytes = workspace_batch_norm,
            .forward = forward_batch_norm,
            .backward = backward_batch_norm,
        },
};
