/* Max pooling. The forward pass saves which tap of its window each maximum is, in a byte where the
 * window is small enough, so that the backward pass need not read the input. In the backward pass a
 * thread gathers: an element of the input checks each window that covers it, in order, for whether
 * it was the maximum there. No two threads thus add to the same element.
 *
 * The usual windows have kernels in which a thread computes a tile of the output, or of the input's
 * gradient: what its windows share is loaded once, and which window covers which element is known
 * when the kernel is compiled. Channels-last, it does so for four channels, which are 16 bytes; in
 * plain arrays a tile is narrow, so that the lanes of a warp load neighbours. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/pool_window.h"

#include <math.h>

/* --- any window; I is the type of a tap --- */

/* Returns the first maximum in raster order, and sets *tap to its tap; NaN counts as the largest
 * value. No window is padding only. */
static __device__ __forceinline__ float
find_maximum(const float *plane, uint32_t step, const struct pool_window *w, int y, int x, int *tap)
{
    const struct range rows =
        window_range(y, w->kernel_height, w->stride_height, w->pad_height, w->in_height);
    const struct range columns =
        window_range(x, w->kernel_width, w->stride_width, w->pad_width, w->in_width);
    const int top = y * w->stride_height - w->pad_height;
    const int left = x * w->stride_width - w->pad_width;
    float most = plane[(uint32_t)(rows.begin * w->in_width + columns.begin) * step];
    *tap = (rows.begin - top) * w->kernel_width + columns.begin - left;
    for (int iy = rows.begin; iy < rows.end; iy++)
        for (int ix = columns.begin; ix < columns.end; ix++) {
            const float value = plane[(uint32_t)(iy * w->in_width + ix) * step];
            if (value > most || isnan(value)) {
                most = value;
                *tap = (iy - top) * w->kernel_width + ix - left;
            }
        }
    return most;
}

template <class I>
static __global__ void find_maxima(const float *in, float *out, I *taps, struct pool_window w,
                                   uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        int y, x, tap;
        const uint32_t plane = position_of(&w, i, w.down_out, w.across_out, w.out_last, &y, &x);
        const struct pool_plane from = plane_of(&w, plane, w.in_height * w.in_width, w.in_last);
        out[i] = find_maximum(in + from.start, from.step, &w, y, x, &tap);
        if (taps)
            taps[i] = (I)tap;
    }
}

template <class I>
static __global__ void gather_gradients(const float *g, const I *taps, float *gradient,
                                        bool accumulate, struct pool_window w, uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        int iy, ix;
        const uint32_t plane = position_of(&w, i, w.down_in, w.across_in, w.in_last, &iy, &ix);
        const struct pool_plane of = plane_of(&w, plane, w.out_height * w.out_width, w.out_last);
        const struct range rows =
            covering_windows(iy, w.kernel_height, w.stride_height, w.pad_height, w.out_height);
        const struct range columns =
            covering_windows(ix, w.kernel_width, w.stride_width, w.pad_width, w.out_width);
        float sum = 0;
        for (int y = rows.begin; y < rows.end; y++)
            for (int x = columns.begin; x < columns.end; x++) {
                const uint32_t at = of.start + (uint32_t)(y * w.out_width + x) * of.step;
                const int down = iy + w.pad_height - y * w.stride_height;
                const int across = ix + w.pad_width - x * w.stride_width;
                if ((int)taps[at] == down * w.kernel_width + across)
                    sum += g[at];
            }
        gradient_store(&gradient[i], accumulate, sum);
    }
}

/* --- tiles of windows of K x K with stride S, whose taps are bytes --- */

/* V: the channels of a thread, 4 or 1. A tile has ROWS x COLUMNS outputs or, in the backward pass,
 * elements of the padded input, then multiples of S. */
template <int V_, int K_, int S_, int ROWS_, int COLUMNS_> struct tile_shape {
    enum { V = V_, K = K_, S = S_, ROWS = ROWS_, COLUMNS = COLUMNS_ };
};

/* The tiles of a batch: item = ((plane * down + row) * across + column) * groups + group. A group
 * is four channels, and the planes are images, or there is one group, and a plane is one channel.
 */
