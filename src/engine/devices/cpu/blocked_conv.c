/* Convolution to a channel-blocked output, for inference (the inner loops are in blocked_tiles.h).
 *
 * The input may be channel-blocked, with enough padding around it, or plain, as the images of a
 * batch are; of a plain one a task copies the rows that it needs with their padding. Weights are
 * packed once, in the order in which tiles read them, with the scale of fused batch norms. The
 * offsets of the terms are written once as well. A channel_shift or channel_shuffle before the
 * convolution only changes these offsets.
 *
 * A column is one or two blocks of output channels whose tiles read the same terms. A task computes
 * some columns for a band of rows of an image, strip by strip, so that what a strip reads stays in
 * the cache.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked_tiles.h"
#include "engine/devices/cpu/conv.h"

enum {
    STRIP_FLOATS = 8192,  /* of the input that a strip reads again and again */
    WEIGHT_FLOATS = 6144, /* of a column's weights that a strip reads before it goes on */
};

/* The source of the terms: the input, or a task's copy of some of its rows. */
struct source {
    bool copied;
    size_t block; /* channels that are neighbours; 1: the plain layout */
    size_t row;   /* floats from row to row; `block` floats from position to position */
    size_t plane; /* floats from block to block */
    size_t pad;   /* positions of padding around the planes */
};

struct column {
    size_t block, blocks; /* the first output block, and how many: 1 or 2 */
    bool two_groups;
    size_t split;   /* with two groups: lanes from here on belong to the second one */
    size_t offsets; /* where its offsets begin in the prepared offsets */
    size_t weights; /* where its weights begin in the prepared weights */
};

/* A convolution as its site determines it; it begins the prepared memory. */
struct blocked_conv {
    struct conv_sizes sizes;
    struct source source;
    size_t terms; /* of an output channel */
    size_t out_blocks, column_count;
    size_t strip_rows;  /* rows of results that are computed before the next ones begin */
    size_t block_terms; /* terms that all tiles of a strip sum before the next ones begin */
    size_t copy_floats; /* of a thread's copy of a plain input */
    /* in the prepared memory: */
    struct column *columns;
    size_t *offsets;
    float *bias, *weights;
    /* set for each call */
    const struct kernel_call *call;
    struct blocked in, out;
    struct epilogue epilogue;
    size_t bands, pieces; /* how an image is divided: bands of rows, pieces of the columns */
};

/* --- geometry --- */

/* Returns the groups of output channels that have a channel in an output block: the first one and
 * the one after the last. */
static void groups_of_block(const struct conv_sizes *s, size_t block, size_t *begin, size_t *end)
{
    const size_t channels = s->groups * s->outputs;
    *begin = block * LANES / s->outputs;
    *end = divide_up(min_size(channels, (block + 1) * LANES), s->outputs);
}

static size_t pad_needed(const struct kernel_site *site)
{
    const struct window *w = &site->node->attributes.conv.window;
    const bool shifts = site->fused_move && site->fused_move->op == &op_channel_shift;
    return max_size(w->pad_height, w->pad_width) + shifts;
}

static struct source source_of(const struct kernel_site *site)
{
    const struct tensor_layout layout = site->layouts[0];
    const struct shape in = site->inputs[0];
    const size_t pad = pad_needed(site);
    if (layout.block)
        return (struct source){.block = LANES,
                               .row = tensor_row(layout, in),
                               .plane = tensor_plane(layout, in),
                               .pad = layout.pad};
    return (struct source){.copied = pad > 0,
                           .block = 1,
                           .row = in.width + 2 * pad,
                           .plane = shape_area(in),
                           .pad = pad};
}

/* Returns how many rows of the input `rows` rows of the output read. */
static size_t rows_read(const struct conv_sizes *s, size_t rows)
{
    return (rows - 1) * s->window.stride_height + s->window.kernel_height;
}

/* Chooses the strip's rows and the terms that tiles sum before the next ones begin, so that the
 * parts of the input and of the weights that are read again and again stay in the level-1 cache. */
static void set_blocking(struct blocked_conv *c)
{
    const struct conv_sizes *s = &c->sizes;
    c->block_terms = round_up(WEIGHT_FLOATS / (TILE_BLOCKS * LANES), TERM_BLOCK);
    const size_t channels = divide_up(min_size(c->block_terms, c->terms), s->taps);
    const size_t planes = divide_up(channels, c->source.block);
    const size_t rows = STRIP_FLOATS / (planes * c->source.row), height = s->window.kernel_height;
    c->strip_rows = rows > height ? (rows - height) / s->window.stride_height + 1 : 1;
    c->strip_rows = min_size(c->strip_rows, s->out.height);
}

