/* Convolution of integers (int8.h), with any window, dilation and groups.
 *
 * A task computes some columns (blocks of output channels) for some rows of the output, strip by
 * strip. For a strip it copies the rows of the source that it reads to a buffer of its thread, in
 * which channels are neighbours and padding is there (int8_conv.h); then it goes through its
 * columns, and for each through the positions of the strip, tile by tile (int8_tiles.h). The buffer
 * stays in the level-2 cache, and the weights of a column, which `prepare` has packed, in the
 * level-1 cache.
 *
 * Threads share rows or, where there are more weights than values, columns, so that the caches of
 * each hold only its own part of what is larger. Sums are exact, so that nothing depends on that.
 */
#include "engine/devices/cpu/int8_conv.h"

#include "base/language.h"
#include "engine/devices/cpu/int8_results.h"
#include "engine/devices/cpu/int8_tiles.h"
#include "engine/graph/machine_model.h"

enum { BUFFER_BYTES = 160 * 1024 /* of a strip: less than the level-2 cache */ };

/* --- geometry --- */

/* Merges groups that have too few outputs for a block into one, with zero weights between them:
 * there are as many products, and the results fill their blocks. */
static void join_groups(struct int8_conv *c)
{
    c->merged_groups = 1;
    while (c->group_outputs < INT8_BLOCK && INT8_BLOCK % c->group_outputs == 0 &&
           c->groups % 2 == 0) {
        c->groups /= 2;
        c->group_inputs *= 2;
        c->group_outputs *= 2;
        c->merged_groups *= 2;
    }
}

/* Sets the steps. For a window of one element without padding, only the positions that the strides
 * select are copied. */
static void set_steps(struct int8_conv *c)
{
    const bool skips = c->w.kernel_height == 1 && c->w.kernel_width == 1 && c->w.pad_height == 0 &&
                       c->w.pad_width == 0;
    c->read_step_height = skips ? c->w.stride_height : 1;
    c->read_step_width = skips ? c->w.stride_width : 1;
    c->step_height = skips ? 1 : c->w.stride_height;
    c->step_width = skips ? 1 : c->w.stride_width;
}

/* Sets how the buffer lies in memory. */
static void set_buffer(struct int8_conv *c)
{
    const bool whole = c->groups == 1;
    c->group_factors =
        whole ? round_up(c->in.channels, 4) : round_up(c->group_inputs, TERM_FACTORS);
    c->position_factors = c->groups * c->group_factors;
    c->gathers = !whole && c->group_inputs % TERM_FACTORS != 0;
    c->row_positions =
        (c->out.width - 1) * c->step_width + dilated_size(c->w.kernel_width, c->dilation_width);
    c->row_factors = c->row_positions * c->position_factors;
    c->span = dilated_size(c->w.kernel_height, c->dilation_height);
    const size_t rows = BUFFER_BYTES / (c->row_factors * sizeof(factor));
    c->strip_rows = rows > c->span ? (rows - c->span) / c->step_height + 1 : 1;
    c->strip_rows = min_size(c->strip_rows, c->out.height);
    /* a block of channels that is stored as a whole may reach beyond the last position, and the
     * last term of a run beyond its last factor */
    c->at_bytes = round_up((((c->strip_rows - 1) * c->step_height + c->span) * c->row_factors +
                            INT8_BLOCK + TERM_FACTORS) *
                               sizeof(factor),
                           64);
    c->buffer_bytes =
        c->at_bytes + round_up(c->strip_rows * c->out.width * sizeof(const factor *), 64);
}

static void set_terms(struct int8_conv *c)
{
    const bool merged = c->groups == 1 && c->dilation_width == 1;
    c->row_runs = merged ? 1 : c->w.kernel_width;
    c->run_step = c->dilation_width * c->position_factors;
    c->run_terms = (merged ? c->w.kernel_width : 1) * c->group_factors / TERM_FACTORS;
    c->terms = c->w.kernel_height * c->row_runs * c->run_terms;
}

static struct int8_conv conv_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    struct int8_conv c = {.in = site->inputs[0],
                          .out = site->node->output,
                          .w = conv->window,
                          .dilation_height = max_size(1, conv->dilation_height),
                          .dilation_width = max_size(1, conv->dilation_width),
                          .groups = conv->groups,
                          .group_inputs = site->inputs[0].channels / conv->groups,
                          .group_outputs = conv->outputs / conv->groups};
    join_groups(&c);
    c.group_columns = int8_blocks(c.group_outputs);
    c.columns = c.groups * c.group_columns;
    set_steps(&c);
    set_buffer(&c);
    set_terms(&c);
    return c;
}

static size_t conv_workspace(const struct kernel_site *site)
{
    const struct int8_conv c = conv_of(site);
    return max_size(1, site->threads) * c.buffer_bytes;
}

