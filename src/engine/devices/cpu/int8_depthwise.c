/* Depthwise convolution of integers (int8.h): every output channel has a window of its own over one
 * input channel, so that there are no terms of neighbouring channels. Instead two rows of the
 * window are multiplied at once.
 *
 * A task computes some rows of some blocks of output channels, strip by strip. For a strip it
 * fills a buffer of its thread, [row][position][channel][2], where the integers of a row of the
 * source, widened to 16 bits, are beside those of the next row under the window. So an element of
 * the buffer is a term (int8.h), and the sums of a tile of neighbouring positions stay in registers
 * while the weights go by. In a window of odd height the last pair has a weight of 0.
 *
 * Where an input channel has several outputs, the buffer has a copy of it for each. */
#include "engine/devices/cpu/int8.h"

#include "base/language.h"
#include "engine/devices/cpu/int8_gather.h"
#include "engine/devices/cpu/int8_results.h"
#include "engine/graph/machine_model.h"

enum {
    BUFFER_BYTES = 24 * 1024,   /* of a strip: less than the level-1 cache */
    LEAST_ROWS = 4,             /* of a strip, or too many rows are widened twice */
    TERM_BLOCK = 2 * INT8_BLOCK /* values of a position of the buffer */
};

#if defined(__AVX512F__)
enum { POSITIONS = 8 };
#elif defined(__AVX2__)
enum { POSITIONS = 6 };
#else
enum { POSITIONS = 2 };
#endif

struct depthwise {
    struct shape in, out;
    struct window w;
    size_t dilation_height, dilation_width;
    size_t multiplier; /* outputs of an input channel */
    size_t blocks;
    size_t pairs;         /* of the window's rows */
    size_t row_step;      /* rows of the source from one row of the buffer to the next */
    size_t pair_rows;     /* rows of the buffer from one pair to the next */
    size_t row_positions; /* positions of a row of the buffer */
    size_t strip_rows, buffer_bytes;
};

static size_t common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns the rows of the buffer for some output rows. */
static size_t buffer_rows(const struct depthwise *d, size_t rows)
{
    return (rows - 1) * d->w.stride_height / d->row_step + (d->pairs - 1) * d->pair_rows + 1;
}

static struct depthwise depthwise_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    struct depthwise d = {.in = site->inputs[0],
                          .out = site->node->output,
                          .w = conv->window,
                          .dilation_height = max_size(1, conv->dilation_height),
                          .dilation_width = max_size(1, conv->dilation_width),
                          .multiplier = conv->outputs / conv->groups,
                          .blocks = int8_blocks(conv->outputs)};
    d.pairs = divide_up(d.w.kernel_height, 2);
    d.row_step = common_divisor(d.w.stride_height, d.pairs > 1 ? 2 * d.dilation_height : 0);
    d.pair_rows = 2 * d.dilation_height / d.row_step;
    d.row_positions =
        (d.out.width - 1) * d.w.stride_width + dilated_size(d.w.kernel_width, d.dilation_width);
    const size_t row_bytes = d.row_positions * TERM_BLOCK * sizeof(int16_t);
    d.strip_rows = min_size(LEAST_ROWS, d.out.height);
    while (d.strip_rows < d.out.height &&
           buffer_rows(&d, d.strip_rows + 1) * row_bytes <= BUFFER_BYTES)
        d.strip_rows++;
    /* strips of about the same size */
    d.strip_rows = divide_up(d.out.height, divide_up(d.out.height, d.strip_rows));
    d.buffer_bytes = round_up(buffer_rows(&d, d.strip_rows) * row_bytes, 64);
    return d;
}

static size_t depthwise_workspace(const struct kernel_site *site)
{
    const struct depthwise d = depthwise_of(site);
    return max_size(1, site->threads) * d.buffer_bytes;
}

/* --- weights: [block][pair of rows][column of the window][lane][2] --- */

static size_t block_weights(const struct depthwise *d)
{
    return d->pairs * d->w.kernel_width * TERM_BLOCK;
}

static size_t weights_bytes(const struct depthwise *d)
{
    return round_up(d->blocks * block_weights(d) * sizeof(int16_t), 64);
}

static size_t depthwise_prepared(const struct kernel_site *site)
{
    const struct depthwise d = depthwise_of(site);
    return weights_bytes(&d) + d.blocks * sizeof(struct int8_column) +
           round_up(d.w.kernel_height * d.w.kernel_width, 64);
}

