/* Direct convolution: the forward pass, and the input's gradient, which is a convolution too.
 *
 * Both are correlations: one forward pass, or one gradient of the input, for all images of a call.
 * A call packs the weights, computes one panel of results at a time and stores the panels. A tile
 * computes a few output channels (its rows) at neighbouring positions (its vectors). Each result is
 * a sum over terms, and a term is a weight times the source at a constant distance from the
 * position (conv_layout.h).
 *
 *   forward    source: the input in stride x stride phases. Rows: output channels; terms: (input
 *              channel, window element).
 *   backward   source: the output's gradient. Input position q gets weight[t] * gradient[(q + pad -
 *              t) / stride] if the stride divides it, so that each residue of q by the stride has a
 *              subset of the window elements t and a subset of the positions. Rows: input channels;
 *              terms: (output channel, window element of the subset).
 *
 * A channel_shift or channel_shuffle in front of the convolution can be fused into it at no cost:
 * the forward pass copies each channel of the source from its place before the move, and the
 * backward pass stores each row of the input's gradient there.
 *
 * With few images, all of them are copied first, and tasks are tiles and row blocks. With many, a
 * task is one image and group, and the copy stays in the thread's cache. The choice depends on the
 * number of images only, never on threads, and the sums are the same either way.
 */
#include "engine/devices/cpu/conv.h"
#include "base/language.h"
#include "engine/devices/cpu/tiles.h"

/* --- the geometry of a correlation ---
 *
 * It is everything that the shapes determine: where the copied source lies and with which offsets
 * it is read (conv_layout.h), which window elements reach which positions in the backward pass, how
 * results are divided into tasks, and how far a task goes before it begins a new panel, so that
 * what it reads stays in a cache. */

enum {
    FEW_IMAGES = 16,
    WANTED_TASKS = 32,
    MAX_STRIDE = 16,
    PANEL_FLOATS = 1 << 16, /* results in a panel: a quarter of a small level-2 cache */
    PANEL_POSITIONS = 2 * TILE_VECTORS * LANES, /* fewer would leave vectors half empty */
    BLOCK_SOURCE = 4096,     /* floats of the source that a step reads: they fit a level-1 cache */
    BLOCK_WEIGHTS = 3 << 15, /* floats of weights that all tiles read: they fit the level 2 */
};

/* The positions along an axis that are equal modulo the stride. In the forward pass there is one
 * residue, which has all positions. */
struct residue {
    size_t first, step, count;        /* positions in the destination */
    size_t taps, first_tap, tap_step; /* window elements that reach these positions */
    size_t base;                      /* source position of position 0 and the first tap */
    size_t source_step; /* how much lower the source position of each further tap is */
};

/* The residues of an axis. */
struct residues {
    size_t count;
    struct residue of[MAX_STRIDE];
};

struct correlation {
    struct conv_sizes sizes;
    struct layout layout;
    bool plain;                           /* the source can be read where it is, without a copy */
    bool in_place;                        /* sums are taken in the destination */
    size_t source_channels, rows, groups; /* channels of one group */
    struct shape destination;
    struct residues y, x;
    size_t *offsets; /* source offsets of the terms of all residues, y-major */
    float *weights;  /* packed: [group][residue][tile][term][row] */
    float *shared;   /* few images: the copies of all sources */
    char *scratch;   /* per thread: a copy of a source (many images), then a panel of results */
    size_t scratch_bytes, source_floats;
    size_t tiles, panel_rows;
    size_t block_terms; /* terms summed before the next ones begin, a multiple of TERM_BLOCK */
    size_t row_blocks, block_rows, tile_blocks; /* few images: how results are divided into tasks */
    size_t task_rows;                           /* most rows of a task */
    /* set for each call: */
    const struct kernel_call *call;
    const float *from, *bias;
    float *to;
    bool accumulate, backward;
};

