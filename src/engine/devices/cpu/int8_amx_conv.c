/* Convolution of integers (int8.h) with AMX, for whole blocks of channels in each group.
 *
 * As in int8_conv.c, a task computes some columns (blocks of output channels) for some rows of the
 * output, strip by strip, and copies what a strip reads to a buffer of its thread, in which
 * channels are neighbours and padding is there. The rows of a tile of values are neighbouring
 * positions of the output, which must lie at equal distances in the buffer. So positions are
 * numbered in one of two ways, whichever needs fewer tiles:
 *
 *   by lines      each row of the output has tiles of its own
 *   as one line   rows follow each other with `pitch` positions from one to the next, of which
 * those beside the output (under the padding) are computed in vain
 *
 * For a window of 1x1 the buffer has those positions alone that are read, so that stride and
 * padding cost nothing. Sums are exact, so that nothing depends on all this. */
#include "engine/devices/cpu/int8_amx.h"

#include "base/language.h"
#include "engine/devices/cpu/int8_results.h"
#include "engine/graph/machine_model.h"

enum { BUFFER_BYTES = 160 * 1024 /* of a strip: less than the level-2 cache */ };

struct amx_conv {
    struct shape in, out;
    struct window w;
    size_t groups, group_inputs, group_columns, columns;
    /* --- the buffer: [row][position][channel] --- */
    size_t read_height, read_width;         /* strides with which positions are copied */
    size_t step_height, step_width;         /* strides of the window in the buffer */
    size_t dilation_height, dilation_width; /* of the window in the buffer */
    size_t position_bytes, row_positions, row_bytes, span;
    size_t strip_rows; /* output rows of a strip */
    size_t buffer_bytes;
    /* --- the terms: of runs of neighbours, one or several for each row of the window --- */
    size_t row_runs, run_step; /* bytes from one run of a row to the next */
    size_t run_terms, run_chunks;
    struct amx_product product; /* without `offsets` */
    /* --- the positions --- */
    bool one_line;
    size_t pitch;
    size_t tile_rows; /* positions of a tile */
    size_t line_tiles;
};

/* --- geometry --- */

static void set_buffer(struct amx_conv *c, const struct conv_attributes *conv)
{
    const bool samples = c->w.kernel_height == 1 && c->w.kernel_width == 1;
    c->read_height = samples ? c->w.stride_height : 1;
    c->read_width = samples ? c->w.stride_width : 1;
    c->step_height = samples ? 1 : c->w.stride_height;
    c->step_width = samples ? 1 : c->w.stride_width;
    c->dilation_height = max_size(1, conv->dilation_height);
    c->dilation_width = max_size(1, conv->dilation_width);
    c->position_bytes = c->groups == 1 ? round_up(c->in.channels, TERM_FACTORS) : c->in.channels;
    c->row_positions =
        (c->out.width - 1) * c->step_width + dilated_size(c->w.kernel_width, c->dilation_width);
    c->row_bytes = c->row_positions * c->position_bytes;
    c->span = dilated_size(c->w.kernel_height, c->dilation_height);
    const size_t rows = BUFFER_BYTES / c->row_bytes;
    c->strip_rows = rows > c->span ? (rows - c->span) / c->step_height + 1 : 1;
    c->strip_rows = min_size(c->strip_rows, c->out.height);
}

static void set_terms(struct amx_conv *c)
{
    const bool merged = c->groups == 1 && c->dilation_width == 1;
    const size_t group_bytes = c->groups == 1 ? c->position_bytes : c->group_inputs;
    c->row_runs = merged ? 1 : c->w.kernel_width;
    c->run_step = c->dilation_width * c->position_bytes;
    c->run_terms = (merged ? c->w.kernel_width : 1) * group_bytes / TERM_FACTORS;
    c->product.chunk_terms = amx_chunk(c->run_terms, AMX_TERMS);
    c->run_chunks = divide_up(c->run_terms, c->product.chunk_terms);
    c->product.chunks = c->w.kernel_height * c->row_runs * c->run_chunks;
    c->product.step = c->step_width * c->position_bytes;
}