static struct int8_column *columns_of(const struct kernel_call *call, const struct depthwise *d)
{
    return (struct int8_column *)((char *)call->prepared + weights_bytes(d));
}

static void prepare_depthwise(const struct kernel_call *call)
{
    const struct depthwise d = depthwise_of(call->site);
    const struct int8_layer layer = int8_layer_of(call);
    const size_t width = d.w.kernel_width;
    int16_t *weights = call->prepared;
    int8_t *window = (int8_t *)(columns_of(call, &d) + d.blocks);
    memset(call->prepared, 0, depthwise_prepared(call->site));
    for (size_t o = 0; o < d.blocks * INT8_BLOCK; o++) {
        struct int8_output output;
        const size_t block = o / INT8_BLOCK, lane = o % INT8_BLOCK;
        int16_t *to = weights + block * block_weights(&d) + lane * 2;
        if (o < layer.outputs) {
            int8_layer_weights(&layer, o, window);
            output = int8_layer_output(&layer, o, window);
            for (size_t y = 0; y < d.w.kernel_height; y++)
                for (size_t x = 0; x < width; x++)
                    to[(y / 2 * width + x) * TERM_BLOCK + y % 2] = window[y * width + x];
        }
        int8_column_set(columns_of(call, &d) + block, lane, o < layer.outputs ? &output : NULL);
    }
}

/* --- the buffer --- */

struct job {
    const struct kernel_call *call;
    struct depthwise d;
    struct int8_array in;
    struct int8_results results;
    bytes padding;       /* the zero of the input */
    size_t items, tasks; /* strips of all blocks of all images */
    size_t strips;       /* of a block */
};

/* A strip of output rows [begin, end) of a block of channels of an image. */
struct strip {
    size_t image, block, begin, end;
};

/* Stores the pairs of a position: those of two rows. */
static inline void pairs_store(int16_t *to, bytes a, bytes b)
{
#if defined(__AVX2__)
    const __m128i low = _mm_unpacklo_epi8((__m128i)a, (__m128i)b);
    const __m128i high = _mm_unpackhi_epi8((__m128i)a, (__m128i)b);
    _mm256_storeu_si256((__m256i *)to, _mm256_cvtepu8_epi16(low));
    _mm256_storeu_si256((__m256i *)(to + INT8_BLOCK), _mm256_cvtepu8_epi16(high));
#else
    for (size_t i = 0; i < INT8_BLOCK; i++) {
        to[2 * i] = a[i];
        to[2 * i + 1] = b[i];
    }
#endif
}

static void fill(const struct job *job, int16_t *to, size_t positions)
{
    for (size_t x = 0; x < positions; x++)
        pairs_store(to + x * TERM_BLOCK, job->padding, job->padding);
}

/* Returns the block of channels at position 0 of row `y`; NULL outside of the source. */
static const uint8_t *source_row(const struct job *job, const struct strip *strip, size_t block,
                                 ptrdiff_t y)
{
    if (y < 0 || y >= (ptrdiff_t)job->d.in.height)
        return NULL;
    return job->in.values + strip->image * job->in.image + block * job->in.plane +
           (size_t)y * job->d.in.width * INT8_BLOCK;
}

/* Writes the pairs of two rows. */
static void pair_rows(const struct job *job, const struct strip *strip, ptrdiff_t y, int16_t *to)
{
    const struct depthwise *d = &job->d;
    const size_t left = min_size(d->w.pad_width, d->row_positions);
    const size_t inside = min_size(d->in.width, d->row_positions - left);
    const uint8_t *a = source_row(job, strip, strip->block, y);
    const uint8_t *b = source_row(job, strip, strip->block, y + (ptrdiff_t)d->dilation_height);
    fill(job, to, left);
    to += left * TERM_BLOCK;
    for (size_t x = 0; x < inside * INT8_BLOCK; x += INT8_BLOCK)
        pairs_store(to + 2 * x, a ? bytes_load(a + x) : job->padding,
                    b ? bytes_load(b + x) : job->padding);
    fill(job, to + inside * TERM_BLOCK, d->row_positions - left - inside);
}

