/* Convolution to a channel-blocked array: geometry, packed weights and tasks (blocked_conv.h says
 * what it computes, blocked_tiles.h has the inner loops).
 *
 * The source may be channel-blocked, with enough padding around it, or not: then a task copies the
 * rows that it needs with their padding. A channel_shift or channel_shuffle before the convolution
 * only changes the offsets of the terms.
 *
 * A column is one or two blocks of results whose tiles read the same terms. A task computes some
 * columns for a band of rows of an image, strip by strip, so that what a strip reads stays in the
 * cache.
 */
#include "engine/devices/cpu/blocked_conv.h"

#include "engine/devices/cpu/blocked_tiles.h"

enum {
    STRIP_BYTES = 32768,  /* of the source that a strip reads again and again */
    WEIGHT_FLOATS = 6144, /* of a column's weights that a strip reads before it goes on */
};

/* --- geometry --- */

/* Sets the residues of one axis; returns how many there are. */
static size_t set_residues(struct conv_residue *residues, size_t kernel, size_t stride, size_t pad,
                           size_t size, bool backward)
{
    if (!backward) {
        residues[0] = (struct conv_residue){.step = 1,
                                            .count = size,
                                            .taps = kernel,
                                            .tap_step = 1,
                                            .at = -(ptrdiff_t)pad,
                                            .direction = 1};
        return 1;
    }
    size_t taps_before = 0;
    for (size_t r = 0; r < stride; r++) {
        const size_t first_tap = (r + pad) % stride;
        residues[r] = (struct conv_residue){
            .first = r,
            .step = stride,
            .count = r < size ? divide_up(size - r, stride) : 0,
            .taps = first_tap < kernel ? (kernel - 1 - first_tap) / stride + 1 : 0,
            .first_tap = first_tap,
            .tap_step = stride,
            .taps_before = taps_before,
            .at = (ptrdiff_t)((r + pad - first_tap) / stride),
            .direction = -1};
        taps_before += residues[r].taps;
    }
    return stride;
}

/* Sets *before and *after to what the residues of an axis read outside a source of `size`
 * positions, and *span to the positions that the terms of one result lie apart. */
static void find_reach(const struct conv_residue *residues, size_t count, size_t step, size_t size,
                       size_t *before, size_t *after, size_t *span)
{
    ptrdiff_t least = 0, most = 0;
    for (size_t r = 0; r < count; r++) {
        if (residues[r].taps == 0 || residues[r].count == 0)
            continue;
        const ptrdiff_t reach = (ptrdiff_t)residues[r].taps - 1;
        const ptrdiff_t low = residues[r].at - (residues[r].direction < 0 ? reach : 0);
        const ptrdiff_t high = residues[r].at + (residues[r].direction > 0 ? reach : 0);
        const ptrdiff_t last = high + (ptrdiff_t)((residues[r].count - 1) * step);
        least = low < least ? low : least;
        most = high > most ? high : most;
        if (last >= (ptrdiff_t)size)
            *after = max_size(*after, (size_t)last + 1 - size);
    }
    *before = (size_t)-least;
    *span = (size_t)(most - least) + 1;
}

static void set_source(struct blocked_conv *c, struct tensor_layout layout)
{
    const struct conv_sizes *s = &c->sizes;
    struct source *source = &c->source;
    const bool shifts = s->moves.fused_move && s->moves.fused_move->op == &op_channel_shift;
    find_reach(c->y, c->residues_y, c->step_height, c->from.height, &source->top, &source->bottom,
               &c->span);
    find_reach(c->x, c->residues_x, c->step_width, c->from.width, &source->left, &source->right,
               &(size_t){0});
    source->top += shifts;
    source->bottom += shifts;
    source->left += shifts;
    source->right += shifts;
    c->span += 2 * shifts;
    source->block = layout.block ? layout.block : TERM_VALUES;
    source->copied = KERNEL(blocked_conv_pad)(c) > layout.pad || (!layout.block && TERM_VALUES > 1);
    source->row = source->copied ? (source->left + c->from.width + source->right) * source->block
                                 : tensor_row(layout, c->from);
    source->plane = tensor_plane(layout, c->from);
}

