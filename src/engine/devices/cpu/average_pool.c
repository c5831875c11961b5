/* Average pooling. For a row of outputs, the rows of the plane that the windows cover are added
 * first; then the columns of each window are added. The divisor of a window counts padding, but not
 * positions beyond the padding (ops/average_pool.c). */
#include "engine/devices/cpu/pool_window.h"

/* Returns how many elements of the window at `out` lie in the image or its padding, on one axis. */
static size_t counted(size_t out, size_t kernel, size_t stride, size_t pad, size_t size)
{
    const size_t start = out * stride;
    return min_size(start + kernel, size + 2 * pad) - start;
}

static inline float share(const struct pooling *p, size_t y, size_t x)
{
    const struct window *w = &p->w;
    return 1.0f /
           (float)(counted(y, w->kernel_height, w->stride_height, w->pad_height, p->in.height) *
                   counted(x, w->kernel_width, w->stride_width, w->pad_width, p->in.width));
}

static inline __attribute__((always_inline)) void
add_strided(const float *restrict in, float *restrict sum, size_t count, const size_t stride)
{
#pragma omp simd
    for (size_t x = 0; x < count; x++)
        sum[x] += in[x * stride];
}

static inline __attribute__((always_inline)) void
spread_strided(const float *restrict g, float *restrict to, size_t count, const size_t stride)
{
#pragma omp simd
    for (size_t x = 0; x < count; x++)
        to[x * stride] += g[x];
}

static void add_row(const float *in, float *sum, size_t count, size_t stride)
{
    if (stride == 1)
        add_strided(in, sum, count, 1);
    else if (stride == 2)
        add_strided(in, sum, count, 2);
    else
        add_strided(in, sum, count, stride);
}

static void spread_row(const float *g, float *to, size_t count, size_t stride)
{
    if (stride == 1)
        spread_strided(g, to, count, 1);
    else if (stride == 2)
        spread_strided(g, to, count, 2);
    else
        spread_strided(g, to, count, stride);
}

static size_t row_floats(const struct shape shape)
{
    return round_up(shape.width, 16);
}

/* Returns the floats of a thread's scratch: a row of the input's width and one of the output's. */
static size_t scratch_floats(const struct kernel_site *site)
{
    return row_floats(site->inputs[0]) + row_floats(site->node->output);
}

static size_t workspace_average_pool(const struct kernel_site *site)
{
    return site->threads * scratch_floats(site) * sizeof(float);
}

static float *scratch_of(const struct pooling *p, size_t thread)
{
    return (float *)p->call->workspace + thread * scratch_floats(p->call->site);
}

/* Adds the columns of each window to `row` or, if `backward`, adds `row` to the columns of each
 * window. */
static void add_columns(const struct pooling *p, float *columns, float *row, bool backward)
{
    const struct window *w = &p->w;
    for (size_t kx = 0; kx < w->kernel_width; kx++) {
        size_t x0, x1;
        outputs_inside(kx, w->stride_width, w->pad_width, p->in.width, p->out.width, &x0, &x1);
        if (x0 == x1)
            continue;
        float *at = columns + (x0 * w->stride_width + kx - w->pad_width);
        if (backward)
            spread_row(row + x0, at, x1 - x0, w->stride_width);
        else
            add_row(at, row + x0, x1 - x0, w->stride_width);
    }
}

/* Sets [*begin, *end) to the rows of the plane that the windows of output row y cover. */
static void rows_of(const struct pooling *p, size_t y, size_t *begin, size_t *end)
{
    const struct window *w = &p->w;
    taps_inside(y, w->kernel_height, w->stride_height, w->pad_height, p->in.height, begin, end);
    *begin += y * w->stride_height - w->pad_height;
    *end += y * w->stride_height - w->pad_height;
}

/* Adds the sums of the windows of output row y to `row`. */
static void sum_windows(const struct pooling *p, const float *plane, size_t y, float *columns,
                        float *row)
{
    size_t begin, end;
    rows_of(p, y, &begin, &end);
    memset(columns, 0, p->in.width * sizeof *columns);
    for (size_t i = begin; i < end; i++)
        store_or_add(columns, plane + i * p->in.width, p->in.width, true);
    add_columns(p, columns, row, false);
}

/* Adds row[x] to every element of window x of output row y. */
static void spread_windows(const struct pooling *p, float *plane, size_t y, float *columns,
                           float *row)
{
    size_t begin, end;
    rows_of(p, y, &begin, &end);
    memset(columns, 0, p->in.width * sizeof *columns);
    add_columns(p, columns, row, true);
    for (size_t i = begin; i < end; i++)
        store_or_add(plane + i * p->in.width, columns, p->in.width, true);
}

static void forward_plane(const struct pooling *p, const float *in, float *out, float *columns)
{
    if (pooling_is_global(p)) {
        *out = sum_floats(in, p->in_area) * share(p, 0, 0);
        return;
    }
    for (size_t y = 0; y < p->out.height; y++, out += p->out.width) {
        memset(out, 0, p->out.width * sizeof *out);
        sum_windows(p, in, y, columns, out);
        for (size_t x = 0; x < p->out.width; x++)
            out[x] *= share(p, y, x);
    }
}

static void backward_plane(const struct pooling *p, const float *g, float *to, float *columns)
{
    float *row = columns + row_floats(p->in);
    if (!p->call->accumulate[0])
        memset(to, 0, p->in_area * sizeof *to);
    if (pooling_is_global(p)) {
        const float value = *g * share(p, 0, 0);
#pragma omp simd
        for (size_t i = 0; i < p->in_area; i++)
            to[i] += value;
        return;
    }
    for (size_t y = 0; y < p->out.height; y++, g += p->out.width) {
        for (size_t x = 0; x < p->out.width; x++)
            row[x] = g[x] * share(p, y, x);
        spread_windows(p, to, y, columns, row);
    }
}

static void forward_task(void *context, size_t task, size_t thread)
{
    const struct pooling *p = context;
    float *columns = scratch_of(p, thread);
    for (size_t plane = task * planes_in_task(p->in_area); plane < pooling_end(p, task); plane++)
        forward_plane(p, p->call->inputs[0] + plane * p->in_area,
                      p->call->output + plane * p->out_area, columns);
}

static void backward_task(void *context, size_t task, size_t thread)
{
    const struct pooling *p = context;
    float *columns = scratch_of(p, thread);
    for (size_t plane = task * planes_in_task(p->in_area); plane < pooling_end(p, task); plane++)
        backward_plane(p, p->call->output_gradient + plane * p->out_area,
                       p->call->input_gradients[0] + plane * p->in_area, columns);
}

static void forward_average_pool(const struct kernel_call *call)
{
    const struct pooling p = pooling_of(call);
    run_tasks(call, pooling_tasks(&p), forward_task, &p);
}

static void backward_average_pool(const struct kernel_call *call)
{
    const struct pooling p = pooling_of(call);
    if (call->input_gradients[0])
        run_tasks(call, pooling_tasks(&p), backward_task, &p);
}

const struct kernel KERNEL(average_pool) = {
    .name = "average_pool rows",
    .instruction_set = ISA_NAME,
    .op = &op_average_pool,
    .workspace_bytes = workspace_average_pool,
    .forward = forward_average_pool,
    .backward = backward_average_pool,
};