/* Returns the offset of a chunk. */
static size_t chunk_offset(const struct amx_conv *c, size_t chunk)
{
    const size_t run = chunk / c->run_chunks, ky = run / c->row_runs;
    return ky * c->dilation_height * c->row_bytes + run % c->row_runs * c->run_step +
           chunk % c->run_chunks * c->product.chunk_terms * TERM_FACTORS;
}

/* Returns the positions from the first to the last one of a line, in a strip of `rows` rows. */
static size_t line_positions(const struct amx_conv *c, size_t rows)
{
    return c->one_line ? (rows - 1) * c->pitch + c->out.width : c->out.width;
}

static void set_positions(struct amx_conv *c)
{
    const size_t row_step = c->step_height * c->row_bytes;
    if (row_step % c->product.step == 0) {
        c->pitch = row_step / c->product.step;
        c->one_line = true;
        c->one_line = divide_up(line_positions(c, c->strip_rows), TILE_ROWS_MAX) <=
                      c->strip_rows * divide_up(c->out.width, TILE_ROWS_MAX);
    }
    if (!c->one_line)
        c->pitch = SIZE_MAX;
    const size_t line = line_positions(c, c->strip_rows);
    c->tile_rows = amx_chunk(line, TILE_ROWS_MAX);
    c->line_tiles = divide_up(line, c->tile_rows);
    /* the bytes that are copied, as whole blocks of channels, and those that tiles read behind them
     */
    const size_t rows = (c->strip_rows - 1) * c->step_height + c->span;
    const size_t last_line = c->one_line ? 0 : (c->strip_rows - 1) * row_step;
    const size_t read = last_line + (c->line_tiles * c->tile_rows - 1) * c->product.step +
                        chunk_offset(c, c->product.chunks - 1) +
                        c->product.chunk_terms * TERM_FACTORS;
    c->buffer_bytes = round_up(max_size(read, rows * c->row_bytes + INT8_BLOCK), 64);
}

static struct amx_conv conv_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    struct amx_conv c = {.in = site->inputs[0],
                         .out = site->node->output,
                         .w = conv->window,
                         .groups = conv->groups,
                         .group_inputs = site->inputs[0].channels / conv->groups,
                         .group_columns = int8_blocks(conv->outputs / conv->groups)};
    c.columns = c.groups * c.group_columns;
    set_buffer(&c, conv);
    set_terms(&c);
    set_positions(&c);
    return c;
}

static size_t conv_workspace(const struct kernel_site *site)
{
    const struct amx_conv c = conv_of(site);
    return max_size(1, site->threads) * c.buffer_bytes;
}

/* --- memory that `prepare` fills (weights, columns, offsets), and its scratch --- */

static size_t weights_bytes(const struct amx_conv *c)
{
    return round_up(c->columns * amx_column_bytes(&c->product), 64);
}

static struct int8_column *columns_of(const struct kernel_call *call, const struct amx_conv *c)
{
    return (struct int8_column *)((char *)call->prepared + weights_bytes(c));
}

static size_t *offsets_of(const struct kernel_call *call, const struct amx_conv *c)
{
    return (size_t *)(columns_of(call, c) + c->columns);
}

static size_t scratch_bytes(const struct amx_conv *c)
{
    return round_up(c->group_inputs * c->w.kernel_height * c->w.kernel_width, 64);
}

static size_t conv_prepared(const struct kernel_site *site)
{
    const struct amx_conv c = conv_of(site);
    return weights_bytes(&c) + c.columns * (sizeof(struct int8_column) + scratch_bytes(&c)) +
           c.product.chunks * sizeof(size_t);
}

