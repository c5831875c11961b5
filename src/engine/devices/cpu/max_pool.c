/* Max pooling, a plane at a time.
 *
 * The plane is copied as for convolution (conv_layout.h), with minus infinity for padding. Then
 * every window element lies at a constant distance from the output's position, and a strip of
 * positions is compared with one window element after the other, by vectors, whatever stride and
 * width. Equal values and values that are no numbers are treated as in ops/max_pool.c.
 *
 * Saved: where each maximum was in its plane (int32).
 */
#include "engine/devices/cpu/conv_layout.h"
#include "engine/devices/cpu/pool_window.h"

#include <math.h>

enum { STRIP = 64, NOWHERE = -1 };

static size_t saved_max_pool(const struct kernel_site *site)
{
    return site->training ? site->batch * shape_count(site->node->output) * sizeof(int32_t) : 0;
}

static struct axis axis_of(size_t size, size_t kernel, size_t stride, size_t pad, size_t out)
{
    return (struct axis){.size = size,
                         .stride = stride,
                         .phases = least(stride, kernel),
                         .pad = pad,
                         .length = out + (kernel - 1) / stride};
}

static struct layout layout_of(const struct kernel_site *site)
{
    const struct window *w = &site->node->attributes.pool.window;
    const struct shape in = site->inputs[0], out = site->node->output;
    struct layout layout = layout_make(
        axis_of(in.height, w->kernel_height, w->stride_height, w->pad_height, out.height),
        axis_of(in.width, w->kernel_width, w->stride_width, w->pad_width, out.width), out.width);
    layout.fill = -INFINITY;
    return layout;
}

/* A thread's scratch: the copied plane, then the maxima and their places by position. */
static size_t positions_of(const struct kernel_site *site, const struct layout *layout)
{
    return round_up(site->node->output.height * layout->pitch, LANES);
}

static size_t scratch_floats(const struct kernel_site *site)
{
    const struct layout layout = layout_of(site);
    return layout_floats(&layout, 1) + STRIP + 2 * positions_of(site, &layout);
}

static size_t workspace_max_pool(const struct kernel_site *site)
{
    return site->threads * round_up(scratch_floats(site), 16) * sizeof(float);
}

/* One window element for `count` positions; `distance` is its place in the plane, counted from
 * the place of the window's first element. */
static inline void take_larger(const float *restrict from, int32_t distance, float *restrict best,
                               int32_t *restrict distances, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const float value = from[i];
        const bool larger = (value > best[i]) | (value != value);
        best[i] = larger ? value : best[i];
        distances[i] = larger ? distance : distances[i];
    }
}

/* `count` is known to the compiler: a strip, or a vector of what is left. */
static inline __attribute__((always_inline)) void pool_strip(const struct window *w,
                                                             const struct layout *layout,
                                                             const float *source, float *best,
                                                             int32_t *distances, const size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        best[i] = -INFINITY;
        distances[i] = NOWHERE;
    }
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++) {
            const size_t phase = ky % layout->y.stride * layout->x.phases + kx % layout->x.stride;
            take_larger(source + phase * layout->y.length * layout->pitch +
                            ky / layout->y.stride * layout->pitch + kx / layout->x.stride,
                        (int32_t)(ky * layout->x.size + kx), best, distances, count);
        }
}

/* All positions of a plane. Returns whether some have no maximum. */
static bool pool_positions(const struct window *w, const struct layout *layout, size_t positions,
                           const float *source, float *best, int32_t *distances)
{
    size_t at = 0;
    for (; at + STRIP <= positions; at += STRIP)
        pool_strip(w, layout, source + at, best + at, distances + at, STRIP);
    for (; at < positions; at += LANES)
        pool_strip(w, layout, source + at, best + at, distances + at, LANES);
    int32_t lowest = 0;
#pragma omp simd reduction(min : lowest)
    for (size_t i = 0; i < positions; i++)
        lowest = distances[i] < lowest ? distances[i] : lowest;
    return lowest == NOWHERE;
}

/* The place of the first window element in the image, at output (y, x). */
static int32_t first_place(const struct pooling *p, size_t y, size_t x)
{
    const struct window *w = &p->w;
    size_t ky, kx, end;
    taps_inside(y, w->kernel_height, w->stride_height, w->pad_height, p->in.height, &ky, &end);
    taps_inside(x, w->kernel_width, w->stride_width, w->pad_width, p->in.width, &kx, &end);
    return (int32_t)((y * w->stride_height + ky - w->pad_height) * p->in.width +
                     (x * w->stride_width + kx - w->pad_width));
}

/* Places of `count` outputs from x = 0 in row y. Where nothing was larger than minus infinity, it
 * is the first element's. */