/* Some rows of one residue of an image, for tiles [begin, end) of a group. */
struct panel {
    size_t image, group, begin, end;
    const struct residue *y, *x;
    size_t first_row, rows;
    const float *source, *weights; /* the source of row 0; the weights of tile 0 */
    const size_t *offsets;
    size_t terms;
    float *results; /* scratch: [channel][position] */
};

static inline bool few_images(const struct conv_sizes *s)
{
    return s->batch * s->groups < FEW_IMAGES;
}

/* Returns the floats of one row of results: a panel of rows of positions, in whole vectors. */
static inline size_t result_stride(const struct correlation *c)
{
    return round_up(c->panel_rows * c->layout.pitch, LANES) + LANES;
}

static inline size_t residue_terms(const struct correlation *c, size_t ry, size_t rx)
{
    return c->backward ? c->source_channels * c->y.of[ry].taps * c->x.of[rx].taps
                       : c->source_channels * c->sizes.taps;
}

/* Returns the first channel of a tile, counted within its group. */
static inline size_t first_channel(const struct correlation *c, size_t tile)
{
    return chunk_begin(c->rows, c->tiles, tile);
}

/* Returns the destination's plane of a channel, which is counted over all groups. */
static inline float *panel_plane(const struct correlation *c, const struct panel *p, size_t channel)
{
    return c->to + (p->image * c->groups * c->rows + channel) * shape_area(c->destination);
}

/* Sets to[i * step] = results[i], or adds the results to the values there. */
static inline void store_row(const struct correlation *c, const float *results, size_t count,
                             float *to, size_t step)
{
    if (step == 1)
        store_or_add(to, results, count, c->accumulate);
    else if (c->accumulate)
        for (size_t i = 0; i < count; i++)
            to[i * step] += results[i];
    else
        for (size_t i = 0; i < count; i++)
            to[i * step] = results[i];
}

/* Returns the window elements that reach the input positions q = residue (mod stride), and the
 * source positions that they read. There is no dilation unless the stride is 1. */
static struct residue residue_of(size_t residue, size_t size, size_t stride, size_t pad,
                                 size_t kernel, size_t dilation)
{
    const size_t first_tap = (residue + pad) % stride;
    return (struct residue){
        .first = residue,
        .step = stride,
        .count = size > residue ? divide_up(size - residue, stride) : 0,
        .taps = kernel > first_tap ? divide_up(kernel - first_tap, stride) : 0,
        .first_tap = first_tap,
        .tap_step = stride,
        .base = (residue + pad) / stride,
        .source_step = dilation,
    };
}

/* Returns the axis of an output gradient with enough padding for all residues, and moves their
 * bases into it. */
static struct conv_axis gradient_axis(struct residues *residues, size_t size)
{
    size_t zeros = 0, length = size;
    for (size_t i = 0; i < residues->count; i++) {
        const struct residue *residue = &residues->of[i];
        const size_t reach = dilated_size(residue->taps, residue->source_step);
        if (reach > residue->base + 1)
            zeros = max_size(zeros, reach - 1 - residue->base);
    }
    for (size_t i = 0; i < residues->count; i++) {
        struct residue *residue = &residues->of[i];
        residue->base += zeros;
        if (residue->taps && residue->count)
            length = max_size(length, residue->base + residue->count);
    }
    return (struct conv_axis){.size = size,
                              .stride = 1,
                              .phases = 1,
                              .pad = zeros,
                              .length = max_size(length, zeros + size)};
}

static size_t most_positions(const struct residues *residues)
{
    size_t positions = 1;
    for (size_t i = 0; i < residues->count; i++)
        positions = max_size(positions, residues->of[i].count);
    return positions;
}

static void set_forward(struct correlation *c)
{
    const struct conv_sizes *s = &c->sizes;
    c->layout = KERNEL(conv_input_layout)(s);
    c->source_channels = s->inputs;
    c->rows = s->outputs;
    c->destination = s->out;
    c->y.of[0] = (struct residue){.step = 1, .count = s->out.height};
    c->x.of[0] = (struct residue){.step = 1, .count = s->out.width};
}

