/* The gradients of weight and bias of a convolution on channel-blocked arrays.
 *
 *   weight'[o][i][t] = sum over images and positions p of gradient[o][p] * input[i][p + t]
 *
 * A tile has a few input channels i under one window element t (its rows) for one to three blocks
 * of output channels (its vectors), and runs over a chunk of positions. The input is read value by
 * value, where it is or in a copy with padding, the gradient vector by vector where it is.
 *
 * The rows of all tiles are the terms: [input block][window element][lane] or, for a plain input,
 * [input channel][window element]. If a block has output channels of two groups, its terms are
 * those of both groups, and the results of an output channel with the other group are left out.
 *
 * A task computes the partial results of some images for some input blocks; the partial results are
 * added in order. Their number depends on shapes only.
 *
 * In bf16 a product is that of a pair of neighbouring positions. The gradient's vectors are joined
 * when they are loaded, the input's values when they are copied: position x of the copy also has
 * the value that belongs to the next position of the output.
 */
#include "engine/devices/cpu/blocked_conv.h"
#include "engine/devices/cpu/tiles.h"

enum {
    WANTED_TASKS = 32,
    CHUNK_POSITIONS = 128, /* of a tile: their gradient and input fit a level-1 cache */
};

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

/* --- the job --- */

struct weights_job {
    struct blocked_conv conv; /* the forward pass: how the input is read */
    const struct kernel_call *call;
    struct blocked gradient;
    size_t lanes;           /* terms of an input block under one window element */
    size_t planes;          /* input blocks of all groups */
    size_t terms;           /* of all input blocks */
    size_t partials, parts; /* of the images; of the input blocks */
    size_t chunk_images, chunk_rows;
    size_t *offsets; /* of the window elements in an input block */
    float *results;  /* [partial][output block][term][lane] */
    bool copied;     /* tiles read a copy of the input */
    element *copies; /* per thread: the input blocks of a task, for a chunk; joined in bf16 */
    size_t copy_image, copy_elements;
};

/* A chunk is a number of whole images, or some rows of one image. */
static void set_chunk(struct weights_job *job, size_t images)
{
    const struct shape out = job->conv.to;
    const size_t chunks = divide_up(shape_area(out), CHUNK_POSITIONS);
    job->chunk_rows = divide_up(out.height, min_size(chunks, out.height));
    job->chunk_images = max_size(1, min_size(images, CHUNK_POSITIONS / shape_area(out)));
}

static size_t part_planes(const struct weights_job *job)
{
    return divide_up(job->planes, job->parts);
}

/* Returns how far the elements of the input lie apart that two neighbouring outputs read. */
static size_t next_position(const struct weights_job *job)
{
    return job->conv.step_width * job->conv.source.block;
}

/* Returns the lanes of an input block that tiles read at offsets of their own: those of a plain
 * input. */
static size_t gathered(const struct weights_job *job)
{
    return job->lanes < LANES ? job->lanes : 1;
}

static struct weights_job job_make(const struct kernel_site *site, struct carve *carve)
{
    struct carve none = {0};
    struct weights_job job = {.conv =
                                  KERNEL(blocked_conv_make)(site, false, site->layouts[0], &none)};
    const struct blocked_conv *c = &job.conv;
    job.lanes = c->source.block;
    job.planes = divide_up(c->from.channels, job.lanes);
    job.terms = job.planes * c->sizes.taps * job.lanes;
    const size_t floats = c->out_blocks * job.terms * LANES;
    job.partials = conv_partials(site->batch, floats);
    job.parts = min_size(job.planes, divide_up(WANTED_TASKS, job.partials));
    set_chunk(&job, divide_up(site->batch, job.partials));
    job.copied = c->source.copied || TERM_VALUES > 1;
    if (job.copied) {
        job.conv.source.plane = KERNEL(blocked_conv_rows_read)(c, job.chunk_rows) * c->source.row;
        job.copy_image = round_up(part_planes(&job) * c->source.plane, LANES);
        job.copy_elements = TERM_VALUES * job.chunk_images * job.copy_image;
    }
    if (TERM_VALUES > 1) /* one image before its positions are joined */
        job.copy_elements += job.copy_image + round_up(next_position(&job), LANES);
    job.offsets = carve_bytes(carve, c->sizes.taps * gathered(&job) * sizeof *job.offsets);
    job.results = carve_floats(carve, job.partials * floats);
    job.copies = carve_elements(carve, job.copy_elements * site->threads);
    return job;
}

static size_t job_bytes(const struct kernel_site *site)
{
    struct carve carve = {0};
    job_make(site, &carve);
    return carve.used;
}

size_t KERNEL(blocked_weights_workspace)(const struct kernel_site *site)
{
    return conv_most_bytes(site, job_bytes);
}

/* --- the sums --- */

