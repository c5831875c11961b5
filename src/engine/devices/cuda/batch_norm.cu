/* Batch normalisation. The values of a channel are cut into parts, a block for each:
 *
 *   forward   1. every part's mean and sum of squared differences
 *             2. every block adds up its channel's parts, in their order, and normalises its own
 *   backward  the same with sum g and sum g xhat
 *
 * so that few channels of many images fill the GPU too. Where one part is enough there is one
 * launch, that does both. A part's sum of squares is taken after its mean is known, from values
 * that the cache still has, and parts are joined by Chan, Golub & LeVeque (1979): nothing cancels.
 *
 * The add and the relu behind it are done as values are written, and backward as gradients are
 * read: the same bits as by kernels of their own, for one pass over memory instead of three.
 */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/reduce.h"

#include <math.h>

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };
enum { MAX_PARTS = 64, LEAST_OF_A_PART = 2048 };

struct norm {
    struct divisor area, channels, parts;
    uint32_t values, part_values; /* of a channel; of its parts but the last */
    float epsilon, momentum;
};

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

/* Where value i of a channel lies. */
static __device__ __forceinline__ uint32_t place(const struct norm *norm, uint32_t channel,
                                                 uint32_t i)
{
    uint32_t at;
    const uint32_t n = divide_rest(i, norm->area, &at);
    return (n * norm->channels.value + channel) * norm->area.value + at;
}

struct moments {
    float mean, squares; /* sum of squared differences from the mean */
};

static __device__ struct moments measure_part(const float *x, const struct norm *norm,
                                              const struct part *part)
{
    struct moments m = {0, 0};
    for (uint32_t i = part->begin + threadIdx.x; i < part->end; i += blockDim.x)
        m.mean += x[place(norm, part->channel, i)];
    m.mean = block_sum(m.mean) / (float)(part->end - part->begin);
    for (uint32_t i = part->begin + threadIdx.x; i < part->end; i += blockDim.x) {
        const float difference = x[place(norm, part->channel, i)] - m.mean;
        m.squares += difference * difference;
    }
    m.squares = block_sum(m.squares);
    return m;
}

static __device__ struct moments join_parts(const struct moments *parts, const struct norm *norm,
                                            uint32_t channel)
{
    const bool mine = threadIdx.x < norm->parts.value;
    const struct moments own =
        mine ? parts[channel * norm->parts.value + threadIdx.x] : moments{0, 0};
    const uint32_t begin = threadIdx.x * norm->part_values;
    const float count = mine ? (float)(min(begin + norm->part_values, norm->values) - begin) : 0;
    struct moments all;
    all.mean = block_sum(count * own.mean) / (float)norm->values;
    const float difference = own.mean - all.mean;
    all.squares = block_sum(own.squares + count * difference * difference);
    return all;
}

/* --- forward --- */

/* One function, so that a pass that is run again gives the same bits. */
static __device__ __forceinline__ float normalised(float x, float mean, float invstd, float weight,
                                                   float bias)
{
    return fmaf(weight, (x - mean) * invstd, bias);
}

/* What is done to a value before it is written: the other summand, NULL for none, and a relu. */
struct ending {
    const float *other;
    bool rectify;
};

static __device__ __forceinline__ float ended(float y, const struct ending *ending, uint32_t at)
{
    if (ending->other)
        y += ending->other[at];
    return ending->rectify && y < 0 ? 0 : y; /* what is no number stays so */
}

static __global__ void measure(const float *x, struct moments *parts, struct norm norm)
{
    const struct part part = part_of_block(&norm);
    const struct moments m = measure_part(x, &norm, &part);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = m;
}

struct statistics {
    float *mean, *invstd;              /* saved */
    float *running_mean, *running_var; /* NULL: not moved */
};

static __device__ void keep_statistics(const struct statistics *to, const struct norm *norm,
                                       uint32_t channel, const struct moments *m, float invstd)
{
    const float unbiased = m->squares / (norm->values > 1 ? (float)(norm->values - 1) : 1.0f);
    const float momentum = norm->momentum;
    to->mean[channel] = m->mean;
    to->invstd[channel] = invstd;
    to->running_mean[channel] = (1.0f - momentum) * to->running_mean[channel] + momentum * m->mean;
    to->running_var[channel] = (1.0f - momentum) * to->running_var[channel] + momentum * unbiased;
}

/* By the statistics of the batch; parts NULL: those of the block's own, only part. Without `to` a
 * channel is one plane of one image, and there are as many weights as an image has channels. */
static __global__ void normalise(const float *x, float *y, const float *weight, const float *bias,
                                 const struct moments *parts, struct statistics to,
                                 struct divisor weights, struct norm norm, struct ending ending)
{
    uint32_t w;
    const struct part part = part_of_block(&norm);
    const struct moments m =
        parts ? join_parts(parts, &norm, part.channel) : measure_part(x, &norm, &part);
    const float invstd = 1.0f / sqrtf(m.squares / (float)norm.values + norm.epsilon);
    if (to.mean && part.number == 0 && threadIdx.x == 0)
        keep_statistics(&to, &norm, part.channel, &m, invstd);
    divide_rest(part.channel, weights, &w);
    for (uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
        const uint32_t at = place(&norm, part.channel, i);
        y[at] = ended(normalised(x[at], m.mean, invstd, weight[w], bias[w]), &ending, at);
    }
}