struct pool_tiles {
    struct divisor groups, across, down;
    uint32_t step; /* from a position to the next */
    uint32_t items;
};

struct pool_tile {
    uint32_t plane, group;
    int row, column;
};

static __host__ __device__ __forceinline__ struct pool_tile tile_of(const struct pool_tiles *t,
                                                                    uint32_t item)
{
    uint32_t group, column, row;
    const uint32_t tile = divide_rest(item, t->groups, &group);
    const uint32_t plane = divide_rest(divide_rest(tile, t->across, &column), t->down, &row);
    return {plane, group, (int)row, (int)column};
}

/* The values of a thread's channels. */
template <int V> struct lanes {
    float of[V];
};

template <int V> static __device__ __forceinline__ struct lanes<V> all_lanes(float value) {
    struct lanes<V> lanes;
#pragma unroll
    for (int v = 0; v < V; v++)
        lanes.of[v] = value;
    return lanes;
}

static __device__ __forceinline__ void
load(const float *at, struct lanes<1> *lanes)
{
    lanes->of[0] = __ldg(at);
}
static __device__ __forceinline__ void load(const float *at, struct lanes<4> *lanes)
{
    const float4 four = __ldg((const float4 *)at);
    lanes->of[0] = four.x;
    lanes->of[1] = four.y;
    lanes->of[2] = four.z;
    lanes->of[3] = four.w;
}

static __device__ __forceinline__ void store(float *at, bool accumulate,
                                             const struct lanes<1> *lanes)
{
    gradient_store(at, accumulate, lanes->of[0]);
}
static __device__ __forceinline__ void store(float *at, bool accumulate,
                                             const struct lanes<4> *lanes)
{
    float4 four = make_float4(lanes->of[0], lanes->of[1], lanes->of[2], lanes->of[3]);
    if (accumulate) {
        const float4 old = *(const float4 *)at;
        four = make_float4(old.x + four.x, old.y + four.y, old.z + four.z, old.w + four.w);
    }
    *(float4 *)at = four;
}

/* Return the taps of a thread's channels, a byte for each, and store them. */
template <int V> static __device__ __forceinline__ uint32_t load_taps(const uint8_t *at)
{
    return V == 4 ? __ldg((const uint32_t *)at) : __ldg(at);
}
template <int V> static __device__ __forceinline__ void store_taps(uint8_t *at, uint32_t taps)
{
    if (V == 4)
        *(uint32_t *)at = taps;
    else
        *at = (uint8_t)taps;
}

/* --- tiles of the output --- */

template <class T> struct maxima {
    struct lanes<T::V> most[T::ROWS][T::COLUMNS];
    uint32_t taps[T::ROWS][T::COLUMNS][T::V];
};

/* Begins with -infinity at the first tap of each window that is inside. */
template <class T>
static __device__ __forceinline__ void maxima_begin(struct maxima<T> *m, int top, int left)
{
#pragma unroll
    for (int r = 0; r < T::ROWS; r++)
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c++) {
            const int first = max(0, -(top + r * T::S)) * T::K + max(0, -(left + c * T::S));
            m->most[r][c] = all_lanes<T::V>(-INFINITY);
#pragma unroll
            for (int v = 0; v < T::V; v++)
                m->taps[r][c][v] = (uint32_t)first;
        }
}

/* Compares the value at (y, x) of the tile's input with the maxima of the windows that contain it.
 */
template <class T>
static __device__ __forceinline__ void maxima_take(struct maxima<T> *m, int y, int x,
                                                   const struct lanes<T::V> *value)
{
#pragma unroll
    for (int r = 0; r < T::ROWS; r++)
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c++) {
            const int down = y - r * T::S, across = x - c * T::S;
            if (down < 0 || down >= T::K || across < 0 || across >= T::K)
                continue;
#pragma unroll
            for (int v = 0; v < T::V; v++)
                if (value->of[v] > m->most[r][c].of[v] || isnan(value->of[v])) {
                    m->most[r][c].of[v] = value->of[v];
                    m->taps[r][c][v] = (uint32_t)(down * T::K + across);
                }
        }
}

