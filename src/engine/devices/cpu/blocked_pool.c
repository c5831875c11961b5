/* Max pooling of channel-blocked arrays in inference, and average pooling in both modes. */
#include "engine/devices/cpu/blocked_pool.h"
#include "base/language.h"

#include <math.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* --- the windows: `window` is their first element in the image --- */

/* Returns the largest values of a window: the first of equal ones, and NaN if there is one. */
ALWAYS_INLINE vector largest(const struct blocked_pooling *p, const element *window,
                             const size_t rows, const size_t columns)
{
    vector best = (vector){0} - INFINITY;
    for (size_t ky = 0; ky < rows; ky++)
        for (size_t kx = 0; kx < columns; kx++) {
            const vector value = element_load(window + ky * p->in.row + kx * LANES);
            const vector_indices larger = (value > best) | (value != value);
            best = (vector)((larger & (vector_indices)value) | (~larger & (vector_indices)best));
        }
    return best;
}

/* Returns the same for windows without NaN, in fewer instructions, and sets the lanes of *unordered
 * in which a value is NaN. */
ALWAYS_INLINE vector largest_number(const struct blocked_pooling *p, const element *window,
                                    const size_t rows, const size_t columns,
                                    vector_indices *unordered)
{
    vector best = element_load(window);
#pragma GCC unroll 3
    for (size_t ky = 0; ky < rows; ky++)
#pragma GCC unroll 3
        for (size_t kx = 0; kx < columns; kx++) {
            const vector value = element_load(window + ky * p->in.row + kx * LANES);
            best = vector_max(value, best);
            *unordered |= value != value;
        }
    return best;
}

/* Returns the sum over a window: the columns of each row are added first, then the rows. */
ALWAYS_INLINE vector sum_of(const struct blocked_pooling *p, const element *window,
                            const size_t rows, const size_t columns)
{
    vector sum = {0};
    for (size_t ky = 0; ky < rows; ky++) {
        vector row = {0};
        for (size_t kx = 0; kx < columns; kx++)
            row += element_load(window + ky * p->in.row + kx * LANES);
        sum += row;
    }
    return sum;
}

/* --- rows --- */

/* Output row y of a plane. */
struct pool_row {
    const struct blocked_pooling *p;
    size_t image, plane, y;
    struct taps rows;
};

ALWAYS_INLINE const element *window_at(const struct pool_row *row, size_t x, size_t first_column)
{
    return blocked_at(&row->p->in, row->image, row->plane, 0) +
           pool_element(row->p, row->y, x, row->rows.begin, first_column);
}

/* Computes columns [begin, end) of any windows. */
static void pool_columns(const struct pool_row *row, size_t begin, size_t end, bool average)
{
    const size_t height = row->rows.end - row->rows.begin;
    for (size_t x = begin; x < end; x++) {
        const struct taps columns = taps_of_column(row->p, x);
        const size_t width = columns.end - columns.begin;
        const element *window = window_at(row, x, columns.begin);
        const vector value = average ? sum_of(row->p, window, height, width) *
                                           (1.0f / (float)(row->rows.counted * columns.counted))
                                     : largest(row->p, window, height, width);
        pool_store(row->p, row->image, row->plane, row->y, x, value);
    }
}

/* Computes the largest values of columns [begin, end) of a channel-blocked output, whose windows
 * are not clipped on the left or right. Returns false if there is NaN among them. */
ALWAYS_INLINE bool max_of_whole(const struct pool_row *row, size_t begin, size_t end,
                                const size_t height, const size_t width)
{
    const struct blocked_pooling *p = row->p;
    const size_t step = p->window.stride_width * LANES;
    const element *window = window_at(row, begin, 0);
    element *to = blocked_at(&p->out, row->image, row->plane, row->y) + begin * LANES;
    vector_indices unordered = {0};
    for (size_t x = begin; x < end; x++, window += step, to += LANES)
        element_store(to, largest_number(p, window, height, width, &unordered));
    return !vector_any(unordered);
}

static void max_row(const struct pool_row *row)
{
    const size_t height = row->rows.end - row->rows.begin, width = row->p->window.kernel_width;
    const size_t begin = row->p->whole_begin, end = row->p->whole_end;
    if (begin == end) {
        pool_columns(row, 0, row->p->out.shape.width, false);
        return;
    }
    pool_columns(row, 0, begin, false);
    const bool no_nan = height == 3 && width == 3   ? max_of_whole(row, begin, end, 3, 3)
                        : height == 2 && width == 2 ? max_of_whole(row, begin, end, 2, 2)
                                                    : max_of_whole(row, begin, end, height, width);
    if (!no_nan)
        pool_columns(row, begin, end, false);
    pool_columns(row, end, row->p->out.shape.width, false);
}

static void pool_band(const struct blocked_pooling *p, const struct blocked_band *band,
                      bool average)
{
    for (size_t y = band->begin; y < band->end; y++) {
        const struct pool_row row = {p, band->image, band->plane, y, taps_of_row(p, y)};
        if (average || !p->out.is_blocked) /* without a block the output is one position */
            pool_columns(&row, 0, p->out.shape.width, average);
        else
            max_row(&row);
    }
    if (p->out.is_blocked)
        blocked_pad(&p->out, band->image, band->plane, band->begin, band->end);
}

/* --- passes --- */

static bool is_average(const struct kernel_call *call)
{
    return call->site->node->op == &op_average_pool;
}

static void pooling_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_pooling *p = context;
    struct blocked_band band = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &band))
        pool_band(p, &band, is_average(p->call));
}

static void forward_pool(const struct kernel_call *call)
{
    const struct blocked_pooling p = blocked_pooling_of(call, call->output);
    run_tasks(call, p.tasks.count, pooling_task, &p);
}

static void pooling_rows(const struct kernel_call *call, const struct kernel_rows *rows,
                         size_t thread)
{
    (void)thread;
    const struct blocked_pooling p = blocked_pooling_of(call, call->output);
    struct blocked_band band = {.image = rows->image, .begin = rows->begin, .end = rows->end};
    for (; band.plane < blocked_planes(&p.in); band.plane++)
        pool_band(&p, &band, is_average(call));
}

static size_t bands_pool(const struct kernel_site *site)
{
    return blocked_bands(site, pool_row_work(site));
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
    .forward = forward_pool,
    .forward_rows = pooling_rows,
    .bands = bands_pool,
};

const struct kernel KERNEL(average_pool_blocked) = {
    .name = "average_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_average_pool,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = KERNEL(blocked_pool_supports),
    .workspace_bytes = KERNEL(blocked_pool_workspace),
    .forward = forward_pool,
    .backward = KERNEL(blocked_average_backward),
    .forward_rows = pooling_rows,
    .bands = bands_pool,
};
