/* The gradients of a convolution's weight and bias.
 *
 *   weight'[o][k] = sum over images and positions p of gradient[o][p] * input[offset(k) + p]
 *
 * with the input in the layout of the forward pass (conv_layout.h). There are two ways, by the
 * number of output channels in a group: many  the gradient is transposed to [p][o]. A tile has
 * window elements k (its rows) for neighbouring output channels (its vectors) and runs over a chunk
 * of positions, few enough that their part of the gradient stays in the level-1 cache from tile to
 * tile few   (depthwise) vectors run over positions, and each (o, k) ends with a sum over the lanes
 *
 * A task computes the partial result of some images for some input channels of a group; the partial
 * results are added in order. Their number depends on shapes only. If many tasks need the same
 * gradient, it is transposed once for all of them, some images at a time.
 */
#include "engine/devices/cpu/conv.h"
#include "engine/devices/cpu/tiles.h"

/* --- the copied input, as the forward pass reads it, too --- */

static struct conv_axis input_axis(size_t size, size_t pad, size_t stride, size_t kernel,
                                   size_t out)
{
    return (struct conv_axis){.size = size,
                              .stride = stride,
                              .phases = min_size(stride, kernel),
                              .pad = pad,
                              .length = out + (kernel - 1) / stride};
}

struct layout KERNEL(conv_input_layout)(const struct conv_sizes *s)
{
    const struct window *w = &s->window;
    return layout_make(
        input_axis(s->in.height, w->pad_height, w->stride_height, s->span_height, s->out.height),
        input_axis(s->in.width, w->pad_width, w->stride_width, s->span_width, s->out.width),
        s->out.width);
}

void KERNEL(conv_input_offsets)(const struct conv_sizes *s, const struct layout *layout,
                                size_t *offsets)
{
    const struct conv_axis *y = &layout->y, *x = &layout->x;
    const size_t dy = s->dilation_height, dx = s->dilation_width;
    for (size_t i = 0; i < s->inputs; i++)
        for (size_t ky = 0; ky < s->window.kernel_height; ky++)
            for (size_t kx = 0; kx < s->window.kernel_width; kx++) {
                size_t phase = ky * dy % y->stride * x->phases + kx * dx % x->stride;
                *offsets++ = i * layout->plane + phase * y->length * layout->pitch +
                             ky * dy / y->stride * layout->pitch + kx * dx / x->stride;
            }
}

enum {
    WANTED_TASKS = 32,
    WANTED_POSITIONS = 256, /* images are taken together up to this number of positions */
    MAX_TOGETHER = 8,
    CHUNK_POSITIONS = 200, /* their gradient for a tile's columns fits a level-1 cache */
    TRANSPOSE = 8,
    SHARED_BLOCKS = 4, /* with more, the transposed gradient is shared */
    PREPARE_CHUNKS = 8,
};

struct weights_job {
    struct conv_sizes sizes;
    struct layout layout;
    bool plain; /* many: sources are read without a copy */
    bool many;
    size_t terms;    /* window elements of all input channels of a group */
    size_t columns;  /* output channels of a group; with many, rounded up to whole vectors */
    size_t partials; /* chunks of the images */
    size_t blocks;   /* of the input channels */
    size_t together; /* images that are processed together */
    size_t chunk_images, chunk_rows;       /* many: output positions of a chunk */
    bool shared;                           /* all blocks share the transposed gradient */
    size_t round;                          /* shared: counts `together` images of each partial */
    float *gradients;                      /* shared: [partial][group][image] */
    size_t gradient_floats, source_floats; /* sizes of one image in scratch */
    size_t *offsets;
    float *results; /* [partial][group][term][column] */
    char *scratch;
    size_t scratch_bytes;
    const struct kernel_call *call;
};

/* Sets the size of a chunk: a number of whole images, or some rows of one image. */
static void set_chunk(struct weights_job *job)
{
    const struct shape out = job->sizes.out;
    const size_t chunks = divide_up(shape_area(out), CHUNK_POSITIONS);
    job->chunk_rows = divide_up(out.height, min_size(chunks, out.height));
    job->chunk_images = max_size(1, min_size(job->together, CHUNK_POSITIONS / shape_area(out)));
}

static size_t copied_floats(const struct weights_job *job)
{
    return job->plain ? 0 : job->together * job->source_floats;
}