template <class T>
static __device__ __forceinline__ void
maxima_store(const struct maxima<T> *m, float *out, uint8_t *taps, const struct pool_window *w,
             const struct pool_tiles *t, const struct pool_tile *tile)
{
    const uint32_t plane = tile->plane * (uint32_t)(w->out_height * w->out_width);
#pragma unroll
    for (int r = 0; r < T::ROWS; r++)
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c++) {
            const int y = tile->row * T::ROWS + r, x = tile->column * T::COLUMNS + c;
            const uint32_t at =
                (plane + (uint32_t)(y * w->out_width + x)) * t->step + tile->group * T::V;
            if (y >= w->out_height || x >= w->out_width)
                continue;
            store(out + at, false, &m->most[r][c]);
            uint32_t bytes = 0;
#pragma unroll
            for (int v = 0; v < T::V; v++)
                bytes |= m->taps[r][c][v] << 8 * v;
            if (taps)
                store_taps<T::V>(taps + at, bytes);
        }
}

/* Finds the maxima of a tile. The elements come in raster order, so those of each window do, too.
 * Outside of the input they are -infinity, which is never more than another. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    find_tiles(const float *in, float *out, uint8_t *taps,
               const __grid_constant__ struct pool_window w,
               const __grid_constant__ struct pool_tiles t)
{
    for (uint32_t item = stride_first(); item < t.items; item += stride_step()) {
        const struct pool_tile tile = tile_of(&t, item);
        const int top = tile.row * T::ROWS * T::S - w.pad_height;
        const int left = tile.column * T::COLUMNS * T::S - w.pad_width;
        const float *plane =
            in + tile.plane * (uint32_t)(w.in_height * w.in_width) * t.step + tile.group * T::V;
        struct maxima<T> m;
        maxima_begin(&m, top, left);
#pragma unroll
        for (int y = 0; y < (T::ROWS - 1) * T::S + T::K; y++)
#pragma unroll
            for (int x = 0; x < (T::COLUMNS - 1) * T::S + T::K; x++) {
                struct lanes<T::V> value = all_lanes<T::V>(-INFINITY);
                if ((uint32_t)(top + y) < (uint32_t)w.in_height &&
                    (uint32_t)(left + x) < (uint32_t)w.in_width)
                    load(plane + (uint32_t)((top + y) * w.in_width + left + x) * t.step, &value);
                maxima_take(&m, y, x, &value);
            }
        maxima_store(&m, out, taps, &w, &t, &tile);
    }
}

/* --- tiles of the input's gradient --- */

template <class T> struct gradients {
    struct lanes<T::V> sums[T::ROWS][T::COLUMNS];
};

/* Adds the gradient of the window whose first tap is (top, left) of the tile. */
template <class T>
static __device__ __forceinline__ void gradients_take(struct gradients<T> *of, int top, int left,
                                                      const struct lanes<T::V> *g, uint32_t taps)
{
#pragma unroll
    for (int r = 0; r < T::ROWS; r++)
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c++) {
            const int down = r - top, across = c - left;
            if (down < 0 || down >= T::K || across < 0 || across >= T::K)
                continue;
#pragma unroll
            for (int v = 0; v < T::V; v++)
                if ((taps >> 8 * v & 255) == (uint32_t)(down * T::K + across))
                    of->sums[r][c].of[v] += g->of[v];
        }
}

template <class T>
static __device__ __forceinline__ void
gradients_store(const struct gradients<T> *of, float *gradient, bool accumulate,
                const struct pool_window *w, const struct pool_tiles *t,
                const struct pool_tile *tile)
{
    const uint32_t plane = tile->plane * (uint32_t)(w->in_height * w->in_width);
#pragma unroll
    for (int r = 0; r < T::ROWS; r++)
#pragma unroll
        for (int c = 0; c < T::COLUMNS; c++) {
            const int y = tile->row * T::ROWS + r - w->pad_height;
            const int x = tile->column * T::COLUMNS + c - w->pad_width;
            if ((uint32_t)y < (uint32_t)w->in_height && (uint32_t)x < (uint32_t)w->in_width)
                store(gradient + (plane + (uint32_t)(y * w->in_width + x)) * t->step +
                          tile->group * T::V,
                      accumulate, &of->sums[r][c]);
        }
}