/* The sums of one task: images [first, last) for input blocks [plane, plane + planes). */
struct share {
    size_t first, last, plane, planes;
    float *results; /* of the partial result */
};

static struct share share_of(const struct weights_job *job, size_t task)
{
    const size_t part = task % job->parts, partial = task / job->parts;
    const size_t batch = job->call->site->batch;
    const size_t floats = job->conv.out_blocks * job->terms * LANES;
    const size_t plane = piece_begin(job->planes, job->parts, part);
    return (struct share){.first = piece_begin(batch, job->partials, partial),
                          .last = piece_begin(batch, job->partials, partial + 1),
                          .plane = plane,
                          .planes = piece_begin(job->planes, job->parts, part + 1) - plane,
                          .results = job->results + partial * floats};
}

/* Sets [*begin, *end) to the input blocks of a share that output blocks [block, block + blocks)
 * need: those of their groups. */
static void planes_needed(const struct weights_job *job, const struct share *share, size_t block,
                          size_t blocks, size_t *begin, size_t *end)
{
    const struct blocked_conv *c = &job->conv;
    size_t first, last, ignored;
    KERNEL(blocked_conv_groups)(c, block, &first, &ignored);
    KERNEL(blocked_conv_groups)(c, block + blocks - 1, &ignored, &last);
    *begin = max_size(share->plane, first * c->from_channels / job->lanes);
    *end = min_size(share->plane + share->planes, divide_up(last * c->from_channels, job->lanes));
}

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
        const size_t k = piece_begin(count, tiles, i);
        const size_t rows = piece_begin(count, tiles, i + 1) - k;
        gather_tiles[blocks - 1][rows - 1](p, offsets + k, out + k * LANES, job->terms * LANES);
    }
}

/* Adds a chunk to the results of output blocks [block, block + blocks). The source of `p` is where
 * the first input block of the share begins. */
static void add_blocks(const struct weights_job *job, const struct share *share,
                       const struct positions *p, size_t block, size_t blocks)
{
    const struct blocked_conv *c = &job->conv;
    const size_t taps = c->sizes.taps;
    float *out = share->results + block * job->terms * LANES;
    size_t begin, end;
    planes_needed(job, share, block, blocks, &begin, &end);
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

/* Copies the rows of an image that output rows [begin, end) read to copy[image][], in which it is
 * number `i`. */
static void copy_image(const struct weights_job *job, const struct share *share, size_t image,
                       size_t i, size_t begin, size_t end, element *copy)
{
    element *to = copy + i * job->copy_image * TERM_VALUES;
    /* in bf16 behind all images, with zeros after its last position */
    element *whole =
        TERM_VALUES > 1 ? copy + job->chunk_images * job->copy_image * TERM_VALUES : to;
    KERNEL(blocked_conv_copy)
    (&job->conv, image, share->plane * job->lanes, share->planes * job->lanes, begin, end, whole);
    if (TERM_VALUES > 1) {
        blocked_clear(whole + share->planes * job->conv.source.plane, next_position(job));
        join_positions(job, whole, to);
    }
}

/* Adds rows [begin, end) of images [n, n + images). */
static void add_chunk(const struct weights_job *job, const struct share *share, size_t n,
                      size_t images, size_t begin, size_t end, element *copy)
{
    const struct blocked_conv *c = &job->conv;
    const struct blocked *gradient = &job->gradient;
    struct positions p = {.images = images,
                          .height = end - begin,
                          .width = c->to.width,
                          .source = copy,
                          .gradient = blocked_at(gradient, n, 0, begin),
                          .source_image = job->copy_image * TERM_VALUES,
                          .source_row = c->step_height * c->source.row * TERM_VALUES,
                          .source_step = next_position(job) * TERM_VALUES,
                          .gradient_image = gradient->image,
                          .gradient_row = gradient->row,
                          .gradient_plane = gradient->plane};
    if (!job->copied) {
        p.source = KERNEL(blocked_conv_source)(c, n, begin) + share->plane * c->source.plane;
        p.source_image = c->in.image;
    }
    for (size_t i = 0; i < images && job->copied; i++)
        copy_image(job, share, n + i, i, begin, end, copy);
    const size_t columns = divide_up(c->out_blocks, MAX_BLOCKS);
    for (size_t i = 0; i < columns; i++) {
        const size_t block = piece_begin(c->out_blocks, columns, i);
        add_blocks(job, share, &p, block, piece_begin(c->out_blocks, columns, i + 1) - block);
    }
}

static void clear_share(const struct weights_job *job, const struct share *share)
{
    const size_t terms = job->conv.sizes.taps * job->lanes;
    for (size_t block = 0; block < job->conv.out_blocks; block++)
        floats_clear(share->results + (block * job->terms + share->plane * terms) * LANES,
                     share->planes * terms * LANES);
}

static void weights_task(void *context, size_t task, size_t thread)
{
    const struct weights_job *job = context;
    const struct share share = share_of(job, task);
    const size_t height = job->conv.to.height;
    element *copy = job->copies + thread * job->copy_elements;
    const uint64_t start = profile_start(job->call->profile);
    clear_share(job, &share);
    for (size_t n = share.first; n < share.last; n += job->chunk_images) {
        const size_t images = min_size(job->chunk_images, share.last - n);
        for (size_t y = 0; y < height; y += job->chunk_rows)
            add_chunk(job, &share, n, images, y, min_size(y + job->chunk_rows, height), copy);
    }
    const size_t first = share.plane * job->lanes;
    const size_t channels = min_size(first + share.planes * job->lanes, job->conv.from.channels);
    profile_add_gemm(job->call->profile, thread, GEMM_NT, job->conv.to.channels,
                     (channels - first) * job->conv.sizes.taps / job->conv.sizes.groups,
                     (share.last - share.first) * shape_area(job->conv.to), start);
}

/* --- adding the partial results --- */

/* Returns the term of an input channel under a window element. */
static size_t term_of(const struct weights_job *job, size_t channel, size_t t)
{
    const size_t taps = job->conv.sizes.taps;
    return (channel / job->lanes * taps + t) * job->lanes + channel % job->lanes;
}

/* Adds `count` values of all partial results to those of the first one. */
static void add_partials(const struct weights_job *job, float *sum, size_t count)
{
    const size_t floats = job->conv.out_blocks * job->terms * LANES;
    for (size_t partial = 1; partial < job->partials; partial++) {
        const float *more = sum + partial * floats;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] += more[i];
    }
}