/* By statistics that are known: the running ones, or those saved. */
static __global__ void scale(const float *x, float *y, const float *weight, const float *bias,
                             const float *mean, const float *invstd, const float *variance,
                             uint32_t count, struct norm norm, struct ending ending)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        uint32_t c;
        divide_rest(divide(i, norm.area), norm.channels, &c);
        const float by = invstd ? invstd[c] : 1.0f / sqrtf(variance[c] + norm.epsilon);
        y[i] = ended(normalised(x[i], mean[c], by, weight[c], bias[c]), &ending, i);
    }
}

/* --- backward --- */

/* The gradient of what was normalised: the output's, where a relu let values through. Which ones it
 * did is seen from its output y or, where nothing was added, found again from the input. */
struct gradient {
    const float *g;
    const float *y;             /* else NULL */
    const float *weight, *bias; /* else NULL */
};

static __device__ __forceinline__ float gradient_at(const struct gradient *of, uint32_t at, float x,
                                                    uint32_t channel, float mean, float invstd)
{
    float y = 1;
    if (of->y)
        y = of->y[at];
    else if (of->bias)
        y = normalised(x, mean, invstd, of->weight[channel], of->bias[channel]);
    return y > 0 ? of->g[at] : 0;
}

struct sums {
    float gradient, products; /* sum g, sum g xhat */
};

static __device__ struct sums sum_part(const float *x, const struct gradient *of,
                                       const float *saved, const struct norm *norm,
                                       const struct part *part)
{
    const float mean = saved[part->channel];
    const float invstd = saved[norm->channels.value + part->channel];
    float sums[2] = {0, 0};
    for (uint32_t i = part->begin + threadIdx.x; i < part->end; i += blockDim.x) {
        const uint32_t at = place(norm, part->channel, i);
        const float g = gradient_at(of, at, x[at], part->channel, mean, invstd);
        sums[0] += g;
        sums[1] += g * (x[at] - mean) * invstd;
    }
    block_sums<2>(sums);
    return {sums[0], sums[1]};
}

static __device__ struct sums add_parts(const struct sums *parts, const struct norm *norm,
                                        uint32_t channel)
{
    const struct sums own = threadIdx.x < norm->parts.value
                                ? parts[channel * norm->parts.value + threadIdx.x]
                                : sums{0, 0};
    float sums[2] = {own.gradient, own.products};
    block_sums<2>(sums);
    return {sums[0], sums[1]};
}

static __global__ void sum_gradients(const float *x, struct gradient of, const float *saved,
                                     struct sums *parts, struct norm norm)
{
    const struct part part = part_of_block(&norm);
    const struct sums s = sum_part(x, &of, saved, &norm, &part);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = s;
}

struct norm_gradients {
    float *input, *weight, *bias; /* NULL: not wanted */
    bool accumulate;
    float *other; /* the other summand; NULL as above */
    bool accumulate_other;
};

/* The input's gradient may lie where g does, the other summand's there or where y does. Both may be
 * one: the other adds then. */