/* Adds the gradients of the windows that cover a tile. The first window lies BEFORE rows and
 * columns of windows before the window whose first tap is the tile's first element. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    gather_tiles(const float *g, const uint8_t *taps, float *gradient, bool accumulate,
                 const __grid_constant__ struct pool_window w,
                 const __grid_constant__ struct pool_tiles t)
{
    enum { BEFORE = (T::K - 1) / T::S };
    for (uint32_t item = stride_first(); item < t.items; item += stride_step()) {
        const struct pool_tile tile = tile_of(&t, item);
        const int first_y = tile.row * (T::ROWS / T::S) - BEFORE;
        const int first_x = tile.column * (T::COLUMNS / T::S) - BEFORE;
        const uint32_t plane = tile.plane * (uint32_t)(w.out_height * w.out_width);
        struct gradients<T> of;
#pragma unroll
        for (int r = 0; r < T::ROWS; r++)
#pragma unroll
            for (int c = 0; c < T::COLUMNS; c++)
                of.sums[r][c] = all_lanes<T::V>(0);
#pragma unroll
        for (int y = 0; y < BEFORE + T::ROWS / T::S; y++)
#pragma unroll
            for (int x = 0; x < BEFORE + T::COLUMNS / T::S; x++) {
                struct lanes<T::V> value = all_lanes<T::V>(0);
                uint32_t bytes = ~0u; /* no taps */
                if ((uint32_t)(first_y + y) < (uint32_t)w.out_height &&
                    (uint32_t)(first_x + x) < (uint32_t)w.out_width) {
                    const uint32_t at =
                        (plane + (uint32_t)((first_y + y) * w.out_width + first_x + x)) * t.step +
                        tile.group * T::V;
                    load(g + at, &value);
                    bytes = load_taps<T::V>(taps + at);
                }
                gradients_take(&of, (y - BEFORE) * T::S, (x - BEFORE) * T::S, &value, bytes);
            }
        gradients_store(&of, gradient, accumulate, &w, &t, &tile);
    }
}

/* --- the choice --- */

typedef void find_kernel(const float *, float *, uint8_t *, const struct pool_window,
                         const struct pool_tiles);
typedef void gather_kernel(const float *, const uint8_t *, float *, bool, const struct pool_window,
                           const struct pool_tiles);

/* The kernels for a window and a layout, with the sizes of a tile of the output and of the padded
 * input. */
struct tile_kernels {
    int kernel, stride;
    bool last;
    find_kernel *find;
    int out_rows, out_columns;
    gather_kernel *gather;
    int in_rows, in_columns;
};

#define TILES(k, s, last, out_rows, out_columns, in_rows, in_columns)                              \
    {                                                                                              \
        k, s, last, find_tiles<tile_shape<last ? 4 : 1, k, s, out_rows, out_columns>>, out_rows,   \
            out_columns, gather_tiles<tile_shape<last ? 4 : 1, k, s, in_rows, in_columns>>,        \
            in_rows, in_columns                                                                    \
    }
static const struct tile_kernels tile_kernels[] = {
    TILES(3, 2, true, 2, 2, 2, 2),  TILES(3, 2, false, 2, 1, 2, 2), TILES(3, 1, true, 2, 2, 2, 2),
    TILES(3, 1, false, 2, 1, 2, 1), TILES(2, 2, true, 2, 2, 2, 2),  TILES(2, 2, false, 2, 1, 2, 2),
};

/* Returns whether a tap of the window is saved as a byte. */
static bool has_bytes(const struct kernel_site *site)
{
    const struct window *w = &site->node->attributes.pool.window;
    return w->kernel_height * w->kernel_width <= UINT8_MAX;
}

/* Returns the kernels for tiles; NULL if there are none for this window, or for these arrays, one
 * of the input's shape and one of the output's. */
