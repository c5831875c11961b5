/* Convolution with a window of 3x3 and stride 1 by Winograd's minimal filtering F(2x2, 3x3), on
 * channel-blocked arrays, for inference (Lavin & Gray 2016):
 *
 *   y = A^T ((G w G^T) . (B^T x B)) A
 *
 * A tile of 2x2 results takes 4x4 values of the input. Both transforms are additions alone, and the
 * product between them is one per value of the transformed tile, so that a result costs 4
 * multiply-adds per input channel instead of 9. For each of the 16 values, the sum over the input
 * channels is a matrix product of tiles and output channels. The transformed weights are prepared.
 *
 * A task transforms a chunk of tiles, whose values stay in the level-2 cache, and computes some
 * columns (one or two blocks of output channels) for it. Every chunk reads all weights of its
 * columns, and prefetches those of a value while it multiplies those of the value before. Small
 * weights are read often; of large ones each thread reads some columns, although tasks with other
 * columns of the same chunk transform it again.
 *
 * The results have about twice the rounding error of direct convolution, since transformed values
 * are sums of up to four values, which later cancel.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/conv.h"

#include <math.h>

enum {
    LINE = 64 / sizeof(float), /* floats of a cache line */
    SIZE = 4,                  /* values of a transformed tile along each axis */
    VALUES = SIZE * SIZE,
    RESULTS = 2, /* results of a tile along each axis */
    CHUNK = 16,  /* tiles */
    PAIR = 2,    /* blocks of output channels in a column */
    /* blocks of input channels whose products are summed in registers; sums of sums round less */
    SUM_BLOCKS = 64 / LANES,
    LEAST_TILES = 16, /* tiles of an image; fewer would not pay for the larger weights */
    MANY_COLUMNS = 8, /* the transforms take about a twelfth of their products' time */
};

/* The tiles that a product computes at once, with two blocks of channels and with one. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { GROUP = 8, SINGLE_GROUP = 16 };
#else
enum { GROUP = 4, SINGLE_GROUP = 8 };
#endif

struct winograd {
    struct shape from, to;
    size_t tiles_x, tiles; /* tiles of a row, and of an image */
    size_t in_blocks, out_blocks, columns;
    size_t chunk_floats; /* of a thread's transformed tiles and sums */
    /* in the prepared memory: */
    float *bias;    /* [out_blocks][lane] */
    float *weights; /* [column][value][input channel][block of the column][lane] */
    /* set for each call: */
    const struct kernel_call *call;
    struct blocked in, out;
    struct epilogue epilogue;
    size_t tile_chunks, column_chunks; /* how an image is divided */
};

static struct winograd winograd_of(const struct kernel_site *site, struct carve *carve)
{
    struct winograd w = {.from = site->inputs[0], .to = site->node->output};
    w.tiles_x = divide_up(w.to.width, RESULTS);
    w.tiles = w.tiles_x * divide_up(w.to.height, RESULTS);
    w.in_blocks = divide_up(w.from.channels, LANES);
    w.out_blocks = divide_up(w.to.channels, LANES);
    w.columns = divide_up(w.out_blocks, PAIR);
    w.chunk_floats = (w.in_blocks + PAIR) * VALUES * CHUNK * LANES;
    carve_bytes(carve, sizeof w);
    w.bias = carve_floats(carve, w.out_blocks * LANES);
    w.weights = carve_floats(carve, w.out_blocks * LANES * VALUES * w.in_blocks * LANES);
    return w;
}

static size_t column_blocks(const struct winograd *w, size_t column)
{
    return min_size(PAIR, w->out_blocks - column * PAIR);
}

static float *weights_of(const struct winograd *w, size_t column)
{
    return w->weights + column * PAIR * LANES * VALUES * w->in_blocks * LANES;
}

/* --- weights --- */

