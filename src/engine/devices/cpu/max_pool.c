/* Max pooling, a plane at a time.
 *
 * The plane is copied as for convolution (conv_layout.h), with minus infinity as padding. Every
 * window element then lies at a constant distance from the output's position, and vectors compare a
 * strip of positions with one window element after the other, for any stride and width. Equal
 * values and NaN are treated as in ops/max_pool.c.
 *
 * Saved: the position of each maximum in its plane (int32). In the backward pass of the usual
 * windows, 2x2 side by side, each position of the input compares itself with that; other windows
 * need a loop over the outputs.
 */
#include "engine/devices/cpu/conv_layout.h"
#include "engine/devices/cpu/pool_window.h"

#include <math.h>

enum { STRIP = 4 };         /* vectors of a strip */
enum { PAIRS = LANES / 2 }; /* of neighbouring columns in a vector */
enum { NO_MAXIMUM = -1 };   /* the position while no value was greater than -infinity */

static size_t saved_max_pool(const struct kernel_site *site)
{
    return site->training ? site->batch * shape_count(site->node->output) * sizeof(int32_t) : 0;
}

static struct conv_axis axis_of(size_t size, size_t kernel, size_t stride, size_t pad, size_t out)
{
    return (struct conv_axis){.size = size,
                              .stride = stride,
                              .phases = min_size(stride, kernel),
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

struct max_pooling {
    struct pooling p;
    struct layout layout;
    size_t positions;
    /* For each window element, how far it lies behind the window's first element: in the copied
     * plane and in the image. */
    size_t taps, *offsets;
    int32_t *distances;
    char *scratch; /* per thread: the copied plane, then the maxima and their positions */
    size_t scratch_bytes;
};

static struct max_pooling max_pooling_of(const struct kernel_site *site, struct carve *carve)
{
    const struct window *w = &site->node->attributes.pool.window;
    struct max_pooling m = {.layout = layout_of(site), .taps = w->kernel_height * w->kernel_width};
    m.positions = round_up(site->node->output.height * m.layout.pitch, LANES);
    m.scratch_bytes = round_up((layout_floats(&m.layout, 1) + 2 * m.positions) * sizeof(float), 64);
    m.offsets = carve_bytes(carve, m.taps * sizeof *m.offsets);
    m.distances = carve_bytes(carve, m.taps * sizeof *m.distances);
    m.scratch = carve_bytes(carve, site->threads * m.scratch_bytes);
    return m;
}

static size_t workspace_max_pool(const struct kernel_site *site)
{
    struct carve carve = {0};
    max_pooling_of(site, &carve);
    return carve.used;
}

static void set_taps(struct max_pooling *m)
{
    const struct window *w = &m->p.w;
    const struct layout *layout = &m->layout;
    size_t t = 0;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++, t++) {
            const size_t phase = ky % layout->y.stride * layout->x.phases + kx % layout->x.stride;
            m->offsets[t] = phase * layout->y.length * layout->pitch +
                            ky / layout->y.stride * layout->pitch + kx / layout->x.stride;
            m->distances[t] = (int32_t)(ky * layout->x.size + kx);
        }
}

/* Returns a in the lanes in which all bits of `which` are set, else b. */
static inline vector_indices choose(vector_indices which, vector_indices a, vector_indices b)
{
    return (which & a) | (~which & b);
}

/* Finds the maxima of some vectors of positions, in registers. `vectors` is a constant of each
 * call. */
static inline __attribute__((always_inline)) void pool_vectors(const struct max_pooling *m,
                                                               const float *source, float *best,
                                                               int32_t *distances,
                                                               const int vectors)
{
    vector largest[STRIP];
    vector_indices place[STRIP];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        largest[v] = (vector){0} - INFINITY;
        place[v] = (vector_indices){0} + NO_MAXIMUM;
    }
    for (size_t t = 0; t < m->taps; t++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const vector value = vector_load(source + m->offsets[t] + v * LANES);
            const vector_indices larger = (value > largest[v]) | (value != value);
            largest[v] = (vector)choose(larger, (vector_indices)value, (vector_indices)largest[v]);
            place[v] = choose(larger, (vector_indices){0} + m->distances[t], place[v]);
        }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        vector_store(best + v * LANES, largest[v]);
        memcpy(distances + v * LANES, &place[v], sizeof place[v]);
    }
}

/* Finds the maxima of all positions of a plane. Returns whether a position that may be stored has
 * no maximum. Positions behind the last row, which fill the last vector, are not counted: they see
 * only padding. */
static bool pool_positions(const struct max_pooling *m, const float *source, float *best,
                           int32_t *distances)
{
    const size_t positions = m->positions;
    size_t at = 0;
    for (; at + STRIP * LANES <= positions; at += STRIP * LANES)
        pool_vectors(m, source + at, best + at, distances + at, STRIP);
    for (; at < positions; at += LANES)
        pool_vectors(m, source + at, best + at, distances + at, 1);
    int32_t lowest = 0;
#pragma omp simd reduction(min : lowest)
    for (size_t i = 0; i < m->p.out.height * m->layout.pitch; i++)
        lowest = distances[i] < lowest ? distances[i] : lowest;
    return lowest == NO_MAXIMUM;
}

/* Returns the position of the first window element in the image, at output (y, x). */
static int32_t first_place(const struct pooling *p, size_t y, size_t x)
{
    const struct window *w = &p->w;
    size_t ky, kx, end;
    taps_inside(y, w->kernel_height, w->stride_height, w->pad_height, p->in.height, &ky, &end);
    taps_inside(x, w->kernel_width, w->stride_width, w->pad_width, p->in.width, &kx, &end);
    return (int32_t)((y * w->stride_height + ky - w->pad_height) * p->in.width +
                     (x * w->stride_width + kx - w->pad_width));
}