static void set_backward(struct correlation *c)
{
    const struct conv_sizes *s = &c->sizes;
    const struct window *w = &s->window;
    for (size_t i = 0; i < c->y.count; i++)
        c->y.of[i] = residue_of(i, s->in.height, w->stride_height, w->pad_height, w->kernel_height,
                                s->dilation_height);
    for (size_t i = 0; i < c->x.count; i++)
        c->x.of[i] = residue_of(i, s->in.width, w->stride_width, w->pad_width, w->kernel_width,
                                s->dilation_width);
    c->layout = layout_make(gradient_axis(&c->y, s->out.height), gradient_axis(&c->x, s->out.width),
                            most_positions(&c->x));
    c->source_channels = s->outputs;
    c->rows = s->inputs;
    c->destination = s->in;
}

/* Divides the results of few images into tasks: row blocks, each of which reads another part of the
 * source and, if there are too few row blocks, blocks of tiles. */
static void share_out(struct correlation *c)
{
    const size_t height = most_positions(&c->y);
    const size_t wanted =
        few_images(&c->sizes) ? divide_up(WANTED_TASKS, c->sizes.batch * c->sizes.groups) : 1;
    const size_t least_rows = divide_up(PANEL_POSITIONS, c->layout.pitch);
    c->row_blocks = max_size(1, min_size(height / least_rows, wanted));
    c->tile_blocks = min_size(c->tiles, divide_up(wanted, c->row_blocks));
    c->block_rows = divide_up(height, c->row_blocks);
    c->task_rows = min_size(c->rows, divide_up(c->tiles, c->tile_blocks) * TILE_ROWS);
}

/* Sets the size of a panel (results of all tiles of a task for some rows) and of a block of terms
 * so that everything is read from a cache. */
static void set_blocking(struct correlation *c)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t least_rows = divide_up(PANEL_POSITIONS, c->layout.pitch);
    const size_t panel = PANEL_FLOATS / (c->task_rows * c->layout.pitch);
    const size_t panels = divide_up(c->block_rows, max_size(least_rows, panel));
    /* floats of one channel that a step reads */
    const size_t reach = s->window.kernel_height * (TILE_VECTORS + 1) * LANES;
    const size_t source = BLOCK_SOURCE * s->taps / reach, weights = BLOCK_WEIGHTS / c->task_rows;
    c->panel_rows = divide_up(c->block_rows, panels);
    c->block_terms = max_size(1, min_size(source, weights) / TERM_BLOCK) * TERM_BLOCK;
}

static void set_geometry(struct correlation *c, struct carve *carve, size_t threads)
{
    const struct conv_sizes *s = &c->sizes;
    c->groups = s->groups;
    if (c->backward)
        set_backward(c);
    else
        set_forward(c);
    c->tiles = divide_up(c->rows, TILE_ROWS);
    c->plain = layout_is_plain(&c->layout) && (c->backward || !s->moves.fused_move);
    c->in_place = c->y.count == 1 && c->x.count == 1 && c->y.of[0].step == 1 &&
                  c->x.of[0].step == 1 && c->layout.pitch == c->destination.width &&
                  !(c->backward && s->moves.fused_move);
    share_out(c);
    set_blocking(c);
    c->source_floats = layout_floats(&c->layout, c->source_channels);
    c->offsets = carve_bytes(carve, c->source_channels * s->taps * sizeof(size_t));
    c->weights = carve_floats(carve, s->groups * s->inputs * s->outputs * s->taps);
    size_t floats = result_stride(c) * c->task_rows;
    if (few_images(s))
        c->shared = carve_floats(carve, s->batch * s->groups * c->source_floats);
    else
        floats += c->source_floats;
    c->scratch_bytes = round_up(floats * sizeof(float), 64);
    c->scratch = carve_bytes(carve, c->scratch_bytes * threads);
}

