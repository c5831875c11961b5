/* Max pooling of channel-blocked arrays in inference, and average pooling in both modes. */
#include "engine/devices/cpu/blocked_pool.h"
#include "base/language.h"

#include <math.h>

/* --- the windows: `window` is their first element in the image --- */

static vector largest(const struct blocked_pooling *p, const element *window, struct taps rows,
                      struct taps columns)
{
    vector best = (vector){0} - INFINITY;
    for (size_t ky = 0; ky < rows.end - rows.begin; ky++)
        for (size_t kx = 0; kx < columns.end - columns.begin; kx++) {
            const vector value = element_load(window + ky * p->in.row + kx * LANES);
            const vector_indices larger = (value > best) | (value != value);
            best = (vector)((larger & (vector_indices)value) | (~larger & (vector_indices)best));
        }
    return best;
}

/* Returns the sum over a window: the columns of each row are added first, then the rows. */
static vector sum_of(const struct blocked_pooling *p, const element *window, struct taps rows,
                     struct taps columns)
{
    vector sum = {0};
    for (size_t ky = 0; ky < rows.end - rows.begin; ky++) {
        vector row = {0};
        for (size_t kx = 0; kx < columns.end - columns.begin; kx++)
            row += element_load(window + ky * p->in.row + kx * LANES);
        sum += row;
    }
    return sum;
}

static inline __attribute__((always_inline)) void
pool_band(const struct blocked_pooling *p, const struct blocked_band *band, const bool average)
{
    const element *plane = blocked_at(&p->in, band->image, band->plane, 0);
    for (size_t y = band->begin; y < band->end; y++) {
        const struct taps rows = taps_of_row(p, y);
        for (size_t x = 0; x < p->out.shape.width; x++) {
            const struct taps columns = taps_of_column(p, x);
            const element *window = plane + pool_element(p, y, x, rows.begin, columns.begin);
            const vector value = average ? sum_of(p, window, rows, columns) *
                                               (1.0f / (float)(rows.counted * columns.counted))
                                         : largest(p, window, rows, columns);
            pool_store(p, band->image, band->plane, y, x, value);
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

static void forward_max(const struct kernel_call *call)
{
    const struct blocked_pooling p = blocked_pooling_of(call, call->output);
    run_tasks(call, p.tasks.count, max_task, &p);
}

static void forward_average(const struct kernel_call *call)
{
    const struct blocked_pooling p = blocked_pooling_of(call, call->output);
    run_tasks(call, p.tasks.count, average_task, &p);
}

/* --- the kernels --- */

bool KERNEL(blocked_pool_supports)(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a plain layout");
    return site->layouts[0].block == LANES &&
           (site->output_layout.block == LANES || shape_area(site->node->output) == 1);
}

const struct kernel KERNEL(max_pool_blocked) = {
    .name = "max_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_max_pool,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = KERNEL(blocked_pool_supports),
    .forward = forward_max,
};

const struct kernel KERNEL(average_pool_blocked) = {
    .name = "average_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_average_pool,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = KERNEL(blocked_pool_supports),
    .workspace_bytes = KERNEL(blocked_pool_workspace),
    .forward = forward_average,
    .backward = KERNEL(blocked_average_backward),
};
