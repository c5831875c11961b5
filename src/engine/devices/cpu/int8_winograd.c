/* Convolution of integers with a window of 3x3 and stride 1 by Winograd's minimal filtering
 * F(2x2, 3x3) (blocked_winograd.c has it in float32; Lavin & Gray 2016), which here is exact:
 *
 *   4 y = A^T ((2G w (2G)^T) . (B^T x B)) A
 *
 * 2G has integers alone, so that transformed weights are integers below 9 * 127, transformed values
 * integers of up to 4 * 255, and their products those of vpmaddwd (int8.h). The transformed result
 * is 4 times the sum of the direct convolution, to the last bit, and is below 2^31 for
 * MOST_CHANNELS; carries that are lost before cancel. A result takes 4 products per input channel
 * instead of 9.
 *
 * A task goes through some tiles of 2x2 results in chunks, whose transformed values and sums stay
 * in the level-2 cache, and computes some columns (blocks of output channels) for them. */
#include "engine/devices/cpu/int8_conv.h"

#include "base/language.h"
#include "engine/devices/cpu/int8_results.h"
#include "engine/devices/cpu/int8_tiles.h"
#include "engine/graph/machine_model.h"

enum {
    SIZE = 4, /* of a transformed tile, along each axis */
    VALUES = SIZE * SIZE,
    CHUNK = 24, /* tiles */
    MOST_CHANNELS = 1024,
    LEAST_CHANNELS = 16, /* fewer would not pay for the transformations */
    LEAST_TILES = 9,     /* of an image: fewer would not pay for the larger weights */
};

typedef int16_t words __attribute__((vector_size(2 * INT8_BLOCK)));
typedef words words_in_memory __attribute__((aligned(1), may_alias));
typedef uint32_t carries __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef sums tile_sums[TILE_BLOCKS * BLOCK_VECTORS];

struct winograd {
    struct int8_conv c; /* the product of one transformed value: a convolution of one position */
    struct shape in, out;
    size_t pad_height, pad_width;
    size_t tiles_x, tiles; /* of a row, and of an image */
    size_t in_blocks, columns;
    size_t values_bytes, buffer_bytes; /* of a thread: transformed values, and all */
};

static struct winograd winograd_of(const struct kernel_site *site)
{
    const struct window *window = &site->node->attributes.conv.window;
    struct winograd w = {.in = site->inputs[0],
                         .out = site->node->output,
                         .pad_height = window->pad_height,
                         .pad_width = window->pad_width};
    w.tiles_x = divide_up(w.out.width, 2);
    w.tiles = w.tiles_x * divide_up(w.out.height, 2);
    w.in_blocks = int8_blocks(w.in.channels);
    w.columns = int8_blocks(w.out.channels);
    w.c.w.kernel_height = w.c.row_runs = 1;
    w.c.run_terms = w.c.terms = w.in_blocks * INT8_BLOCK / TERM_FACTORS;
    w.values_bytes = VALUES * CHUNK * w.in_blocks * INT8_BLOCK * sizeof(factor);
    w.buffer_bytes = w.values_bytes + VALUES * CHUNK * sizeof(tile_sums);
    return w;
}

static size_t winograd_workspace(const struct kernel_site *site)
{
    const struct winograd w = winograd_of(site);
    return max_size(1, site->threads) * w.buffer_bytes;
}

/* --- weights: [value][column][term][lane][factor] --- */

static size_t weights_bytes(const struct winograd *w)
{
    return VALUES * w->columns * int8_conv_column_weights(&w->c) * sizeof(term_weight);
}

static size_t winograd_prepared(const struct kernel_site *site)
{
    const struct winograd w = winograd_of(site);
    return weights_bytes(&w) +
           w.columns * (sizeof(struct int8_column) + round_up(9 * w.in.channels, 64));
}

static struct int8_column *columns_of(const struct kernel_call *call, const struct winograd *w)
{
    return (struct int8_column *)((char *)call->prepared + weights_bytes(w));
}

static term_weight *weights_of(const struct kernel_call *call, const struct winograd *w,
                               size_t value, size_t column)
{
    return (term_weight *)call->prepared +
           (value * w->columns + column) * int8_conv_column_weights(&w->c);
}

