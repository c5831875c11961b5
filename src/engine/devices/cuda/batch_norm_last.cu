/* Batch normalisation of channels-last arrays, which are matrices with a row for each position of
 * each image and a column for each channel.
 *
 * A block has some columns and a part of the rows. Its lanes stand side by side in a row, each with
 * four channels that it loads together (WIDE), or with one; the block's threads cover several rows
 * at once, as many as fit. So loads are as wide as in a plain array, and the parameters of a
 * thread's channels stay in registers.
 *
 *   forward   1. the mean and the sum of squared differences of every part
 *             2. a block for each channel combines the parts, in order
 *             3. values are normalised
 *   backward  the same with sum g and sum g xhat
 *
 * Sums over the rows of a block are taken by shuffles, then through shared memory. Parts are short,
 * because a small layer takes as long as the longest chain of loads of a block. Statistics, parts
 * and epilogues are those of plain arrays (batch_norm.h); only the order of the sums differs. */
#include "engine/devices/cuda/batch_norm.h"

#include <math.h>

enum { MOST_PARTS = 512, STEPS_OF_A_PART = 2 };

/* --- a thread's channels and rows --- */

struct matrix {
    uint32_t channels, rows, part_rows, lanes; /* lanes: a power of two, at most WARP */
};

struct place {
    uint32_t channel, begin, end, step; /* the first channel; rows */
};

/* Returns the rows of a thread: none, if there are fewer channels than lanes. Parts are blockIdx.y.
 */
template <int WIDE>
static __device__ __forceinline__ struct place place_of_thread(const struct matrix *m)
{
    struct place place;
    place.channel = (blockIdx.x * m->lanes + threadIdx.x % m->lanes) * WIDE;
    place.step = BLOCK / m->lanes;
    place.begin = blockIdx.y * m->part_rows + threadIdx.x / m->lanes;
    place.end = place.channel < m->channels ? min((blockIdx.y + 1) * m->part_rows, m->rows) : 0;
    return place;
}

/* Returns how many rows the block's part has. */
static __device__ __forceinline__ float rows_of_part(const struct matrix *m)
{
    const uint32_t begin = blockIdx.y * m->part_rows;
    return (float)(min(begin + m->part_rows, m->rows) - begin);
}

/* Adds up COUNT values of the threads of each lane, in a fixed order; all of them get the sums. */
template <int COUNT>
static __device__ __forceinline__ void lane_sums(float values[COUNT], uint32_t lanes)
{
    __shared__ float of[BLOCK_WARPS][COUNT][WARP];
    const uint32_t thread = threadIdx.x % WARP;
    for (uint32_t half = WARP / 2; half >= lanes; half /= 2)
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            values[i] += __shfl_xor_sync(0xffffffffu, values[i], (int)half);
    __syncthreads(); /* every thread has read the results of an earlier call */
    if (thread < lanes)
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            of[threadIdx.x / WARP][i][thread] = values[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        values[i] = 0;
#pragma unroll
        for (int warp = 0; warp < BLOCK_WARPS; warp++)
            values[i] += of[warp][i][thread % lanes];
    }
}

/* Loads a parameter of the thread's channels. */
template <int WIDE>
static __device__ __forceinline__ struct neighbours<WIDE>
load_channels(const float *of, uint32_t channel, bool there) {
    struct neighbours<WIDE> values;
#pragma unroll
    for (int e = 0; e < WIDE; e++)
        values.of[e] = there ? of[channel + e] : 0.0f;
    return values;
}

/* --- forward --- */

/* Sets the mean and the sum of squared differences of the block's part. */
template <int WIDE>
static __device__ __forceinline__ void measure_part(const float *x, const struct matrix *m,
                                                    const struct place *place, float mean[WIDE],
                                                    float squares[WIDE])
{
    const float rows = rows_of_part(m);
#pragma unroll
    for (int e = 0; e < WIDE; e++)
        mean[e] = squares[e] = 0;
    for (uint32_t r = place->begin; r < place->end; r += place->step) {
        const struct neighbours<WIDE> own = load<WIDE>(&x[r * m->channels + place->channel]);
#pragma unroll
        for (int e = 0; e < WIDE; e++)
            mean[e] += own.of[e];
    }
    lane_sums<WIDE>(mean, m->lanes);
#pragma unroll
    for (int e = 0; e < WIDE; e++)
        mean[e] /= rows;
    for (uint32_t r = place->begin; r < place->end; r += place->step) {
        const struct neighbours<WIDE> own = load<WIDE>(&x[r * m->channels + place->channel]);
#pragma unroll
        for (int e = 0; e < WIDE; e++) {
            const float difference = own.of[e] - mean[e];
            squares[e] += difference * difference;
        }
    }
    lane_sums<WIDE>(squares, m->lanes);
}