/* Returns the convolution of a site, with its arrays taken from `carve`. */
static struct blocked_conv conv_of(const struct kernel_site *site, struct carve *carve)
{
    struct blocked_conv c = {.sizes = conv_sizes_of(site), .source = source_of(site)};
    const struct conv_sizes *s = &c.sizes;
    c.terms = s->inputs * s->taps;
    c.out_blocks = divide_up(s->groups * s->outputs, LANES);
    set_blocking(&c);
    if (c.source.copied) {
        c.source.plane = (rows_read(s, c.strip_rows) + 2 * c.source.pad) * c.source.row;
        c.copy_floats = round_up(s->in.channels * c.source.plane, LANES);
    }
    /* at most one column, and the offsets of two groups, for each block */
    const size_t offsets = s->groups == 1 ? c.terms : 2 * c.out_blocks * c.terms;
    carve_bytes(carve, sizeof c);
    c.columns = carve_bytes(carve, c.out_blocks * sizeof *c.columns);
    c.bias = carve_floats(carve, c.out_blocks * LANES);
    c.offsets = carve_bytes(carve, offsets * sizeof *c.offsets);
    c.weights = carve_floats(carve, c.out_blocks * LANES * c.terms);
    return c;
}

static size_t prepared_conv(const struct kernel_site *site)
{
    struct carve carve = {0};
    conv_of(site, &carve);
    return carve.used;
}

/* Sets the columns: neighbouring blocks of one group form pairs. Each group's offsets are written
 * once for each column. */
static void set_columns(struct blocked_conv *c)
{
    const struct conv_sizes *s = &c->sizes;
    size_t weights = 0;
    for (size_t block = 0, next; block < c->out_blocks; block = next) {
        size_t begin, end, next_begin = 0, next_end = 0;
        groups_of_block(s, block, &begin, &end);
        if (block + 1 < c->out_blocks)
            groups_of_block(s, block + 1, &next_begin, &next_end);
        const bool pair =
            block + 1 < c->out_blocks && end - begin == 1 && next_begin == begin && next_end == end;
        next = block + 1 + pair;
        c->columns[c->column_count] =
            (struct column){.block = block,
                            .blocks = next - block,
                            .two_groups = end - begin == 2,
                            .split = (begin + 1) * s->outputs - block * LANES,
                            .offsets = s->groups == 1 ? 0 : c->column_count * 2 * c->terms,
                            .weights = weights};
        weights += (next - block) * LANES * c->terms;
        c->column_count++;
    }
}

/* --- what is prepared --- */

/* Returns where the value lies that input channel `channel` has under the window's element (ky, kx)
 * for the output position (0, 0), counted from the start of the image or copy. */
static size_t offset_of(const struct blocked_conv *c, size_t channel, size_t ky, size_t kx)
{
    const struct source *source = &c->source;
    const struct window *w = &c->sizes.window;
    const struct channel_move move = channel_move_of(&c->sizes.moves, channel);
    const size_t y = source->pad + ky - w->pad_height - (size_t)move.dy;
    const size_t x = source->pad + kx - w->pad_width - (size_t)move.dx;
    return move.channel / source->block * source->plane + move.channel % source->block +
           y * source->row + x * source->block;
}

static void write_offsets(const struct blocked_conv *c, size_t group, size_t *to)
{
    const struct conv_sizes *s = &c->sizes;
    for (size_t i = 0; i < s->inputs; i++)
        for (size_t ky = 0; ky < s->window.kernel_height; ky++)
            for (size_t kx = 0; kx < s->window.kernel_width; kx++)
                *to++ = offset_of(c, group * s->inputs + i, ky, kx);
}

/* Packs the weights of one lane of a column: those of an output channel, or zeros. */
static void pack_lane(const struct blocked_conv *c, const struct column *column, size_t lane,
                      float *to)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t stride = column->blocks * LANES, channel = column->block * LANES + lane;
    const struct kernel_call *call = c->call;
    if (channel >= s->groups * s->outputs) {
        for (size_t k = 0; k < c->terms; k++)
            to[k * stride + lane] = 0;
        c->bias[channel] = 0;
        return;
    }
    const float bias = call->site->node->attributes.conv.bias ? call->parameters[1][channel] : 0;
    const struct affine affine = KERNEL(blocked_affine)(call, channel, bias);
    const float *from = call->parameters[0] + channel * c->terms;
    for (size_t k = 0; k < c->terms; k++)
        to[k * stride + lane] = from[k] * affine.scale;
    c->bias[channel] = affine.shift;
}

