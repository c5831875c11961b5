/* Pooling of channel-blocked arrays. The channels of a block are in the lanes; a window is clipped
 * to the image instead of reading padding. Equal values, NaN and the divisor are treated as in
 * ops/max_pool.c and ops/average_pool.c. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/pool_window.h"

#include <math.h>

struct blocked_pooling {
    const struct kernel_call *call;
    struct window window;
    struct blocked in, out; /* out: the output, or in backward its gradient */
    struct blocked in_gradient;
    size_t whole_begin, whole_end; /* output columns whose windows lie in the image as a whole */
    struct blocked_tasks tasks;
};

/* The part of a window that lies in the image, on one axis: elements [begin, end). `counted` is
 * that axis's factor of the divisor: padding counts, but nothing beyond it. */
struct taps {
    size_t begin, end, counted;
};

/* Returns the vector operations of a row of one block. */
static inline size_t pool_row_work(const struct kernel_site *site)
{
    const struct window *w = &site->node->attributes.pool.window;
    return 2 * w->kernel_height * w->kernel_width * site->node->output.width;
}

/* Sets [*begin, *end) to the output columns whose windows lie in the image as a whole. */
static inline void whole_columns(const struct blocked_pooling *p, size_t *begin, size_t *end)
{
    const struct window *w = &p->window;
    const size_t padded = p->in.shape.width + w->pad_width;
    const size_t whole =
        padded < w->kernel_width ? 0 : (padded - w->kernel_width) / w->stride_width + 1;
    *begin = min_size(divide_up(w->pad_width, w->stride_width), p->out.shape.width);
    *end = max_size(*begin, min_size(whole, p->out.shape.width));
}

/* Returns the pooling of a call; `output` is the output or its gradient. */
static inline struct blocked_pooling blocked_pooling_of(const struct kernel_call *call,
                                                        const void *output)
{
    const struct kernel_site *site = call->site;
    struct blocked_pooling p = {.call = call,
                                .window = site->node->attributes.pool.window,
                                .in = blocked_input(call, 0),
                                .out =
                                    blocked_make(output, site->node->output, site->output_layout)};
    p.tasks = blocked_tasks_of(call, &p.out, pool_row_work(site));
    whole_columns(&p, &p.whole_begin, &p.whole_end);
    return p;
}

static inline struct taps taps_of(size_t out, size_t kernel, size_t stride, size_t pad, size_t size)
{
    struct taps taps;
    const size_t start = out * stride;
    taps_inside(out, kernel, stride, pad, size, &taps.begin, &taps.end);
    taps.counted = min_size(start + kernel, size + 2 * pad) - start;
    return taps;
}

/* Return the elements of the window of output row y, and of output column x. */
static inline struct taps taps_of_row(const struct blocked_pooling *p, size_t y)
{
    const struct window *w = &p->window;
    return taps_of(y, w->kernel_height, w->stride_height, w->pad_height, p->in.shape.height);
}

static inline struct taps taps_of_column(const struct blocked_pooling *p, size_t x)
{
    const struct window *w = &p->window;
    return taps_of(x, w->kernel_width, w->stride_width, w->pad_width, p->in.shape.width);
}

/* Returns where element (ky, kx) of the window of output (y, x) lies in a plane of the input, in
 * elements after position (0, 0). */
static inline size_t pool_element(const struct blocked_pooling *p, size_t y, size_t x, size_t ky,
                                  size_t kx)
{
    const struct window *w = &p->window;
    return (y * w->stride_height + ky - w->pad_height) * p->in.row +
           (x * w->stride_width + kx - w->pad_width) * LANES;
}

/* Load and store an output position. An output of one position is plain: its channels follow each
 * other. */
static inline vector pool_load(const struct blocked_pooling *p, size_t image, size_t plane,
                               size_t y, size_t x)
{
    const size_t first = plane * LANES, channels = p->out.shape.channels;
    if (p->out.is_blocked)
        return element_load(blocked_at(&p->out, image, plane, y) + x * LANES);
    float lanes[LANES] = {0};
    memcpy(lanes, (const float *)p->out.values + image * channels + first,
           min_size(LANES, channels - first) * sizeof(float));
    return vector_load(lanes);
}