static const struct tile_kernels *find_kernels(const struct pool_window *w, const void *a,
                                               const void *b)
{
    const bool wide = w->channels.value % 4 == 0 && aligned16(a) && aligned16(b);
    if (w->in_last != w->out_last || (w->in_last && !wide))
        return NULL;
    for (const struct tile_kernels &k : tile_kernels)
        if (k.last == w->in_last && w->kernel_height == k.kernel && w->kernel_width == k.kernel &&
            w->stride_height == k.stride && w->stride_width == k.stride)
            return &k;
    return NULL;
}

/* Returns the tiles of `rows` x `columns` that cover arrays of `height` x `width`. */
static struct pool_tiles tiles_of(const struct kernel_call *call, const struct pool_window *w,
                                  int height, int width, int rows, int columns)
{
    const size_t channels = w->channels.value, groups = w->in_last ? channels / 4 : 1;
    const size_t planes = call->site->batch * (w->in_last ? 1 : channels);
    const size_t down = blocks_for((size_t)height, (size_t)rows);
    const size_t across = blocks_for((size_t)width, (size_t)columns);
    return {divisor_of(groups), divisor_of(across), divisor_of(down),
            w->in_last ? (uint32_t)channels : 1u, (uint32_t)(planes * down * across * groups)};
}

static size_t saved_max_pool(const struct kernel_site *site)
{
    const size_t count = site->batch * shape_count(site->node->output);
    return site->training ? count * (has_bytes(site) ? sizeof(uint8_t) : sizeof(int32_t)) : 0;
}

static void forward_max_pool(const struct kernel_call *call)
{
    const size_t count = output_values(call);
    const struct pool_window w = pool_window_of(call);
    const struct tile_kernels *tiled = find_kernels(&w, call->inputs[0], call->output);
    void *saved = call->site->training ? call->saved : NULL;
    if (tiled) {
        const struct pool_tiles tiles =
            tiles_of(call, &w, w.out_height, w.out_width, tiled->out_rows, tiled->out_columns);
        launch(context_of(call), "max_pool forward", tiled->find, stride_blocks(tiles.items), BLOCK,
               0, call->inputs[0], call->output, (uint8_t *)saved, w, tiles);
    } else if (has_bytes(call->site))
        launch(context_of(call), "max_pool forward", find_maxima<uint8_t>, stride_blocks(count),
               BLOCK, 0, call->inputs[0], call->output, (uint8_t *)saved, w, (uint32_t)count);
    else
        launch(context_of(call), "max_pool forward", find_maxima<int32_t>, stride_blocks(count),
               BLOCK, 0, call->inputs[0], call->output, (int32_t *)saved, w, (uint32_t)count);
}

static void backward_max_pool(const struct kernel_call *call)
{
    float *gradient = call->input_gradients[0];
    const float *g = call->output_gradient;
    const size_t count = input_values(call, 0);
    const bool accumulate = call->accumulate[0];
    const struct pool_window w = pool_window_of(call);
    const struct tile_kernels *tiled = find_kernels(&w, gradient, g);
    if (!gradient)
        return;
    if (tiled) {
        const struct pool_tiles tiles =
            tiles_of(call, &w, w.in_height + w.pad_height, w.in_width + w.pad_width, tiled->in_rows,
                     tiled->in_columns);
        launch(context_of(call), "max_pool backward", tiled->gather, stride_blocks(tiles.items),
               BLOCK, 0, g, (const uint8_t *)call->saved, gradient, accumulate, w, tiles);
    } else if (has_bytes(call->site))
        launch(context_of(call), "max_pool backward", gather_gradients<uint8_t>,
               stride_blocks(count), BLOCK, 0, g, (const uint8_t *)call->saved, gradient,
               accumulate, w, (uint32_t)count);
    else
        launch(context_of(call), "max_pool backward", gather_gradients<int32_t>,
               stride_blocks(count), BLOCK, 0, g, (const int32_t *)call->saved, gradient,
               accumulate, w, (uint32_t)count);
}

struct cuda_kernel cuda_max_pool = {
    .op = "max_pool",
    .kernel =
        {
            .name = "max_pool",
            .instruction_set = "cuda",
            .traits = KERNEL_CONVERTS_LAYOUT,
            .supports = supports_counts,
            .saved_bytes = saved_max_pool,
            .forward = forward_max_pool,
            .backward = backward_max_pool,
        },
};