/* Returns the floats of the gradient that a task prepares at a time, if it is not shared. */
static size_t prepared_floats(const struct weights_job *job)
{
    return job->shared ? 0
           : job->many ? job->chunk_images * job->chunk_rows * job->sizes.out.width * job->columns
                       : job->gradient_floats;
}

static struct weights_job job_make(const struct kernel_site *site, struct carve *carve)
{
    struct weights_job job = {.sizes = conv_sizes_of(site)};
    const struct conv_sizes *s = &job.sizes;
    job.layout = KERNEL(conv_input_layout)(s);
    job.many = s->outputs * 2 >= LANES;
    job.terms = s->inputs * s->taps;
    job.plain = job.many && layout_is_plain(&job.layout) && !s->moves.fused_move;
    job.columns = job.many ? round_up(s->outputs, LANES) : s->outputs;
    const size_t floats = s->groups * job.terms * job.columns;
    job.partials = conv_partials(s->batch, floats);
    job.blocks = min_size(s->inputs, divide_up(WANTED_TASKS, job.partials * s->groups));
    job.together = min_size(divide_up(WANTED_POSITIONS, shape_area(s->out)), MAX_TOGETHER);
    job.together = min_size(job.together, divide_up(s->batch, job.partials));
    set_chunk(&job);
    job.gradient_floats = job.many ? shape_area(s->out) * job.columns
                                   : s->outputs * round_up(s->out.height * job.layout.pitch, LANES);
    job.source_floats = job.plain ? shape_count(s->in)
                                  : layout_floats(&job.layout, divide_up(s->inputs, job.blocks));
    job.shared = job.many && job.blocks > SHARED_BLOCKS;
    job.offsets = carve_bytes(carve, job.terms * sizeof *job.offsets);
    job.results = carve_floats(carve, job.partials * floats);
    if (job.shared)
        job.gradients =
            carve_floats(carve, job.partials * s->groups * job.together * job.gradient_floats);
    job.scratch_bytes = round_up((copied_floats(&job) + prepared_floats(&job)) * sizeof(float), 64);
    job.scratch = carve_bytes(carve, job.scratch_bytes * site->threads);
    return job;
}

static size_t job_bytes(const struct kernel_site *site)
{
    struct carve carve = {0};
    job_make(site, &carve);
    return carve.used;
}

/* Returns the most bytes for this batch and smaller ones: fewer images give more blocks, which may
 * share the gradient although more images would not. */
size_t KERNEL(conv_weights_workspace)(const struct kernel_site *site)
{
    return conv_most_bytes(site, job_bytes);
}

/* --- the gradient in scratch --- */

typedef float eight __attribute__((vector_size(32)));
typedef eight eight_in_memory __attribute__((aligned(4), may_alias));
typedef int eight_indices __attribute__((vector_size(32)));

/* The values of two vectors at constant places: i of the first, 8 + i of the second. A macro, since
 * functions cannot pass vectors that are wider than the registers of some processors. */
#if defined(__clang__)
#define EIGHT_PICK(first, second, ...) __builtin_shufflevector(first, second, __VA_ARGS__)
#else
#define EIGHT_PICK(first, second, ...)                                                             \
    __builtin_shuffle(first, second, (eight_indices){__VA_ARGS__})
#endif