/* Writes G w G^T, scaled; `from` has the window, `to` takes a value each `stride` floats. */
static void transform_weights(const float *from, float scale, float *to, size_t stride)
{
    static const double g[SIZE][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    for (size_t i = 0; i < SIZE; i++)
        for (size_t j = 0; j < SIZE; j++) {
            double sum = 0;
            for (size_t y = 0; y < 3; y++)
                for (size_t x = 0; x < 3; x++)
                    sum += g[i][y] * g[j][x] * from[y * 3 + x];
            to[(i * SIZE + j) * stride] = (float)(sum * scale);
        }
}

/* Prepares the weights and biases of one block of output channels. */
static void prepare_task(void *context, size_t block, size_t thread)
{
    (void)thread;
    const struct winograd *w = context;
    const struct kernel_call *call = w->call;
    const size_t column = block / PAIR, width = column_blocks(w, column) * LANES;
    const size_t inputs = w->from.channels, stride = w->in_blocks * LANES * width;
    for (size_t lane = 0; lane < LANES; lane++) {
        const size_t channel = block * LANES + lane;
        float *to = weights_of(w, column) + block % PAIR * LANES + lane;
        w->bias[channel] = 0;
        for (size_t k = 0; k < VALUES * w->in_blocks * LANES; k++)
            to[k * width] = 0;
        if (channel >= w->to.channels)
            continue;
        const float bias =
            call->site->node->attributes.conv.bias ? call->parameters[1][channel] : 0;
        const struct affine affine = KERNEL(blocked_affine)(call, channel, bias);
        w->bias[channel] = affine.shift;
        for (size_t i = 0; i < inputs; i++)
            transform_weights(call->parameters[0] + (channel * inputs + i) * 9, affine.scale,
                              to + i * width, stride);
    }
}

/* --- tiles --- */

/* A chunk of the tiles of an image, and a thread's memory for it. */
struct chunk {
    size_t image, first, count; /* tiles */
    float *inputs;              /* [value][block][CHUNK][lane]: B^T x B */
    float *sums;                /* [value][block of the column][CHUNK][lane] */
};

static inline __attribute__((always_inline)) void transform_input(vector *d, size_t step)
{
    const vector a = d[0] - d[2 * step], b = d[step] + d[2 * step];
    const vector c = d[2 * step] - d[step], e = d[step] - d[3 * step];
    d[0] = a;
    d[step] = b;
    d[2 * step] = c;
    d[3 * step] = e;
}

/* The position of a tile, in tiles. */
struct tile {
    size_t y, x;
};

static inline struct tile first_tile(const struct winograd *w, const struct chunk *chunk)
{
    return (struct tile){chunk->first / w->tiles_x, chunk->first % w->tiles_x};
}

static inline void next_tile(const struct winograd *w, struct tile *tile)
{
    if (++tile->x == w->tiles_x)
        *tile = (struct tile){.y = tile->y + 1};
}

/* Writes B^T x B of all tiles of a chunk, for one block of input channels. */
static void transform_block(const struct winograd *w, const struct chunk *chunk, size_t block)
{
    const size_t row = w->in.row, stride = w->in_blocks * CHUNK * LANES;
    const float *plane = blocked_at(&w->in, chunk->image, block, 0) - row - LANES;
    float *to = chunk->inputs + block * CHUNK * LANES;
    struct tile tile = first_tile(w, chunk);
    for (size_t t = 0; t < chunk->count; t++, to += LANES, next_tile(w, &tile)) {
        const float *from = plane + RESULTS * (tile.y * row + tile.x * LANES);
        vector d[VALUES];
#pragma GCC unroll 16
        for (size_t i = 0; i < VALUES; i++)
            d[i] = vector_load(from + i / SIZE * row + i % SIZE * LANES);
#pragma GCC unroll 4
        for (size_t i = 0; i < SIZE; i++)
            transform_input(d + i, SIZE);
#pragma GCC unroll 4
        for (size_t i = 0; i < SIZE; i++)
            transform_input(d + SIZE * i, 1);
#pragma GCC unroll 16
        for (size_t i = 0; i < VALUES; i++)
            vector_store(to + i * stride, d[i]);
    }
}

/* The operands and sums of a group of tiles and a column, for one of the 16 transformed values. */
struct product {
    const float *inputs, *weights;
    float *sums;
    const float *next;    /* the weights of the next product, which are prefetched */
    size_t next_of_block; /* floats of `next` that each block of input channels prefetches */
};

/* Fetches weights into the level-2 cache: the level-1 cache may be too small for the weights of two
 * products. The processor ignores addresses behind the end of the memory. */
static inline void prefetch(const float *from, size_t floats)
{
    enum {
        FOR_READING = 0,
        INTO_LEVEL_2 = 2
    }; /* constants, as the built-in requires, even without optimization */
    for (size_t i = 0; i < floats; i += LINE)
        __builtin_prefetch(from + i, FOR_READING, INTO_LEVEL_2);
}

/* Adds the products of input blocks [begin, end) to the sums of a group of tiles; if `begin` is 0,
 * the sums start at 0. */
static inline __attribute__((always_inline)) void
multiply(const struct product *p, size_t begin, size_t end, const int group, const int blocks)
{
    vector sum[SINGLE_GROUP][PAIR];
#pragma GCC unroll 16
    for (int t = 0; t < group; t++)
#pragma GCC unroll 2
        for (int v = 0; v < blocks; v++)
            sum[t][v] = (vector){0};
    for (size_t block = begin; block < end; block++) {
        prefetch(p->next + block * p->next_of_block, p->next_of_block);
        for (size_t lane = 0; lane < LANES; lane++) {
            const float *from = p->inputs + block * CHUNK * LANES + lane;
            const float *row = p->weights + (block * LANES + lane) * (size_t)blocks * LANES;
            vector weight[PAIR];
#pragma GCC unroll 2
            for (int v = 0; v < blocks; v++)
                weight[v] = vector_load(row + v * LANES);
#pragma GCC unroll 16
            for (int t = 0; t < group; t++)
#pragma GCC unroll 2
                for (int v = 0; v < blocks; v++)
                    sum[t][v] += weight[v] * from[t * LANES];
        }
    }
#pragma GCC unroll 16
    for (int t = 0; t < group; t++)
#pragma GCC unroll 2
        for (int v = 0; v < blocks; v++) {
            float *to = p->sums + ((size_t)v * CHUNK + (size_t)t) * LANES;
            vector_store(to, begin == 0 ? sum[t][v] : vector_load(to) + sum[t][v]);
        }
}

/* Computes the sums of a column for all tiles and values. Tiles behind the last one of the chunk
 * are computed too, from undefined values, and not used. Each group of tiles prefetches a part of
 * the weights of the next value or, after the last value, of column `next`. */
static inline __attribute__((always_inline)) void multiply_chunk(const struct winograd *w,
                                                                 const struct chunk *chunk,
                                                                 size_t column, size_t next,
                                                                 const int group, const int blocks)
{
    const size_t width = (size_t)blocks * LANES, groups = divide_up(chunk->count, (size_t)group);
    const size_t next_of_block = round_up(LANES * width / groups, LINE);
    const float *weights = weights_of(w, column), *inputs = chunk->inputs;
    float *sums = chunk->sums;
    for (size_t value = 0; value < VALUES; value++) {
        const float *following =
            value + 1 < VALUES ? weights + w->in_blocks * LANES * width : weights_of(w, next);
        for (size_t g = 0; g < groups; g++) {
            const size_t tiles = g * (size_t)group * LANES;
            const struct product product = {.inputs = inputs + tiles,
                                            .weights = weights,
                                            .sums = sums + tiles,
                                            .next = following + g * w->in_blocks * next_of_block,
                                            .next_of_block = next_of_block};
            for (size_t block = 0; block < w->in_blocks; block += SUM_BLOCKS)
                multiply(&product, block, min_size(block + SUM_BLOCKS, w->in_blocks), group,
                         blocks);
        }
        weights = following;
        inputs += w->in_blocks * CHUNK * LANES;
        sums += CHUNK * width;
    }
}

/* Stores the results of a tile, as many rows and columns as the plane has there. */
static inline __attribute__((always_inline)) void
store_tile(const struct winograd *w, const vector results[RESULTS][RESULTS], float *to,
           const float *summand, const size_t rows, const size_t columns)
{
    const struct epilogue epilogue = w->epilogue;
    const size_t out_row = w->out.row, summand_row = epilogue.summand.row;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            const float *add = summand ? summand + i * summand_row + j * LANES : NULL;
            vector_store(to + i * out_row + j * LANES,
                         epilogue_apply(&epilogue, results[i][j], add));
        }
}

