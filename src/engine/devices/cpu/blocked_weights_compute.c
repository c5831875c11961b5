/* The sums of the gradient of a convolution's weights (blocked_weights.h), with vectors.
 *
 * A tile has a few input channels under one window element (its rows) for one to three blocks of
 * output channels (its vectors), and runs over a chunk of positions. The input is read value by
 * value, where it is or in a copy with padding, the gradient vector by vector where it is.
 *
 * In bf16 a product is that of a pair of neighbouring positions. The gradient's vectors are joined
 * when they are loaded, the input's values when they are copied: position x of the copy also has
 * the value that belongs to the next position of the output.
 */
#include "engine/devices/cpu/blocked_weights.h"
#include "engine/devices/cpu/tiles.h"

/* Positions whose gradient and input fit a level-1 cache. */
enum { CHUNK_POSITIONS = 128 };

/* The rows of a tile with one block, and with two or three: accumulators, gradients and a broadcast
 * value must fit into the registers. */
#if defined(__AVX512F__)
enum { ROWS_1 = 16, ROWS = 8 };
#elif defined(__AVX2__)
enum { ROWS_1 = 8, ROWS = 4 };
#else
enum { ROWS_1 = 4, ROWS = 4 };
#endif
enum { MAX_ROWS = ROWS_1, MAX_BLOCKS = 3, GATHER_ROWS = 4 };

/* --- tiles --- */

/* The positions that a tile runs over, and how far they lie apart in elements. */
struct positions {
    size_t images, height, width;
    const element *source, *gradient; /* of the first position */
    size_t source_image, source_row, source_step;
    size_t gradient_image, gradient_row, gradient_plane;
};

/* Adds the products at `count` positions, at most TERM_VALUES, to the sums. */
TILE_INLINE void add_products(vector (*sum)[MAX_BLOCKS], const struct positions *p,
                              const element *source, const element *gradient, size_t count,
                              const size_t *offsets, const int rows, const int blocks)
{
    vector g[MAX_BLOCKS];
#pragma GCC unroll 3
    for (int v = 0; v < blocks; v++)
        g[v] = term_join(gradient + (size_t)v * p->gradient_plane, LANES, count);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        const vector value = term_load(source + (offsets ? offsets[r] : (size_t)r * TERM_VALUES));
#pragma GCC unroll 3
        for (int v = 0; v < blocks; v++)
            sum[r][v] = term_add(sum[r][v], g[v], value);
    }
}

/* Adds the sums of `rows` terms to out[block][row]. Term r reads the source at offsets[r] or, if
 * `offsets` is NULL, at r. */
TILE_INLINE void weights_tile(const struct positions *p, const size_t *offsets, float *out,
                              size_t out_plane, const int rows, const int blocks)
{
    vector sum[MAX_ROWS][MAX_BLOCKS] = {0};
    for (size_t n = 0; n < p->images; n++)
        for (size_t y = 0; y < p->height; y++) {
            const element *source = p->source + n * p->source_image + y * p->source_row;
            const element *gradient = p->gradient + n * p->gradient_image + y * p->gradient_row;
            size_t x = 0;
            for (; x + TERM_VALUES <= p->width; x += TERM_VALUES) {
                add_products(sum, p, source, gradient, TERM_VALUES, offsets, rows, blocks);
                source += TERM_VALUES * p->source_step;
                gradient += TERM_VALUES * LANES;
            }
            if (x < p->width)
                add_products(sum, p, source, gradient, p->width - x, offsets, rows, blocks);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < blocks; v++) {
            float *to = out + (size_t)v * out_plane + r * LANES;
            vector_store(to, vector_load(to) + sum[r][v]);
        }
}

typedef void weights_tile_function(const struct positions *p, const size_t *offsets, float *out,
                                   size_t out_plane);

#define LANES_TILE(rows, blocks)                                                                   \
    static void tile_lanes_##blocks(const struct positions *p, const size_t *offsets, float *out,  \
                                    size_t out_plane)                                              \
    {                                                                                              \
        (void)offsets;                                                                             \
        weights_tile(p, NULL, out, out_plane, rows, blocks);                                       \
    }
