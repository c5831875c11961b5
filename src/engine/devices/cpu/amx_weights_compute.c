/* The sums of the gradient of a convolution's weights (blocked_weights.h), with AMX.
 *
 * A product of tiles adds, for 16 input channels under one window element and 16 output channels,
 * the products of 32 neighbouring positions. The processor reads pairs of neighbouring positions
 * along the rows of one operand, and rows of such pairs of the other one:
 *
 *   input      [input block][lane][residue of y][residue of x][image][row][column]
 *   gradient   [output block][position / 2][lane][2]
 *
 * Both are copies. The copy of the input has its padding, and one plane for each residue of a
 * position by the strides, so that the values under a window element are neighbours for
 * neighbouring outputs, from an offset of the element on. A position counts the columns, rows and
 * images of such a plane; the gradient is 0 where the plane has no output. So all outputs of a
 * chunk are one long sum, and small images fill the tiles as well.
 */
#include "engine/devices/cpu/amx.h"
#include "engine/devices/cpu/blocked_weights.h"
#include "engine/devices/cpu/pairs.h"
#include "engine/devices/cpu/tiles.h"

enum {
    CHUNK_POSITIONS = 256,
    STEP = 2 * TILE_PAIRS, /* positions of a product */
    MAX_ROWS = 4,          /* tiles of input channels that are multiplied at once */
};

/* --- the copies --- */

/* The sizes of the copies, in elements unless said otherwise. */
struct sizes {
    size_t height, width;      /* rows and columns of a plane */
    size_t plane, channel;     /* from one to the next */
    size_t positions;          /* of a chunk, rounded up to whole steps */
    size_t input, gradient;    /* each copy */
    size_t positions_gradient; /* the gradient of one block before positions are joined */
    size_t rows;               /* the rows of one image and block before they are transposed */
};

/* Returns the columns of the source with its padding. */
static size_t padded_width(const struct blocked_conv *c)
{
    return c->source.left + c->from.width + c->source.right;
}

/* Returns the first position behind the outputs of `rows` rows of `images` images. */
static size_t positions_end(const struct weights_job *job, const struct sizes *sizes, size_t images,
                            size_t rows)
{
    return ((images - 1) * sizes->height + rows - 1) * sizes->width + job->conv.to.width;
}

static struct sizes sizes_of(const struct weights_job *job)
{
    const struct blocked_conv *c = &job->conv;
    const size_t rows = KERNEL(blocked_conv_rows_read)(c, job->chunk_rows);
    struct sizes s = {.height = divide_up(rows, c->y.step),
                      .width = divide_up(padded_width(c), c->x.step)};
    s.plane = job->chunk_images * s.height * s.width;
    s.channel = c->y.step * c->x.step * s.plane;
    if (s.channel % 512 < LANES) /* channels a KiB apart would compete for a few cache sets */
        s.channel += 2 * LANES;
    s.positions = round_up(positions_end(job, &s, job->chunk_images, job->chunk_rows), STEP);
    /* tiles may read a step behind the last plane */
    s.input = round_up(weights_share_planes(job) * LANES * s.channel + STEP, STEP);
    s.gradient = c->out_blocks * LANES * s.positions;
    s.positions_gradient = LANES * s.positions;
    s.rows = round_up(rows * padded_width(c) * LANES, STEP);
    return s;
}

void KERNEL(weights_arrange)(struct weights_job *job, size_t images)
{
    weights_set_chunk(job, images, CHUNK_POSITIONS);
    job->offset_count = job->conv.sizes.taps;
    const struct sizes s = sizes_of(job);
    job->copied = true;
    job->copy_elements = s.input + s.gradient + max_size(s.positions_gradient, s.rows);
}

/* Returns where a plane of the input's copy begins, in a channel. */
static size_t plane_offset(const struct weights_job *job, const struct sizes *s, size_t y, size_t x)
{
    return (y * job->conv.x.step + x) * s->plane;
}

