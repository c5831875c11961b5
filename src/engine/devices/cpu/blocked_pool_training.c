/* Max and average pooling of channel-blocked arrays in training. Windows are clipped to the image,
 * and equal values, NaN and the divisor are treated, as in blocked_pool.c.
 *
 * Saved by max pooling: the window element of each maximum, in a byte: element ky * width + kx of
 * the window, of which the padding is a part.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/pool_window.h"

#include <math.h>

typedef uint8_t bytes __attribute__((vector_size(LANES)));
typedef bytes bytes_in_memory __attribute__((aligned(1), may_alias));

enum { MAX_TAPS = 256 }; /* a saved element is a byte */

/* The part of a window that lies in the image, on one axis, and its divisor. */
struct taps {
    size_t begin, end, counted;
};

struct training_pool {
    const struct kernel_call *call;
    struct window window;
    struct blocked in, out, in_gradient; /* out: the output or its gradient */
    struct blocked_tasks tasks;
};

static struct taps taps_of(size_t out, size_t kernel, size_t stride, size_t pad, size_t size)
{
    struct taps taps;
    const size_t start = out * stride;
    taps_inside(out, kernel, stride, pad, size, &taps.begin, &taps.end);
    taps.counted = min_size(start + kernel, size + 2 * pad) - start;
    return taps;
}

static struct taps rows_of(const struct training_pool *p, size_t y)
{
    const struct window *w = &p->window;
    return taps_of(y, w->kernel_height, w->stride_height, w->pad_height, p->in.shape.height);
}

static struct taps columns_of(const struct training_pool *p, size_t x)
{
    const struct window *w = &p->window;
    return taps_of(x, w->kernel_width, w->stride_width, w->pad_width, p->in.shape.width);
}

/* Returns where element (ky, kx) of the window of output (y, x) lies in a plane of the input. */
static inline size_t element(const struct training_pool *p, size_t y, size_t x, size_t ky,
                             size_t kx)
{
    const struct window *w = &p->window;
    return (y * w->stride_height + ky - w->pad_height) * p->in.row +
           (x * w->stride_width + kx - w->pad_width) * LANES;
}

/* Returns the vector of an output position, whose array is plain if it has only one. */
static vector load_output(const struct training_pool *p, size_t image, size_t plane, size_t y,
                          size_t x)
{
    const size_t first = plane * LANES, channels = p->out.shape.channels;
    if (p->out.layout.block)
        return vector_load(blocked_at(&p->out, image, plane, y) + x * LANES);
    float lanes[LANES] = {0};
    memcpy(lanes, p->out.values + image * channels + first,
           min_size(LANES, channels - first) * sizeof(float));
    return vector_load(lanes);
}

static void store_output(const struct training_pool *p, size_t image, size_t plane, size_t y,
                         size_t x, vector value)
{
    const size_t first = plane * LANES, channels = p->out.shape.channels;
    if (p->out.layout.block) {
        vector_store(blocked_at(&p->out, image, plane, y) + x * LANES, value);
        return;
    }
    float lanes[LANES];
    vector_store(lanes, value);
    memcpy(p->out.values + image * channels + first, lanes,
           min_size(LANES, channels - first) * sizeof(float));
}

/* Returns where the saved elements of row y lie. */
static uint8_t *saved_row(const struct training_pool *p, size_t image, size_t plane, size_t y)
{
    const struct shape out = p->out.shape;
    const size_t planes = blocked_planes(&p->in);
    return (uint8_t *)p->call->saved +
           ((image * planes + plane) * out.height + y) * out.width * LANES;
}

static size_t saved_max(const struct kernel_site *site)
{
    return site->batch * round_up(site->node->output.channels, LANES) *
           shape_area(site->node->output);
}

/* --- forward --- */

static void max_at(const struct training_pool *p, size_t image, size_t plane, size_t y, size_t x,
                   struct taps rows, uint8_t *saved)
{
    const struct taps columns = columns_of(p, x);
    const float *from = blocked_at(&p->in, image, plane, 0);
    const size_t width = p->window.kernel_width;
    vector best = (vector){0} - INFINITY;
    vector_indices place = (vector_indices){0} + (int)(rows.begin * width + columns.begin);
    for (size_t ky = rows.begin; ky < rows.end; ky++)
        for (size_t kx = columns.begin; kx < columns.end; kx++) {
            const vector value = vector_load(from + element(p, y, x, ky, kx));
            const vector_indices larger = (value > best) | (value != value);
            best = (vector)((larger & (vector_indices)value) | (~larger & (vector_indices)best));
            place = (larger & ((vector_indices){0} + (int)(ky * width + kx))) | (~larger & place);
        }
    store_output(p, image, plane, y, x, best);
    *(bytes_in_memory *)(saved + x * LANES) = __builtin_convertvector(place, bytes);
}

static void max_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct training_pool *p = context;
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band))
        for (size_t y = band.begin; y < band.end; y++) {
            const struct taps rows = rows_of(p, y);
            uint8_t *saved = saved_row(p, band.image, band.plane, y);
            for (size_t x = 0; x < p->out.shape.width; x++)
                max_at(p, band.image, band.plane, y, x, rows, saved);
        }
}

static void average_at(const struct training_pool *p, size_t image, size_t plane, size_t y,
                       size_t x, struct taps rows)
{
    const struct taps columns = columns_of(p, x);
    const float *from = blocked_at(&p->in, image, plane, 0);
    vector sum = {0};
    for (size_t ky = rows.begin; ky < rows.end; ky++) {
        vector row = {0};
        for (size_t kx = columns.begin; kx < columns.end; kx++)
            row += vector_load(from + element(p, y, x, ky, kx));
        sum += row;
    }
    store_output(p, image, plane, y, x, sum * (1.0f / (float)(rows.counted * columns.counted)));
}