/* Returns the correlation of a site, with its arrays taken from `carve`; the members of the call
 * are not set. */
static struct correlation correlation_make(const struct kernel_site *site, bool backward,
                                           struct carve *carve)
{
    struct correlation c = {.sizes = conv_sizes_of(site), .backward = backward};
    c.y.count = backward ? c.sizes.window.stride_height : 1;
    c.x.count = backward ? c.sizes.window.stride_width : 1;
    set_geometry(&c, carve, site->threads);
    return c;
}

static size_t bytes_of(const struct kernel_site *site, bool backward)
{
    struct carve carve = {0};
    correlation_make(site, backward, &carve);
    return carve.used;
}

/* Returns the bytes of workspace that a correlation takes, for the site's batch and for every
 * smaller one. A batch smaller than planned may count as few images, which need another workspace:
 * the larger of the two is returned. */
static size_t correlation_bytes(const struct kernel_site *site, bool backward)
{
    const size_t groups = site->node->attributes.conv.groups;
    struct kernel_site few = *site;
    few.batch = max_size(1, min_size(site->batch, (FEW_IMAGES - 1) / groups));
    return max_size(bytes_of(site, backward), bytes_of(&few, backward));
}

static void backward_offsets(const struct correlation *c)
{
    size_t *at = c->offsets;
    for (size_t ry = 0; ry < c->y.count; ry++)
        for (size_t rx = 0; rx < c->x.count; rx++)
            for (size_t o = 0; o < c->source_channels; o++)
                for (size_t ty = 0; ty < c->y.of[ry].taps; ty++)
                    for (size_t tx = 0; tx < c->x.of[rx].taps; tx++)
                        *at++ =
                            o * c->layout.plane +
                            (c->y.of[ry].base - ty * c->y.of[ry].source_step) * c->layout.pitch +
                            c->x.of[rx].base - tx * c->x.of[rx].source_step;
}

/* Writes the offsets of all terms. */
static void correlation_set_offsets(const struct correlation *c)
{
    if (c->backward)
        backward_offsets(c);
    else
        KERNEL(conv_input_offsets)(&c->sizes, &c->layout, c->offsets);
}

/* --- weights ---
 *
 * The weights of a correlation are packed in the order in which tiles read them: for each group,
 * residue and tile, the weights of the tile's rows lie together term by term. */

/* Packs weights[term][row] of one tile of the forward pass, whose rows are output channels. */
static void pack_forward(const struct correlation *c, size_t channel, size_t rows, float *to)
{
    const size_t terms = c->sizes.inputs * c->sizes.taps;
    const float *from = c->call->parameters[0] + channel * terms;
    for (size_t k = 0; k < terms; k++)
        for (size_t r = 0; r < rows; r++)
            *to++ = from[r * terms + k];
}

/* Packs weights[term][row] of one tile and residue of the backward pass, whose rows are input
 * channels. */
static void pack_backward(const struct correlation *c, size_t group, size_t first, size_t rows,
                          const struct residue *y, const struct residue *x, float *to)
{
    const struct conv_sizes *s = &c->sizes;
    for (size_t o = 0; o < s->outputs; o++) {
        const float *from =
            c->call->parameters[0] + ((group * s->outputs + o) * s->inputs + first) * s->taps;
        for (size_t ty = 0; ty < y->taps; ty++)
            for (size_t tx = 0; tx < x->taps; tx++)
                for (size_t r = 0; r < rows; r++)
                    *to++ = from[r * s->taps +
                                 (y->first_tap + ty * y->tap_step) * s->window.kernel_width +
                                 x->first_tap + tx * x->tap_step];
    }
}

/* Returns where tile `tile` of (group, residue) begins in the packed weights. */
static float *correlation_packed(const struct correlation *c, size_t group, size_t ry, size_t rx,
                                 size_t tile)
{
    size_t terms = 0; /* terms in the residues before this one */
    for (size_t i = 0; i < ry * c->x.count + rx; i++)
        terms += residue_terms(c, i / c->x.count, i % c->x.count);
    return c->weights + group * c->rows * c->source_channels * c->sizes.taps + terms * c->rows +
           residue_terms(c, ry, rx) * chunk_begin(c->rows, c->tiles, tile);
}