static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_conv *c = context;
    const struct column *column = &c->columns[task];
    const size_t group = column->block * LANES / c->sizes.outputs;
    if (c->sizes.groups > 1 || task == 0)
        write_offsets(c, group, c->offsets + column->offsets);
    if (column->two_groups)
        write_offsets(c, group + 1, c->offsets + column->offsets + c->terms);
    for (size_t lane = 0; lane < column->blocks * LANES; lane++)
        pack_lane(c, column, lane, c->weights + column->weights);
}

static void prepare_conv(const struct kernel_call *call)
{
    struct carve carve = {.base = call->prepared};
    struct blocked_conv c = conv_of(call->site, &carve);
    set_columns(&c);
    memcpy(call->prepared, &c, sizeof c);
    c.call = call;
    run_tasks(call, c.column_count, prepare_task, &c);
}

/* --- a plain input --- */

/* Copies the rows that output rows [begin, end) read, with padding, for all channels. */
static void copy_rows(const struct blocked_conv *c, size_t image, size_t begin, size_t end,
                      float *to)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t pad = c->source.pad, row = c->source.row, height = s->in.height;
    const float *from = c->in.values + image * c->in.image;
    const size_t rows = rows_read(s, end - begin) + 2 * pad;
    for (size_t channel = 0; channel < s->in.channels; channel++, to += c->source.plane) {
        float *at = to;
        for (size_t r = 0; r < rows; r++, at += row) {
            /* row r of the copy is this row of the input, counted from -pad on */
            const size_t y = begin * s->window.stride_height + r;
            if (y < pad || y >= pad + height) {
                blocked_clear(at, row);
                continue;
            }
            blocked_clear(at, pad);
            memcpy(at + pad, from + (channel * height + y - pad) * s->in.width,
                   s->in.width * sizeof *at);
            blocked_clear(at + pad + s->in.width, pad);
        }
    }
}

/* --- tasks --- */

/* Returns the tile function for `positions` positions of a column. */
static blocked_tile *find_tile(const struct column *column, size_t step, size_t positions)
{
    if (column->two_groups)
        return tiles_two_groups[positions - 1];
    if (step == LANES)
        return column->blocks == 2 ? tiles_dense_2[positions - 1] : tiles_dense_1[positions - 1];
    return column->blocks == 2 ? tiles_strided_2[positions - 1] : tiles_strided_1[positions - 1];
}

/* Computes rows [begin, end) of a column with the terms of `t`; `source` is where the terms of
 * position 0 of row `begin` lie. */
static void compute_rows(const struct blocked_conv *c, const struct column *column,
                         const struct blocked_terms *t, const float *source, size_t image,
                         size_t begin, size_t end)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t most = column->blocks == 2 ? TILE_POSITIONS_2 : TILE_POSITIONS_1;
    const size_t width = s->out.width, tiles = divide_up(width, most);
    const struct blocked *summand = &c->epilogue.summand;
    for (size_t y = begin; y < end; y++, source += s->window.stride_height * c->source.row) {
        float *out = blocked_at(&c->out, image, column->block, y);
        const float *add = summand->values ? blocked_at(summand, image, column->block, y) : NULL;
        for (size_t i = 0; i < tiles; i++) {
            const size_t x = piece_begin(width, tiles, i);
            const size_t count = piece_begin(width, tiles, i + 1) - x;
            find_tile(column, t->step, count)(t, source + x * t->step, out + x * LANES,
                                              add ? add + x * LANES : NULL);
        }
    }
}

/* Computes rows [begin, end) of a column; `source` is where the terms of row `begin` lie. */
static void compute_column(const struct blocked_conv *c, const struct column *column,
                           const float *source, size_t image, size_t begin, size_t end)
{
    struct blocked_terms t = {.step = c->sizes.window.stride_width * c->source.block,
                              .out_plane = c->out.plane,
                              .summand_plane = c->epilogue.summand.plane,
                              .epilogue = &c->epilogue};
    for (size_t lane = 0; lane < LANES; lane++)
        t.second[lane] = lane >= column->split ? -1 : 0;
    for (size_t k = 0; k < c->terms; k += c->block_terms) {
        t.terms = min_size(c->block_terms, c->terms - k);
        t.offsets = c->offsets + column->offsets + k;
        t.other_offsets = t.offsets + c->terms;
        t.weights = c->weights + column->weights + k * column->blocks * LANES;
        t.bias = k == 0 ? c->bias + column->block * LANES : NULL;
        t.last = k + t.terms == c->terms;
        compute_rows(c, column, &t, source, image, begin, end);
    }
}