/* Packs the weights of one output channel: lane `lane` of its column, which is 0. */
static void pack_channel(const struct amx_conv *c, const int8_t *from, size_t lane, int8_t *to)
{
    const size_t taps = c->w.kernel_height * c->w.kernel_width;
    const size_t group_bytes = c->groups == 1 ? c->position_bytes : c->group_inputs;
    const size_t factors = c->product.chunk_terms * TERM_FACTORS;
    for (size_t chunk = 0; chunk < c->product.chunks; chunk++)
        for (size_t i = 0; i < factors; i++) {
            const size_t run = chunk / c->run_chunks, ky = run / c->row_runs;
            const size_t at = chunk % c->run_chunks * factors + i;
            const size_t kx = c->row_runs == 1 ? at / group_bytes : run % c->row_runs;
            const size_t channel = at % group_bytes;
            if (at < c->run_terms * TERM_FACTORS && channel < c->group_inputs)
                to[((chunk * factors + i) / TERM_FACTORS * INT8_BLOCK + lane) * TERM_FACTORS +
                   i % TERM_FACTORS] = from[channel * taps + ky * c->w.kernel_width + kx];
        }
}

struct preparation {
    const struct kernel_call *call;
    struct amx_conv c;
    struct int8_layer layer;
};

static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct preparation *p = context;
    const struct amx_conv *c = &p->c;
    const size_t first = task * INT8_BLOCK; /* with groups, all of their blocks are whole */
    const size_t channels = min_size(INT8_BLOCK, p->layer.outputs - first);
    struct int8_column *column = columns_of(p->call, c) + task;
    int8_t *to = (int8_t *)p->call->prepared + task * amx_column_bytes(&c->product);
    int8_t *weights =
        (int8_t *)(offsets_of(p->call, c) + c->product.chunks) + task * scratch_bytes(c);
    memset(to, 0, amx_column_bytes(&c->product));
    memset(column, 0, sizeof *column);
    for (size_t lane = 0; lane < INT8_BLOCK; lane++) {
        struct int8_output output;
        if (lane < channels) {
            int8_layer_weights(&p->layer, first + lane, weights);
            output = int8_layer_output(&p->layer, first + lane, weights);
            pack_channel(c, weights, lane, to);
        }
        int8_column_set(column, lane, lane < channels ? &output : NULL);
    }
}

static void prepare_conv(const struct kernel_call *call)
{
    const struct preparation p = {call, conv_of(call->site), int8_layer_of(call)};
    size_t *offsets = offsets_of(call, &p.c);
    for (size_t chunk = 0; chunk < p.c.product.chunks; chunk++)
        offsets[chunk] = chunk_offset(&p.c, chunk);
    run_tasks(call, p.c.columns, prepare_task, &p);
}

/* --- the buffer --- */

struct job {
    const struct kernel_call *call;
    struct amx_conv c;
    struct int8_array in;
    struct int8_results results;
    uint8_t zero_point; /* of the input */
    size_t row_chunks, column_chunks;
};

/* Copies `count` positions of a row. A block of channels is stored as a whole, so that blocks are
 * stored in the order of their positions, unless they end with a position. */
static void copy_positions(const struct job *job, const uint8_t *from, size_t count, uint8_t *to)
{
    const struct amx_conv *c = &job->c;
    const size_t blocks = int8_blocks(c->in.channels), plane = job->in.plane;
    const size_t step = c->read_width * INT8_BLOCK, to_step = c->position_bytes;
    if (to_step == INT8_BLOCK && step == INT8_BLOCK)
        memcpy(to, from, count * INT8_BLOCK);
    else if (to_step == blocks * INT8_BLOCK)
        for (size_t b = 0; b < blocks; b++, from += plane, to += INT8_BLOCK)
            for (size_t x = 0; x < count; x++)
                bytes_store(to + x * to_step, bytes_load(from + x * step));
    else
        for (size_t x = 0; x < count; x++)
            for (size_t b = 0; b < blocks; b++)
                bytes_store(to + x * to_step + b * INT8_BLOCK,
                            bytes_load(from + x * step + b * plane));
}