static void pack_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct correlation *c = context;
    const size_t group = task / c->tiles, tile = task % c->tiles;
    const size_t first = chunk_begin(c->rows, c->tiles, tile);
    const size_t rows = chunk_begin(c->rows, c->tiles, tile + 1) - first;
    if (!c->backward) {
        pack_forward(c, group * c->rows + first, rows, correlation_packed(c, group, 0, 0, tile));
        return;
    }
    for (size_t ry = 0; ry < c->y.count; ry++)
        for (size_t rx = 0; rx < c->x.count; rx++)
            pack_backward(c, group, first, rows, &c->y.of[ry], &c->x.of[rx],
                          correlation_packed(c, group, ry, rx, tile));
}

/* Packs the call's weights, in parallel. */
static void correlation_pack(const struct correlation *c)
{
    run_tasks(c->call, c->groups * c->tiles, pack_task, c);
}

/* --- storing ---
 *
 * The results of a panel go from scratch to the destination row by row, with the stride of the
 * panel's residue; in a backward pass with a fused channel move, to the place that each channel
 * came from. */

/* Stores whole rows of the destination, whose results lie layout.pitch apart. Rows are stored in
 * whole vectors if memory follows them: the next row overwrites the excess. */
static void store_rows(const struct correlation *c, const float *results, float *to, size_t rows)
{
    const size_t width = c->destination.width, whole = round_up(width, LANES);
    const float *end = to + rows * width;
    for (; rows > 0 && !c->accumulate && (size_t)(end - to) >= whole; rows--) {
        for (size_t i = 0; i < whole; i += LANES)
            vector_store(to + i, vector_load(results + i));
        to += width;
        results += c->layout.pitch;
    }
    for (; rows > 0; rows--, to += width, results += c->layout.pitch)
        store_row(c, results, width, to, 1);
}

/* Stores the results of one channel. */
static void store_results(const struct correlation *c, const struct panel *p, const float *results,
                          float *plane)
{
    const struct residue *y = p->y, *x = p->x;
    const size_t width = c->destination.width;
    float *to = plane + (y->first + p->first_row * y->step) * width + x->first;
    if (x->step == 1 && y->step == 1)
        store_rows(c, results, to, p->rows);
    else
        for (size_t row = 0; row < p->rows; row++, to += y->step * width)
            store_row(c, results + row * c->layout.pitch, x->count, to, x->step);
}

/* Stores a row of the gradient of a shifted input, moved back by dx. The column that came from
 * outside the image is dropped, and the one that moved out of the image gets 0. */
static void store_row_back(const struct correlation *c, const float *results, float *to,
                           const struct residue *x, ptrdiff_t dx)
{
    bool drops_first = false, drops_last = false;
    const size_t last = x->first + (x->count - 1) * x->step, width = c->destination.width;
    size_t column = channel_move_back(x->first, dx, width, &drops_first);
    if (x->count > 1)
        channel_move_back(last, dx, width, &drops_last);
    if ((drops_first || drops_last) && !c->accumulate)
        to[dx > 0 ? width - 1 : 0] = 0;
    if (drops_first)
        column = x->first + x->step - (size_t)dx;
    if (x->count > (size_t)drops_first + drops_last)
        store_row(c, results + drops_first, x->count - drops_first - drops_last, to + column,
                  x->step);
}

