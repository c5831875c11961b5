/* blocked_pool.h: what pooling of channel-blocked arrays shares in inference and training. Only the
 * kernels of this folder use it.
 *
 * The channels of a block are in the lanes; a window is clipped to the image instead of reading
 * padding. Equal values, NaN and the divisor are treated as in ops/max_pool.c and
 * ops/average_pool.c. */
#ifndef TINCA_ENGINE_DEVICES_CPU_BLOCKED_POOL_H
#define TINCA_ENGINE_DEVICES_CPU_BLOCKED_POOL_H

#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/pool_window.h"

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

/* Returns whether the input is channel-blocked, and the output too unless it is a vector; if not,
 * sets *reason. */
bool KERNEL(blocked_pool_supports)(const struct kernel_site *site, const char **reason);

/* blocked_pool_training.c: computes the input's gradient of average pooling. */
void KERNEL(blocked_average_backward)(const struct kernel_call *call);

/* Returns the bytes of workspace that the backward pass of a pooling needs. */
size_t KERNEL(blocked_pool_workspace)(const struct kernel_site *site);

#endif