/* Returns value (i, j) of 2G w (2G)^T. */
static term_weight transformed_weight(const int8_t *window, size_t i, size_t j)
{
    static const int g[SIZE][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
    int sum = 0;
    for (size_t y = 0; y < 3; y++)
        for (size_t x = 0; x < 3; x++)
            sum += g[i][y] * g[j][x] * window[y * 3 + x];
    return (term_weight)sum;
}

struct preparation {
    const struct kernel_call *call;
    struct winograd w;
    struct int8_layer layer;
};

static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct preparation *p = context;
    const struct winograd *w = &p->w;
    struct int8_column *column = columns_of(p->call, w) + task;
    int8_t *windows =
        (int8_t *)(columns_of(p->call, w) + w->columns) + task * round_up(9 * w->in.channels, 64);
    memset(column, 0, sizeof *column);
    for (size_t v = 0; v < VALUES; v++)
        memset(weights_of(p->call, w, v, task), 0,
               int8_conv_column_weights(&w->c) * sizeof(term_weight));
    for (size_t lane = 0; lane < INT8_BLOCK; lane++) {
        const size_t o = task * INT8_BLOCK + lane;
        struct int8_output output;
        if (o < p->layer.outputs) {
            int8_layer_weights(&p->layer, o, windows);
            output = int8_layer_output(&p->layer, o, windows);
            for (size_t i = 0; i < w->in.channels; i++)
                for (size_t v = 0; v < VALUES; v++)
                    weights_of(p->call, w, v,
                               task)[(i / TERM_FACTORS * INT8_BLOCK + lane) * TERM_FACTORS +
                                     i % TERM_FACTORS] =
                        transformed_weight(windows + 9 * i, v / SIZE, v % SIZE);
        }
        int8_column_set(column, lane, o < p->layer.outputs ? &output : NULL);
    }
}

static void prepare_winograd(const struct kernel_call *call)
{
    const struct preparation p = {call, winograd_of(call->site), int8_layer_of(call)};
    run_tasks(call, p.w.columns, prepare_task, &p);
}

/* --- transformed values --- */

struct job {
    const struct kernel_call *call;
    struct winograd w;
    struct int8_array in;
    struct int8_results results;
    words padding; /* the zero of the input */
    size_t tile_chunks, column_chunks;
};

/* Widens the integers of a block. (A function that returned them would not be portable.) */
static inline void words_load(words *to, const uint8_t *from)
{
#if defined(__AVX2__)
    *to = (words)_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from));
#else
    for (size_t i = 0; i < INT8_BLOCK; i++)
        (*to)[i] = from[i];
#endif
}

/* Multiplies four values that lie `step` apart by B^T. */
static inline void transform_four(words *x, size_t step)
{
    const words a = x[0] - x[2 * step], b = x[step] + x[2 * step];
    const words c = x[2 * step] - x[step], d = x[step] - x[3 * step];
    x[0] = a;
    x[step] = b;
    x[2 * step] = c;
    x[3 * step] = d;
}

/* Transforms one block of channels of a tile, and writes its values `value_step` factors apart. */
static void transform_block(const struct job *job, const uint8_t *plane, size_t tile, factor *to,
                            size_t value_step)
{
    const struct winograd *w = &job->w;
    const size_t top = tile / w->tiles_x * 2, left = tile % w->tiles_x * 2;
    words x[VALUES];
#pragma GCC unroll 4
    for (size_t i = 0; i < SIZE; i++)
#pragma GCC unroll 4
        for (size_t k = 0; k < SIZE; k++) {
            const size_t iy = top + i - w->pad_height, ix = left + k - w->pad_width;
            if (iy < w->in.height && ix < w->in.width) /* those before 0 are large numbers */
                words_load(&x[i * SIZE + k], plane + (iy * w->in.width + ix) * INT8_BLOCK);
            else
                x[i * SIZE + k] = job->padding;
        }
#pragma GCC unroll 4
    for (size_t k = 0; k < SIZE; k++)
        transform_four(x + k, SIZE);
#pragma GCC unroll 4
    for (size_t i = 0; i < SIZE; i++)
        transform_four(x + i * SIZE, 1);
#pragma GCC unroll 16
    for (size_t v = 0; v < VALUES; v++)
        *(words_in_memory *)(to + v * value_step) = x[v];
}

/* --- results --- */

/* Multiplies four sums that lie `step` apart by A^T, which gives two. */
static inline void combine(carries *x, size_t step)
{
    const carries a = x[0] + x[step] + x[2 * step], b = x[step] - x[2 * step] - x[3 * step];
    x[0] = a;
    x[step] = b;
}

/* Stores the results of one tile for one column; `from` has the sums of the first value, the others
 * follow CHUNK tiles apart. */
static void store_tile(const struct job *job, size_t image, size_t column, size_t tile,
                       const tile_sums *from, size_t block)
{
    const struct winograd *w = &job->w;
    const size_t top = tile / w->tiles_x * 2, left = tile % w->tiles_x * 2;
    sums results[4][BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        carries x[VALUES];
#pragma GCC unroll 16
        for (size_t i = 0; i < VALUES; i++)
            x[i] = (carries)from[i * CHUNK][block * BLOCK_VECTORS + v];
#pragma GCC unroll 4
        for (size_t k = 0; k < SIZE; k++)
            combine(x + k, SIZE);
        combine(x, 1);
        combine(x + SIZE, 1);
        for (size_t r = 0; r < 4; r++)
            results[r][v] = (sums)x[r / 2 * SIZE + r % 2] >> 2;
    }
    for (size_t y = 0; y < 2 && top + y < w->out.height; y++) {
        const struct int8_place place =
            int8_place_of(&job->results, image, column, (top + y) * w->out.width + left);
        int8_store(&job->results, &place, min_size(2, w->out.width - left), results[2 * y],
                   BLOCK_VECTORS);
    }
}

/* --- tasks --- */