/* Stores A^T m A of the tiles of a chunk for one block of output channels. */
static void store_block(const struct winograd *w, const struct chunk *chunk, size_t block,
                        const float *sums, size_t stride)
{
    const vector bias = vector_load(w->bias + block * LANES);
    const struct blocked *summand = &w->epilogue.summand;
    float *plane = blocked_at(&w->out, chunk->image, block, 0);
    const float *other = summand->values ? blocked_at(summand, chunk->image, block, 0) : NULL;
    struct tile tile = first_tile(w, chunk);
    for (size_t t = 0; t < chunk->count; t++, sums += LANES, next_tile(w, &tile)) {
        const size_t y = RESULTS * tile.y, x = RESULTS * tile.x;
        vector half[RESULTS][SIZE], results[RESULTS][RESULTS];
#pragma GCC unroll 4
        for (size_t j = 0; j < SIZE; j++) {
            const vector a = vector_load(sums + j * stride);
            const vector b = vector_load(sums + (SIZE + j) * stride);
            const vector c = vector_load(sums + (2 * SIZE + j) * stride);
            const vector d = vector_load(sums + (3 * SIZE + j) * stride);
            half[0][j] = a + b + c;
            half[1][j] = b - c - d;
        }
#pragma GCC unroll 2
        for (size_t i = 0; i < RESULTS; i++) {
            results[i][0] = half[i][0] + half[i][1] + half[i][2] + bias;
            results[i][1] = half[i][1] - half[i][2] - half[i][3] + bias;
        }
        float *to = plane + y * w->out.row + x * LANES;
        const float *add = other ? other + y * summand->row + x * LANES : NULL;
        const size_t rows = min_size(RESULTS, w->to.height - y);
        const size_t columns = min_size(RESULTS, w->to.width - x);
        if (rows == RESULTS && columns == RESULTS)
            store_tile(w, results, to, add, RESULTS, RESULTS);
        else
            store_tile(w, results, to, add, rows, columns);
    }
}