size_t KERNEL(blocked_conv_pad)(const struct blocked_conv *c)
{
    const struct source *source = &c->source;
    return max_size(max_size(source->top, source->bottom), max_size(source->left, source->right));
}

size_t KERNEL(blocked_conv_rows_read)(const struct blocked_conv *c, size_t rows)
{
    return (rows - 1) * c->step_height + c->span;
}

/* Chooses the strip's rows and the terms that tiles sum before the next ones begin, so that the
 * parts of the source and of the weights that are read again and again stay in the level-1 cache.
 */
static void set_blocking(struct blocked_conv *c)
{
    const size_t terms = c->term_channels * c->sizes.taps;
    c->block_terms = TERM_VALUES > 1 /* earlier sums would be rounded */
                         ? terms
                         : round_up(WEIGHT_FLOATS / (TILE_BLOCKS * LANES), TERM_BLOCK);
    const size_t channels = TERM_VALUES * divide_up(min_size(c->block_terms, terms), c->sizes.taps);
    const size_t planes = divide_up(channels, c->source.block);
    const size_t rows = STRIP_BYTES / sizeof(element) / (planes * c->source.row);
    c->strip_rows = rows > c->span ? (rows - c->span) / c->step_height + 1 : 1;
    c->strip_rows = min_size(c->strip_rows, c->y[0].count);
}

struct blocked_conv KERNEL(blocked_conv_make)(const struct kernel_site *site, bool backward,
                                              struct tensor_layout layout, struct carve *carve)
{
    struct blocked_conv c = {.sizes = conv_sizes_of(site), .backward = backward};
    const struct conv_sizes *s = &c.sizes;
    const struct window *w = &s->window;
    c.from = backward ? s->out : s->in;
    c.to = backward ? s->in : s->out;
    c.from_channels = backward ? s->outputs : s->inputs;
    c.term_channels = divide_up(c.from_channels, TERM_VALUES);
    c.to_channels = backward ? s->inputs : s->outputs;
    c.step_height = backward ? 1 : w->stride_height;
    c.step_width = backward ? 1 : w->stride_width;
    c.residues_y =
        set_residues(c.y, w->kernel_height, w->stride_height, w->pad_height, c.to.height, backward);
    c.residues_x =
        set_residues(c.x, w->kernel_width, w->stride_width, w->pad_width, c.to.width, backward);
    set_source(&c, layout);
    set_blocking(&c);
    c.out_blocks = divide_up(c.to.channels, LANES);
    if (c.source.copied) {
        c.source.plane = KERNEL(blocked_conv_rows_read)(&c, c.strip_rows) * c.source.row;
        c.copy_elements =
            round_up(divide_up(c.from.channels, c.source.block) * c.source.plane, LANES);
    }
    /* at most one column, and the offsets of two groups, for each block */
    const size_t terms = c.term_channels * s->taps;
    carve_bytes(carve, sizeof c);
    c.columns = carve_bytes(carve, c.out_blocks * sizeof *c.columns);
    c.bias = carve_floats(carve, c.out_blocks * LANES);
    c.offsets =
        carve_bytes(carve, (s->groups == 1 ? 1 : 2 * c.out_blocks) * terms * sizeof *c.offsets);
    c.weights = carve_floats(carve, c.out_blocks * LANES * terms);
    return c;
}

void KERNEL(blocked_conv_groups)(const struct blocked_conv *c, size_t block, size_t *begin,
                                 size_t *end)
{
    *begin = block * LANES / c->to_channels;
    *end = divide_up(min_size(c->to.channels, (block + 1) * LANES), c->to_channels);
}

bool KERNEL(blocked_conv_groups_fit)(const struct blocked_conv *c)
{
    if (c->sizes.groups > 1 && c->from_channels % TERM_VALUES)
        return false;
    for (size_t block = 0; block < c->out_blocks; block++) {
        size_t begin, end;
        KERNEL(blocked_conv_groups)(c, block, &begin, &end);
        if (end - begin > 2)
            return false;
    }
    return true;
}