/* Writes the gradient of the weights between one output block and one input block. */
static void reduce_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct weights_job *job = context;
    const struct conv_sizes *s = &job->conv.sizes;
    const size_t block = task / job->planes, plane = task % job->planes;
    const size_t terms = s->taps * job->lanes;
    float *results = job->results + block * job->terms * LANES;
    add_partials(job, results + plane * terms * LANES, terms * LANES);
    for (size_t lane = 0; lane < LANES; lane++) {
        const size_t o = block * LANES + lane, group = o / s->outputs;
        if (o >= job->conv.to.channels)
            continue;
        const size_t begin = max_size(plane * job->lanes, group * s->inputs);
        const size_t end = min_size((plane + 1) * job->lanes, (group + 1) * s->inputs);
        float *to = job->call->parameter_gradients[0] + o * s->inputs * s->taps;
        for (size_t i = begin; i < end; i++)
            for (size_t t = 0; t < s->taps; t++)
                to[(i - group * s->inputs) * s->taps + t] =
                    results[term_of(job, i, t) * LANES + lane];
    }
}

/* Writes where the window elements lie in an input block: for each lane, if it is gathered. */
static void set_offsets(const struct weights_job *job)
{
    const struct window *w = &job->conv.sizes.window;
    const size_t lanes = gathered(job);
    for (size_t t = 0; t < job->conv.sizes.taps; t++)
        for (size_t lane = 0; lane < lanes; lane++)
            job->offsets[t * lanes + lane] =
                TERM_VALUES * KERNEL(blocked_conv_offset)(
                                  &job->conv, lane,
                                  (ptrdiff_t)(t / w->kernel_width) - (ptrdiff_t)w->pad_height,
                                  (ptrdiff_t)(t % w->kernel_width) - (ptrdiff_t)w->pad_width);
}

void KERNEL(blocked_weights_backward)(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct weights_job job = job_make(call->site, &carve);
    job.call = call;
    job.conv.call = call;
    job.conv.in = blocked_input(call, 0);
    job.gradient =
        blocked_make(call->output_gradient, call->site->node->output, call->site->output_layout);
    set_offsets(&job);
    run_tasks(call, job.partials * job.parts, weights_task, &job);
    run_tasks(call, job.conv.out_blocks * job.planes, reduce_task, &job);
}

/* --- bias --- */

static void bias_task(void *context, size_t block, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct blocked g =
        blocked_make(call->output_gradient, call->site->node->output, call->site->output_layout);
    double sums[LANES] = {0};
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t y = 0; y < g.shape.height; y++) {
            const element *row = blocked_at(&g, n, block, y);
            vector sum = {0};
            for (size_t x = 0; x < g.shape.width; x++)
                sum += element_load(row + x * LANES);
            for (size_t lane = 0; lane < LANES; lane++)
                sums[lane] += sum[lane];
        }
    for (size_t c = block * LANES; c < min_size((block + 1) * LANES, g.shape.channels); c++)
        call->parameter_gradients[1][c] = (float)sums[c % LANES];
}

void KERNEL(blocked_bias_backward)(const struct kernel_call *call)
{
    run_tasks(call, divide_up(call->site->node->output.channels, LANES), bias_task, call);
}