static inline void pool_store(const struct blocked_pooling *p, size_t image, size_t plane, size_t y,
                              size_t x, vector value)
{
    const size_t first = plane * LANES, channels = p->out.shape.channels;
    if (p->out.is_blocked) {
        element_store(blocked_at(&p->out, image, plane, y) + x * LANES, value);
        return;
    }
    float lanes[LANES];
    vector_store(lanes, value);
    memcpy((float *)p->out.values + image * channels + first, lanes,
           min_size(LANES, channels - first) * sizeof(float));
}

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

static void pool_row_block(const struct blocked_pooling *p, const struct row_block *block,
                           bool average)
{
    for (size_t y = block->begin; y < block->end; y++) {
        const struct pool_row row = {p, block->image, block->plane, y, taps_of_row(p, y)};
        if (average || !p->out.is_blocked) /* without a block the output is one position */
            pool_columns(&row, 0, p->out.shape.width, average);
        else
            max_row(&row);
    }
    if (p->out.is_blocked)
        blocked_pad(&p->out, block->image, block->plane, block->begin, block->end);
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
    struct row_block block = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &block))
        pool_row_block(p, &block, is_average(p->call));
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
    struct row_block block = {.image = rows->image, .begin = rows->begin, .end = rows->end};
    for (; block.plane < blocked_planes(&p.in); block.plane++)
        pool_row_block(&p, &block, is_average(call));
}

static size_t row_blocks_pool(const struct kernel_site *site)
{
    return blocked_row_blocks(site, pool_row_work(site));
}

/* --- training: max pooling, and the gradients of max and average pooling ---
 *
 * Max pooling saves the window element of each maximum, in a byte: element ky * width + kx of
 * the window, of which the padding is a part. */

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
    struct row_block block = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &block))
        for (size_t y = block.begin; y < block.end; y++) {
            const struct taps rows = taps_of_row(p, y);
            uint8_t *saved = saved_row(p, block.image, block.plane, y);
            for (size_t x = 0; x < p->out.shape.width; x++)
                max_at(p, block.image, block.plane, y, x, rows, saved);
        }
}

static void forward_max(const struct kernel_call *call)
{
    const struct blocked_pooling p = blocked_pooling_of(call, call->output);
    run_tasks(call, p.tasks.count, max_task, &p);
}

/* --- backward: a task is some planes of the input's gradient --- */

/* Returns the bytes of workspace that a backward pass needs. Windows overlap. Their gradients are
 * added up in float32: in the plane itself, or in the workspace if the plane is of bf16, so that a
 * sum is rounded once. */
static size_t workspace_pool(const struct kernel_site *site)
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
    struct row_block block = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &block)) {
        element *to = blocked_at(&p->in_gradient, block.image, block.plane, 0);
        float *direct = elements_as_floats(to);
        float *sums = direct ? direct : (float *)p->call->workspace + thread * count;
        if (!direct || !accumulate)
            floats_clear(sums, count);
        back(p, block.image, block.plane, sums);
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
    p.tasks.divides_rows = false;
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

/* Returns whether the input is channel-blocked, and the output too unless it is a vector; if not,
 * sets *reason. */
static bool supports(const struct kernel_site *site, const char **reason)
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
    .supports = supports,
    .forward = forward_pool,
    .forward_rows = pooling_rows,
    .row_blocks = row_blocks_pool,
};

const struct kernel KERNEL(average_pool_blocked) = {
    .name = "average_pool blocked",
    .instruction_set = ISA_NAME,
    .op = &op_average_pool,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = supports,
    .workspace_bytes = workspace_pool,
    .forward = forward_pool,
    .backward = backward_average,
    .forward_rows = pooling_rows,
    .row_blocks = row_blocks_pool,
};

static bool supports_max(const struct kernel_site *site, const char **reason)
{
    const struct window *w = &site->node->attributes.pool.window;
    if (!supports(site, reason))
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
    .workspace_bytes = workspace_pool,
    .forward = forward_max,
    .backward = backward_max,
};