void KERNEL(weights_set_offsets)(const struct weights_job *job)
{
    const struct blocked_conv *c = &job->conv;
    const struct sizes s = sizes_of(job);
    const size_t width = c->sizes.window.kernel_width;
    for (size_t t = 0; t < c->sizes.taps; t++) {
        const size_t y = t / width, x = t % width;
        job->offsets[t] = plane_offset(job, &s, y % c->y.step, x % c->x.step) +
                          y / c->y.step * s.width + x / c->x.step;
    }
}

/* Writes `count` values of each lane, at most 2 LANES, to to[lane][]. They lie `step` elements
 * apart in the source. */
static void transpose_some(const element *from, size_t step, size_t count, element *to,
                           size_t channel)
{
    const __mmask32 mask = count < STEP ? (__mmask32)((1u << count) - 1) : 0xFFFFFFFF;
    vector pairs[LANES];
    for (size_t i = 0; i < LANES; i++)
        pairs[i] =
            2 * i < count ? term_join(from + 2 * i * step, step, count - 2 * i) : vector_splat(0);
    pairs_transpose(pairs);
    for (size_t lane = 0; lane < LANES; lane++)
        _mm512_mask_storeu_epi16(to + lane * channel, mask, (__m512i)pairs[lane]);
}

static void transpose_run(const element *from, size_t step, size_t count, element *to,
                          size_t channel)
{
    for (size_t i = 0; i < count; i += STEP)
        transpose_some(from + i * step, step, min_size(STEP, count - i), to + i, channel);
}

/* Transposes the rows of one image and input block to the planes of all residues. */
static void transpose_rows(const struct weights_job *job, const struct sizes *s,
                           const element *from, size_t rows, element *to)
{
    const struct blocked_conv *c = &job->conv;
    const size_t width = padded_width(c);
    if (c->y.step == 1 && c->x.step == 1) {
        transpose_run(from, LANES, rows * width, to, s->channel);
        return;
    }
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < min_size(c->x.step, width); x++)
            transpose_run(
                from + (y * width + x) * LANES, c->x.step * LANES, divide_up(width - x, c->x.step),
                to + plane_offset(job, s, y % c->y.step, x) + y / c->y.step * s->width, s->channel);
}

/* Copies the input of a chunk. */
static void copy_input(const struct weights_job *job, const struct sizes *s,
                       const struct weights_share *share, const struct weights_chunk *chunk,
                       element *rows, element *to)
{
    struct blocked_conv c = job->conv;
    const size_t count = KERNEL(blocked_conv_rows_read)(&c, chunk->end - chunk->begin);
    c.source.row = padded_width(&c) * LANES;
    c.source.plane = count * c.source.row;
    for (size_t i = 0; i < chunk->images; i++)
        for (size_t plane = 0; plane < share->planes; plane++) {
            KERNEL(blocked_conv_copy)
            (&c, chunk->image + i, (share->plane + plane) * LANES, LANES, chunk->begin, chunk->end,
             rows);
            transpose_rows(job, s, rows, count,
                           to + plane * LANES * s->channel + i * s->height * s->width);
        }
}

/* Copies the gradient of a chunk for one output block; `positions` is memory for it. */
static void copy_gradient(const struct weights_job *job, const struct sizes *s,
                          const struct weights_chunk *chunk, size_t block, element *positions,
                          float *to)
{
    const size_t width = job->gradient.shape.width;
    blocked_clear(positions, s->positions * LANES);
    for (size_t i = 0; i < chunk->images; i++)
        for (size_t y = chunk->begin; y < chunk->end; y++)
            memcpy(positions + (i * s->height + y - chunk->begin) * s->width * LANES,
                   blocked_at(&job->gradient, chunk->image + i, block, y),
                   width * LANES * sizeof *positions);
    for (size_t k = 0; k < s->positions; k += 2, to += LANES)
        vector_store(to, term_join(positions + k * LANES, LANES, 2));
}

/* --- products --- */