/* Sets the columns: neighbouring blocks of one group form pairs. */
static void set_columns(struct blocked_conv *c)
{
    c->column_count = 0;
    for (size_t block = 0, next; block < c->out_blocks; block = next) {
        size_t begin, end, next_begin = 0, next_end = 0;
        KERNEL(blocked_conv_groups)(c, block, &begin, &end);
        if (block + 1 < c->out_blocks)
            KERNEL(blocked_conv_groups)(c, block + 1, &next_begin, &next_end);
        const bool pair =
            block + 1 < c->out_blocks && end - begin == 1 && next_begin == begin && next_end == end;
        next = block + 1 + pair;
        c->columns[c->column_count++] =
            (struct column){.block = block,
                            .blocks = next - block,
                            .two_groups = end - begin == 2,
                            .split = (begin + 1) * c->to_channels - block * LANES};
    }
}

/* --- terms --- */

/* The terms of one pair of residues. */
struct terms {
    const struct conv_residue *y, *x;
    size_t count;  /* of a result */
    size_t before; /* of the pairs before this one */
};

static struct terms terms_of(const struct blocked_conv *c, size_t ry, size_t rx)
{
    const struct conv_residue *y = &c->y[ry], *x = &c->x[rx];
    const size_t before = y->taps_before * c->sizes.window.kernel_width + y->taps * x->taps_before;
    return (struct terms){.y = y,
                          .x = x,
                          .count = c->term_channels * y->taps * x->taps,
                          .before = c->term_channels * before};
}

/* Returns where the offsets of a column begin: all columns of one group share them. */
static size_t *offsets_of(const struct blocked_conv *c, const struct terms *terms, size_t column)
{
    if (c->sizes.groups == 1)
        return c->offsets + terms->before;
    return c->offsets + 2 * (terms->before * c->column_count + column * terms->count);
}

static float *weights_of(const struct blocked_conv *c, const struct terms *terms,
                         const struct column *column)
{
    return c->weights + LANES * (terms->before * c->out_blocks + column->block * terms->count);
}

size_t KERNEL(blocked_conv_offset)(const struct blocked_conv *c, size_t channel, ptrdiff_t y,
                                   ptrdiff_t x)
{
    const struct source *source = &c->source;
    const struct channel_moves none = {.channels = c->from.channels};
    const struct channel_move move =
        channel_move_of(c->backward ? &none : &c->sizes.moves, channel);
    const size_t row = (size_t)((ptrdiff_t)source->top + y - move.dy);
    const size_t column = (size_t)((ptrdiff_t)source->left + x - move.dx);
    return move.channel / source->block * source->plane + move.channel % source->block +
           row * source->row + column * source->block;
}

static void write_offsets(const struct blocked_conv *c, const struct terms *terms, size_t group,
                          size_t *to)
{
    for (size_t i = 0; i < c->from_channels; i += TERM_VALUES)
        for (size_t ky = 0; ky < terms->y->taps; ky++)
            for (size_t kx = 0; kx < terms->x->taps; kx++)
                *to++ =
                    KERNEL(blocked_conv_offset)(c, group * c->from_channels + i,
                                                terms->y->at + terms->y->direction * (ptrdiff_t)ky,
                                                terms->x->at + terms->x->direction * (ptrdiff_t)kx);
}

/* Packs the weights of one lane of a column, scaled: those of one result channel. */
static void pack_lane(const struct blocked_conv *c, const struct terms *terms, size_t channel,
                      float scale, float *to, size_t stride)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t group = channel / c->to_channels, number = channel % c->to_channels;
    const size_t row = s->inputs * s->taps; /* weights of an output channel */
    const float *from =
        c->call->parameters[0] + group * s->outputs * row + number * (c->backward ? s->taps : row);
    for (size_t i = 0; i < c->from_channels; i++, from += c->backward ? row : s->taps)
        for (size_t ky = 0; ky < terms->y->taps; ky++)
            for (size_t kx = 0; kx < terms->x->taps; kx++) {
                const size_t y = terms->y->first_tap + ky * terms->y->tap_step;
                const size_t x = terms->x->first_tap + kx * terms->x->tap_step;
                const size_t term = (i / TERM_VALUES * terms->y->taps + ky) * terms->x->taps + kx;
                term_store(to + term * stride, i % TERM_VALUES,
                           from[y * s->window.kernel_width + x] * scale);
            }
}