/* Stores all rows of a channel of the gradient of a shifted input. */
static void store_results_back(const struct correlation *c, const struct panel *p,
                               const float *results, float *plane, const struct channel_move *move)
{
    const struct residue *y = p->y, *x = p->x;
    for (size_t row = 0; row < p->rows; row++, results += c->layout.pitch) {
        bool outside;
        const size_t at = channel_move_back(y->first + (p->first_row + row) * y->step, move->dy,
                                            c->destination.height, &outside);
        float *to = plane + at * c->destination.width;
        if (!outside)
            store_row_back(c, results, to, x, move->dx);
        else if (!c->accumulate)
            for (size_t i = 0; i < x->count; i++)
                to[x->first + i * x->step] = 0;
    }
}

/* Stores a panel that was summed in scratch. */
static void correlation_store(const struct correlation *c, const struct panel *p)
{
    const struct channel_moves none = {.channels = c->groups * c->rows};
    const float *results = p->results;
    for (size_t r = first_channel(c, p->begin); r < first_channel(c, p->end); r++) {
        const size_t channel = p->group * c->rows + r;
        const struct channel_move move =
            channel_move_of(c->backward ? &c->sizes.moves : &none, channel);
        float *plane = panel_plane(c, p, move.channel);
        if (move.dy || move.dx)
            store_results_back(c, p, results, plane, &move);
        else
            store_results(c, p, results, plane);
        results += result_stride(c);
    }
}

/* --- sums --- */

/* Sums one block of terms, from term k on, for `count` vectors of positions from vector v on. `out`
 * is where the results of the first channel lie. */
static void correlate_vectors(const struct correlation *c, const struct panel *p, size_t k,
                              size_t v, size_t count, bool add, float *out, size_t stride)
{
    const float *source = p->source + p->first_row * c->layout.pitch + v * LANES;
    for (size_t tile = p->begin; tile < p->end; tile++) {
        const size_t channel = first_channel(c, tile);
        const size_t channels = first_channel(c, tile + 1) - channel;
        const float *bias = c->bias ? c->bias + p->group * c->rows + channel : NULL;
        tiles_correlate[channels - 1][count - 1](
            source, p->offsets + k, p->weights + channel * p->terms + k * channels,
            min_size(c->block_terms, p->terms - k), bias, add || k > 0,
            out + (channel - first_channel(c, p->begin)) * stride, stride);
    }
}

/* Sums vectors [begin, end) of positions into `out`, which begins with vector `begin`. Every tile
 * reads the source of a step and a block of terms while it is in the level-1 cache. */
static void correlate(const struct correlation *c, const struct panel *p, size_t begin, size_t end,
                      bool add, float *out, size_t stride)
{
    const size_t steps = divide_up(end - begin, TILE_VECTORS);
    for (size_t k = 0; k == 0 || k < p->terms; k += c->block_terms)
        for (size_t step = 0; step < steps; step++) {
            const size_t v = chunk_begin(end - begin, steps, step);
            const size_t count = chunk_begin(end - begin, steps, step + 1) - v;
            correlate_vectors(c, p, k, begin + v, count, add, out + v * LANES, stride);
        }
}

static size_t panel_positions(const struct correlation *c, const struct panel *p)
{
    return (p->rows - 1) * c->layout.pitch + p->x->count;
}

/* Takes the sums in the destination, whose positions are those of the source; only positions that
 * do not fill a vector go through scratch. */
static void correlate_in_place(const struct correlation *c, const struct panel *p)
{
    const size_t positions = panel_positions(c, p), whole = positions / LANES;
    const size_t first = first_channel(c, p->begin), area = shape_area(c->destination);
    float *to = panel_plane(c, p, p->group * c->rows + first) + p->first_row * c->destination.width;
    correlate(c, p, 0, whole, c->accumulate, to, area);
    if (positions % LANES == 0)
        return;
    correlate(c, p, whole, whole + 1, false, p->results, LANES);
    for (size_t r = 0; r < first_channel(c, p->end) - first; r++)
        store_row(c, p->results + r * LANES, positions % LANES, to + r * area + whole * LANES, 1);
}

static void correlate_panel(const struct correlation *c, const struct panel *p)
{
    if (c->in_place) {
        correlate_in_place(c, p);
        return;
    }
    correlate(c, p, 0, divide_up(panel_positions(c, p), LANES), false, p->results,
              result_stride(c));
    correlation_store(c, p);
}