/* The operands and sums of some tiles. */
struct product {
    const element *input[MAX_ROWS]; /* of each tile of input channels */
    size_t channel;                 /* elements of the input from lane to lane */
    const float *gradient[COLUMN_BLOCKS];
    size_t steps;
    float *sums[MAX_ROWS][COLUMN_BLOCKS];
};

/* Adds the products of two tiles of input channels and two output blocks. */
static void multiply_pairs(const struct product *p)
{
    const size_t channel = p->channel * sizeof(element);
    amx_fence();
    _tile_loadd(SUMS_0, p->sums[0][0], TILE_BYTES);
    _tile_loadd(SUMS_1, p->sums[0][1], TILE_BYTES);
    _tile_loadd(SUMS_2, p->sums[1][0], TILE_BYTES);
    _tile_loadd(SUMS_3, p->sums[1][1], TILE_BYTES);
    for (size_t k = 0; k < p->steps; k++) {
        _tile_loadd(WEIGHTS_0, p->gradient[0] + k * TILE_FLOATS, TILE_BYTES);
        _tile_loadd(VALUES_0, p->input[0] + k * STEP, channel);
        _tile_dpbf16ps(SUMS_0, VALUES_0, WEIGHTS_0);
        _tile_loadd(WEIGHTS_1, p->gradient[1] + k * TILE_FLOATS, TILE_BYTES);
        _tile_dpbf16ps(SUMS_1, VALUES_0, WEIGHTS_1);
        _tile_loadd(VALUES_1, p->input[1] + k * STEP, channel);
        _tile_dpbf16ps(SUMS_2, VALUES_1, WEIGHTS_0);
        _tile_dpbf16ps(SUMS_3, VALUES_1, WEIGHTS_1);
    }
    _tile_stored(SUMS_0, p->sums[0][0], TILE_BYTES);
    _tile_stored(SUMS_1, p->sums[0][1], TILE_BYTES);
    _tile_stored(SUMS_2, p->sums[1][0], TILE_BYTES);
    _tile_stored(SUMS_3, p->sums[1][1], TILE_BYTES);
}

/* Adds the products of four tiles of input channels and one output block. */
static void multiply_four(const struct product *p)
{
    const size_t channel = p->channel * sizeof(element);
    amx_fence();
    _tile_loadd(SUMS_0, p->sums[0][0], TILE_BYTES);
    _tile_loadd(SUMS_1, p->sums[1][0], TILE_BYTES);
    _tile_loadd(SUMS_2, p->sums[2][0], TILE_BYTES);
    _tile_loadd(SUMS_3, p->sums[3][0], TILE_BYTES);
    for (size_t k = 0; k < p->steps; k++) {
        _tile_loadd(WEIGHTS_0, p->gradient[0] + k * TILE_FLOATS, TILE_BYTES);
        _tile_loadd(VALUES_0, p->input[0] + k * STEP, channel);
        _tile_dpbf16ps(SUMS_0, VALUES_0, WEIGHTS_0);
        _tile_loadd(VALUES_1, p->input[1] + k * STEP, channel);
        _tile_dpbf16ps(SUMS_1, VALUES_1, WEIGHTS_0);
        _tile_loadd(VALUES_0, p->input[2] + k * STEP, channel);
        _tile_dpbf16ps(SUMS_2, VALUES_0, WEIGHTS_0);
        _tile_loadd(VALUES_1, p->input[3] + k * STEP, channel);
        _tile_dpbf16ps(SUMS_3, VALUES_1, WEIGHTS_0);
    }
    _tile_stored(SUMS_0, p->sums[0][0], TILE_BYTES);
    _tile_stored(SUMS_1, p->sums[1][0], TILE_BYTES);
    _tile_stored(SUMS_2, p->sums[2][0], TILE_BYTES);
    _tile_stored(SUMS_3, p->sums[3][0], TILE_BYTES);
}