/* Sets where the lanes of a block come from, if input channels have several outputs. */
static void gather_block(const struct job *job, const struct strip *strip,
                         struct int8_gather *gather)
{
    const struct depthwise *d = &job->d;
    const size_t first = strip->block * INT8_BLOCK;
    gather->count = 0;
    for (size_t i = 0; i < min_size(INT8_BLOCK, d->out.channels - first); i++) {
        const size_t channel = (first + i) / d->multiplier;
        int8_gather_add(gather, i, source_row(job, strip, channel / INT8_BLOCK, 0), 0, 0,
                        channel % INT8_BLOCK);
    }
}

/* Returns the block at value `x` of row y. */
static inline bytes gather_at(const struct job *job, const struct int8_gather *gather, ptrdiff_t y,
                              size_t x)
{
    const struct depthwise *d = &job->d;
    if (y < 0 || y >= (ptrdiff_t)d->in.height)
        return job->padding;
    return int8_gather_at(gather, (size_t)y * d->in.width * INT8_BLOCK + x);
}

/* Does the same as pair_rows for input channels with several outputs. */
static void gather_pairs(const struct job *job, const struct int8_gather *gather, ptrdiff_t y,
                         int16_t *to)
{
    const struct depthwise *d = &job->d;
    const size_t left = min_size(d->w.pad_width, d->row_positions);
    const size_t inside = min_size(d->in.width, d->row_positions - left);
    fill(job, to, left);
    to += left * TERM_BLOCK;
    for (size_t x = 0; x < inside * INT8_BLOCK; x += INT8_BLOCK)
        pairs_store(to + 2 * x, gather_at(job, gather, y, x),
                    gather_at(job, gather, y + (ptrdiff_t)d->dilation_height, x));
    fill(job, to + inside * TERM_BLOCK, d->row_positions - left - inside);
}

static void fill_buffer(const struct job *job, const struct strip *strip, int16_t *buffer)
{
    const struct depthwise *d = &job->d;
    const ptrdiff_t first =
        (ptrdiff_t)(strip->begin * d->w.stride_height) - (ptrdiff_t)d->w.pad_height;
    struct int8_gather gather;
    if (d->multiplier > 1)
        gather_block(job, strip, &gather);
    for (size_t r = 0; r < buffer_rows(d, strip->end - strip->begin); r++) {
        const ptrdiff_t y = first + (ptrdiff_t)(r * d->row_step);
        int16_t *to = buffer + r * d->row_positions * TERM_BLOCK;
        if (d->multiplier > 1)
            gather_pairs(job, &gather, y, to);
        else
            pair_rows(job, strip, y, to);
    }
}

/* --- products --- */

/* Computes the sums of some neighbouring positions of a row. */
static inline __attribute__((always_inline)) void
multiply_of(const struct depthwise *d, const int16_t *at, const int16_t *weights, size_t positions,
            sums (*to)[BLOCK_VECTORS])
{
    const size_t step = d->w.stride_width * TERM_BLOCK;
    sums sum[POSITIONS][BLOCK_VECTORS];
#pragma GCC unroll 8
    for (size_t p = 0; p < positions; p++)
#pragma GCC unroll 4
        for (size_t v = 0; v < BLOCK_VECTORS; v++)
            sum[p][v] = (sums){0};
    for (size_t pair = 0; pair < d->pairs; pair++) {
        const int16_t *row = at + pair * d->pair_rows * d->row_positions * TERM_BLOCK;
        for (size_t x = 0; x < d->w.kernel_width; x++, weights += TERM_BLOCK) {
            const int16_t *from = row + x * d->dilation_width * TERM_BLOCK;
            sums w[BLOCK_VECTORS];
#pragma GCC unroll 4
            for (size_t v = 0; v < BLOCK_VECTORS; v++)
                w[v] = sums_load(weights + v * LANES * 2);
#pragma GCC unroll 8
            for (size_t p = 0; p < positions; p++)
#pragma GCC unroll 4
                for (size_t v = 0; v < BLOCK_VECTORS; v++)
                    sum[p][v] =
                        term_multiply(sum[p][v], w[v], sums_load(from + p * step + v * LANES * 2));
        }
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < positions; p++)
#pragma GCC unroll 4
        for (size_t v = 0; v < BLOCK_VECTORS; v++)
            to[p][v] = sum[p][v];
}

/* Has the number of positions as a constant, so that the sums are in registers. */
typedef void tile_function(const struct depthwise *d, const int16_t *at, const int16_t *weights,
                           sums (*to)[BLOCK_VECTORS]);