/* Computes the rows of a residue in a row block, panel by panel. */
static void correlate_rows(const struct correlation *c, struct panel *p, size_t row_block)
{
    const size_t first = row_block * c->block_rows,
                 last = min_size(p->y->count, first + c->block_rows);
    for (size_t row = first; row < last && p->x->count; row += c->panel_rows) {
        p->first_row = row;
        p->rows = min_size(c->panel_rows, last - row);
        correlate_panel(c, p);
    }
}

/* Computes tiles [begin, end) in row block `row_block`, for every residue. */
static void correlate_row_block(const struct correlation *c, const float *source, size_t image,
                                size_t group, size_t begin, size_t end, size_t row_block,
                                size_t thread, float *results)
{
    const uint64_t start = profile_start(c->call->profile);
    struct panel panel = {.image = image,
                          .group = group,
                          .begin = begin,
                          .end = end,
                          .source = source,
                          .offsets = c->offsets,
                          .results = results};
    for (size_t ry = 0; ry < c->y.count; ry++)
        for (size_t rx = 0; rx < c->x.count; rx++) {
            panel.y = &c->y.of[ry];
            panel.x = &c->x.of[rx];
            panel.terms = residue_terms(c, ry, rx);
            panel.weights = correlation_packed(c, group, ry, rx, 0);
            correlate_rows(c, &panel, row_block);
            panel.offsets += panel.terms;
        }
    if (c->call->profile) {
        const struct conv_sizes *s = &c->sizes;
        size_t rows = first_channel(c, end) - first_channel(c, begin);
        size_t area = shape_area(s->out) / c->row_blocks, terms = s->taps;
        if (c->backward)
            profile_add_gemm(c->call->profile, thread, GEMM_TN, rows * terms, area, s->outputs,
                             start);
        else
            profile_add_gemm(c->call->profile, thread, GEMM_NN, rows, area, s->inputs * terms,
                             start);
    }
}

/* --- tasks --- */

/* Copies channels [begin, end) of a group's source into the layout. */
static void copy_source(const struct correlation *c, size_t image, size_t group, size_t begin,
                        size_t end, float *source)
{
    const struct channel_moves none = {.channels = c->groups * c->source_channels};
    const size_t area = c->layout.y.size * c->layout.x.size;
    layout_copy_planes(&c->layout, c->backward ? &none : &c->sizes.moves,
                       group * c->source_channels + begin, end - begin,
                       c->from + image * c->groups * c->source_channels * area,
                       source + begin * c->layout.plane);
    if (end == c->source_channels)
        layout_fill_behind(&c->layout, c->source_channels, source);
}

/* Returns where source `source`, counted [image][group], can be read without a copy (1x1 windows of
 * stride 1), or NULL if it must be copied. The last one is always copied, because vectors may read
 * beyond its end. */
static const float *direct_source(const struct correlation *c, size_t source)
{
    const size_t floats = c->source_channels * c->layout.plane;
    const size_t behind = (c->sizes.batch * c->groups - 1 - source) * floats;
    return c->plain && behind >= LANES ? c->from + source * floats : NULL;
}

static void image_task(void *context, size_t task, size_t thread)
{
    const struct correlation *c = context;
    const size_t image = task / c->groups, group = task % c->groups;
    float *results = (float *)(c->scratch + thread * c->scratch_bytes);
    float *copy = results + result_stride(c) * c->task_rows;
    const float *direct = direct_source(c, task);
    if (!direct)
        copy_source(c, image, group, 0, c->source_channels, copy);
    correlate_row_block(c, direct ? direct : copy, image, group, 0, c->tiles, 0, thread, results);
}