/* --- weights --- */

static size_t weights_bytes(const struct int8_conv *c)
{
    return round_up(c->columns * int8_conv_column_weights(c) * sizeof(term_weight), 64);
}

static struct int8_column *columns_of(const struct kernel_call *call, const struct int8_conv *c)
{
    return (struct int8_column *)((char *)call->prepared + weights_bytes(c));
}

static size_t conv_prepared(const struct kernel_site *site)
{
    const struct int8_conv c = conv_of(site);
    /* the integer weights of the channels of a column, in the order of the parameter, are only used
     * by prepare */
    const size_t scratch = c.group_inputs * c.w.kernel_height * c.w.kernel_width;
    return weights_bytes(&c) + c.columns * sizeof(struct int8_column) +
           c.columns * round_up(scratch, 64);
}

/* Packs the weights of output channel `output` of a group: lane `lane` of its column. */
static void pack_channel(const struct int8_conv *c, const int8_t *from, size_t output, size_t lane,
                         term_weight *to)
{
    const size_t inputs = c->group_inputs / c->merged_groups;
    const size_t first = output / (c->group_outputs / c->merged_groups) * inputs;
    const size_t taps = c->w.kernel_height * c->w.kernel_width;
    const bool merged = c->row_runs < c->w.kernel_width || c->w.kernel_width == 1;
    for (size_t ky = 0; ky < c->w.kernel_height; ky++)
        for (size_t run = 0; run < c->row_runs; run++)
            for (size_t t = 0; t < c->run_terms; t++, to += INT8_BLOCK * TERM_FACTORS)
                for (size_t i = 0; i < TERM_FACTORS; i++) {
                    const size_t at = t * TERM_FACTORS + i;
                    const size_t kx = merged ? at / c->group_factors : run;
                    const size_t channel = at % c->group_factors - first;
                    to[lane * TERM_FACTORS + i] =
                        channel < inputs /* those before `first` are large numbers */
                            ? from[channel * taps + ky * c->w.kernel_width + kx]
                            : 0;
                }
}

struct preparation {
    const struct kernel_call *call;
    struct int8_conv c;
    struct int8_layer layer;
};

static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct preparation *p = context;
    const struct int8_conv *c = &p->c;
    const size_t first = int8_conv_channel(c, task), channels = int8_conv_channels(c, task);
    struct int8_column *column = columns_of(p->call, c) + task;
    term_weight *to = (term_weight *)p->call->prepared + task * int8_conv_column_weights(c);
    int8_t *weights =
        (int8_t *)(columns_of(p->call, c) + c->columns) + task * round_up(p->layer.products, 64);
    memset(to, 0, int8_conv_column_weights(c) * sizeof *to);
    memset(column, 0, sizeof *column);
    for (size_t lane = 0; lane < INT8_BLOCK; lane++) {
        struct int8_output output;
        if (lane < channels) {
            int8_layer_weights(&p->layer, first + lane, weights);
            output = int8_layer_output(&p->layer, first + lane, weights);
            pack_channel(c, weights, task % c->group_columns * INT8_BLOCK + lane, lane, to);
        }
        int8_column_set(column, lane, lane < channels ? &output : NULL);
    }
}

static void prepare_conv(const struct kernel_call *call)
{
    const struct preparation p = {call, conv_of(call->site), int8_layer_of(call)};
    run_tasks(call, p.c.columns, prepare_task, &p);
}

/* --- the buffer --- */

struct job {
    const struct kernel_call *call;
    struct int8_conv c;
    struct int8_array in;
    struct int8_results results;
    uint8_t zero_point; /* of the input */
    size_t row_chunks, column_chunks;
};

static void fill(factor *to, uint8_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = value;
}

/* Copies the channels of a position one by one, so that those of each group begin with a term. */
static void gather_position(const struct int8_conv *c, const uint8_t *from, size_t plane,
                            factor *to)
{
    for (size_t g = 0; g < c->groups; g++)
        for (size_t i = 0; i < c->group_factors; i++) {
            const size_t channel = g * c->group_inputs + min_size(i, c->group_inputs - 1);
            to[g * c->group_factors + i] =
                from[channel / INT8_BLOCK * plane + channel % INT8_BLOCK];
        }
}

/* Copies positions of a row. A block of channels is stored as a whole, so that blocks must be
 * stored in the order of their positions, unless they end with a position. */