template <int WIDE>
static __global__ void measure(const float *x, struct moments *parts, struct matrix m)
{
    float mean[WIDE], squares[WIDE];
    const struct place place = place_of_thread<WIDE>(&m);
    measure_part<WIDE>(x, &m, &place, mean, squares);
    if (threadIdx.x >= m.lanes || place.channel >= m.channels)
        return;
#pragma unroll
    for (int e = 0; e < WIDE; e++)
        parts[(place.channel + e) * gridDim.y + blockIdx.y] = {mean[e], squares[e]};
}

/* Combines the parts of each channel, with a block for each. */
static __global__ void combine(const struct moments *parts, struct statistics to, struct norm norm)
{
    const struct moments m = join_parts(parts, &norm, blockIdx.x);
    if (threadIdx.x == 0)
        keep_statistics(&to, &norm, blockIdx.x, &m,
                        1.0f / sqrtf(m.squares / norm.all_values + norm.epsilon));
}

/* The parameters of a normalisation: `variance` is read if invstd is NULL. */
struct scaling {
    const float *weight, *bias, *mean, *invstd, *variance;
    float epsilon;
};

/* Normalises the thread's rows and applies the epilogue. */
template <int WIDE>
static __device__ __forceinline__ void
write_rows(const float *x, float *y, const struct matrix *m, const struct place *place,
           const struct neighbours<WIDE> &mean, const struct neighbours<WIDE> &invstd,
           const struct neighbours<WIDE> &weight, const struct neighbours<WIDE> &bias,
           const struct ending *ending)
{
    for (uint32_t r = place->begin; r < place->end; r += place->step) {
        const uint32_t at = r * m->channels + place->channel;
        struct neighbours<WIDE> values = load<WIDE>(&x[at]), other = {
        };
        if (ending->other)
            other = load<WIDE>(&ending->other[at]);
#pragma unroll
        for (int e = 0; e < WIDE; e++) {
            float value =
                normalised(values.of[e], mean.of[e], invstd.of[e], weight.of[e], bias.of[e]);
            if (ending->other)
                value += other.of[e];
            values.of[e] = ending->rectify && value < 0 ? 0 : value; /* NaN stays NaN */
        }
        store(&y[at], values);
    }
}

/* Normalises with given statistics: those of the batch, or the running ones. */
template <int WIDE>
static __global__ void normalise(const float *x, float *y, struct scaling by, struct matrix m,
                                 struct ending ending)
{
    const struct place place = place_of_thread<WIDE>(&m);
    const uint32_t c = place.channel;
    const bool there = c < m.channels;
    const struct neighbours<WIDE> mean = load_channels<WIDE>(by.mean, c, there);
    const struct neighbours<WIDE> weight = load_channels<WIDE>(by.weight, c, there);
    const struct neighbours<WIDE> bias = load_channels<WIDE>(by.bias, c, there);
    struct neighbours<WIDE> invstd =
        load_channels<WIDE>(by.invstd ? by.invstd : by.variance, c, there);
#pragma unroll
    for (int e = 0; e < WIDE; e++)
        if (!by.invstd)
            invstd.of[e] = 1.0f / sqrtf(invstd.of[e] + by.epsilon);
    write_rows<WIDE>(x, y, &m, &place, mean, invstd, weight, bias, &ending);
}