/* --- tasks --- */

static void compute_column(const struct winograd *w, const struct chunk *chunk, size_t column,
                           size_t next)
{
    const size_t blocks = column_blocks(w, column);
    if (blocks == PAIR)
        multiply_chunk(w, chunk, column, next, GROUP, PAIR);
    else
        multiply_chunk(w, chunk, column, next, SINGLE_GROUP, 1);
    for (size_t b = 0; b < blocks; b++)
        store_block(w, chunk, column * PAIR + b, chunk->sums + b * CHUNK * LANES,
                    blocks * CHUNK * LANES);
}

/* Computes columns [begin, end) of a chunk; the next chunk begins with column `begin` again. */
static void compute_chunk(const struct winograd *w, const struct chunk *chunk, size_t begin,
                          size_t end)
{
    for (size_t block = 0; block < w->in_blocks; block++)
        transform_block(w, chunk, block);
    for (size_t column = begin; column < end; column++)
        compute_column(w, chunk, column, column + 1 < end ? column + 1 : begin);
}

/* Sets the tiles of chunk `number` of `chunks`, into which `tiles` tiles from `first` on are
 * divided. A product computes a whole group, so only the last chunk has a part of one. */
static void set_tiles(struct chunk *chunk, size_t first, size_t tiles, size_t chunks, size_t number)
{
    const size_t groups = divide_up(tiles, GROUP);
    const size_t begin = chunk_begin(groups, chunks, number) * GROUP;
    const size_t end = min_size(chunk_begin(groups, chunks, number + 1) * GROUP, tiles);
    chunk->first = first + begin;
    chunk->count = end - begin;
}

/* Returns a chunk of no tiles in the memory of a thread. */
static struct chunk chunk_of(const struct winograd *w, size_t image, size_t thread)
{
    float *inputs = (float *)w->call->workspace + thread * w->chunk_floats;
    return (struct chunk){
        .image = image, .inputs = inputs, .sums = inputs + w->in_blocks * VALUES * CHUNK * LANES};
}

static void winograd_task(void *context, size_t task, size_t thread)
{
    const struct winograd *w = context;
    const uint64_t start = profile_start(w->call->profile);
    const size_t per_image = w->tile_chunks * w->column_chunks, number = task % w->tile_chunks;
    const size_t column_chunk = task % per_image / w->tile_chunks;
    const size_t begin = chunk_begin(w->columns, w->column_chunks, column_chunk);
    const size_t end = chunk_begin(w->columns, w->column_chunks, column_chunk + 1);
    struct chunk chunk = chunk_of(w, task / per_image, thread);
    set_tiles(&chunk, 0, w->tiles, w->tile_chunks, number);
    compute_chunk(w, &chunk, begin, end);
    for (size_t block = begin * PAIR; number == 0 && block < min_size(end * PAIR, w->out_blocks);
         block++)
        blocked_pad(&w->out, chunk.image, block, 0, w->to.height);
    profile_add_gemm(w->call->profile, thread, GEMM_NN,
                     min_size(end * PAIR * LANES, w->to.channels) - begin * PAIR * LANES,
                     chunk.count * VALUES, w->from.channels, start);
}