/* Writes to[column][row] = from[row][column] for 8 x 8 values. */
static void transpose_block(const float *from, size_t from_stride, float *to, size_t to_stride)
{
    eight a[8], b[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        a[i] = *(const eight_in_memory *)(from + (size_t)i * from_stride);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* pairs of rows: 01 23 45 67 */
        b[2 * i] = EIGHT_PICK(a[2 * i], a[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[2 * i + 1] = EIGHT_PICK(a[2 * i], a[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) { /* fours of rows */
            a[4 * i + 2 * j] = EIGHT_PICK(b[4 * i + j], b[4 * i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
            a[4 * i + 2 * j + 1] =
                EIGHT_PICK(b[4 * i + j], b[4 * i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
        }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        *(eight_in_memory *)(to + (size_t)i * to_stride) =
            EIGHT_PICK(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(eight_in_memory *)(to + (size_t)(i + 4) * to_stride) =
            EIGHT_PICK(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

static void transpose_plainly(const float *from, size_t from_stride, size_t rows, size_t columns,
                              float *to, size_t to_stride)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            to[c * to_stride + r] = from[r * from_stride + c];
}

/* Writes to[column][row] = from[row][column] for any number of rows and columns. */
static void transpose(const float *from, size_t from_stride, size_t rows, size_t columns, float *to,
                      size_t to_stride)
{
    const size_t whole_rows = rows / TRANSPOSE * TRANSPOSE;
    const size_t whole_columns = columns / TRANSPOSE * TRANSPOSE;
    for (size_t c = 0; c < whole_columns; c += TRANSPOSE)
        for (size_t r = 0; r < whole_rows; r += TRANSPOSE)
            transpose_block(from + r * from_stride + c, from_stride, to + c * to_stride + r,
                            to_stride);
    transpose_plainly(from + whole_columns, from_stride, whole_rows, columns - whole_columns,
                      to + whole_columns * to_stride, to_stride);
    transpose_plainly(from + whole_rows * from_stride, from_stride, rows - whole_rows, columns,
                      to + whole_rows, to_stride);
}

/* Writes the gradient of `positions` positions, transposed. */
static void prepare_many(const struct weights_job *job, const float *gradient, size_t positions,
                         float *to)
{
    const size_t outputs = job->sizes.outputs;
    transpose(gradient, shape_area(job->sizes.out), outputs, positions, to, job->columns);
    for (size_t p = 0; p < positions && outputs < job->columns; p++)
        for (size_t o = outputs; o < job->columns; o++)
            to[p * job->columns + o] = 0;
}

/* Writes the gradient with its rows as far apart as the source's, and zeros between them. */
static void prepare_few(const struct weights_job *job, const float *gradient, float *to)
{
    const struct conv_sizes *s = &job->sizes;
    const size_t pitch = job->layout.pitch, used = s->out.height * pitch;
    for (size_t o = 0; o < s->outputs; o++) {
        for (size_t y = 0; y < s->out.height; y++, gradient += s->out.width) {
            for (size_t x = 0; x < s->out.width; x++)
                to[y * pitch + x] = gradient[x];
            for (size_t x = s->out.width; x < pitch; x++)
                to[y * pitch + x] = 0;
        }
        for (size_t i = used; i < round_up(used, LANES); i++)
            to[i] = 0;
        to += round_up(used, LANES);
    }
}

/* --- the sums --- */

/* The sums of one task: images [first, last) for some input channels of a group. */
struct share {
    size_t partial, group, first, last;
    size_t channel, channels; /* input channels of the group: the first, and how many */
    float *out;
};

static struct share share_of(const struct weights_job *job, size_t task)
{
    const struct conv_sizes *s = &job->sizes;
    const size_t block = task % job->blocks;
    struct share share = {.group = task / job->blocks % s->groups,
                          .partial = task / job->blocks / s->groups};
    share.first = chunk_begin(s->batch, job->partials, share.partial);
    share.last = chunk_begin(s->batch, job->partials, share.partial + 1);
    share.channel = chunk_begin(s->inputs, job->blocks, block);
    share.channels = chunk_begin(s->inputs, job->blocks, block + 1) - share.channel;
    share.out = job->results +
                ((share.partial * s->groups + share.group) * job->terms + share.channel * s->taps) *
                    job->columns;
    return share;
}

static const float *gradient_of(const struct weights_job *job, size_t image, size_t group)
{
    const struct shape out = job->sizes.out;
    return job->call->output_gradient + image * shape_count(out) +
           group * job->sizes.outputs * shape_area(out);
}

/* Returns where the shared gradient of a round's images begins. */
static float *shared_at(const struct weights_job *job, size_t partial, size_t group)
{
    return job->gradients +
           (partial * job->sizes.groups + group) * job->together * job->gradient_floats;
}

/* Adds a chunk of positions to the terms [0, terms), whose results begin at `out`. */
static void add_chunk(const struct weights_job *job, const struct tile_positions *positions,
                      const float *source, const float *gradient, size_t terms, float *out)
{
    const size_t vectors = job->columns / LANES;
    const size_t across = divide_up(vectors, TILE_VECTORS), down = divide_up(terms, TILE_ROWS);
    for (size_t j = 0; j < across; j++) {
        const size_t v = chunk_begin(vectors, across, j);
        const size_t count = chunk_begin(vectors, across, j + 1) - v;
        for (size_t i = 0; i < down; i++) {
            const size_t k = chunk_begin(terms, down, i);
            const size_t rows = chunk_begin(terms, down, i + 1) - k;
            tiles_gradient[rows - 1][count - 1](positions, source, job->offsets + k,
                                                gradient + v * LANES, job->columns,
                                                out + k * job->columns + v * LANES);
        }
    }
}

/* Adds images [n, n + images), chunk by chunk. Unless `shared` has their gradients, each chunk's
 * gradient is first prepared in `prepared`. */
static void add_many(const struct weights_job *job, const struct share *share, size_t n,
                     size_t images, const float *sources, const float *shared, float *prepared)
{
    const struct shape out = job->sizes.out;
    for (size_t i = 0; i < images; i += job->chunk_images)
        for (size_t y = 0; y < out.height; y += job->chunk_rows) {
            struct tile_positions positions = {
                .images = min_size(job->chunk_images, images - i),
                .height = min_size(job->chunk_rows, out.height - y),
                .width = out.width,
                .pitch = job->layout.pitch,
                .source_step = job->source_floats,
                .gradient_step = job->gradient_floats,
            };
            const float *gradient = prepared;
            if (shared) {
                gradient = shared + i * job->gradient_floats + y * out.width * job->columns;
            } else {
                const size_t count = positions.height * out.width;
                positions.gradient_step = count * job->columns;
                for (size_t k = 0; k < positions.images; k++)
                    prepare_many(job, gradient_of(job, n + i + k, share->group) + y * out.width,
                                 count, prepared + k * positions.gradient_step);
            }
            add_chunk(job, &positions, sources + i * job->source_floats + y * job->layout.pitch,
                      gradient, share->channels * job->sizes.taps, share->out);
        }
}

static void add_few(const struct weights_job *job, const float *source, const float *gradient,
                    size_t terms, float *out)
{
    const size_t count = round_up(job->sizes.out.height * job->layout.pitch, LANES);
    const size_t down = divide_up(terms, TILE_ROWS);
    for (size_t o = 0; o < job->sizes.outputs; o++)
        for (size_t i = 0; i < down; i++) {
            const size_t k = chunk_begin(terms, down, i);
            const size_t rows = chunk_begin(terms, down, i + 1) - k;
            float sums[TILE_ROWS];
            tiles_dot[rows - 1](source, job->offsets + k, gradient + o * count, count, sums);
            for (size_t r = 0; r < rows; r++)
                out[(k + r) * job->columns + o] += sums[r];
        }
}

/* Adds images [n, n + images). `shared` has their gradients; if it is NULL, they are prepared in
 * scratch. */
static void add_images(const struct weights_job *job, const struct share *share, size_t n,
                       size_t images, const float *shared, size_t thread)
{
    const struct conv_sizes *s = &job->sizes;
    const size_t terms = share->channels * s->taps;
    const size_t first = share->group * s->inputs + share->channel;
    const float *in = job->call->inputs[0] + n * shape_count(s->in);
    float *copies = (float *)(job->scratch + thread * job->scratch_bytes);
    float *prepared = copies + copied_floats(job);
    const uint64_t start = profile_start(job->call->profile);
    for (size_t i = 0; i < images && !job->plain; i++)
        layout_copy(&job->layout, &s->moves, first, share->channels, in + i * shape_count(s->in),
                    copies + i * job->source_floats);
    if (job->many)
        add_many(job, share, n, images, job->plain ? in + first * job->layout.plane : copies,
                 shared, prepared);
    for (size_t i = 0; i < images && !job->many; i++) {
        prepare_few(job, gradient_of(job, n + i, share->group), prepared);
        add_few(job, copies + i * job->source_floats, prepared, terms, share->out);
    }
    profile_add_gemm(job->call->profile, thread, GEMM_NT, s->outputs, terms,
                     images * shape_area(s->out), start);
}

static void clear_share(const struct weights_job *job, const struct share *share)
{
    memset(share->out, 0, share->channels * job->sizes.taps * job->columns * sizeof *share->out);
}

/* Adds all images of a task. */
static void weights_task(void *context, size_t task, size_t thread)
{
    const struct weights_job *job = context;
    const struct share share = share_of(job, task);
    clear_share(job, &share);
    for (size_t n = share.first; n < share.last; n += job->together)
        add_images(job, &share, n, min_size(job->together, share.last - n), NULL, thread);
}

/* Transposes a chunk of one image's gradient, for all blocks. */
static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct weights_job *job = context;
    const size_t chunk = task % PREPARE_CHUNKS, image = task / PREPARE_CHUNKS % job->together;
    const size_t rest = task / PREPARE_CHUNKS / job->together;
    const size_t group = rest % job->sizes.groups, partial = rest / job->sizes.groups;
    const size_t n =
        chunk_begin(job->sizes.batch, job->partials, partial) + job->round * job->together + image;
    if (n >= chunk_begin(job->sizes.batch, job->partials, partial + 1))
        return;
    const size_t area = shape_area(job->sizes.out), blocks = divide_up(area, TRANSPOSE);
    const size_t begin = chunk_begin(blocks, PREPARE_CHUNKS, chunk) * TRANSPOSE;
    const size_t end = min_size(area, chunk_begin(blocks, PREPARE_CHUNKS, chunk + 1) * TRANSPOSE);
    if (begin < end)
        prepare_many(job, gradient_of(job, n, group) + begin, end - begin,
                     shared_at(job, partial, group) + image * job->gradient_floats +
                         begin * job->columns);
}

/* Adds one round of a task's images. */
static void round_task(void *context, size_t task, size_t thread)
{
    const struct weights_job *job = context;
    const struct share share = share_of(job, task);
    const size_t n = share.first + job->round * job->together;
    if (job->round == 0)
        clear_share(job, &share);
    if (n < share.last)
        add_images(job, &share, n, min_size(job->together, share.last - n),
                   shared_at(job, share.partial, share.group), thread);
}

static void run_rounds(const struct kernel_call *call, struct weights_job *job)
{
    const size_t shares = job->partials * job->sizes.groups;
    const size_t rounds = divide_up(divide_up(job->sizes.batch, job->partials), job->together);
    for (job->round = 0; job->round < rounds; job->round++) {
        run_tasks(call, shares * job->together * PREPARE_CHUNKS, prepare_task, job);
        run_tasks(call, shares * job->blocks, round_task, job);
    }
}

/* --- adding the partial results --- */

enum { REDUCE_TERMS = 32 };

/* Writes weight'[o][k] for some terms k of a group: the sum of all partial results. */
static void reduce_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct weights_job *job = context;
    const struct conv_sizes *s = &job->sizes;
    const size_t chunks = divide_up(job->terms, REDUCE_TERMS), group = task / chunks;
    const size_t k = task % chunks * REDUCE_TERMS;
    const size_t terms = min_size(REDUCE_TERMS, job->terms - k), count = terms * job->columns;
    float *sum = job->results + (group * job->terms + k) * job->columns;
    for (size_t partial = 1; partial < job->partials; partial++) {
        const float *more = sum + partial * s->groups * job->terms * job->columns;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sum[i] += more[i];
    }
    transpose(sum, job->columns, terms, s->outputs,
              job->call->parameter_gradients[0] + group * s->outputs * job->terms + k, job->terms);
}

void KERNEL(conv_weights_backward)(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct weights_job job = job_make(call->site, &carve);
    job.call = call;
    KERNEL(conv_input_offsets)(&job.sizes, &job.layout, job.offsets);
    if (job.shared)
        run_rounds(call, &job);
    else
        run_tasks(call, job.partials * job.sizes.groups * job.blocks, weights_task, &job);
    run_tasks(call, job.sizes.groups * divide_up(job.terms, REDUCE_TERMS), reduce_task, &job);
}

/* --- bias --- */

static void bias_task(void *context, size_t channel, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct shape out = call->site->node->output;
    const size_t area = shape_area(out);
    double sum = 0;
    for (size_t n = 0; n < call->site->batch; n++)
        sum += sum_floats(call->output_gradient + (n * out.channels + channel) * area, area);
    call->parameter_gradients[1][channel] = (float)sum;
}

void KERNEL(conv_bias_backward)(const struct kernel_call *call)
{
    run_tasks(call, call->site->node->output.channels, bias_task, call);
}