static __global__ void normalise_back(const float *x, struct gradient of, const float *weight,
                                      const float *saved, const struct sums *parts,
                                      struct norm_gradients to, struct norm norm)
{
    const struct part part = part_of_block(&norm);
    const uint32_t c = part.channel;
    const struct sums s =
        parts ? add_parts(parts, &norm, c) : sum_part(x, &of, saved, &norm, &part);
    if (part.number == 0 && threadIdx.x == 0) {
        if (to.weight)
            to.weight[c] = s.products;
        if (to.bias)
            to.bias[c] = s.gradient;
    }
    if (!to.input && !to.other)
        return;
    const float mean = saved[c], invstd = saved[norm.channels.value + c];
    const float mean_gradient = s.gradient / (float)norm.values;
    const float mean_product = s.products / (float)norm.values;
    for (uint32_t i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
        const uint32_t at = place(&norm, c, i);
        const float xhat = (x[at] - mean) * invstd;
        const float g = gradient_at(&of, at, x[at], c, mean, invstd);
        if (to.input)
            gradient_store(&to.input[at], to.accumulate,
                           weight[c] * invstd * (g - mean_gradient - xhat * mean_product));
        if (to.other)
            gradient_store(&to.other[at], to.accumulate_other, g);
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

static struct norm norm_of(const struct kernel_site *site)
{
    const struct batch_norm_attributes *norm = &site->node->attributes.batch_norm;
    const struct shape shape = site->inputs[0];
    const size_t values = site->batch * shape_area(shape);
    const size_t wanted = parts_of(shape.channels, values);
    const size_t part_values = (values + wanted - 1) / wanted;
    return {divisor_of(shape_area(shape)),
            divisor_of(shape.channels),
            divisor_of((values + part_values - 1) / part_values),
            (uint32_t)values,
            (uint32_t)part_values,
            norm->epsilon,
            norm->momentum};
}

/* And a thread for each part at least, for parts are longer than they are many. */
static unsigned threads_of(const struct norm *norm)
{
    return block_threads(norm->part_values);
}

static struct ending ending_of(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    return {site->sum ? call->inputs[1] : NULL, site->activation != NULL};
}

static struct gradient gradient_of(const struct kernel_call *call)
{
    struct gradient of = {call->output_gradient, NULL, NULL, NULL};
    if (call->site->activation && call->site->sum) {
        of.y = call->output;
    } else if (call->site->activation) {
        of.weight = call->parameters[WEIGHT];
        of.bias = call->parameters[BIAS];
    }
    return of;
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
    const size_t channels = site->inputs[0].channels;
    return site->training
               ? channels * parts_of(channels, site->batch * shape_area(site->inputs[0])) *
                     sizeof(struct moments)
               : 0;
}

/* Every plane of every image is a channel of one image. */
static void forward_instances(const struct kernel_call *call)
{
    struct norm norm = norm_of(call->site);
    const size_t area = shape_area(call->site->inputs[0]);
    const size_t planes = call->site->batch * call->site->inputs[0].channels;
    const struct divisor weights = norm.channels;
    norm.channels = divisor_of(planes);
    norm.parts = divisor_of(1);
    norm.values = norm.part_values = (uint32_t)area;
    launch(context_of(call), "batch_norm by instances", normalise, (unsigned)planes,
           threads_of(&norm), 0, call->inputs[0], call->output,
           (const float *)call->parameters[WEIGHT], (const float *)call->parameters[BIAS],
           (const struct moments *)NULL, statistics{NULL, NULL, NULL, NULL}, weights, norm,
           ending_of(call));
}

static void forward_known(const struct kernel_call *call)
{
    const float *saved = (const float *)call->saved;
    const size_t channels = call->site->inputs[0].channels;
    const bool again = call->site->training;
    launch(context_of(call), "batch_norm forward", scale, stride_blocks(output_values(call)), BLOCK,
           0, call->inputs[0], call->output, (const float *)call->parameters[WEIGHT],
           (const float *)call->parameters[BIAS],
           again ? saved : (const float *)call->parameters[RUNNING_MEAN],
           again ? saved + channels : NULL, (const float *)call->parameters[RUNNING_VAR],
           (uint32_t)output_values(call), norm_of(call->site), ending_of(call));
}

static void forward_measured(const struct kernel_call *call)
{
    const struct norm norm = norm_of(call->site);
    const unsigned blocks = norm.channels.value * norm.parts.value;
    float *saved = (float *)call->saved;
    struct moments *parts = norm.parts.value > 1 ? (struct moments *)call->workspace : NULL;
    const struct statistics to = {saved, saved + norm.channels.value,
                                  call->parameters[RUNNING_MEAN], call->parameters[RUNNING_VAR]};
    if (parts)
        launch(context_of(call), "batch_norm statistics", measure, blocks, threads_of(&norm), 0,
               call->inputs[0], parts, norm);
    launch(context_of(call), "batch_norm forward", normalise, blocks, threads_of(&norm), 0,
           call->inputs[0], call->output, (const float *)call->parameters[WEIGHT],
           (const float *)call->parameters[BIAS], (const struct moments *)parts, to, norm.channels,
           norm, ending_of(call));
}

static void forward_batch_norm(const struct kernel_call *call)
{
    if (takes_instances(call->site))
        forward_instances(call);
    else if (!call->site->training || call->again)
        forward_known(call);
    else
        forward_measured(call);
}

static void backward_batch_norm(const struct kernel_call *call)
{
    const struct norm norm = norm_of(call->site);
    const unsigned blocks = norm.channels.value * norm.parts.value;
    const float *saved = (const float *)call->saved;
    struct sums *parts = norm.parts.value > 1 ? (struct sums *)call->workspace : NULL;
    const bool sum = call->site->sum;
    const struct gradient of = gradient_of(call);
    const struct norm_gradients to = {call->input_gradients[0],
                                      call->parameter_gradients[WEIGHT],
                                      call->parameter_gradients[BIAS],
                                      call->accumulate[0],
                                      sum ? call->input_gradients[1] : NULL,
                                      sum && call->accumulate[1]};
    if (parts)
        launch(context_of(call), "batch_norm sums", sum_gradients, blocks, threads_of(&norm), 0,
               call->inputs[0], of, saved, parts, norm);
    launch(context_of(call), "batch_norm backward", normalise_back, blocks, threads_of(&norm), 0,
           call->inputs[0], of, (const float *)call->parameters[WEIGHT], saved,
           (const struct sums *)parts, to, norm);
}

struct cuda_kernel cuda_batch_norm = {"batch_norm",
                                      {"batch_norm", "cuda", NULL,
                                       KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT |
                                           KERNEL_GRADIENT_IN_PLACE | KERNEL_KEEPS_SAVED |
                                           KERNEL_FINISHES,
                                       supports_counts, saved_batch_norm, workspace_batch_norm,
                                       forward_batch_norm, backward_batch_norm}};
