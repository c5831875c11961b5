/* Convolution to a channel-blocked array: geometry and tasks (blocked_conv.h says what it computes,
 * blocked_conv_terms.c packs the weights, blocked_conv_compute.c and amx_conv_compute.c have the
 * inner loops).
 *
 * The source may be channel-blocked, with enough padding around it, or not: then a task copies the
 * rows that it needs with their padding. A channel_shift or channel_shuffle before the convolution
 * only changes the offsets of the terms.
 *
 * A column is one or two blocks of results whose tiles read the same terms. A task computes some
 * columns for a row block of an image, strip by strip, so that what a strip reads stays in the
 * cache.
 */
#include "engine/devices/cpu/blocked_conv.h"

#include "engine/devices/cpu/tiles.h"

enum {
    STRIP_BYTES = 32768,  /* bytes of the source that a strip reads repeatedly */
    WEIGHT_FLOATS = 6144, /* floats of a column's weights that a strip reads before it goes on */
};

/* --- geometry --- */

/* Sets the residues of one axis, without their terms. Backward, there is no dilation unless the
 * stride is 1. */
static void set_residues(struct conv_residues *residues, size_t kernel, size_t stride, size_t pad,
                         size_t dilation, size_t size, bool backward)
{
    residues->step = backward ? 1 : stride;
    residues->count = backward ? stride : 1;
    if (!backward) {
        residues->of[0] = (struct conv_residue){.step = 1,
                                                .count = size,
                                                .taps = kernel,
                                                .tap_step = 1,
                                                .at = -(ptrdiff_t)pad,
                                                .direction = (ptrdiff_t)dilation};
        return;
    }
    for (size_t r = 0; r < stride; r++) {
        const size_t first_tap = (r + pad) % stride;
        residues->of[r] = (struct conv_residue){
            .first = r,
            .step = stride,
            .count = r < size ? divide_up(size - r, stride) : 0,
            .taps = first_tap < kernel ? (kernel - 1 - first_tap) / stride + 1 : 0,
            .first_tap = first_tap,
            .tap_step = stride,
            .at = (ptrdiff_t)((r + pad - first_tap) / stride),
            .direction = -(ptrdiff_t)dilation};
    }
}

/* Sets the terms of the residues of an axis, with up to `taps` window elements each. */
static void set_terms(struct conv_residues *residues, size_t taps)
{
    residues->terms = 0;
    for (size_t r = 0; r < residues->count; r++) {
        struct conv_residue *residue = &residues->of[r];
        residue->terms = divide_up(residue->taps, taps);
        residue->terms_before = residues->terms;
        residues->terms += residue->terms;
    }
}

/* Sets *before and *after to what the residues of an axis read outside a source of `size`
 * positions, and *span to the positions that the terms of one result lie apart. */