/* Normalises every image with its own statistics: an image is a part. */
template <int WIDE>
static __global__ void normalise_images(const float *x, float *y, struct scaling by,
                                        struct matrix m, struct ending ending)
{
    struct neighbours<WIDE> mean, invstd;
    const struct place place = place_of_thread<WIDE>(&m);
    const bool there = place.channel < m.channels;
    const struct neighbours<WIDE> weight = load_channels<WIDE>(by.weight, place.channel, there);
    const struct neighbours<WIDE> bias = load_channels<WIDE>(by.bias, place.channel, there);
    measure_part<WIDE>(x, &m, &place, mean.of, invstd.of);
#pragma unroll
    for (int e = 0; e < WIDE; e++)
        invstd.of[e] = 1.0f / sqrtf(invstd.of[e] / rows_of_part(&m) + by.epsilon);
    write_rows<WIDE>(x, y, &m, &place, mean, invstd, weight, bias, &ending);
}

/* --- backward --- */

/* The statistics and parameters of the thread's channels, which the backward pass reads. */
template <int WIDE> struct known {
    struct neighbours<WIDE> mean, invstd, weight, bias;
};

template <int WIDE>
static __device__ __forceinline__ struct known<WIDE>
known_of(const struct gradient *gradient, const float *saved, const struct matrix *m, uint32_t c) {
    const bool there = c < m->channels, masks = there && gradient->bias;
    return {load_channels<WIDE>(saved, c, there),
            load_channels<WIDE>(saved + m->channels, c, there),
            load_channels<WIDE>(gradient->weight, c, masks),
            load_channels<WIDE>(gradient->bias, c, masks)};
}

/* Returns the gradients after the mask of a fused relu (batch_norm.h). */
template <int WIDE>
static __device__ __forceinline__ struct neighbours<WIDE>
gradients_at(const struct gradient *gradient, const struct known<WIDE> *known, uint32_t at,
             const struct neighbours<WIDE> &x) {
    struct neighbours<WIDE> g = load<WIDE>(&gradient->g[at]), y = {
    };
    if (gradient->y)
        y = load<WIDE>(&gradient->y[at]);
#pragma unroll
    for (int e = 0; e < WIDE; e++) {
        if (gradient->bias)
            y.of[e] = normalised(x.of[e], known->mean.of[e], known->invstd.of[e],
                                 known->weight.of[e], known->bias.of[e]);
        if (gradient->y || gradient->bias)
            g.of[e] = y.of[e] > 0 ? g.of[e] : 0;
    }
    return g;
}

template <int WIDE>
static __global__ void sum_gradients(const float *x, struct gradient gradient, const float *saved,
                                     struct sums *parts, struct matrix m)
{
    float sums[2 * WIDE] = {};
    const struct place place = place_of_thread<WIDE>(&m);
    const struct known<WIDE> known = known_of<WIDE>(&gradient, saved, &m, place.channel);
    for (uint32_t r = place.begin; r < place.end; r += place.step) {
        const uint32_t at = r * m.channels + place.channel;
        const struct neighbours<WIDE> own = load<WIDE>(&x[at]);
        const struct neighbours<WIDE> g = gradients_at<WIDE>(&gradient, &known, at, own);
#pragma unroll
        for (int e = 0; e < WIDE; e++) {
            sums[e] += g.of[e];
            sums[WIDE + e] += g.of[e] * (own.of[e] - known.mean.of[e]) * known.invstd.of[e];
        }
    }
    lane_sums<2 * WIDE>(sums, m.lanes);
    if (threadIdx.x >= m.lanes || place.channel >= m.channels)
        return;
#pragma unroll
    for (int e = 0; e < WIDE; e++)
        parts[(place.channel + e) * gridDim.y + blockIdx.y] = {sums[e], sums[WIDE + e]};
}

/* Adds the parts of each channel, with a block for each, and writes the gradients of weight and
 * bias. These are averaged over the GPUs afterwards; here every GPU has the same sum already. */
static __global__ void combine_gradients(const struct sums *parts, struct sums *totals,
                                         struct norm_gradients to, struct norm norm)
{
    const struct sums s = add_parts(parts, &norm, blockIdx.x);
    if (threadIdx.x > 0)
        return;
    totals[blockIdx.x] = s;
    if (to.weight)
        to.weight[blockIdx.x] = s.products / norm.ranks;
    if (to.bias)
        to.bias[blockIdx.x] = s.gradient / norm.ranks;
}

/* Writes the gradients. The input's gradient may overwrite g, and the other summand's gradient g or
 * y, as in batch_norm.cu; both may be the same array. */