#define GATHER_TILE(rows, blocks)                                                                  \
    static void tile_gather_##rows##x##blocks(const struct positions *p, const size_t *offsets,    \
                                              float *out, size_t out_plane)                        \
    {                                                                                              \
        weights_tile(p, offsets, out, out_plane, rows, blocks);                                    \
    }
#define GATHER_TILES(blocks)                                                                       \
    GATHER_TILE(1, blocks) GATHER_TILE(2, blocks) GATHER_TILE(3, blocks) GATHER_TILE(4, blocks)
#define GATHER_LIST(blocks)                                                                        \
    {                                                                                              \
        tile_gather_1x##blocks, tile_gather_2x##blocks, tile_gather_3x##blocks,                    \
            tile_gather_4x##blocks                                                                 \
    }

LANES_TILE(ROWS_1, 1)
LANES_TILE(ROWS, 2)
LANES_TILE(ROWS, 3)
GATHER_TILES(1)
GATHER_TILES(2)
GATHER_TILES(3)

/* The functions by [blocks - 1], and by [rows - 1]. */
static weights_tile_function *const lanes_tiles[MAX_BLOCKS] = {tile_lanes_1, tile_lanes_2,
                                                               tile_lanes_3};
static weights_tile_function *const gather_tiles[MAX_BLOCKS][GATHER_ROWS] = {
    GATHER_LIST(1), GATHER_LIST(2), GATHER_LIST(3)};

/* --- the copies --- */

/* Returns how far the elements of the input lie apart that two neighbouring outputs read. */
static size_t next_position(const struct weights_job *job)
{
    return job->conv.x.step * job->conv.source.block;
}

/* Returns the lanes of an input block that tiles read at offsets of their own: those of a plain
 * input. */
static size_t gathered(const struct weights_job *job)
{
    return job->lanes < LANES ? job->lanes : 1;
}

void KERNEL(weights_arrange)(struct weights_job *job, size_t images)
{
    const struct blocked_conv *c = &job->conv;
    weights_set_chunk(job, images, CHUNK_POSITIONS);
    job->offset_count = c->sizes.taps * gathered(job);
    job->copied = c->source.copied || TERM_VALUES > 1;
    if (job->copied) {
        job->conv.source.plane = KERNEL(blocked_conv_rows_read)(c, job->chunk_rows) * c->source.row;
        job->copy_image = round_up(weights_share_planes(job) * c->source.plane, LANES);
        job->copy_elements = TERM_VALUES * job->chunk_images * job->copy_image;
    }
    if (TERM_VALUES > 1) /* one image before its positions are joined */
        job->copy_elements += job->copy_image + round_up(next_position(job), LANES);
}

/* Writes where the window elements lie in an input block: for each lane, if it is gathered. */
void KERNEL(weights_set_offsets)(const struct weights_job *job)
{
    const struct conv_sizes *s = &job->conv.sizes;
    const struct window *w = &s->window;
    const size_t lanes = gathered(job);
    for (size_t t = 0; t < s->taps; t++)
        for (size_t lane = 0; lane < lanes; lane++) {
            const size_t y = t / w->kernel_width * s->dilation_height;
            const size_t x = t % w->kernel_width * s->dilation_width;
            job->offsets[t * lanes + lane] =
                TERM_VALUES * KERNEL(blocked_conv_offset)(&job->conv, lane,
                                                          (ptrdiff_t)y - (ptrdiff_t)w->pad_height,
                                                          (ptrdiff_t)x - (ptrdiff_t)w->pad_width);
        }
}

/* --- a chunk --- */

/* Adds a chunk to all terms of an input block under one window element. */
static void add_lanes(const struct weights_job *job, struct positions *p, size_t blocks, float *out)
{
    const size_t rows = blocks == 1 ? ROWS_1 : ROWS;
    const element *source = p->source;
    for (size_t lane = 0; lane < LANES; lane += rows) {
        p->source = source + lane * TERM_VALUES;
        lanes_tiles[blocks - 1](p, NULL, out + lane * LANES, job->terms * LANES);
    }
    p->source = source;
}