/* --- the kernel --- */

static bool supports_winograd(const struct kernel_site *site, const char **reason)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    const struct window *window = &conv->window;
    struct carve carve = {0};
    if (!KERNEL(blocked_supports)(site, reason))
        return false;
    *reason = N_("a dilation");
    if (conv_is_dilated(conv))
        return false;
    *reason = N_("a window other than 3x3, or a stride");
    if (window->kernel_height != 3 || window->kernel_width != 3 || window->stride_height != 1 ||
        window->stride_width != 1 || window->pad_height != 1 || window->pad_width != 1)
        return false;
    *reason = N_("groups");
    if (conv->groups > 1)
        return false;
    *reason = N_("few channels");
    if (site->inputs[0].channels < LANES || site->node->output.channels < LANES)
        return false;
    *reason = N_("a small image");
    return winograd_of(site, &carve).tiles >= LEAST_TILES;
}

static size_t prepared_winograd(const struct kernel_site *site)
{
    struct carve carve = {0};
    winograd_of(site, &carve);
    return carve.used;
}

static void prepare_winograd(const struct kernel_call *call)
{
    struct carve carve = {.base = call->prepared};
    struct winograd w = winograd_of(call->site, &carve);
    w.call = call;
    run_tasks(call, w.out_blocks, prepare_task, &w);
    memcpy(call->prepared, &w, sizeof w);
}

static size_t workspace_winograd(const struct kernel_site *site)
{
    struct carve carve = {0};
    return winograd_of(site, &carve).chunk_floats * site->threads * sizeof(float);
}

/* Counts the products, and the additions of both transforms: 32 and 24 of a tile and channel. */
static uint64_t flops_winograd(const struct kernel_site *site)
{
    struct carve carve = {0};
    const struct winograd w = winograd_of(site, &carve);
    const uint64_t inputs = w.from.channels, outputs = w.to.channels;
    return w.tiles * (2 * VALUES * inputs * outputs + 32 * inputs + 24 * outputs);
}

/* Returns the time of the products and transforms of one image. Every chunk reads all weights. */
static double seconds_winograd(const struct kernel_site *site)
{
    struct carve carve = {0};
    const double *figures = site->machine->seconds;
    const struct winograd w = winograd_of(site, &carve);
    const size_t chunks = divide_up(w.tiles, CHUNK), inputs = w.in_blocks * LANES;
    const size_t pairs = w.out_blocks / PAIR, singles = w.out_blocks % PAIR;
    double product = 0;
    for (size_t i = 0; i < chunks; i++) {
        struct chunk chunk;
        set_tiles(&chunk, 0, w.tiles, chunks, i);
        product +=
            (double)(pairs * PAIR * round_up(chunk.count, GROUP)) * figures[MACHINE_PRODUCT_2] +
            (double)(singles * round_up(chunk.count, SINGLE_GROUP)) * figures[MACHINE_PRODUCT_1];
    }
    const double weights = (double)(VALUES * inputs * w.out_blocks * LANES * sizeof(float));
    const double reading = machine_reading(site->machine, weights) * (double)chunks;
    const double transforms = (double)(w.tiles * (w.in_blocks + w.out_blocks));
    return fmax(product * (double)(VALUES * inputs), reading) +
           transforms * figures[MACHINE_TRANSFORM];
}

/* Returns the padding of the input: tiles at the lower and the right edge of an odd size read one
 * position more. */
static size_t pad_winograd(const struct kernel_site *site)
{
    const struct shape out = site->node->output;
    return 1 + (out.height % RESULTS || out.width % RESULTS);
}