static void clear_lane(const struct terms *terms, float *to, size_t stride)
{
    for (size_t k = 0; k < terms->count; k++)
        to[k * stride] = 0;
}

/* Writes the weights of a column, and the bias of its channels. */
static void pack_column(const struct blocked_conv *c, const struct terms *terms,
                        const struct column *column)
{
    const size_t stride = column->blocks * LANES;
    const bool has_bias = !c->backward && c->call->site->node->attributes.conv.bias;
    float *to = weights_of(c, terms, column);
    for (size_t lane = 0; lane < stride; lane++) {
        const size_t channel = column->block * LANES + lane;
        if (channel >= c->to.channels || c->from_channels % TERM_VALUES)
            clear_lane(terms, to + lane, stride);
        if (channel >= c->to.channels) {
            c->bias[channel] = 0;
            continue;
        }
        const struct affine affine = KERNEL(blocked_affine)(
            c->call, channel, has_bias ? c->call->parameters[1][channel] : 0);
        pack_lane(c, terms, channel, affine.scale, to + lane, stride);
        c->bias[channel] = affine.shift;
    }
}

/* Prepares one column for one pair of residues. */
static void prepare_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_conv *c = context;
    const size_t number = task % c->column_count, pair = task / c->column_count;
    const struct terms terms = terms_of(c, pair / c->residues_x, pair % c->residues_x);
    const struct column *column = &c->columns[number];
    const size_t group = column->block * LANES / c->to_channels;
    size_t *offsets = offsets_of(c, &terms, number);
    if (c->sizes.groups > 1 || number == 0)
        write_offsets(c, &terms, group, offsets);
    if (column->two_groups)
        write_offsets(c, &terms, group + 1, offsets + terms.count);
    pack_column(c, &terms, column);
}

void KERNEL(blocked_conv_prepare)(struct blocked_conv *c, const struct kernel_call *call)
{
    c->call = call;
    set_columns(c);
    run_tasks(call, c->residues_y * c->residues_x * c->column_count, prepare_task, c);
}

/* --- the source --- */

const element *KERNEL(blocked_conv_source)(const struct blocked_conv *c, size_t image, size_t begin)
{
    const size_t pad = c->in.layout.pad; /* as large as what is read outside */
    const size_t row = pad - c->source.top + begin * c->step_height;
    return c->in.values + image * c->in.image + row * c->source.row +
           (pad - c->source.left) * c->source.block;
}

/* Copies row y of block `plane` of the source, or of as many channels of a plain source as a term
 * has, which it brings next to each other. */
static void copy_row(const struct blocked_conv *c, size_t image, size_t plane, size_t y,
                     element *to)
{
    const size_t width = c->from.width;
    if (c->in.layout.block || TERM_VALUES == 1) {
        memcpy(to, blocked_at(&c->in, image, plane, y), width * c->source.block * sizeof *to);
        return;
    }
    const float *from = (const float *)c->in.values + image * c->in.image + y * c->in.row;
    for (size_t v = 0; v < TERM_VALUES; v++) {
        const size_t channel = plane * TERM_VALUES + v;
        for (size_t x = 0; x < width; x++)
            to[x * TERM_VALUES + v] =
                channel < c->from.channels ? element_of(from[channel * c->in.plane + x]) : 0;
    }
}