#define TILE(COUNT)                                                                                \
    static __attribute__((noinline)) void tile_##COUNT(const struct depthwise *d,                  \
                                                       const int16_t *at, const int16_t *weights,  \
                                                       sums(*to)[BLOCK_VECTORS])                   \
    {                                                                                              \
        multiply_of(d, at, weights, COUNT, to);                                                    \
    }

TILE(1)
TILE(2)
#if defined(__AVX2__)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
#endif
#if defined(__AVX512F__)
TILE(7)
TILE(8)
#endif
#undef TILE

/* The functions by positions - 1. */
static tile_function *const tile_functions[POSITIONS] = {
    tile_1, tile_2,
#if defined(__AVX2__)
    tile_3, tile_4, tile_5, tile_6,
#endif
#if defined(__AVX512F__)
    tile_7, tile_8,
#endif
};

/* --- results --- */

/* Computes `count` positions from `position` on, whose windows begin at `at`. */
static void compute_tile(const struct job *job, const struct strip *strip, size_t position,
                         size_t count, const int16_t *at)
{
    const struct depthwise *d = &job->d;
    sums tile[POSITIONS][BLOCK_VECTORS];
    tile_functions[count - 1](
        d, at, (const int16_t *)job->call->prepared + strip->block * block_weights(d), tile);
    const struct int8_place place =
        int8_place_of(&job->results, strip->image, strip->block, position);
    int8_store(&job->results, &place, count, tile[0], BLOCK_VECTORS);
}

static void compute_strip(const struct job *job, const struct strip *strip, int16_t *buffer)
{
    const struct depthwise *d = &job->d;
    const size_t row = d->row_positions * TERM_BLOCK;
    fill_buffer(job, strip, buffer);
    for (size_t y = strip->begin; y < strip->end; y++) {
        const int16_t *at = buffer + (y - strip->begin) * d->w.stride_height / d->row_step * row;
        for (size_t x = 0; x < d->out.width; x += POSITIONS)
            compute_tile(job, strip, y * d->out.width + x, min_size(POSITIONS, d->out.width - x),
                         at + x * d->w.stride_width * TERM_BLOCK);
    }
}

/* --- tasks --- */

static void depthwise_task(void *context, size_t task, size_t thread)
{
    const struct job *job = context;
    const struct depthwise *d = &job->d;
    const size_t last = chunk_begin(job->items, job->tasks, task + 1);
    int16_t *buffer = (int16_t *)((char *)job->call->workspace + thread * d->buffer_bytes);
    for (size_t item = chunk_begin(job->items, job->tasks, task); item < last; item++) {
        const size_t begin = item % job->strips * d->strip_rows;
        const struct strip strip = {.image = item / job->strips / d->blocks,
                                    .block = item / job->strips % d->blocks,
                                    .begin = begin,
                                    .end = min_size(d->out.height, begin + d->strip_rows)};
        compute_strip(job, &strip, buffer);
    }
}

static void forward_depthwise(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct job job = {.call = call,
                      .d = depthwise_of(site),
                      .in = int8_input(call, 0),
                      .padding = bytes_splat((uint8_t)site->quantizations[0].zero_point)};
    const struct depthwise *d = &job.d;
    job.results = int8_results_of(call, columns_of(call, d));
    job.strips = divide_up(d->out.height, d->strip_rows);
    job.items = site->batch * d->blocks * job.strips;
    const size_t work =
        job.items * d->strip_rows * d->out.width * (d->pairs * d->w.kernel_width + 8);
    job.tasks = min_size(
        job.items, machine_tasks(site->machine, MACHINE_OPERATION, work, pool_threads(call->pool)));
    run_tasks(call, job.tasks, depthwise_task, &job);
}

static bool supports_depthwise(const struct kernel_site *site, const char **reason)
{
    if (!supports_int8(site, reason))
        return false;
    *reason = N_("no depthwise convolution");
    return int8_is_depthwise(site);
}

extern const struct kernel KERNEL(conv_depthwise_int8);
const struct kernel KERNEL(conv_depthwise_int8) = {
    .name = "conv depthwise int8",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_INT8 | KERNEL_BLOCKED | KERNEL_FUSES_EPILOGUE,
    .supports = supports_depthwise,
    .workspace_bytes = depthwise_workspace,
    .prepared_bytes = depthwise_prepared,
    .prepare = prepare_depthwise,
    .forward = forward_depthwise,
};