static void copy_positions(const struct job *job, const uint8_t *from, size_t count, factor *to)
{
    const struct int8_conv *c = &job->c;
    const size_t blocks = int8_blocks(c->in.channels), plane = job->in.plane;
    const size_t step = c->read_step_width * INT8_BLOCK, to_step = c->position_factors;
    if (c->gathers)
        for (size_t x = 0; x < count; x++)
            gather_position(c, from + x * step, plane, to + x * to_step);
    else if (to_step == blocks * INT8_BLOCK)
        for (size_t b = 0; b < blocks; b++, from += plane, to += INT8_BLOCK)
            for (size_t x = 0; x < count; x++)
                factors_store(to + x * to_step, from + x * step);
    else
        for (size_t x = 0; x < count; x++)
            for (size_t b = 0; b < blocks; b++)
                factors_store(to + x * to_step + b * INT8_BLOCK, from + x * step + b * plane);
}

/* Copies row `y` of the source, which may lie outside of it. */
static void copy_row(const struct job *job, size_t image, ptrdiff_t y, factor *to)
{
    const struct int8_conv *c = &job->c;
    if (y < 0 || y >= (ptrdiff_t)c->in.height) {
        fill(to, job->zero_point, c->row_factors);
        return;
    }
    const size_t left = min_size(c->w.pad_width, c->row_positions);
    const size_t inside =
        min_size(divide_up(c->in.width, c->read_step_width), c->row_positions - left);
    const size_t right = c->row_positions - left - inside;
    fill(to, job->zero_point, left * c->position_factors);
    copy_positions(job,
                   job->in.values + image * job->in.image + (size_t)y * c->in.width * INT8_BLOCK,
                   inside, to + left * c->position_factors);
    fill(to + (left + inside) * c->position_factors, job->zero_point, right * c->position_factors);
}

/* Copies the source rows that output rows [begin, end) of an image read. */
static void copy_strip(const struct job *job, size_t image, size_t begin, size_t end, factor *to)
{
    const struct int8_conv *c = &job->c;
    const size_t rows = (end - begin - 1) * c->step_height + c->span;
    const ptrdiff_t first = (ptrdiff_t)(begin * c->w.stride_height) - (ptrdiff_t)c->w.pad_height;
    for (size_t r = 0; r < rows; r++)
        copy_row(job, image, first + (ptrdiff_t)(r * c->read_step_height), to + r * c->row_factors);
}

/* --- results --- */

/* The positions of a strip, from [begin, end) rows of an image. */
struct strip {
    size_t image, begin, end;
    const factor **at; /* by position of the strip: the first factor under its window */
};

/* Stores the integers of a column at one position, whose channels may begin within a block. */
static void store_channels(const struct int8_array *out, uint8_t *image, size_t position,
                           size_t first, size_t channels, bytes values)
{
    for (size_t i = 0; i < channels; i++)
        image[(first + i) / INT8_BLOCK * out->plane + position * INT8_BLOCK +
              (first + i) % INT8_BLOCK] = values[i];
}

/* Loads the summand of a column at one position into a block. */
static bytes load_channels(const struct int8_array *in, const uint8_t *image, size_t position,
                           size_t first, size_t channels)
{
    bytes values = {0};
    for (size_t i = 0; i < channels; i++)
        values[i] = image[(first + i) / INT8_BLOCK * in->plane + position * INT8_BLOCK +
                          (first + i) % INT8_BLOCK];
    return values;
}

/* Stores the integers of a column whose channels do not fill a block of the output. */
static void store_some_channels(const struct int8_results *r, const struct int8_place *place,
                                const sums *block)
{
    bytes values = {0};
    if (r->epilogue.adds)
        values = load_channels(&r->summand, r->summand.values + place->image * r->summand.image,
                               place->position, place->first, place->channels);
    uint8_t other[INT8_BLOCK];
    bytes_store(other, values);
    store_channels(&r->out, r->out.values + place->image * r->out.image, place->position,
                   place->first, place->channels,
                   int8_finish(&r->epilogue, r->columns + place->column, block, other));
}

/* Stores `count` positions of a column, whose sums lie `step` vectors apart. */
static void store_positions(const struct job *job, struct int8_place place, size_t count,
                            const sums *sum, size_t step)
{
    const bool whole =
        place.first % INT8_BLOCK == 0 && (place.channels == INT8_BLOCK || job->c.groups == 1);
    if (whole || !job->results.out.values) {
        int8_store(&job->results, &place, count, sum, step);
        return;
    }
    for (size_t p = 0; p < count; p++, place.position++)
        store_some_channels(&job->results, &place, sum + p * step);
}

/* Computes `blocks` columns at `count` positions from `first` on, which are numbered in the output
 * plane. */