/* Copies row `y` of the source, which may lie outside of it. */
static void copy_row(const struct job *job, size_t image, ptrdiff_t y, uint8_t *to)
{
    const struct amx_conv *c = &job->c;
    if (y < 0 || y >= (ptrdiff_t)c->in.height) {
        memset(to, job->zero_point, c->row_bytes);
        return;
    }
    /* the first position that is not padding may lie behind the first of the source */
    const size_t left = min_size(divide_up(c->w.pad_width, c->read_width), c->row_positions);
    const size_t first = left * c->read_width - c->w.pad_width;
    const size_t inside =
        first < c->in.width
            ? min_size(divide_up(c->in.width - first, c->read_width), c->row_positions - left)
            : 0;
    const uint8_t *from =
        job->in.values + image * job->in.image + ((size_t)y * c->in.width + first) * INT8_BLOCK;
    memset(to, job->zero_point, left * c->position_bytes);
    copy_positions(job, from, inside, to + left * c->position_bytes);
    memset(to + (left + inside) * c->position_bytes, job->zero_point,
           (c->row_positions - left - inside) * c->position_bytes);
}

/* Copies the source rows that output rows [begin, end) of an image read. */
static void copy_strip(const struct job *job, size_t image, size_t begin, size_t end, uint8_t *to)
{
    const struct amx_conv *c = &job->c;
    const size_t rows = (end - begin - 1) * c->step_height + c->span;
    const ptrdiff_t first = (ptrdiff_t)(begin * c->w.stride_height) - (ptrdiff_t)c->w.pad_height;
    for (size_t r = 0; r < rows; r++)
        copy_row(job, image, first + (ptrdiff_t)(r * c->read_height), to + r * c->row_bytes);
}

/* --- results --- */

/* Rows [begin, end) of an image. */
struct strip {
    size_t image, begin, end;
    const uint8_t *buffer;
    size_t tiles;
};

/* Stores the sums of one tile and column, row by row of the output. */
static void store_tile(const struct job *job, const struct strip *strip, size_t tile, size_t column,
                       const int32_t *totals)
{
    const struct amx_conv *c = &job->c;
    const size_t line = tile / c->line_tiles, first = tile % c->line_tiles * c->tile_rows;
    size_t y = strip->begin + line + first / c->pitch, x = first % c->pitch;
    for (size_t r = 0; r < c->tile_rows && y < strip->end; y++) {
        const size_t count = min_size(c->tile_rows - r, c->pitch - x);
        const struct int8_place place =
            int8_place_of(&job->results, strip->image, column, y * c->out.width + x);
        if (x < c->out.width)
            int8_store(&job->results, &place, min_size(count, c->out.width - x),
                       amx_position_sums(totals, 0, r), BLOCK_VECTORS);
        r += count;
        x = 0;
    }
}

/* --- tasks --- */

/* Computes `tiles` tiles from number `tile` on for `columns` columns. */
static void compute_group(const struct job *job, const struct strip *strip, size_t tile,
                          size_t tiles, size_t column, size_t columns)
{
    const struct amx_conv *c = &job->c;
    _Alignas(64) int32_t totals[AMX_TILES * AMX_SUMS];
    struct amx_group group = {.weights = (const int8_t *)job->call->prepared +
                                         column * amx_column_bytes(&c->product),
                              .tiles = tiles,
                              .columns = columns};
    const uint8_t *values =
        strip->buffer + (c->groups == 1 ? 0 : column / c->group_columns * c->group_inputs);
    for (size_t t = 0; t < tiles; t++) {
        const size_t line = (tile + t) / c->line_tiles, at = (tile + t) % c->line_tiles;
        group.values[t] =
            values + line * c->step_height * c->row_bytes + at * c->tile_rows * c->product.step;
    }
    KERNEL(amx_multiply)(&c->product, &group, totals);
    for (size_t t = 0; t < tiles; t++)
        for (size_t i = 0; i < columns; i++)
            store_tile(job, strip, tile + t, column + i, totals + (t * columns + i) * AMX_SUMS);
}

/* Computes a strip: two columns with two tiles; four columns if there is one tile, four tiles if
 * there is one column. */