static void compute_strip(const struct blocked_conv *c, size_t image, size_t first_column,
                          size_t end_column, size_t begin, size_t end, float *copy)
{
    const float *source = copy;
    if (c->source.copied)
        copy_rows(c, image, begin, end, copy);
    else
        source = c->in.values + image * c->in.image +
                 begin * c->sizes.window.stride_height * c->source.row;
    for (size_t i = first_column; i < end_column; i++)
        compute_column(c, &c->columns[i], source, image, begin, end);
}

static void conv_task(void *context, size_t task, size_t thread)
{
    const struct blocked_conv *c = context;
    const size_t per_image = c->bands * c->pieces, image = task / per_image;
    const size_t band = task % per_image / c->pieces, piece = task % c->pieces;
    const size_t first = piece_begin(c->column_count, c->pieces, piece);
    const size_t end = piece_begin(c->column_count, c->pieces, piece + 1);
    const size_t top = piece_begin(c->sizes.out.height, c->bands, band);
    const size_t bottom = piece_begin(c->sizes.out.height, c->bands, band + 1);
    float *copy = (float *)c->call->workspace + thread * c->copy_floats;
    for (size_t y = top; y < bottom; y += c->strip_rows)
        compute_strip(c, image, first, end, y, min_size(y + c->strip_rows, bottom), copy);
    for (size_t i = first; i < end; i++)
        for (size_t b = 0; b < c->columns[i].blocks; b++)
            blocked_pad(&c->out, image, c->columns[i].block + b, top, bottom);
}

/* Divides an image into tasks, if there are too few images for all threads: into pieces of the
 * columns if the weights are larger than input and output, so that each thread reads only some of
 * them, else into bands of rows. */
static void share_out(struct blocked_conv *c)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t batch = c->call->site->batch;
    const size_t weights = s->groups * s->outputs * c->terms;
    const size_t work = c->out_blocks * c->terms * shape_area(s->out) * batch;
    const size_t wanted = divide_up(tasks_wanted(c->call, work), batch);
    const bool by_columns = c->column_count >= wanted && !c->source.copied &&
                            weights > shape_count(s->in) + shape_count(s->out);
    c->pieces = by_columns ? wanted : 1;
    c->bands = by_columns ? 1 : min_size(wanted, s->out.height);
}

static void forward_conv(const struct kernel_call *call)
{
    struct blocked_conv c = *(const struct blocked_conv *)call->prepared;
    c.call = call;
    c.in = blocked_input(call, 0);
    c.out = blocked_output(call);
    c.epilogue = epilogue_of(call);
    share_out(&c);
    run_tasks(call, call->site->batch * c.bands * c.pieces, conv_task, &c);
}

/* --- the kernel --- */

static size_t workspace_conv(const struct kernel_site *site)
{
    struct carve carve = {0};
    return conv_of(site, &carve).copy_floats * site->threads * sizeof(float);
}

/* A block may have channels of two groups at most. */
static bool groups_fit(const struct kernel_site *site)
{
    const struct conv_sizes s = conv_sizes_of(site);
    for (size_t block = 0; block < divide_up(s.groups * s.outputs, LANES); block++) {
        size_t begin, end;
        groups_of_block(&s, block, &begin, &end);
        if (end - begin > 2)
            return false;
    }
    return true;
}

static bool supports_conv(const struct kernel_site *site, const char **reason)
{
    const struct shape out = site->node->output;
    *reason = N_("a plain layout");
    if (site->output_layout.block != LANES)
        return false;
    *reason = N_("an output of one position");
    if (shape_area(out) == 1)
        return false;
    *reason = N_("too few output channels");
    if (out.channels < LANES / 2)
        return false;
    *reason = N_("small groups");
    return groups_fit(site);
}

static bool fuses_move(const struct kernel_site *site, const struct node *move)
{
    const struct window *w = &site->node->attributes.conv.window;
    return move->op == &op_channel_shuffle || (w->pad_height == 0 && w->pad_width == 0);
}

const struct kernel KERNEL(conv_blocked) = {
    .name = "conv blocked",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BLOCKED | KERNEL_FUSES_CHANNEL_MOVES | KERNEL_FUSES_EPILOGUE |
              KERNEL_FUSES_NORMS,
    .supports = supports_conv,
    .fuses_move = fuses_move,
    .input_pad = pad_needed,
    .workspace_bytes = workspace_conv,
    .prepared_bytes = prepared_conv,
    .prepare = prepare_conv,
    .forward = forward_conv,
};