static void find_reach(const struct conv_residues *residues, size_t size, size_t *before,
                       size_t *after, size_t *span)
{
    ptrdiff_t least = 0, most = 0;
    for (size_t r = 0; r < residues->count; r++) {
        const struct conv_residue *residue = &residues->of[r];
        if (residue->taps == 0 || residue->count == 0)
            continue;
        const ptrdiff_t last_tap =
            residue->at + ((ptrdiff_t)residue->taps - 1) * residue->direction;
        const ptrdiff_t low = last_tap < residue->at ? last_tap : residue->at;
        const ptrdiff_t high = last_tap > residue->at ? last_tap : residue->at;
        const ptrdiff_t last = high + (ptrdiff_t)((residue->count - 1) * residues->step);
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
    find_reach(&c->y, c->from.height, &source->top, &source->bottom, &c->span);
    find_reach(&c->x, c->from.width, &source->left, &source->right, &(size_t){0});
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
    return (rows - 1) * c->y.step + c->span;
}

/* Returns the terms of a group, of all residues. */
static size_t all_terms(const struct blocked_conv *c)
{
    return c->term_channels * c->y.terms * c->x.terms;
}

/* Chooses the strip's rows and the terms that tiles sum before the next ones begin, so that the
 * parts of the source and of the weights that are read again and again stay in the level-1 cache.
 */
static void set_blocking(struct blocked_conv *c)
{
    const size_t terms = all_terms(c);
    c->block_terms = TERM_VALUES > 1 /* earlier sums would be rounded */
                         ? terms
                         : round_up(WEIGHT_FLOATS / (COLUMN_BLOCKS * LANES), TERM_BLOCK);
    const size_t channels = TERM_VALUES > 1
                                ? c->from_channels
                                : divide_up(min_size(c->block_terms, terms), c->sizes.taps);
    const size_t planes = divide_up(channels, c->source.block);
    const size_t width = c->source.left + c->from.width + c->source.right;
    const size_t rows = STRIP_BYTES / sizeof(element) / (planes * width * c->source.block);
    c->strip_rows = rows > c->span ? (rows - c->span) / c->y.step + 1 : 1;
    c->strip_rows = min_size(c->strip_rows, c->y.of[0].count);
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
    set_residues(&c.y, w->kernel_height, w->stride_height, w->pad_height, s->dilation_height,
                 c.to.height, backward);
    set_residues(&c.x, w->kernel_width, w->stride_width, w->pad_width, s->dilation_width,
                 c.to.width, backward);
    set_terms(&c.y, 1);
    set_terms(&c.x, TERM_TAPS);
    c.term_floats = TERM_TAPS == 1 ? 1 : TERM_VALUES / 2 * min_size(TERM_TAPS, w->kernel_width);
    set_source(&c, layout);
    set_blocking(&c);
    c.out_blocks = divide_up(c.to.channels, LANES);
    if (c.source.copied) {
        c.source.plane = KERNEL(blocked_conv_rows_read)(&c, c.strip_rows) * c.source.row;
        c.copy_elements =
            round_up(divide_up(c.from.channels, c.source.block) * c.source.plane, LANES);
    }
    /* at most one column, and the offsets of two groups, for each block */
    const size_t terms = all_terms(&c);
    carve_bytes(carve, sizeof c);
    c.columns = carve_bytes(carve, c.out_blocks * sizeof *c.columns);
    c.bias = carve_floats(carve, c.out_blocks * LANES);
    c.offsets =
        carve_bytes(carve, (s->groups == 1 ? 1 : 2 * c.out_blocks) * terms * sizeof *c.offsets);
    c.weights = carve_floats(carve, c.out_blocks * LANES * terms * c.term_floats);
    return c;
}

bool KERNEL(blocked_conv_groups_fit)(const struct blocked_conv *c)
{
    if (c->sizes.groups > 1 && c->from_channels % TERM_VALUES)
        return false;
    for (size_t block = 0; block < c->out_blocks; block++) {
        size_t begin, end;
        KERNEL(blocked_conv_groups)(c, block, &begin, &end);
        if (end - begin > BLOCK_GROUPS)
            return false;
    }
    return true;
}

/* --- the source --- */

const element *KERNEL(blocked_conv_source)(const struct blocked_conv *c, size_t image, size_t begin)
{
    const size_t pad = c->in.pad; /* as large as the part that is read outside */
    const size_t row = pad - c->source.top + begin * c->y.step;
    return c->in.values + image * c->in.image + row * c->source.row +
           (pad - c->source.left) * c->source.block;
}

/* Copies row y of block `plane` of the source, or of as many channels of a plain source as a term
 * has, which it brings next to each other. */
static void copy_row(const struct blocked_conv *c, size_t image, size_t plane, size_t y,
                     element *to)
{
    const size_t width = c->from.width;
    if (c->in.is_blocked || TERM_VALUES == 1) {
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
            const size_t y = begin * c->y.step + r;
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

/* Clears results that no window element reaches. */
static void clear_rows(const struct blocked_conv *c, const struct conv_region *region)
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

/* Computes rows [begin, end) of all residues of some columns. */
static void compute_strip(const struct blocked_conv *c, size_t image, size_t first_column,
                          size_t end_column, size_t begin, size_t end, element *copy)
{
    struct conv_region region = {.source = copy, .image = image, .begin = begin};
    if (c->source.copied)
        KERNEL(blocked_conv_copy)(c, image, 0, c->from.channels, begin, end, copy);
    else
        region.source = KERNEL(blocked_conv_source)(c, image, begin);
    for (size_t pair = 0; pair < c->y.count * c->x.count; pair++) {
        region.terms = KERNEL(blocked_conv_terms)(c, pair / c->x.count, pair % c->x.count);
        region.end = min_size(end, region.terms.y->count);
        for (size_t i = first_column; i < end_column && region.terms.x->count; i++) {
            region.column = &c->columns[i];
            if (region.terms.count > 0)
                KERNEL(blocked_conv_compute)(c, &region);
            else if (!c->accumulate)
                clear_rows(c, &region);
        }
    }
}

/* Counts columns [first, end) of a row block of an image in the profile, as the matrix product that
 * they are. */
static void count_product(const struct blocked_conv *c, size_t first, size_t end, size_t thread,
                          uint64_t start)
{
    const size_t taps = c->sizes.taps, area = shape_area(c->sizes.out) / c->row_blocks;
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

/* Computes columns [first, end) of rows [top, bottom) of all residues, and the padding beside. */
static void compute_row_block(const struct blocked_conv *c, size_t image, size_t first, size_t end,
                              size_t top, size_t bottom, size_t thread)
{
    element *copy = c->copies + thread * c->copy_elements;
    for (size_t y = top; y < bottom; y += c->strip_rows)
        compute_strip(c, image, first, end, y, min_size(y + c->strip_rows, bottom), copy);
    for (size_t i = first; i < end; i++) /* only inference has padding */
        for (size_t b = 0; b < c->columns[i].blocks; b++)
            blocked_pad(&c->out, image, c->columns[i].block + b, top, bottom);
}

static void conv_task(void *context, size_t task, size_t thread)
{
    const struct blocked_conv *c = context;
    const uint64_t start = profile_start(c->call->profile);
    const size_t per_image = c->row_blocks * c->column_chunks, image = task / per_image;
    const size_t block = task % per_image / c->column_chunks, chunk = task % c->column_chunks;
    const size_t first = chunk_begin(c->column_count, c->column_chunks, chunk);
    const size_t end = chunk_begin(c->column_count, c->column_chunks, chunk + 1);
    const size_t top = chunk_begin(c->y.of[0].count, c->row_blocks, block);
    const size_t bottom = chunk_begin(c->y.of[0].count, c->row_blocks, block + 1);
    compute_row_block(c, image, first, end, top, bottom, thread);
    count_product(c, first, end, thread, start);
}

/* Returns into how many tasks an image is divided, so that there are enough for all threads. */
static size_t tasks_of_image(const struct blocked_conv *c, const struct kernel_site *site,
                             size_t batch, size_t threads)
{
    const size_t work = c->out_blocks * all_terms(c) * shape_area(c->sizes.out) * batch;
    return divide_up(tasks_wanted_of(site, threads, MACHINE_CONV_2, work), batch);
}

static bool has_large_weights(const struct blocked_conv *c)
{
    return c->to.channels * all_terms(c) * c->term_floats >
           shape_count(c->from) + shape_count(c->to);
}

/* Divides an image into tasks, if there are too few images for all threads: into chunks of the
 * columns if the weights are larger than source and results, so that each thread reads only some of
 * them, else into row blocks. */
static void share_out(struct blocked_conv *c)
{
    const size_t batch = c->call->site->batch;
    const size_t wanted = tasks_of_image(c, c->call->site, batch, pool_threads(c->call->pool));
    const bool by_columns = c->column_count >= wanted && !c->source.copied && has_large_weights(c);
    c->column_chunks = by_columns ? wanted : 1;
    c->row_blocks = by_columns ? 1 : min_size(wanted, c->y.of[0].count);
}

void KERNEL(blocked_conv_run)(struct blocked_conv *c)
{
    share_out(c);
    run_tasks(c->call, c->call->site->batch * c->row_blocks * c->column_chunks, conv_task, c);
}

void KERNEL(blocked_conv_run_rows)(const struct blocked_conv *c, const struct kernel_rows *rows,
                                   size_t thread)
{
    compute_row_block(c, rows->image, 0, c->column_count, rows->begin, rows->end, thread);
}

size_t KERNEL(blocked_conv_row_blocks)(const struct blocked_conv *c, const struct kernel_site *site)
{
    if (has_large_weights(c))
        return 0;
    return min_size(tasks_of_image(c, site, site->batch, site->threads), c->y.of[0].count);
}