static void transform_chunk(const struct job *job, size_t image, size_t first, size_t count,
                            factor *values)
{
    const struct winograd *w = &job->w;
    const size_t channels = w->in_blocks * INT8_BLOCK;
    for (size_t t = 0; t < count; t++)
        for (size_t b = 0; b < w->in_blocks; b++)
            transform_block(job, job->in.values + image * job->in.image + b * job->in.plane,
                            first + t, values + t * channels + b * INT8_BLOCK, CHUNK * channels);
}

/* Computes `blocks` columns for a chunk of tiles. */
static void compute_columns(const struct job *job, size_t image, size_t first, size_t count,
                            size_t column, size_t blocks, const factor *values, tile_sums *to)
{
    const struct winograd *w = &job->w;
    const size_t channels = w->in_blocks * INT8_BLOCK;
    for (size_t v = 0; v < VALUES; v++)
        for (size_t t = 0; t < count; t += TILE_POSITIONS) {
            const size_t positions = min_size(TILE_POSITIONS, count - t);
            const factor *at[TILE_POSITIONS];
            for (size_t p = 0; p < positions; p++)
                at[p] = values + (v * CHUNK + t + p) * channels;
            tile_functions[blocks - 1][positions - 1](
                &w->c, at, weights_of(job->call, w, v, column), to + v * CHUNK + t);
        }
    for (size_t t = 0; t < count; t++)
        for (size_t b = 0; b < blocks; b++)
            store_tile(job, image, column + b, first + t, (const tile_sums *)(to + t), b);
}

static void winograd_task(void *context, size_t task, size_t thread)
{
    const struct job *job = context;
    const struct winograd *w = &job->w;
    const size_t tiles = job->call->site->batch * w->tiles;
    const size_t tile_chunk = task / job->column_chunks, column_chunk = task % job->column_chunks;
    const size_t last = chunk_begin(tiles, job->tile_chunks, tile_chunk + 1);
    const size_t first_column = chunk_begin(w->columns, job->column_chunks, column_chunk);
    const size_t last_column = chunk_begin(w->columns, job->column_chunks, column_chunk + 1);
    char *buffer = (char *)job->call->workspace + thread * w->buffer_bytes;
    for (size_t tile = chunk_begin(tiles, job->tile_chunks, tile_chunk), count; tile < last;
         tile += count) {
        const size_t image = tile / w->tiles, first = tile % w->tiles;
        count = min_size(CHUNK, min_size(last - tile, w->tiles - first));
        transform_chunk(job, image, first, count, (factor *)buffer);
        for (size_t column = first_column, blocks; column < last_column; column += blocks) {
            blocks = min_size(TILE_BLOCKS, last_column - column);
            compute_columns(job, image, first, count, column, blocks, (const factor *)buffer,
                            (tile_sums *)(buffer + w->values_bytes));
        }
    }
}

static void forward_winograd(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct job job = {.call = call, .w = winograd_of(site), .in = int8_input(call, 0)};
    const struct winograd *w = &job.w;
    job.results = int8_results_of(call, columns_of(call, w));
    job.padding = (int16_t)site->quantizations[0].zero_point - (words){0};
    const size_t tiles = site->batch * w->tiles;
    const size_t wanted = machine_tasks(site->machine, MACHINE_CONV_2,
                                        tiles * VALUES * w->columns * w->c.terms * BLOCK_VECTORS,
                                        pool_threads(call->pool));
    /* threads share tiles or, where there are more weights than values, columns */
    const bool by_columns = w->columns > tiles;
    job.column_chunks = by_columns ? min_size(wanted, divide_up(w->columns, TILE_BLOCKS)) : 1;
    job.tile_chunks =
        min_size(divide_up(tiles, TILE_POSITIONS), divide_up(wanted, job.column_chunks));
    run_tasks(call, job.tile_chunks * job.column_chunks, winograd_task, &job);
}

static bool supports_winograd(const struct kernel_site *site, const char **reason)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    const struct window *window = &conv->window;
    if (!supports_int8(site, reason))
        return false;
    if (window->kernel_height != 3 || window->kernel_width != 3 || window->stride_height != 1 ||
        window->stride_width != 1 || conv_is_dilated(conv)) {
        *reason = N_("only a 3x3 window with stride 1");
        return false;
    }
    *reason = N_("an output of few positions");
    if (divide_up(site->node->output.height, 2) * divide_up(site->node->output.width, 2) <
        LEAST_TILES)
        return false;
    *reason = N_("groups, or too few or too many channels");
    return conv->groups == 1 && site->inputs[0].channels >= LEAST_CHANNELS &&
           site->inputs[0].channels <= MOST_CHANNELS;
}

extern const struct kernel KERNEL(conv_winograd_int8);
const struct kernel KERNEL(conv_winograd_int8) = {
    .name = "conv winograd int8",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_INT8 | KERNEL_BLOCKED | KERNEL_FUSES_EPILOGUE,
    .supports = supports_winograd,
    .workspace_bytes = winograd_workspace,
    .prepared_bytes = winograd_prepared,
    .prepare = prepare_winograd,
    .forward = forward_winograd,
};
