/* Direct convolution: the forward pass, and the input's gradient, which is a convolution too.
 *
 * Both are correlations (correlation.h). A tile computes a few output channels (its rows) at
 * neighbouring positions (its vectors). Each result is a sum over terms, and a term is a weight
 * times the source at a constant distance from the position (conv_layout.h).
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
 * With few images, all of them are copied first, and tasks are tiles and bands of rows. With many,
 * a task is one image and group, and the copy stays in the thread's cache. The choice depends on
 * the number of images only, never on threads, and the sums are the same either way.
 */
#include "base/language.h"
#include "engine/devices/cpu/correlation.h"
#include "engine/devices/cpu/tiles.h"

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
            const size_t v = piece_begin(end - begin, steps, step);
            const size_t count = piece_begin(end - begin, steps, step + 1) - v;
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
    KERNEL(correlation_store)(c, p);
}

/* Computes the rows of a residue in a band, panel by panel. */
static void correlate_rows(const struct correlation *c, struct panel *p, size_t band)
{
    const size_t first = band * c->bands_rows, last = min_size(p->y->count, first + c->bands_rows);
    for (size_t row = first; row < last && p->x->count; row += c->panel_rows) {
        p->first_row = row;
        p->rows = min_size(c->panel_rows, last - row);
        correlate_panel(c, p);
    }
}

/* Computes tiles [begin, end) in band `band` of the rows, for every residue. */
static void correlate_band(const struct correlation *c, const float *source, size_t image,
                           size_t group, size_t begin, size_t end, size_t band, size_t thread,
                           float *results)
{
    const uint64_t start = profile_start(c->call->profile);
    struct panel panel = {.image = image,
                          .group = group,
                          .begin = begin,
                          .end = end,
                          .source = source,
                          .offsets = c->offsets,
                          .results = results};
    for (size_t ry = 0; ry < c->residues_y; ry++)
        for (size_t rx = 0; rx < c->residues_x; rx++) {
            panel.y = &c->y[ry];
            panel.x = &c->x[rx];
            panel.terms = residue_terms(c, ry, rx);
            panel.weights = KERNEL(correlation_packed)(c, group, ry, rx, 0);
            correlate_rows(c, &panel, band);
            panel.offsets += panel.terms;
        }
    if (c->call->profile) {
        const struct conv_sizes *s = &c->sizes;
        size_t rows = first_channel(c, end) - first_channel(c, begin);
        size_t area = shape_area(s->out) / c->bands, terms = s->taps;
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
    correlate_band(c, direct ? direct : copy, image, group, 0, c->tiles, 0, thread, results);
}

/* With few images: copies some channels of a group's source. */
static void copy_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct correlation *c = context;
    const size_t pieces = min_size(c->source_channels, WANTED_TASKS), source = task / pieces;
    const size_t begin = piece_begin(c->source_channels, pieces, task % pieces);
    const size_t end = piece_begin(c->source_channels, pieces, task % pieces + 1);
    if (!direct_source(c, source))
        copy_source(c, source / c->groups, source % c->groups, begin, end,
                    c->shared + source * c->source_floats);
}

static void band_task(void *context, size_t task, size_t thread)
{
    const struct correlation *c = context;
    const size_t band = task % c->bands, rest = task / c->bands;
    const size_t block = rest % c->tile_blocks, source = rest / c->tile_blocks;
    const float *direct = direct_source(c, source);
    correlate_band(c, direct ? direct : c->shared + source * c->source_floats, source / c->groups,
                   source % c->groups, piece_begin(c->tiles, c->tile_blocks, block),
                   piece_begin(c->tiles, c->tile_blocks, block + 1), band, thread,
                   (float *)(c->scratch + thread * c->scratch_bytes));
}

static void correlation_run(const struct correlation *c)
{
    const size_t sources = c->sizes.batch * c->groups;
    KERNEL(correlation_pack)(c);
    if (few_images(&c->sizes)) {
        run_tasks(c->call, sources * min_size(c->source_channels, WANTED_TASKS), copy_task, c);
        run_tasks(c->call, sources * c->tile_blocks * c->bands, band_task, c);
    } else {
        run_tasks(c->call, sources, image_task, c);
    }
}

/* --- the kernel --- */

void KERNEL(conv_forward)(const struct kernel_call *call, bool accumulate)
{
    struct carve carve = {.base = call->workspace};
    struct correlation c = KERNEL(correlation_make)(call->site, false, &carve);
    c.call = call;
    c.from = call->inputs[0];
    c.to = call->output;
    c.accumulate = accumulate;
    c.bias = call->site->node->attributes.conv.bias ? call->parameters[1] : NULL;
    KERNEL(correlation_set_offsets)(&c);
    correlation_run(&c);
}

void KERNEL(conv_input_backward)(const struct kernel_call *call, const float *bias)
{
    struct carve carve = {.base = call->workspace};
    struct correlation c = KERNEL(correlation_make)(call->site, true, &carve);
    c.call = call;
    c.from = call->output_gradient;
    c.to = call->input_gradients[0];
    c.accumulate = call->accumulate[0];
    c.bias = bias;
    KERNEL(correlation_set_offsets)(&c);
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
    return KERNEL(correlation_bytes)(site, true);
}

size_t KERNEL(conv_workspace)(const struct kernel_site *site)
{
    size_t bytes = KERNEL(correlation_bytes)(site, false);
    if (!site->training)
        return bytes;
    if (site->input_gradient[0]) /* the first layer of a network has none */
        bytes = max_size(bytes, KERNEL(correlation_bytes)(site, true));
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