/* Adds the products of one tile of input channels and one output block. */
static void multiply_one(const struct product *p)
{
    amx_fence();
    _tile_loadd(SUMS_0, p->sums[0][0], TILE_BYTES);
    for (size_t k = 0; k < p->steps; k++) {
        _tile_loadd(WEIGHTS_0, p->gradient[0] + k * TILE_FLOATS, TILE_BYTES);
        _tile_loadd(VALUES_0, p->input[0] + k * STEP, p->channel * sizeof(element));
        _tile_dpbf16ps(SUMS_0, VALUES_0, WEIGHTS_0);
    }
    _tile_stored(SUMS_0, p->sums[0][0], TILE_BYTES);
}

/* The data that the products of a chunk share. */
struct chunk_sums {
    const struct weights_job *job;
    const struct weights_share *share;
    const struct sizes *sizes;
    const element *input;
    const float *gradient;
    size_t steps;
};

/* Returns the product of `rows` tiles of input channels, from number `tile` on, and output blocks
 * [block, block + blocks). Tiles are numbered by input block, then by window element. */
static struct product product_of(const struct chunk_sums *s, size_t tile, size_t rows, size_t block,
                                 size_t blocks)
{
    const struct weights_job *job = s->job;
    const size_t taps = job->conv.sizes.taps;
    struct product p = {.channel = s->sizes->channel, .steps = s->steps};
    for (size_t r = 0; r < rows; r++) {
        const size_t plane = (tile + r) / taps - s->share->plane;
        p.input[r] = s->input + plane * LANES * s->sizes->channel + job->offsets[(tile + r) % taps];
        for (size_t b = 0; b < blocks; b++)
            p.sums[r][b] =
                s->share->results + ((block + b) * job->terms + (tile + r) * LANES) * LANES;
    }
    for (size_t b = 0; b < blocks; b++)
        p.gradient[b] = s->gradient + (block + b) * LANES * s->sizes->positions / 2;
    return p;
}

/* Adds the products of all input channels that output blocks [block, block + blocks) need. */
static void add_blocks(const struct chunk_sums *s, size_t block, size_t blocks)
{
    const size_t taps = s->job->conv.sizes.taps, rows = blocks > 1 ? 2 : MAX_ROWS;
    size_t begin, end;
    weights_planes_needed(s->job, s->share, block, blocks, &begin, &end);
    size_t tile = begin * taps;
    for (; tile + rows <= end * taps; tile += rows) {
        const struct product p = product_of(s, tile, rows, block, blocks);
        if (blocks > 1)
            multiply_pairs(&p);
        else
            multiply_four(&p);
    }
    for (; tile < end * taps; tile++)
        for (size_t b = 0; b < blocks; b++) {
            const struct product p = product_of(s, tile, 1, block + b, 1);
            multiply_one(&p);
        }
}

void KERNEL(weights_add_chunk)(const struct weights_job *job, const struct weights_share *share,
                               const struct weights_chunk *chunk, element *copy)
{
    const struct sizes sizes = sizes_of(job);
    element *gradient = copy + sizes.input, *scratch = gradient + sizes.gradient;
    const size_t end = positions_end(job, &sizes, chunk->images, chunk->end - chunk->begin);
    const struct chunk_sums sums = {.job = job,
                                    .share = share,
                                    .sizes = &sizes,
                                    .input = copy,
                                    .gradient = (float *)gradient,
                                    .steps = divide_up(end, STEP)};
    if (chunk->image == share->first && chunk->begin == 0) /* tiles read more than copies write */
        blocked_clear(copy, sizes.input);
    copy_input(job, &sizes, share, chunk, scratch, copy);
    for (size_t block = 0; block < job->conv.out_blocks; block++)
        copy_gradient(job, &sizes, chunk, block, scratch,
                      (float *)gradient + block * LANES * sizes.positions / 2);
    amx_configure(TILE_ROWS_MAX, TILE_PAIRS);
    for (size_t block = 0; block < job->conv.out_blocks; block += COLUMN_BLOCKS)
        add_blocks(&sums, block, min_size(COLUMN_BLOCKS, job->conv.out_blocks - block));
    amx_release();
}