/* Writes the positions of the maxima of `count` outputs from x = 0 on in row y. Where no value was
 * larger than minus infinity, it is the position of the window's first element. */
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
        if (distances[x] == NO_MAXIMUM)
            places[x] = first_place(p, y, x);
}

/* Pools one plane. Rows of results are stored in whole vectors if the plane goes on behind them:
 * the next row overwrites the excess. */
static void forward_plane(const struct max_pooling *m, size_t plane, float *out, int32_t *places,
                          float *scratch)
{
    const struct pooling *p = &m->p;
    const struct layout *layout = &m->layout;
    const struct channel_moves all = {.channels = p->planes};
    float *best = scratch + layout_floats(layout, 1);
    int32_t *distances = (int32_t *)(best + m->positions);
    layout_copy(layout, &all, plane, 1, p->call->inputs[0], scratch);
    const bool nowhere = pool_positions(m, scratch, best, distances);
    for (size_t y = 0; y < p->out.height; y++) {
        const size_t at = y * layout->pitch, to = y * p->out.width;
        const size_t whole = round_up(p->out.width, LANES);
        const bool whole_fits = to + whole <= p->out_area && at + whole <= m->positions;
        const size_t count = whole_fits ? whole : p->out.width;
        store_or_add(out + to, best + at, count, false);
        if (places)
            store_places(p, distances + at, nowhere, y, count, places + to);
    }
}

/* Finds the maximum of a whole plane: first its value, with vectors, then its position. */
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
    } else { /* the last NaN, as in the order of the windows' elements */
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
    const struct max_pooling *m = context;
    const struct pooling *p = &m->p;
    const struct kernel_call *call = p->call;
    float *scratch = (float *)(m->scratch + thread * m->scratch_bytes);
    for (size_t plane = task * planes_in_task(p->in_area); plane < pooling_end(p, task); plane++) {
        const float *in = call->inputs[0] + plane * p->in_area;
        float *out = call->output + plane * p->out_area;
        int32_t *places =
            call->site->training ? (int32_t *)call->saved + plane * p->out_area : NULL;
        if (pooling_is_global(p))
            pool_plane(in, p->in_area, out, places);
        else
            forward_plane(m, plane, out, places, scratch);
    }
}

/* Return LANES values: each of the values at `from` twice. */
static inline vector twice(const float *from)
{
    vector values;
    for (int i = 0; i < LANES; i++)
        values[i] = from[i / 2];
    return values;
}

static inline vector_indices twice_places(const int32_t *from)
{
    vector_indices values;
    for (int i = 0; i < LANES; i++)
        values[i] = from[i / 2];
    return values;
}

/* Returns whether the windows are squares of 2x2 side by side, in rows that are long enough for
 * vectors. Vectors of 4 lanes, of two windows, take as long as a loop over the outputs. */
static bool is_by_pairs(const struct pooling *p)
{
    const struct window *w = &p->w;
    return w->kernel_height == 2 && w->kernel_width == 2 && w->stride_height == 2 &&
           w->stride_width == 2 && w->pad_height == 0 && w->pad_width == 0 && LANES >= 8 &&
           p->out.width >= PAIRS && p->in.width / 2 == p->out.width &&
           p->in.height / 2 == p->out.height;
}

/* Writes the gradient of a plane whose windows are 2x2, side by side. Each position of the input
 * compares itself with the place of its window's maximum. The last windows of a row may be computed
 * twice. */
static void gather_pairs(const struct pooling *p, const float *g, const int32_t *places, float *to)
{
    const size_t width = p->in.width, windows = p->out.width;
    vector_indices lanes;
    for (int i = 0; i < LANES; i++)
        lanes[i] = i;
    for (size_t y = 0; y < p->out.height; y++, g += windows, places += windows) {
        float *row = to + 2 * y * width;
        if (width % 2)
            row[width - 1] = row[2 * width - 1] = 0; /* the last column has no window */
        for (size_t i = 0; i < windows; i += PAIRS) {
            const size_t x = min_size(i, windows - PAIRS), position = 2 * (y * width + x);
            const vector_indices place = twice_places(places + x) - lanes;
            const vector_indices value = (vector_indices)(twice(g + x) + 0.0f); /* -0 becomes 0 */
            vector_store(row + 2 * x, (vector)((place == (int32_t)position) & value));
            vector_store(row + width + 2 * x,
                         (vector)((place == (int32_t)(position + width)) & value));
        }
    }
    for (size_t i = 2 * p->out.height * width; i < p->in_area; i++)
        to[i] = 0; /* the last row has no window */
}

/* Writes or adds the gradients of some planes. For windows other than 2x2 side by side, and where
 * it adds to other gradients, a loop over the outputs is faster than comparisons of each position
 * with all windows that cover it. */
static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct pooling *p = context;
    const bool accumulate = p->call->accumulate[0], by_pairs = !accumulate && is_by_pairs(p);
    for (size_t plane = task * planes_in_task(p->in_area); plane < pooling_end(p, task); plane++) {
        const float *g = p->call->output_gradient + plane * p->out_area;
        const int32_t *places = (const int32_t *)p->call->saved + plane * p->out_area;
        float *to = p->call->input_gradients[0] + plane * p->in_area;
        if (by_pairs) {
            gather_pairs(p, g, places, to);
            continue;
        }
        if (!accumulate)
            memset(to, 0, p->in_area * sizeof *to);
        for (size_t i = 0; i < p->out_area; i++)
            to[places[i]] += g[i];
    }
}

static void forward_max_pool(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct max_pooling m = max_pooling_of(call->site, &carve);
    m.p = pooling_of(call);
    set_taps(&m);
    run_tasks(call, pooling_tasks(&m.p), forward_task, &m);
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