template <int WIDE>
static __global__ void normalise_back(const float *x, struct gradient gradient, const float *weight,
                                      const float *saved, const struct sums *totals,
                                      struct norm_gradients to, struct matrix m, float all_values)
{
    float by[WIDE], mean_gradient[WIDE], mean_product[WIDE];
    const struct place place = place_of_thread<WIDE>(&m);
    const struct known<WIDE> known = known_of<WIDE>(&gradient, saved, &m, place.channel);
#pragma unroll
    for (int e = 0; e < WIDE; e++) {
        const bool there = place.channel < m.channels;
        const struct sums s = there ? totals[place.channel + e] : sums{0, 0};
        by[e] = there ? weight[place.channel + e] * known.invstd.of[e] : 0.0f;
        mean_gradient[e] = s.gradient / all_values;
        mean_product[e] = s.products / all_values;
    }
    for (uint32_t r = place.begin; r < place.end; r += place.step) {
        const uint32_t at = r * m.channels + place.channel;
        struct neighbours<WIDE> values = load<WIDE>(&x[at]);
        const struct neighbours<WIDE> g = gradients_at<WIDE>(&gradient, &known, at, values);
#pragma unroll
        for (int e = 0; e < WIDE; e++) {
            const float xhat = (values.of[e] - known.mean.of[e]) * known.invstd.of[e];
            values.of[e] = by[e] * (g.of[e] - mean_gradient[e] - xhat * mean_product[e]);
        }
        if (to.input)
            store_gradients(&to.input[at], to.accumulate, values);
        if (to.other)
            store_gradients(&to.other[at], to.accumulate_other, g);
    }
}

/* --- calls --- */

static uint32_t lanes_of(size_t channels, size_t width)
{
    uint32_t lanes = 1;
    while (lanes < WARP && lanes * width < channels)
        lanes *= 2;
    return lanes;
}

/* Returns the number of parts of `rows` rows: enough to keep the GPU busy. It depends on shapes
 * only, not on how arrays are aligned. */
static size_t parts_of(size_t channels, size_t rows)
{
    const size_t lanes = lanes_of(channels, channels % 4 == 0 ? 4 : 1);
    const size_t blocks = (channels + 4 * lanes - 1) / (4 * lanes);
    const size_t least = STEPS_OF_A_PART * BLOCK / lanes, most = (rows + least - 1) / least;
    const size_t wanted = 2 * cuda_busy_blocks / blocks;
    const size_t parts = most < wanted ? most : wanted;
    return parts < 1 ? 1 : parts > MOST_PARTS ? (size_t)MOST_PARTS : parts;
}

/* Returns the values that a thread loads together: 4 or 1. NULL is aligned. */
static int width_of(const struct kernel_call *call)
{
    const bool sum = call->site->fused_add;
    const void *const arrays[] = {
        call->inputs[0],       sum ? call->inputs[1] : NULL, call->output,
        call->output_gradient, call->input_gradients[0],     sum ? call->input_gradients[1] : NULL};
    bool wide = call->site->inputs[0].channels % 4 == 0;
    for (const void *array : arrays)
        wide = wide && aligned16(array);
    return wide ? 4 : 1;
}

static size_t rows_of(const struct kernel_site *site)
{
    return site->batch * shape_area(site->inputs[0]);
}

/* The arguments of a launch: the matrix, its parts, and their grid. */
struct job {
    struct norm norm;
    struct matrix matrix;
    int width;
    dim3 grid;
};

static struct job job_of(const struct kernel_call *call, size_t part_rows, size_t ranks)
{
    const struct batch_norm_attributes *attributes = &call->site->node->attributes.batch_norm;
    const size_t channels = call->site->inputs[0].channels, rows = rows_of(call->site);
    struct job job = {};
    job.width = width_of(call);
    job.norm.area = divisor_of(shape_area(call->site->inputs[0]));
    job.norm.channels = divisor_of(channels);
    job.norm.epsilon = attributes->epsilon;
    job.norm.momentum = attributes->momentum;
    set_counts(&job.norm, rows, part_rows, ranks);
    job.matrix = {(uint32_t)channels, (uint32_t)rows, (uint32_t)part_rows,
                  lanes_of(channels, (size_t)job.width)};
    job.grid =
        dim3(blocks_for(channels, job.matrix.lanes * (size_t)job.width), job.norm.parts.value);
    return job;
}

