/* Depthwise convolution of integers (int8.h): every channel has a window of its own, so that there
 * are no terms of neighbouring channels. Instead two elements of the window are multiplied at once,
 * in 16 channels.
 *
 * A task computes some rows of some blocks of channels, strip by strip: it widens the rows of the
 * source that a strip reads to 16 bits, with their padding, in a buffer of its thread. */
#include "engine/devices/cpu/int8.h"

#include "base/language.h"
#include "engine/graph/machine_model.h"

enum { BUFFER_BYTES = 64 * 1024 /* of a strip */ };

struct depthwise {
    struct shape in, out;
    struct window w;
    size_t dilation_height, dilation_width;
    size_t blocks;
    size_t taps, pairs;   /* elements of the window */
    size_t row_positions; /* positions of a row of the buffer */
    size_t span;          /* rows under one output row */
    size_t strip_rows, buffer_bytes;
};

static struct depthwise depthwise_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    struct depthwise d = {.in = site->inputs[0],
                          .out = site->node->output,
                          .w = conv->window,
                          .dilation_height = max_size(1, conv->dilation_height),
                          .dilation_width = max_size(1, conv->dilation_width),
                          .blocks = int8_blocks(conv->outputs),
                          .taps = conv->window.kernel_height * conv->window.kernel_width};
    d.pairs = divide_up(d.taps, 2);
    d.row_positions =
        (d.out.width - 1) * d.w.stride_width + dilated_size(d.w.kernel_width, d.dilation_width);
    d.span = dilated_size(d.w.kernel_height, d.dilation_height);
    const size_t row_bytes = d.row_positions * INT8_BLOCK * sizeof(int16_t);
    const size_t rows = BUFFER_BYTES / row_bytes;
    d.strip_rows = rows > d.span ? (rows - d.span) / d.w.stride_height + 1 : 1;
    d.strip_rows = min_size(d.strip_rows, d.out.height);
    d.buffer_bytes = round_up(((d.strip_rows - 1) * d.w.stride_height + d.span) * row_bytes, 64);
    return d;
}

static size_t depthwise_workspace(const struct kernel_site *site)
{
    const struct depthwise d = depthwise_of(site);
    return max_size(1, site->threads) * d.buffer_bytes;
}

/* --- weights: for each block pairs of 16 bits, in the order of the products --- */

static size_t block_weights(const struct depthwise *d)
{
    return d->pairs * 2 * INT8_BLOCK;
}

static size_t weights_bytes(const struct depthwise *d)
{
    return round_up(d->blocks * block_weights(d) * sizeof(int16_t), 64);
}

static size_t depthwise_prepared(const struct kernel_site *site)
{
    const struct depthwise d = depthwise_of(site);
    return weights_bytes(&d) + d.blocks * sizeof(struct int8_column) +
           2 * d.pairs * sizeof(int32_t) + round_up(d.taps, 64);
}

static struct int8_column *columns_of(const struct kernel_call *call, const struct depthwise *d)
{
    return (struct int8_column *)((char *)call->prepared + weights_bytes(d));
}

/* Returns where the elements of the window lie in the buffer. */
static int32_t *offsets_of(const struct kernel_call *call, const struct depthwise *d)
{
    return (int32_t *)(columns_of(call, d) + d->blocks);
}

/* Returns the lane of a channel among the products: AVX2 interleaves each half of a vector. */
static size_t lane_of(size_t channel)
{
#if defined(__AVX2__)
    return (channel & 3) | (channel & 4) << 1 | (channel & 8) >> 1;
#else
    return channel;
#endif
}

static void prepare_depthwise(const struct kernel_call *call)
{
    const struct depthwise d = depthwise_of(call->site);
    const struct int8_layer layer = int8_layer_of(call);
    int16_t *weights = call->prepared;
    int32_t *offsets = offsets_of(call, &d);
    int8_t *channel = (int8_t *)(offsets + 2 * d.pairs);
    memset(call->prepared, 0, depthwise_prepared(call->site));
    for (size_t t = 0; t < 2 * d.pairs; t++) {
        const size_t tap = min_size(t, d.taps - 1);
        const size_t y = tap / d.w.kernel_width * d.dilation_height;
        const size_t x = tap % d.w.kernel_width * d.dilation_width;
        offsets[t] = (int32_t)((y * d.row_positions + x) * INT8_BLOCK);
    }
    for (size_t o = 0; o < d.blocks * INT8_BLOCK; o++) {
        struct int8_output output;
        const size_t block = o / INT8_BLOCK, lane = o % INT8_BLOCK;
        if (o < layer.outputs) {
            int8_layer_weights(&layer, o, channel);
            output = int8_layer_output(&layer, o, channel);
            for (size_t t = 0; t < d.taps; t++)
                weights[block * block_weights(&d) + t / 2 * 2 * INT8_BLOCK + lane_of(lane) * 2 +
                        t % 2] = channel[t];
        }
        int8_column_set(columns_of(call, &d) + block, lane, o < layer.outputs ? &output : NULL);
    }
}

/* --- the buffer --- */

struct job {
    const struct kernel_call *call;
    struct depthwise d;
    const struct int8_column *columns;
    const int32_t *offsets;
    struct int8_array in, out, summand;
    struct int8_epilogue epilogue;
    int16_t zero_point;
    size_t items, parts; /* strips of all blocks of all images */
    size_t strips;       /* of a block */
};

static void fill(int16_t *to, int16_t value, size_t positions)
{
    for (size_t i = 0; i < positions * INT8_BLOCK; i++)
        to[i] = value;
}