/* Adds a chunk to `count` terms of a plain input, whose results begin at `out`. */
static void add_gathered(const struct weights_job *job, const struct positions *p,
                         const size_t *offsets, size_t count, size_t blocks, float *out)
{
    const size_t tiles = divide_up(count, GATHER_ROWS);
    for (size_t i = 0; i < tiles; i++) {
        const size_t k = chunk_begin(count, tiles, i);
        const size_t rows = chunk_begin(count, tiles, i + 1) - k;
        gather_tiles[blocks - 1][rows - 1](p, offsets + k, out + k * LANES, job->terms * LANES);
    }
}

/* Adds a chunk to the results of output blocks [block, block + blocks). The source of `p` is where
 * the first input block of the share begins. */
static void add_blocks(const struct weights_job *job, const struct weights_share *share,
                       const struct positions *p, size_t block, size_t blocks)
{
    const struct blocked_conv *c = &job->conv;
    const size_t taps = c->sizes.taps;
    float *out = share->results + block * job->terms * LANES;
    size_t begin, end;
    weights_planes_needed(job, share, block, blocks, &begin, &end);
    struct positions at = *p;
    at.gradient += block * p->gradient_plane;
    for (size_t plane = begin; plane < end; plane++) {
        const element *source = p->source + (plane - share->plane) * c->source.plane * TERM_VALUES;
        float *results = out + plane * taps * job->lanes * LANES;
        at.source = source;
        if (job->lanes < LANES)
            add_gathered(job, &at, job->offsets, taps * job->lanes, blocks, results);
        for (size_t t = 0; t < taps && job->lanes == LANES; t++) {
            at.source = source + job->offsets[t];
            add_lanes(job, &at, blocks, results + t * LANES * LANES);
        }
    }
}

/* Writes each element of a copy, with the one of the next position behind it, to `to`. */
static void join_positions(const struct weights_job *job, const element *from, element *to)
{
    for (size_t i = 0; i < job->copy_image; i += LANES)
        vector_store((float *)to + i, term_join(from + i, next_position(job), TERM_VALUES));
}

/* Copies the rows of image `i` of a chunk that its output rows read to copy[i][]. */
static void copy_image(const struct weights_job *job, const struct weights_share *share,
                       const struct weights_chunk *chunk, size_t i, element *copy)
{
    element *to = copy + i * job->copy_image * TERM_VALUES;
    /* in bf16 behind all images, with zeros after its last position */
    element *whole =
        TERM_VALUES > 1 ? copy + job->chunk_images * job->copy_image * TERM_VALUES : to;
    KERNEL(blocked_conv_copy)
    (&job->conv, chunk->image + i, share->plane * job->lanes, share->planes * job->lanes,
     chunk->begin, chunk->end, whole);
    if (TERM_VALUES > 1) {
        blocked_clear(whole + share->planes * job->conv.source.plane, next_position(job));
        join_positions(job, whole, to);
    }
}

void KERNEL(weights_add_chunk)(const struct weights_job *job, const struct weights_share *share,
                               const struct weights_chunk *chunk, element *copy)
{
    const struct blocked_conv *c = &job->conv;
    const struct blocked *gradient = &job->gradient;
    struct positions p = {.images = chunk->images,
                          .height = chunk->end - chunk->begin,
                          .width = c->to.width,
                          .source = copy,
                          .gradient = blocked_at(gradient, chunk->image, 0, chunk->begin),
                          .source_image = job->copy_image * TERM_VALUES,
                          .source_row = c->y.step * c->source.row * TERM_VALUES,
                          .source_step = next_position(job) * TERM_VALUES,
                          .gradient_image = gradient->image,
                          .gradient_row = gradient->row,
                          .gradient_plane = gradient->plane};
    if (!job->copied) {
        p.source = KERNEL(blocked_conv_source)(c, chunk->image, chunk->begin) +
                   share->plane * c->source.plane;
        p.source_image = c->in.image;
    }
    for (size_t i = 0; i < chunk->images && job->copied; i++)
        copy_image(job, share, chunk, i, copy);
    const size_t columns = divide_up(c->out_blocks, MAX_BLOCKS);
    for (size_t i = 0; i < columns; i++) {
        const size_t block = chunk_begin(c->out_blocks, columns, i);
        add_blocks(job, share, &p, block, chunk_begin(c->out_blocks, columns, i + 1) - block);
    }
}
