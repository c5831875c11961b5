/* Max and average pooling of channel-blocked arrays, for inference. The channels of a block are in
 * the lanes; a window is clipped to the image instead of reading padding. Equal values, NaN and the
 * divisor are treated as in ops/max_pool.c and ops/average_pool.c. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/pool_window.h"

#include <math.h>

struct blocked_pooling {
    struct window window;
    struct blocked in, out;
    struct blocked_tasks tasks;
};

/* The part of a window that lies in the image, on one axis: elements [begin, end). */
struct taps {
    size_t begin, end;
};

static struct taps taps_of(size_t out, size_t kernel, size_t stride, size_t pad, size_t size)
{
    struct taps taps;
    taps_inside(out, kernel, stride, pad, size, &taps.begin, &taps.end);
    return taps;
}

/* Returns the positions of one axis that count for the divisor: padding, but nothing beyond it. */
static size_t counted(size_t out, size_t kernel, size_t stride, size_t pad, size_t size)
{
    const size_t start = out * stride;
    return min_size(start + kernel, size + 2 * pad) - start;
}

/* Stores a result. An output of one position is plain: its channels follow each other. */
static void store(const struct blocked_pooling *p, const struct blocked_band *band, size_t y,
                  size_t x, vector value)
{
    if (p->out.layout.block) {
        vector_store(blocked_at(&p->out, band->image, band->plane, y) + x * LANES, value);
        return;
    }
    const size_t first = band->plane * LANES, channels = p->out.shape.channels;
    float lanes[LANES];
    vector_store(lanes, value);
    memcpy(p->out.values + band->image * channels + first, lanes,
           min_size(LANES, channels - first) * sizeof(float));
}

/* --- the windows --- */

static vector largest(const struct blocked_pooling *p, const float *window, struct taps rows,
                      struct taps columns)
{
    vector best = (vector){0} - INFINITY;
    for (size_t ky = rows.begin; ky < rows.end; ky++)
        for (size_t kx = columns.begin; kx < columns.end; kx++) {
            const vector value = vector_load(window + ky * p->in.row + kx * LANES);
            const vector_indices larger = (value > best) | (value != value);
            best = (vector)((larger & (vector_indices)value) | (~larger & (vector_indices)best));
        }
    return best;
}

/* Returns the sum over a window: the columns of each row are added first, then the rows. */
static vector sum_of(const struct blocked_pooling *p, const float *window, struct taps rows,
                     struct taps columns)
{
    vector sum = {0};
    for (size_t ky = rows.begin; ky < rows.end; ky++) {
        vector row = {0};
        for (size_t kx = columns.begin; kx < columns.end; kx++)
            row += vector_load(window + ky * p->in.row + kx * LANES);
        sum += row;
    }
    return sum;
}

static inline __attribute__((always_inline)) void
pool_band(const struct blocked_pooling *p, const struct blocked_band *band, const bool average)
{
    const struct window *w = &p->window;
    const struct shape in = p->in.shape;
    const float *plane = blocked_at(&p->in, band->image, band->plane, 0);
    for (size_t y = band->begin; y < band->end; y++) {
        const struct taps rows =
            taps_of(y, w->kernel_height, w->stride_height, w->pad_height, in.height);
        for (size_t x = 0; x < p->out.shape.width; x++) {
            const struct taps columns =
                taps_of(x, w->kernel_width, w->stride_width, w->pad_width, in.width);
            /* the window may begin in the padding; only elements in the image are read */
            const float *window = plane + y * w->stride_height * p->in.row -
                                  w->pad_height * p->in.row + x * w->stride_width * LANES -
                                  w->pad_width * LANES;
            if (!average) {
                store(p, band, y, x, largest(p, window, rows, columns));
                continue;
            }
            const size_t count =
                counted(y, w->kernel_height, w->stride_height, w->pad_height, in.height) *
                counted(x, w->kernel_width, w->stride_width, w->pad_width, in.width);
            store(p, band, y, x, sum_of(p, window, rows, columns) * (1.0f / (float)count));
        }
    }
    if (p->out.layout.block)
        blocked_pad(&p->out, band->image, band->plane, band->begin, band->end);
}

static void max_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_pooling *p = context;
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band))
        pool_band(p, &band, false);
}

static void average_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_pooling *p = context;
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band))
        pool_band(p, &band, true);
}

static void run(const struct kernel_call *call, pool_task *task)
{
    struct blocked_pooling p = {.window = call->site->node->attributes.pool.window,
                                .in = blocked_input(call, 0),
                                .out = blocked_output(call)};
    const size_t taps = p.window.kernel_height * p.window.kernel_width;
    p.tasks = blocked_tasks_of(call, &p.out, 2 * taps * p.out.shape.width);
    run_tasks(call, p.tasks.count, task, &p);
}

static void forward_max(const struct kernel_call *call)
{
    run(call, max_task);
}

static void forward_average(const struct kernel_call *call)
{
    run(call, average_task);
}

/* --- the kernels --- */

static bool supports_pool(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a plain layout");
    return site->layouts[0].block == LANES &&
           (site->output_layout.block == LANES || shape_area(site->node->output) == 1);
}

const struct kernel KERNEL(max_pool_blocked) = {
    .name = "max_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_max_pool,
    .traits = KERNEL_BLOCKED,
    .supports = supports_pool,
    .forward = forward_max,
};

const struct kernel KERNEL(average_pool_blocked) = {
    .name = "average_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_average_pool,
    .traits = KERNEL_BLOCKED,
    .supports = supports_pool,
    .forward = forward_average,
};