/* Copies some channels of a group's source, if there are few images. */
static void copy_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct correlation *c = context;
    const size_t chunks = min_size(c->source_channels, WANTED_TASKS), source = task / chunks;
    const size_t begin = chunk_begin(c->source_channels, chunks, task % chunks);
    const size_t end = chunk_begin(c->source_channels, chunks, task % chunks + 1);
    if (!direct_source(c, source))
        copy_source(c, source / c->groups, source % c->groups, begin, end,
                    c->shared + source * c->source_floats);
}

static void row_block_task(void *context, size_t task, size_t thread)
{
    const struct correlation *c = context;
    const size_t row_block = task % c->row_blocks, rest = task / c->row_blocks;
    const size_t block = rest % c->tile_blocks, source = rest / c->tile_blocks;
    const float *direct = direct_source(c, source);
    correlate_row_block(c, direct ? direct : c->shared + source * c->source_floats,
                        source / c->groups, source % c->groups,
                        chunk_begin(c->tiles, c->tile_blocks, block),
                        chunk_begin(c->tiles, c->tile_blocks, block + 1), row_block, thread,
                        (float *)(c->scratch + thread * c->scratch_bytes));
}

static void correlation_run(const struct correlation *c)
{
    const size_t sources = c->sizes.batch * c->groups;
    correlation_pack(c);
    if (few_images(&c->sizes)) {
        run_tasks(c->call, sources * min_size(c->source_channels, WANTED_TASKS), copy_task, c);
        run_tasks(c->call, sources * c->tile_blocks * c->row_blocks, row_block_task, c);
    } else {
        run_tasks(c->call, sources, image_task, c);
    }
}

/* --- the kernel --- */

void KERNEL(conv_forward)(const struct kernel_call *call, bool accumulate)
{
    struct carve carve = {.base = call->workspace};
    struct correlation c = correlation_make(call->site, false, &carve);
    c.call = call;
    c.from = call->inputs[0];
    c.to = call->output;
    c.accumulate = accumulate;
    c.bias = call->site->node->attributes.conv.bias ? call->parameters[1] : NULL;
    correlation_set_offsets(&c);
    correlation_run(&c);
}

void KERNEL(conv_input_backward)(const struct kernel_call *call, const float *bias)
{
    struct carve carve = {.base = call->workspace};
    struct correlation c = correlation_make(call->site, true, &carve);
    c.call = call;
    c.from = call->output_gradient;
    c.to = call->input_gradients[0];
    c.accumulate = call->accumulate[0];
    c.bias = bias;
    correlation_set_offsets(&c);
    correlation_run(&c);
}

static void forward_conv(const struct kernel_call *call)
{
    KERNEL(conv_forward)(call, false);
}

static void backward_conv(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        KERNEL(conv_input_backward)(call, NULL);
    if (call->parameter_gradients[0])
        KERNEL(conv_weights_backward)(call);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        KERNEL(conv_bias_backward)(call);
}

size_t KERNEL(conv_input_workspace)(const struct kernel_site *site)
{
    return correlation_bytes(site, true);
}

size_t KERNEL(conv_workspace)(const struct kernel_site *site)
{
    size_t bytes = correlation_bytes(site, false);
    if (!site->training)
        return bytes;
    if (site->input_gradient[0]) /* the first layer of a network has none */
        bytes = max_size(bytes, correlation_bytes(site, true));
    return max_size(bytes, KERNEL(conv_weights_workspace)(site));
}

bool KERNEL(conv_supports)(const struct kernel_site *site, const char **reason)
{
    const struct window *w = &site->node->attributes.conv.window;
    *reason = N_("a stride with a dilation");
    if (site->training && conv_strides_and_dilates(site))
        return false;
    *reason = N_("a stride above 16");
    return w->stride_height <= MAX_STRIDE && w->stride_width <= MAX_STRIDE;
}

const struct kernel KERNEL(conv) = {
    .name = "conv direct",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES,
    .supports = KERNEL(conv_supports),
    .workspace_bytes = KERNEL(conv_workspace),
    .forward = forward_conv,
    .backward = backward_conv,
};
