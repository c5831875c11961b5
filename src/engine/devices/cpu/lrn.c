/* Local response normalisation (formulas in ops/lrn.c).
 *
 * An image [C, area] is treated as one row of values: the neighbour d channels away lies d * area
 * values away, and the values that have such a neighbour form a contiguous range. So every pass
 * reads contiguous memory, even if the area is small. A task is a chunk of the row; for the
 * gradient it first computes the ratios g y / scale of its values and of half a window before and
 * after them.
 */
#include "engine/devices/cpu/functions.h"
#include "engine/devices/cpu/simd.h"

enum { LEAST_CHUNK = 4096 };

struct lrn {
    const struct kernel_call *call;
    size_t count, area, half; /* values of an image, of a plane; channels to each side */
    size_t chunk, chunks;     /* values of a task, tasks of an image */
    size_t ratio_floats;      /* scratch per thread, in floats */
    float alpha, beta, k;     /* alpha already divided by the size */
};

static struct lrn lrn_of(const struct kernel_site *site)
{
    const struct lrn_attributes *a = &site->node->attributes.lrn;
    struct lrn lrn = {.count = shape_count(site->inputs[0]),
                      .area = shape_area(site->inputs[0]),
                      .half = min_size(a->size / 2, site->inputs[0].channels),
                      .alpha = a->alpha / (float)a->size,
                      .beta = a->beta,
                      .k = a->k};
    const size_t reach = lrn.half * lrn.area;
    /* a task also computes the ratios of `reach` values on each side: a quarter more at most */
    lrn.chunk = min_size(lrn.count, max_size(LEAST_CHUNK, 8 * reach));
    lrn.chunks = divide_up(lrn.count, lrn.chunk);
    lrn.ratio_floats = round_up(lrn.chunk + 2 * reach, LANES);
    return lrn;
}

static size_t saved_lrn(const struct kernel_site *site)
{
    return site->training ? site->batch * shape_count(site->inputs[0]) * sizeof(float) : 0;
}

static size_t workspace_lrn(const struct kernel_site *site)
{
    const struct lrn lrn = lrn_of(site);
    return site->training ? lrn.ratio_floats * site->threads * sizeof(float) : 0;
}

/* Returns scale^-beta. */
static inline float power(float scale, float beta)
{
    return fast_exp(-beta * fast_log(scale));
}

static inline float power_three_quarters(float scale)
{
    const float root = sqrtf(scale);
    return 1.0f / (root * sqrtf(root));
}

/* Adds from[i + distance], squared if asked, to sum[i] for those i in [0, count) for which it lies
 * in the row. `at` is the position of value 0 in the row of `row` values. */
static void add_neighbours(const float *from, float *sum, size_t at, size_t count, size_t row,
                           ptrdiff_t distance, bool squared)
{
    const ptrdiff_t before = -distance - (ptrdiff_t)at; /* values that have no such neighbour */
    const ptrdiff_t until = (ptrdiff_t)row - distance - (ptrdiff_t)at;
    const size_t begin = before > 0 ? min_size((size_t)before, count) : 0;
    const size_t end = until > 0 ? min_size((size_t)until, count) : 0;
    if (begin >= end)
        return;
    /* plain pointers and a count: GCC does not vectorise a loop with an offset added to its index
     */
    const float *neighbours = from + (ptrdiff_t)begin + distance;
    float *sums = sum + begin;
    const size_t in_row = end - begin;
    if (squared) {
#pragma omp simd
        for (size_t i = 0; i < in_row; i++)
            sums[i] += neighbours[i] * neighbours[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < in_row; i++)
            sums[i] += neighbours[i];
    }
}

enum { STRIP = 512 };

