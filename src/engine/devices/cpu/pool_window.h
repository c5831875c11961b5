/* pool_window.h: helpers of the two pooling kernels. Only the kernels of this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_POOL_WINDOW_H
#define TINCA_ENGINE_DEVICES_CPU_POOL_WINDOW_H

#include "engine/devices/cpu/simd.h"

#include <string.h>

/* The sizes of a pooling call. A plane is one channel of one image. */
struct pooling {
    const struct kernel_call *call;
    struct window w;
    struct shape in, out;
    size_t planes, in_area, out_area;
};

static inline struct pooling pooling_of(const struct kernel_call *call)
{
    struct pooling p = {.call = call,
                        .w = call->site->node->attributes.pool.window,
                        .in = call->site->inputs[0],
                        .out = call->site->node->output};
    p.in_area = shape_area(p.in);
    p.out_area = shape_area(p.out);
    p.planes = call->site->batch * p.in.channels;
    return p;
}

static inline size_t pooling_tasks(const struct pooling *p)
{
    return divide_up(p->planes, planes_in_task(p->in_area));
}

static inline size_t pooling_end(const struct pooling *p, size_t task)
{
    return min_size(p->planes, (task + 1) * planes_in_task(p->in_area));
}

/* Returns whether there is one window, which covers the whole plane and no padding. */
static inline bool pooling_is_global(const struct pooling *p)
{
    return p->out_area == 1 && p->w.pad_height == 0 && p->w.pad_width == 0 &&
           p->w.kernel_height >= p->in.height && p->w.kernel_width >= p->in.width;
}

/* Sets [*begin, *end) to the window elements that lie in the image, at one output position of an
 * axis. */
static inline void taps_inside(size_t out, size_t kernel, size_t stride, size_t pad, size_t size,
                               size_t *begin, size_t *end)
{
    const size_t start = out * stride; /* counted from the start of the padding */
    *begin = pad > start ? min_size(kernel, pad - start) : 0;
    *end = size + pad > start ? min_size(kernel, size + pad - start) : 0;
    *end = max_size(*begin, *end);
}

/* Sets [*begin, *end) to the output positions of an axis at which window element k lies in the
 * image. */
static inline void outputs_inside(size_t k, size_t stride, size_t pad, size_t size, size_t out,
                                  size_t *begin, size_t *end)
{
    *begin = min_size(out, pad > k ? divide_up(pad - k, stride) : 0);
    *end = size + pad > k ? min_size(out, divide_up(size + pad - k, stride)) : 0;
    *end = max_size(*begin, *end);
}

#endif