static void store_places(const struct pooling *p, const int32_t *distances, bool nowhere, size_t y,
                         size_t count, int32_t *places)
{
    const int32_t stride = (int32_t)p->w.stride_width;
    const int32_t first =
        ((int32_t)(y * p->w.stride_height) - (int32_t)p->w.pad_height) * (int32_t)p->in.width -
        (int32_t)p->w.pad_width;
#pragma omp simd
    for (int32_t x = 0; x < (int32_t)count; x++)
        places[x] = first + x * stride + distances[x];
    for (size_t x = 0; nowhere && x < p->out.width; x++)
        if (distances[x] == NOWHERE)
            places[x] = first_place(p, y, x);
}

/* Rows of results are stored in whole vectors where the plane has room behind them: the next row
 * overwrites what is too much. */
static void forward_plane(const struct pooling *p, const struct layout *layout, size_t plane,
                          float *out, int32_t *places, float *scratch)
{
    const struct channel_moves all = {.channels = p->planes};
    const size_t positions = positions_of(p->call->site, layout);
    float *best = scratch + layout_floats(layout, 1) + STRIP;
    int32_t *distances = (int32_t *)(best + positions);
    layout_copy(layout, &all, plane, 1, p->call->inputs[0], scratch);
    const bool nowhere = pool_positions(&p->w, layout, positions, scratch, best, distances);
    for (size_t y = 0; y < p->out.height; y++) {
        const size_t at = y * layout->pitch, to = y * p->out.width;
        const size_t whole = round_up(p->out.width, LANES);
        const bool room = to + whole <= p->out_area && at + whole <= positions;
        const size_t count = room ? whole : p->out.width;
        store_or_add(out + to, best + at, count, false);
        if (places)
            store_places(p, distances + at, nowhere, y, count, places + to);
    }
}

/* The maximum of a whole plane: its value by vectors first, then its place. */
static void pool_plane(const float *plane, size_t area, float *best, int32_t *place)
{
    float largest = -INFINITY;
    int numbers = 1;
#pragma omp simd reduction(max : largest) reduction(& : numbers)
    for (size_t i = 0; i < area; i++) {
        largest = plane[i] > largest ? plane[i] : largest;
        numbers &= plane[i] == plane[i];
    }
    size_t at = 0;
    if (numbers) {
        while (plane[at] != largest)
            at++;
    } else { /* the last that is no number, as in the order of the windows' elements */
        at = area - 1;
        while (plane[at] == plane[at])
            at--;
    }
    *best = plane[at];
    if (place)
        *place = (int32_t)at;
}

static void forward_task(void *context, size_t task, size_t thread)
{
    const struct pooling *p = context;
    const struct kernel_call *call = p->call;
    const struct layout layout = layout_of(call->site);
    float *scratch = (float *)call->workspace + thread * round_up(scratch_floats(call->site), 16);
    for (size_t plane = task * planes_in_task(p->in_area); plane < pooling_end(p, task); plane++) {
        const float *in = call->inputs[0] + plane * p->in_area;
        float *out = call->output + plane * p->out_area;
        int32_t *places =
            call->site->training ? (int32_t *)call->saved + plane * p->out_area : NULL;
        if (pooling_is_global(p))
            pool_plane(in, p->in_area, out, places);
        else
            forward_plane(p, &layout, plane, out, places, scratch);
    }
}

static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct pooling *p = context;
    for (size_t plane = task * planes_in_task(p->in_area); plane < pooling_end(p, task); plane++) {
        const float *g = p->call->output_gradient + plane * p->out_area;
        const int32_t *places = (const int32_t *)p->call->saved + plane * p->out_area;
        float *to = p->call->input_gradients[0] + plane * p->in_area;
        if (!p->call->accumulate[0])
            memset(to, 0, p->in_area * sizeof *to);
        for (size_t i = 0; i < p->out_area; i++)
            to[places[i]] += g[i];
    }
}

static void forward_max_pool(const struct kernel_call *call)
{
    const struct pooling p = pooling_of(call);
    run_tasks(call, pooling_tasks(&p), forward_task, &p);
}

static void backward_max_pool(const struct kernel_call *call)
{
    const struct pooling p = pooling_of(call);
    if (call->input_gradients[0])
        run_tasks(call, pooling_tasks(&p), backward_task, &p);
}

const struct kernel KERNEL(max_pool) = {
    .name = "max_pool strips",
    .instruction_set = ISA_NAME,
    .op = &op_max_pool,
    .saved_bytes = saved_max_pool,
    .workspace_bytes = workspace_max_pool,
    .forward = forward_max_pool,
    .backward = backward_max_pool,
};