static struct job job_of_batch(const struct kernel_call *call)
{
    const size_t rows = rows_of(call->site);
    const size_t parts = parts_of(call->site->inputs[0].channels, rows);
    return job_of(call, (rows + parts - 1) / parts, cuda_rank_count(context_of(call)));
}

/* Parts of this GPU, then of all if there are several, then the sums of each channel. */
size_t batch_norm_last_workspace(const struct kernel_site *site)
{
    const size_t channels = site->inputs[0].channels, parts = parts_of(channels, rows_of(site));
    const size_t sets = site->ranks > 1 ? site->ranks + 1 : 1;
    return site->training ? (sets * parts + 1) * channels * sizeof(struct moments) : 0;
}

static struct scaling scaling_of(const struct kernel_call *call, const float *saved)
{
    const size_t channels = call->site->inputs[0].channels;
    return {call->parameters[WEIGHT],
            call->parameters[BIAS],
            saved ? saved : call->parameters[RUNNING_MEAN],
            saved ? saved + channels : NULL,
            call->parameters[RUNNING_VAR],
            call->site->node->attributes.batch_norm.epsilon};
}

static void forward_images(const struct kernel_call *call)
{
    const struct job job = job_of(call, shape_area(call->site->inputs[0]), 1);
    launch(context_of(call), "batch_norm by instances",
           job.width == 4 ? normalise_images<4> : normalise_images<1>, job.grid, BLOCK, 0,
           call->inputs[0], call->output, scaling_of(call, NULL), job.matrix, ending_of(call));
}

static void measure_batch(const struct kernel_call *call, const struct job *job)
{
    float *saved = (float *)call->saved;
    struct moments *own = (struct moments *)call->workspace;
    const struct statistics to = {saved, saved + job->norm.channels.value,
                                  call->parameters[RUNNING_MEAN], call->parameters[RUNNING_VAR]};
    launch(context_of(call), "batch_norm statistics", job->width == 4 ? measure<4> : measure<1>,
           job->grid, BLOCK, 0, call->inputs[0], own, job->matrix);
    launch(context_of(call), "batch_norm statistics, all parts", combine, job->norm.channels.value,
           block_threads(job->norm.all_parts), 0, gather_parts(call, &job->norm, own), to,
           job->norm);
}

void batch_norm_last_forward(const struct kernel_call *call)
{
    const bool training = call->site->training;
    if (!training && call->site->node->attributes.batch_norm.instance) {
        forward_images(call);
        return;
    }
    const struct job job = job_of_batch(call);
    if (training && !call->recomputing)
        measure_batch(call, &job);
    launch(context_of(call), "batch_norm forward", job.width == 4 ? normalise<4> : normalise<1>,
           job.grid, BLOCK, 0, call->inputs[0], call->output,
           scaling_of(call, training ? (const float *)call->saved : NULL), job.matrix,
           ending_of(call));
}

void batch_norm_last_backward(const struct kernel_call *call)
{
    const struct job job = job_of_batch(call);
    const size_t channels = job.norm.channels.value, ranks = cuda_rank_count(context_of(call));
    const float *saved = (const float *)call->saved;
    struct sums *own = (struct sums *)call->workspace;
    struct sums *totals = own + (ranks > 1 ? ranks + 1 : 1) * channels * job.norm.parts.value;
    const struct gradient of = gradient_of(call);
    const struct norm_gradients to = norm_gradients_of(call);
    launch(context_of(call), "batch_norm sums",
           job.width == 4 ? sum_gradients<4> : sum_gradients<1>, job.grid, BLOCK, 0,
           call->inputs[0], of, saved, own, job.matrix);
    launch(context_of(call), "batch_norm sums, all parts", combine_gradients, (unsigned)channels,
           block_threads(job.norm.all_parts), 0, gather_parts(call, &job.norm, own), totals, to,
           job.norm);
    if (to.input || to.other)
        launch(context_of(call), "batch_norm backward",
               job.width == 4 ? normalise_back<4> : normalise_back<1>, job.grid, BLOCK, 0,
               call->inputs[0], of, (const float *)call->parameters[WEIGHT], saved,
               (const struct sums *)totals, to, job.matrix, job.norm.all_values);
}