/* Returns into how many tasks an image is divided, so that there are enough for all threads. */
static size_t tasks_of_image(const struct winograd *w, const struct kernel_site *site, size_t batch,
                             size_t threads)
{
    const size_t work = batch * w->tiles * VALUES * w->from.channels * w->out_blocks;
    return divide_up(tasks_wanted_of(site, threads, MACHINE_PRODUCT_2, work), batch);
}

/* Returns whether a level-2 cache may be too small for the weights beside a chunk. */
static bool has_large_weights(const struct winograd *w)
{
    return w->in_blocks * w->out_blocks * VALUES * LANES * LANES * sizeof(float) >
           MACHINE_CACHE_BYTES / 2;
}

/* Divides each image into chunks of tiles and of columns, for about `wanted` tasks of an image.
 * More chunks of tiles than are needed (CHUNK) would read large weights more often: then each
 * thread gets a chunk of columns. */
static void share_out(struct winograd *w, size_t wanted, size_t batch, size_t threads)
{
    const size_t least = divide_up(w->tiles, CHUNK), groups = divide_up(w->tiles, GROUP);
    const size_t sharers = min_size(wanted, divide_up(threads, batch)); /* threads of an image */
    if (has_large_weights(w) && least < wanted) {
        w->column_chunks = min_size(w->columns, sharers);
        w->tile_chunks = min_size(groups, max_size(least, divide_up(sharers, w->column_chunks)));
        return;
    }
    w->tile_chunks = least > 1 ? min_size(groups, round_up(max_size(least, wanted), sharers)) : 1;
    const size_t most_chunks =
        max_size(divide_up(sharers, w->tile_chunks), w->columns / MANY_COLUMNS);
    w->column_chunks =
        min_size(min_size(w->columns, most_chunks), divide_up(wanted, w->tile_chunks));
}

/* Sets *w to the prepared convolution with the arrays of the call. */
static inline void set_inference(struct winograd *w, const struct kernel_call *call)
{
    memcpy(w, call->prepared, sizeof *w);
    w->call = call;
    w->in = blocked_input(call, 0);
    w->out = blocked_output(call);
    w->epilogue = epilogue_of(call);
}

static void infer_winograd(const struct kernel_call *call)
{
    struct winograd w;
    set_inference(&w, call);
    const size_t batch = call->site->batch, threads = pool_threads(call->pool);
    share_out(&w, tasks_of_image(&w, call->site, batch, threads), batch, threads);
    run_tasks(call, batch * w.tile_chunks * w.column_chunks, winograd_task, &w);
}

/* Computes some rows of an image. They begin with a row of tiles, since their number is even. */
static void infer_winograd_rows(const struct kernel_call *call, const struct kernel_rows *rows,
                                size_t thread)
{
    struct winograd w;
    set_inference(&w, call);
    struct chunk chunk = chunk_of(&w, rows->image, thread);
    const size_t first = rows->begin / RESULTS * w.tiles_x;
    const size_t tiles = divide_up(rows->end, RESULTS) * w.tiles_x - first;
    const size_t chunks = divide_up(tiles, CHUNK);
    for (size_t i = 0; i < chunks; i++) {
        set_tiles(&chunk, first, tiles, chunks, i);
        compute_chunk(&w, &chunk, 0, w.columns);
    }
    for (size_t block = 0; block < w.out_blocks; block++)
        blocked_pad(&w.out, rows->image, block, rows->begin, rows->end);
}

static size_t row_blocks_winograd(const struct kernel_site *site)
{
    struct carve carve = {0};
    struct winograd w = winograd_of(site, &carve);
    const size_t wanted = tasks_of_image(&w, site, site->batch, site->threads);
    share_out(&w, wanted, site->batch, site->threads);
    return w.column_chunks > 1 ? 0 : min_size(wanted, divide_up(w.to.height, RESULTS));
}

const struct kernel KERNEL(conv_winograd) = {
    .name = "conv winograd",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BLOCKED | KERNEL_FUSES_EPILOGUE | KERNEL_FUSES_NORMS,
    .supports = supports_winograd,
    .input_pad = pad_winograd,
    .workspace_bytes = workspace_winograd,
    .prepared_bytes = prepared_winograd,
    .prepare = prepare_winograd,
    .flops = flops_winograd,
    .seconds = seconds_winograd,
    .forward = infer_winograd,
    .forward_rows = infer_winograd_rows,
    .row_blocks = row_blocks_winograd,
};