static void compute_strip(const struct job *job, const struct strip *strip, size_t first_column,
                          size_t last_column)
{
    const struct amx_conv *c = &job->c;
    const size_t most_columns = strip->tiles == 1 ? AMX_TILES : 2;
    for (size_t column = first_column, columns; column < last_column; column += columns) {
        /* two columns of different groups read other factors */
        const size_t left = c->group_columns - column % c->group_columns;
        columns = min_size(most_columns, min_size(left, last_column - column));
        const size_t most_tiles = columns == 1 ? AMX_TILES : columns == 2 ? 2 : 1;
        for (size_t tile = 0; tile < strip->tiles; tile += most_tiles)
            compute_group(job, strip, tile, min_size(most_tiles, strip->tiles - tile), column,
                          columns);
    }
}

static void conv_task(void *context, size_t task, size_t thread)
{
    const struct job *job = context;
    const struct amx_conv *c = &job->c;
    const size_t rows = job->call->site->batch * c->out.height;
    const size_t row_chunk = task / job->column_chunks, column_chunk = task % job->column_chunks;
    const size_t last_row = chunk_begin(rows, job->row_chunks, row_chunk + 1);
    const size_t first_column = chunk_begin(c->columns, job->column_chunks, column_chunk);
    const size_t last_column = chunk_begin(c->columns, job->column_chunks, column_chunk + 1);
    uint8_t *buffer = (uint8_t *)job->call->workspace + thread * c->buffer_bytes;
    amx_configure(c->tile_rows, c->product.chunk_terms);
    for (size_t row = chunk_begin(rows, job->row_chunks, row_chunk); row < last_row;) {
        struct strip strip = {
            .image = row / c->out.height, .begin = row % c->out.height, .buffer = buffer};
        const size_t count = min_size(c->out.height - strip.begin, last_row - row);
        strip.end = strip.begin + min_size(count, c->strip_rows);
        const size_t lines = c->one_line ? 1 : strip.end - strip.begin;
        strip.tiles = lines * divide_up(line_positions(c, strip.end - strip.begin), c->tile_rows);
        copy_strip(job, strip.image, strip.begin, strip.end, buffer);
        compute_strip(job, &strip, first_column, last_column);
        row += strip.end - strip.begin;
    }
    amx_release();
}

/* Chooses how threads share the work: the larger one of weights and values is divided. */
static void divide(struct job *job)
{
    const struct amx_conv *c = &job->c;
    const size_t rows = job->call->site->batch * c->out.height;
    /* a product of tiles takes about as long as 16 of vectors, the end of a sum as long as 8 */
    const size_t work = rows * c->out.width * c->columns * (c->product.chunks + 8);
    const size_t wanted = machine_tasks(job->call->site->machine, MACHINE_CONV_2, work,
                                        pool_threads(job->call->pool));
    const size_t values = job->call->site->batch * c->in.height * c->row_bytes;
    job->column_chunks = weights_bytes(c) > values ? min_size(wanted, divide_up(c->columns, 2)) : 1;
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
    job.c.product.offsets = offsets_of(call, &job.c);
    divide(&job);
    run_tasks(call, job.row_chunks * job.column_chunks, conv_task, &job);
}

static bool supports_conv(const struct kernel_site *site, const char **reason)
{
    if (!supports_int8(site, reason))
        return false;
    const struct conv_attributes *conv = &site->node->attributes.conv;
    *reason = N_("groups without whole blocks of channels");
    if (conv->groups > 1 && (site->inputs[0].channels / conv->groups % INT8_BLOCK != 0 ||
                             conv->outputs / conv->groups % INT8_BLOCK != 0))
        return false;
    const struct amx_conv c = conv_of(site);
    const size_t lines = c.one_line ? 1 : c.strip_rows;
    const size_t used = c.strip_rows * c.out.width * c.run_terms;
    *reason = N_("too few positions or channels for the tiles of AMX");
    return used >= AMX_LEAST_PRODUCTS * lines * c.line_tiles * c.run_chunks;
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