static void forward_strip(const struct lrn *lrn, const float *x, size_t at, size_t count, float *y,
                          float *saved)
{
    const ptrdiff_t half = (ptrdiff_t)lrn->half;
    float scale[STRIP] = {0};
    for (ptrdiff_t d = -half; d <= half; d++)
        add_neighbours(x + at, scale, at, count, lrn->count, d * (ptrdiff_t)lrn->area, true);
    const float alpha = lrn->alpha, beta = lrn->beta, k = lrn->k;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        scale[i] = k + alpha * scale[i];
    if (saved)
        store_or_add(saved + at, scale, count, false);
    if (beta == 0.75f) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[at + i] = x[at + i] * power_three_quarters(scale[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[at + i] = x[at + i] * power(scale[i], beta);
    }
}

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct lrn *lrn = context;
    const struct kernel_call *call = lrn->call;
    const size_t image = task / lrn->chunks * lrn->count, chunk = task % lrn->chunks;
    const size_t end = min_size(lrn->count, (chunk + 1) * lrn->chunk);
    for (size_t at = chunk * lrn->chunk; at < end; at += STRIP)
        forward_strip(lrn, call->inputs[0] + image, at, min_size(STRIP, end - at),
                      call->output + image,
                      call->site->training ? (float *)call->saved + image : NULL);
}

static void forward_lrn(const struct kernel_call *call)
{
    struct lrn lrn = lrn_of(call->site);
    lrn.call = call;
    run_tasks(call, call->site->batch * lrn.chunks, forward_task, &lrn);
}

/* Writes ratio[i] = g y / scale = g x scale^(-beta - 1). */
static void compute_ratios(const struct lrn *lrn, const float *x, const float *g,
                           const float *scale, size_t count, float *ratio)
{
    const float beta = lrn->beta;
    if (beta == 0.75f) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            ratio[i] = g[i] * x[i] * power_three_quarters(scale[i]) / scale[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            ratio[i] = g[i] * x[i] * power(scale[i], beta) / scale[i];
    }
}

/* Writes the gradient of `count` values from position `at` of the row on, or adds to it. `ratio` is
 * the ratio of the first of them. */
static void backward_strip(const struct lrn *lrn, const float *x, const float *g,
                           const float *scale, const float *ratio, size_t at, size_t count,
                           float *to, bool accumulate)
{
    const ptrdiff_t half = (ptrdiff_t)lrn->half;
    const float beta = lrn->beta, factor = 2 * lrn->alpha * lrn->beta;
    float sum[STRIP] = {0};
    for (ptrdiff_t d = -half; d <= half; d++)
        add_neighbours(ratio, sum, at, count, lrn->count, d * (ptrdiff_t)lrn->area, false);
    if (beta == 0.75f) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] = g[i] * power_three_quarters(scale[i]) - factor * x[i] * sum[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] = g[i] * power(scale[i], beta) - factor * x[i] * sum[i];
    }
    store_or_add(to, sum, count, accumulate);
}

static void backward_task(void *context, size_t task, size_t thread)
{
    const struct lrn *lrn = context;
    const struct kernel_call *call = lrn->call;
    const size_t image = task / lrn->chunks * lrn->count, reach = lrn->half * lrn->area;
    const size_t begin = task % lrn->chunks * lrn->chunk;
    const size_t end = min_size(lrn->count, begin + lrn->chunk);
    const size_t from = begin > reach ? begin - reach : 0,
                 until = min_size(lrn->count, end + reach);
    const float *x = call->inputs[0] + image, *g = call->output_gradient + image;
    const float *scale = (const float *)call->saved + image;
    float *ratio = (float *)call->workspace + thread * lrn->ratio_floats;
    compute_ratios(lrn, x + from, g + from, scale + from, until - from, ratio);
    for (size_t at = begin; at < end; at += STRIP)
        backward_strip(lrn, x + at, g + at, scale + at, ratio + (at - from), at,
                       min_size(STRIP, end - at), call->input_gradients[0] + image + at,
                       call->accumulate[0]);
}

static void backward_lrn(const struct kernel_call *call)
{
    struct lrn lrn = lrn_of(call->site);
    lrn.call = call;
    if (call->input_gradients[0])
        run_tasks(call, call->site->batch * lrn.chunks, backward_task, &lrn);
}

const struct kernel KERNEL(lrn) = {
    .name = "lrn rows",
    .instruction_set = ISA_NAME,
    .op = &op_lrn,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .saved_bytes = saved_lrn,
    .workspace_bytes = workspace_lrn,
    .forward = forward_lrn,
    .backward = backward_lrn,
};