static void compute_tile(const struct job *job, const struct strip *strip, size_t column,
                         size_t blocks, size_t first, size_t count)
{
    enum { STEP = TILE_BLOCKS * BLOCK_VECTORS };
    const struct int8_conv *c = &job->c;
    const factor *const *at = strip->at + (first - strip->begin * c->out.width);
    const factor *of_group[TILE_POSITIONS];
    sums tile[TILE_POSITIONS][STEP];
    if (c->groups > 1) {
        for (size_t p = 0; p < count; p++)
            of_group[p] = at[p] + column / c->group_columns * c->group_factors;
        at = of_group;
    }
    tile_functions[blocks - 1][count - 1](
        c, at, (const term_weight *)job->call->prepared + column * int8_conv_column_weights(c),
        tile);
    for (size_t b = 0; b < blocks; b++)
        store_positions(job,
                        (struct int8_place){.image = strip->image,
                                            .column = column + b,
                                            .first = int8_conv_channel(c, column + b),
                                            .channels = int8_conv_channels(c, column + b),
                                            .position = first},
                        count, tile[0] + b * BLOCK_VECTORS, STEP);
}

static void compute_strip(const struct job *job, const struct strip *strip, size_t first_column,
                          size_t last_column)
{
    const size_t begin = strip->begin * job->c.out.width, end = strip->end * job->c.out.width;
    for (size_t column = first_column, blocks; column < last_column; column += blocks) {
        /* two columns of different groups read other factors */
        const size_t left = job->c.group_columns - column % job->c.group_columns;
        blocks = min_size(TILE_BLOCKS, min_size(left, last_column - column));
        for (size_t p = begin; p < end; p += TILE_POSITIONS)
            compute_tile(job, strip, column, blocks, p, min_size(TILE_POSITIONS, end - p));
    }
}

/* --- tasks --- */

static void conv_task(void *context, size_t task, size_t thread)
{
    const struct job *job = context;
    const struct int8_conv *c = &job->c;
    const size_t rows = job->call->site->batch * c->out.height;
    const size_t row_chunk = task / job->column_chunks, column_chunk = task % job->column_chunks;
    const size_t last_row = chunk_begin(rows, job->row_chunks, row_chunk + 1);
    const size_t first_column = chunk_begin(c->columns, job->column_chunks, column_chunk);
    const size_t last_column = chunk_begin(c->columns, job->column_chunks, column_chunk + 1);
    factor *buffer = (factor *)((char *)job->call->workspace + thread * c->buffer_bytes);
    const factor **at = (const factor **)((char *)buffer + c->at_bytes);
    for (size_t p = 0; p < c->strip_rows * c->out.width; p++)
        at[p] = buffer + p / c->out.width * c->step_height * c->row_factors +
                p % c->out.width * c->step_width * c->position_factors;
    for (size_t row = chunk_begin(rows, job->row_chunks, row_chunk); row < last_row;) {
        struct strip strip = {.image = row / c->out.height, .begin = row % c->out.height, .at = at};
        const size_t count = min_size(c->out.height - strip.begin, last_row - row);
        strip.end = strip.begin + min_size(count, c->strip_rows);
        copy_strip(job, strip.image, strip.begin, strip.end, buffer);
        compute_strip(job, &strip, first_column, last_column);
        row += strip.end - strip.begin;
    }
}

/* Chooses how threads share the work. */
static void divide(struct job *job)
{
    const struct int8_conv *c = &job->c;
    const size_t rows = job->call->site->batch * c->out.height;
    const size_t work = rows * c->out.width * c->columns * c->terms * BLOCK_VECTORS;
    const size_t wanted = machine_tasks(job->call->site->machine, MACHINE_CONV_2, work,
                                        pool_threads(job->call->pool));
    const size_t values = job->call->site->batch * c->in.height * c->row_factors * sizeof(factor);
    if (weights_bytes(c) > values)
        job->column_chunks = min_size(wanted, divide_up(c->columns, TILE_BLOCKS));
    else
        job->column_chunks = 1;
    job->row_chunks = min_size(rows, divide_up(wanted, job->column_chunks));
    if (job->row_chunks * job->column_chunks < wanted)
        job->column_chunks = min_size(divide_up(wanted, job->row_chunks), c->columns);
}

static void forward_conv(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct job job = {.call = call,
                      .c = conv_of(site),
                      .in = int8_input(call, 0),
                      .zero_point = (uint8_t)site->quantizations[0].zero_point};
    job.results = int8_results_of(call, columns_of(call, &job.c));
    divide(&job);
    run_tasks(call, job.row_chunks * job.column_chunks, conv_task, &job);
}

static bool supports_conv(const struct kernel_site *site, const char **reason)
{
    if (!supports_int8(site, reason))
        return false;
    *reason = N_("a depthwise convolution has a kernel of its own");
    return !int8_is_depthwise(site);
}

extern const struct kernel KERNEL(conv_int8);
const struct kernel KERNEL(conv_int8) = {
    .name = "conv int8",
    .instruction_set = INT8_ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_INT8 | KERNEL_BLOCKED | KERNEL_FUSES_EPILOGUE,
    .supports = supports_conv,
    .workspace_bytes = conv_workspace,
    .prepared_bytes = conv_prepared,
    .prepare = prepare_conv,
    .forward = forward_conv,
};