void KERNEL(blocked_conv_copy)(const struct blocked_conv *c, size_t image, size_t channel,
                               size_t channels, size_t begin, size_t end, element *to)
{
    const struct source *source = &c->source;
    const size_t before = source->left * source->block, width = c->from.width * source->block;
    const size_t rows = KERNEL(blocked_conv_rows_read)(c, end - begin), height = c->from.height;
    const size_t first = channel / source->block, planes = divide_up(channels, source->block);
    for (size_t plane = first; plane < first + planes; plane++, to += source->plane) {
        element *at = to;
        for (size_t r = 0; r < rows; r++, at += source->row) {
            /* row r of the copy is this row of the source, counted from -top on */
            const size_t y = begin * c->step_height + r;
            if (y < source->top || y >= source->top + height) {
                blocked_clear(at, source->row);
                continue;
            }
            blocked_clear(at, before);
            copy_row(c, image, plane, y - source->top, at + before);
            blocked_clear(at + before + width, source->row - before - width);
        }
    }
}

/* --- tasks --- */

/* Returns the tile function for `positions` positions of a column. */
static blocked_tile *find_tile(const struct column *column, const struct blocked_terms *t,
                               size_t positions)
{
    if (column->two_groups)
        return tiles_two_groups[positions - 1];
    if (t->step == LANES && t->out_step == LANES)
        return column->blocks == 2 ? tiles_dense_2[positions - 1] : tiles_dense_1[positions - 1];
    return column->blocks == 2 ? tiles_strided_2[positions - 1] : tiles_strided_1[positions - 1];
}

/* The results of a column in one pair of residues and some rows, in positions of the residues. */
struct region {
    const struct column *column;
    struct terms terms;
    const element *source; /* where the terms of row `begin` lie */
    size_t image, begin, end;
};

/* Computes the region with the terms of `t`. */
static void compute_rows(const struct blocked_conv *c, const struct region *region,
                         const struct blocked_terms *t)
{
    const struct column *column = region->column;
    const struct conv_residue *y = region->terms.y, *x = region->terms.x;
    const size_t most = column->blocks == 2 ? TILE_POSITIONS_2 : TILE_POSITIONS_1;
    const size_t tiles = divide_up(x->count, most);
    const struct blocked *summand = &c->epilogue.summand;
    const element *source = region->source;
    for (size_t j = region->begin; j < region->end; j++, source += c->step_height * c->source.row) {
        const size_t row = y->first + j * y->step;
        element *out = blocked_at(&c->out, region->image, column->block, row) + x->first * LANES;
        const element *add =
            summand->values ? blocked_at(summand, region->image, column->block, row) : NULL;
        for (size_t i = 0; i < tiles; i++) {
            const size_t at = piece_begin(x->count, tiles, i);
            const size_t count = piece_begin(x->count, tiles, i + 1) - at;
            find_tile(column, t, count)(t, source + at * t->step, out + at * t->out_step,
                                        add ? add + at * LANES : NULL);
        }
    }
}

/* Clears results that no window element reaches. */
static void clear_rows(const struct blocked_conv *c, const struct region *region)
{
    const struct conv_residue *y = region->terms.y, *x = region->terms.x;
    for (size_t block = 0; block < region->column->blocks; block++)
        for (size_t j = region->begin; j < region->end; j++) {
            element *out = blocked_at(&c->out, region->image, region->column->block + block,
                                      y->first + j * y->step);
            for (size_t i = 0; i < x->count; i++)
                element_store(out + (x->first + i * x->step) * LANES, (vector){0});
        }
}

static void compute_region(const struct blocked_conv *c, const struct region *region)
{
    const struct column *column = region->column;
    const struct terms *terms = &region->terms;
    const size_t *offsets = offsets_of(c, terms, (size_t)(column - c->columns));
    const float *weights = weights_of(c, terms, column);
    struct blocked_terms t = {.step = c->step_width * c->source.block,
                              .out_step = terms->x->step * LANES,
                              .out_plane = c->out.plane,
                              .summand_plane = c->epilogue.summand.plane,
                              .epilogue = &c->epilogue};
    for (size_t lane = 0; lane < LANES; lane++)
        t.second[lane] = lane >= column->split ? -1 : 0;
    if (terms->count == 0 && !c->accumulate)
        clear_rows(c, region);
    for (size_t k = 0; k < terms->count; k += c->block_terms) {
        t.terms = min_size(c->block_terms, terms->count - k);
        t.offsets = offsets + k;
        t.other_offsets = t.offsets + terms->count;
        t.weights = weights + k * column->blocks * LANES;
        t.bias = k == 0 && !c->accumulate ? c->bias + column->block * LANES : NULL;
        t.last = k + t.terms == terms->count;
        compute_rows(c, region, &t);
    }
}

