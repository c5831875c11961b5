/* Max pooling of channel-blocked arrays in training, and the gradients of max and average pooling.
 *
 * Saved by max pooling: the window element of each maximum, in a byte: element ky * width + kx of
 * the window, of which the padding is a part.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked_pool.h"

#include <math.h>

typedef uint8_t bytes __attribute__((vector_size(LANES)));
typedef bytes bytes_in_memory __attribute__((aligned(1), may_alias));

enum { MAX_TAPS = 256 }; /* a saved element is a byte */

/* Returns where the saved elements of row y lie. */
static uint8_t *saved_row(const struct blocked_pooling *p, size_t image, size_t plane, size_t y)
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

static void max_at(const struct blocked_pooling *p, size_t image, size_t plane, size_t y, size_t x,
                   struct taps rows, uint8_t *saved)
{
    const struct taps columns = taps_of_column(p, x);
    const element *from = blocked_at(&p->in, image, plane, 0);
    const size_t width = p->window.kernel_width;
    vector best = (vector){0} - INFINITY;
    vector_indices place = (vector_indices){0} + (int)(rows.begin * width + columns.begin);
    for (size_t ky = rows.begin; ky < rows.end; ky++)
        for (size_t kx = columns.begin; kx < columns.end; kx++) {
            const vector value = element_load(from + pool_element(p, y, x, ky, kx));
            const vector_indices larger = (value > best) | (value != value);
            best = (vector)((larger & (vector_indices)value) | (~larger & (vector_indices)best));
            place = (larger & ((vector_indices){0} + (int)(ky * width + kx))) | (~larger & place);
        }
    pool_store(p, image, plane, y, x, best);
    *(bytes_in_memory *)(saved + x * LANES) = __builtin_convertvector(place, bytes);
}

static void max_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_pooling *p = context;
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band))
        for (size_t y = band.begin; y < band.end; y++) {
            const struct taps rows = taps_of_row(p, y);
            uint8_t *saved = saved_row(p, band.image, band.plane, y);
            for (size_t x = 0; x < p->out.shape.width; x++)
                max_at(p, band.image, band.plane, y, x, rows, saved);
        }
}

static void forward_max(const struct kernel_call *call)
{
    const struct blocked_pooling p = blocked_pooling_of(call, call->output);
    run_tasks(call, p.tasks.count, max_task, &p);
}

/* --- backward: a task is some planes of the input's gradient --- */

/* Windows overlap. Their gradients are added up in float32: in the plane itself, or in the
 * workspace if the plane is of bf16, so that a sum is rounded once. */
size_t KERNEL(blocked_pool_workspace)(const struct kernel_site *site)
{
    const bool direct = elements_as_floats((element[1]){0});
    return direct || !site->training
               ? 0
               : site->threads * tensor_plane(site->layouts[0], site->inputs[0]) * sizeof(float);
}

/* Adds `value` to LANES sums. */
static inline void add_to(float *sums, vector value)
{
    vector_store(sums, vector_load(sums) + value);
}

static void max_back(const struct blocked_pooling *p, size_t image, size_t plane, float *to)
{
    const size_t width = p->window.kernel_width;
    for (size_t y = 0; y < p->out.shape.height; y++) {
        const struct taps rows = taps_of_row(p, y);
        const uint8_t *saved = saved_row(p, image, plane, y);
        for (size_t x = 0; x < p->out.shape.width; x++) {
            const struct taps columns = taps_of_column(p, x);
            const vector g = pool_load(p, image, plane, y, x);
            const vector_indices place = __builtin_convertvector(
                *(const bytes_in_memory *)(saved + x * LANES), vector_indices);
            for (size_t ky = rows.begin; ky < rows.end; ky++)
                for (size_t kx = columns.begin; kx < columns.end; kx++) {
                    const vector_indices here = place == (int)(ky * width + kx);
                    add_to(to + pool_element(p, y, x, ky, kx), (vector)(here & (vector_indices)g));
                }
        }
    }
}

static void average_back(const struct blocked_pooling *p, size_t image, size_t plane, float *to)
{
    for (size_t y = 0; y < p->out.shape.height; y++) {
        const struct taps rows = taps_of_row(p, y);
        for (size_t x = 0; x < p->out.shape.width; x++) {
            const struct taps columns = taps_of_column(p, x);
            const vector g =
                pool_load(p, image, plane, y, x) * (1.0f / (float)(rows.counted * columns.counted));
            for (size_t ky = rows.begin; ky < rows.end; ky++)
                for (size_t kx = columns.begin; kx < columns.end; kx++)
                    add_to(to + pool_element(p, y, x, ky, kx), g);
        }
    }
}

static inline __attribute__((always_inline)) void
back_task(const struct blocked_pooling *p, size_t task, size_t thread,
          void (*back)(const struct blocked_pooling *p, size_t image, size_t plane, float *to))
{
    const size_t count = p->in_gradient.plane;
    const bool accumulate = p->call->accumulate[0];
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band)) {
        element *to = blocked_at(&p->in_gradient, band.image, band.plane, 0);
        float *direct = elements_as_floats(to);
        float *sums = direct ? direct : (float *)p->call->workspace + thread * count;
        if (!direct || !accumulate)
            floats_clear(sums, count);
        back(p, band.image, band.plane, sums);
        if (!direct)
            elements_store(to, sums, count, accumulate);
    }
}

static void max_back_task(void *context, size_t task, size_t thread)
{
    back_task(context, task, thread, max_back);
}

static void average_back_task(void *context, size_t task, size_t thread)
{
    back_task(context, task, thread, average_back);
}

static void backward(const struct kernel_call *call, pool_task *task)
{
    struct blocked_pooling p = blocked_pooling_of(call, call->output_gradient);
    if (!call->input_gradients[0])
        return;
    p.in_gradient =
        blocked_make(call->input_gradients[0], call->site->inputs[0], call->site->layouts[0]);
    p.tasks.by_bands = false;
    p.tasks.count = min_size(p.tasks.batch * p.tasks.planes, 8 * pool_threads(call->pool));
    run_tasks(call, p.tasks.count, task, &p);
}

static void backward_max(const struct kernel_call *call)
{
    backward(call, max_back_task);
}

void KERNEL(blocked_average_backward)(const struct kernel_call *call)
{
    backward(call, average_back_task);
}

/* --- the kernel --- */

static bool supports_max(const struct kernel_site *site, const char **reason)
{
    const struct window *w = &site->node->attributes.pool.window;
    if (!KERNEL(blocked_pool_supports)(site, reason))
        return false;
    *reason = N_("a wide window");
    return w->kernel_height * w->kernel_width <= MAX_TAPS;
}

const struct kernel KERNEL(max_pool_blocked_training) = {
    .name = "max_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_max_pool,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_TRAINS_ONLY,
    .supports = supports_max,
    .saved_bytes = saved_max,
    .workspace_bytes = KERNEL(blocked_pool_workspace),
    .forward = forward_max,
    .backward = backward_max,
};