/* Widens row `y` of a block of the source, which may lie outside of it. */
static void copy_row(const struct job *job, const uint8_t *plane, ptrdiff_t y, int16_t *to)
{
    const struct depthwise *d = &job->d;
    const size_t left = min_size(d->w.pad_width, d->row_positions);
    const size_t inside = min_size(d->in.width, d->row_positions - left);
    if (y < 0 || y >= (ptrdiff_t)d->in.height) {
        fill(to, job->zero_point, d->row_positions);
        return;
    }
    const uint8_t *from = plane + (size_t)y * d->in.width * INT8_BLOCK;
    fill(to, job->zero_point, left);
    to += left * INT8_BLOCK;
    for (size_t i = 0; i < inside * INT8_BLOCK; i++)
        to[i] = from[i];
    fill(to + inside * INT8_BLOCK, job->zero_point, d->row_positions - left - inside);
}

/* --- products --- */

/* Computes the sums of one position. */
static inline void multiply(const struct depthwise *d, const int16_t *at, const int32_t *offsets,
                            const int16_t *weights, int32_t *block)
{
#if defined(__AVX2__)
    __m256i low = _mm256_setzero_si256(), high = low;
    for (size_t p = 0; p < d->pairs; p++, weights += 2 * INT8_BLOCK) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(at + offsets[2 * p]));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(at + offsets[2 * p + 1]));
        const __m256i w = _mm256_loadu_si256((const __m256i *)weights);
        const __m256i v = _mm256_loadu_si256((const __m256i *)(weights + INT8_BLOCK));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), v));
    }
    _mm256_storeu_si256((__m256i *)block, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(block + 8), _mm256_permute2x128_si256(low, high, 0x31));
#else
    memset(block, 0, INT8_BLOCK * sizeof *block);
    for (size_t p = 0; p < d->pairs; p++, weights += 2 * INT8_BLOCK) {
        const int16_t *a = at + offsets[2 * p], *b = at + offsets[2 * p + 1];
        for (size_t i = 0; i < INT8_BLOCK; i++)
            block[i] += a[i] * weights[2 * i] + b[i] * weights[2 * i + 1];
    }
#endif
}

static void store(const struct job *job, size_t image, size_t block, size_t position,
                  const int32_t *values)
{
    const struct depthwise *d = &job->d;
    sums sum[BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        sum[v] = sums_load(values + v * LANES);
    if (job->out.values) {
        const uint8_t *summand = job->summand.values + image * job->summand.image +
                                 block * job->summand.plane + position * INT8_BLOCK;
        bytes_store(job->out.values + image * job->out.image + block * job->out.plane +
                        position * INT8_BLOCK,
                    int8_finish(&job->epilogue, job->columns + block, sum, summand));
        return;
    }
    const size_t area = shape_area(d->out), first = block * INT8_BLOCK;
    float floats[INT8_BLOCK];
    int8_finish_floats(job->columns + block, sum, floats);
    for (size_t i = 0; i < min_size(INT8_BLOCK, d->out.channels - first); i++)
        job->call->output[(image * d->out.channels + first + i) * area + position] = floats[i];
}

static void compute_strip(const struct job *job, size_t image, size_t block, size_t begin,
                          size_t end, int16_t *buffer)
{
    const struct depthwise *d = &job->d;
    const size_t row = d->row_positions * INT8_BLOCK;
    const uint8_t *plane = job->in.values + image * job->in.image + block * job->in.plane;
    const ptrdiff_t first = (ptrdiff_t)(begin * d->w.stride_height) - (ptrdiff_t)d->w.pad_height;
    const int16_t *weights = (const int16_t *)job->call->prepared + block * block_weights(d);
    for (size_t r = 0; r < (end - begin - 1) * d->w.stride_height + d->span; r++)
        copy_row(job, plane, first + (ptrdiff_t)r, buffer + r * row);
    for (size_t y = begin; y < end; y++)
        for (size_t x = 0; x < d->out.width; x++) {
            int32_t values[INT8_BLOCK];
            multiply(d,
                     buffer + (y - begin) * d->w.stride_height * row +
                         x * d->w.stride_width * INT8_BLOCK,
                     job->offsets, weights, values);
            store(job, image, block, y * d->out.width + x, values);
        }
}

/* --- tasks --- */

static void depthwise_task(void *context, size_t task, size_t thread)
{
    const struct job *job = context;
    const struct depthwise *d = &job->d;
    const size_t last = piece_begin(job->items, job->parts, task + 1);
    int16_t *buffer = (int16_t *)((char *)job->call->workspace + thread * d->buffer_bytes);
    for (size_t item = piece_begin(job->items, job->parts, task); item < last; item++) {
        const size_t begin = item % job->strips * d->strip_rows;
        const size_t block = item / job->strips % d->blocks;
        compute_strip(job, item / job->strips / d->blocks, block, begin,
                      min_size(d->out.height, begin + d->strip_rows), buffer);
    }
}

static void forward_depthwise(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct job job = {.call = call,
                      .d = depthwise_of(site),
                      .in = int8_input(call, 0),
                      .epilogue = int8_epilogue_of(site),
                      .zero_point = (int16_t)site->quantizations[0].zero_point};
    const struct depthwise *d = &job.d;
    job.columns = columns_of(call, d);
    job.offsets = offsets_of(call, d);
    if (site->output_layout.u8)
        job.out = int8_output_array(call);
    if (site->fused_add)
        job.summand = int8_input(call, 1);
    job.strips = divide_up(d->out.height, d->strip_rows);
    job.items = site->batch * d->blocks * job.strips;
    const size_t work = site->batch * d->blocks * shape_area(d->out) * (d->taps + 8);
    job.parts = min_size(
        job.items, machine_tasks(site->machine, MACHINE_OPERATION, work, pool_threads(call->pool)));
    run_tasks(call, job.parts, depthwise_task, &job);
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