/* Computes rows [begin, end) of all residues of some columns. */
static void compute_strip(const struct blocked_conv *c, size_t image, size_t first_column,
                          size_t end_column, size_t begin, size_t end, element *copy)
{
    struct region region = {.source = copy, .image = image, .begin = begin};
    if (c->source.copied)
        KERNEL(blocked_conv_copy)(c, image, 0, c->from.channels, begin, end, copy);
    else
        region.source = KERNEL(blocked_conv_source)(c, image, begin);
    for (size_t pair = 0; pair < c->residues_y * c->residues_x; pair++) {
        region.terms = terms_of(c, pair / c->residues_x, pair % c->residues_x);
        region.end = min_size(end, region.terms.y->count);
        for (size_t i = first_column; i < end_column && region.terms.x->count; i++) {
            region.column = &c->columns[i];
            compute_region(c, &region);
        }
    }
}

/* Counts columns [first, end) of a band of an image in the profile, as the matrix product that they
 * are. */
static void count_product(const struct blocked_conv *c, size_t first, size_t end, size_t thread,
                          uint64_t start)
{
    const size_t taps = c->sizes.taps, area = shape_area(c->sizes.out) / c->bands;
    const size_t begin = c->columns[first].block * LANES;
    const struct column *last = &c->columns[end - 1];
    const size_t channels = min_size((last->block + last->blocks) * LANES, c->to.channels) - begin;
    if (c->backward)
        profile_add_gemm(c->call->profile, thread, GEMM_TN, channels * taps, area, c->from_channels,
                         start);
    else
        profile_add_gemm(c->call->profile, thread, GEMM_NN, channels, area, c->from_channels * taps,
                         start);
}

static void conv_task(void *context, size_t task, size_t thread)
{
    const struct blocked_conv *c = context;
    const uint64_t start = profile_start(c->call->profile);
    const size_t per_image = c->bands * c->pieces, image = task / per_image;
    const size_t band = task % per_image / c->pieces, piece = task % c->pieces;
    const size_t first = piece_begin(c->column_count, c->pieces, piece);
    const size_t end = piece_begin(c->column_count, c->pieces, piece + 1);
    const size_t top = piece_begin(c->y[0].count, c->bands, band);
    const size_t bottom = piece_begin(c->y[0].count, c->bands, band + 1);
    element *copy = c->copies + thread * c->copy_elements;
    for (size_t y = top; y < bottom; y += c->strip_rows)
        compute_strip(c, image, first, end, y, min_size(y + c->strip_rows, bottom), copy);
    for (size_t i = first; i < end; i++) /* only inference has padding */
        for (size_t b = 0; b < c->columns[i].blocks; b++)
            blocked_pad(&c->out, image, c->columns[i].block + b, top, bottom);
    count_product(c, first, end, thread, start);
}

/* Divides an image into tasks, if there are too few images for all threads: into pieces of the
 * columns if the weights are larger than source and results, so that each thread reads only some of
 * them, else into bands of rows. */
static void share_out(struct blocked_conv *c)
{
    const size_t batch = c->call->site->batch;
    const size_t terms = c->term_channels * c->sizes.taps, weights = c->to.channels * terms;
    const size_t work = c->out_blocks * terms * shape_area(c->sizes.out) * batch;
    const size_t wanted = divide_up(tasks_wanted(c->call, work), batch);
    const bool by_columns = c->column_count >= wanted && !c->source.copied &&
                            weights > shape_count(c->from) + shape_count(c->to);
    c->pieces = by_columns ? wanted : 1;
    c->bands = by_columns ? 1 : min_size(wanted, c->y[0].count);
}

void KERNEL(blocked_conv_run)(struct blocked_conv *c)
{
    share_out(c);
    run_tasks(c->call, c->call->site->batch * c->bands * c->pieces, conv_task, c);
}