static void average_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct training_pool *p = context;
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band))
        for (size_t y = band.begin; y < band.end; y++)
            for (size_t x = 0; x < p->out.shape.width; x++)
                average_at(p, band.image, band.plane, y, x, rows_of(p, y));
}

/* Returns the pooling of a call; `output` is the output or its gradient. */
static struct training_pool pool_of(const struct kernel_call *call, const float *output)
{
    const struct kernel_site *site = call->site;
    struct training_pool p = {.call = call,
                              .window = site->node->attributes.pool.window,
                              .in = blocked_input(call, 0),
                              .out = blocked_make(output, site->node->output, site->output_layout)};
    const size_t taps = p.window.kernel_height * p.window.kernel_width;
    p.tasks = blocked_tasks_of(call, &p.out, 2 * taps * p.out.shape.width);
    return p;
}

static void forward_max(const struct kernel_call *call)
{
    const struct training_pool p = pool_of(call, call->output);
    run_tasks(call, p.tasks.count, max_task, &p);
}

static void forward_average(const struct kernel_call *call)
{
    const struct training_pool p = pool_of(call, call->output);
    run_tasks(call, p.tasks.count, average_task, &p);
}

/* --- backward: a task is some planes of the input's gradient --- */

static void max_back(const struct training_pool *p, size_t image, size_t plane, float *to)
{
    const size_t width = p->window.kernel_width;
    for (size_t y = 0; y < p->out.shape.height; y++) {
        const struct taps rows = rows_of(p, y);
        const uint8_t *saved = saved_row(p, image, plane, y);
        for (size_t x = 0; x < p->out.shape.width; x++) {
            const struct taps columns = columns_of(p, x);
            const vector g = load_output(p, image, plane, y, x);
            const vector_indices place = __builtin_convertvector(
                *(const bytes_in_memory *)(saved + x * LANES), vector_indices);
            for (size_t ky = rows.begin; ky < rows.end; ky++)
                for (size_t kx = columns.begin; kx < columns.end; kx++) {
                    float *at = to + element(p, y, x, ky, kx);
                    const vector_indices here = place == (int)(ky * width + kx);
                    vector_store(at, vector_load(at) + (vector)(here & (vector_indices)g));
                }
        }
    }
}

static void average_back(const struct training_pool *p, size_t image, size_t plane, float *to)
{
    for (size_t y = 0; y < p->out.shape.height; y++) {
        const struct taps rows = rows_of(p, y);
        for (size_t x = 0; x < p->out.shape.width; x++) {
            const struct taps columns = columns_of(p, x);
            const vector g = load_output(p, image, plane, y, x) *
                             (1.0f / (float)(rows.counted * columns.counted));
            for (size_t ky = rows.begin; ky < rows.end; ky++)
                for (size_t kx = columns.begin; kx < columns.end; kx++) {
                    float *at = to + element(p, y, x, ky, kx);
                    vector_store(at, vector_load(at) + g);
                }
        }
    }
}

static inline __attribute__((always_inline)) void
back_task(const struct training_pool *p, size_t task,
          void (*back)(const struct training_pool *p, size_t image, size_t plane, float *to))
{
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band)) {
        float *to = blocked_at(&p->in_gradient, band.image, band.plane, 0);
        if (!p->call->accumulate[0])
            blocked_clear(to, p->in_gradient.plane);
        back(p, band.image, band.plane, to);
    }
}

static void max_back_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    back_task(context, task, max_back);
}

static void average_back_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    back_task(context, task, average_back);
}

static void backward(const struct kernel_call *call, pool_task *task)
{
    struct training_pool p = pool_of(call, call->output_gradient);
    if (!call->input_gradients[0])
        return;
    p.in_gradient =
        blocked_make(call->input_gradients[0], call->site->inputs[0], call->site->layouts[0]);
    p.tasks.by_rows = false; /* windows overlap */
    p.tasks.count = min_size(p.tasks.batch * p.tasks.planes, 8 * pool_threads(call->pool));
    run_tasks(call, p.tasks.count, task, &p);
}

static void backward_max(const struct kernel_call *call)
{
    backward(call, max_back_task);
}

static void backward_average(const struct kernel_call *call)
{
    backward(call, average_back_task);
}

/* --- the kernels --- */

static bool supports_average(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a plain layout");
    return site->layouts[0].block == LANES &&
           (site->output_layout.block == LANES || shape_area(site->node->output) == 1);
}

static bool supports_max(const struct kernel_site *site, const char **reason)
{
    const struct window *w = &site->node->attributes.pool.window;
    if (!supports_average(site, reason))
        return false;
    *reason = N_("a wide window");
    return w->kernel_height * w->kernel_width <= MAX_TAPS;
}

const struct kernel KERNEL(max_pool_blocked_training) = {
    .name = "max_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_max_pool,
    .traits = KERNEL_BLOCKED | KERNEL_TRAINS_ONLY,
    .supports = supports_max,
    .saved_bytes = saved_max,
    .forward = forward_max,
    .backward = backward_max,
};

const struct kernel KERNEL(average_pool_blocked_training) = {
    .name = "average_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_average_pool,
    .traits = KERNEL_BLOCKED | KERNEL_TRAINS_ONLY,
    .supports = supports_average,
    .forward = forward_average,
    .backward = backward_average,
};
