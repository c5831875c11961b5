/* The geometry of a correlation: everything that the shapes determine. It decides where the copied
 * source lies and with which offsets it is read (conv_layout.h), which window elements reach which
 * positions in the backward pass, how results are divided into tasks, and how far a task goes
 * before it begins a new panel, so that what it reads stays in a cache. */
#include "engine/devices/cpu/correlation.h"
#include "engine/devices/cpu/tiles.h"

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
static struct conv_axis gradient_axis(struct residue *residues, size_t count, size_t size)
{
    size_t zeros = 0, length = size;
    for (size_t i = 0; i < count; i++) {
        const size_t reach = dilated_size(residues[i].taps, residues[i].source_step);
        if (reach > residues[i].base + 1)
            zeros = max_size(zeros, reach - 1 - residues[i].base);
    }
    for (size_t i = 0; i < count; i++) {
        residues[i].base += zeros;
        if (residues[i].taps && residues[i].count)
            length = max_size(length, residues[i].base + residues[i].count);
    }
    return (struct conv_axis){.size = size,
                              .stride = 1,
                              .phases = 1,
                              .pad = zeros,
                              .length = max_size(length, zeros + size)};
}

static size_t most_positions(const struct residue *residues, size_t count)
{
    size_t positions = 1;
    for (size_t i = 0; i < count; i++)
        positions = max_size(positions, residues[i].count);
    return positions;
}

static void set_forward(struct correlation *c)
{
    const struct conv_sizes *s = &c->sizes;
    c->layout = KERNEL(conv_input_layout)(s);
    c->source_channels = s->inputs;
    c->rows = s->outputs;
    c->destination = s->out;
    c->y[0] = (struct residue){.step = 1, .count = s->out.height};
    c->x[0] = (struct residue){.step = 1, .count = s->out.width};
}

static void set_backward(struct correlation *c)
{
    const struct conv_sizes *s = &c->sizes;
    const struct window *w = &s->window;
    for (size_t i = 0; i < c->residues_y; i++)
        c->y[i] = residue_of(i, s->in.height, w->stride_height, w->pad_height, w->kernel_height,
                             s->dilation_height);
    for (size_t i = 0; i < c->residues_x; i++)
        c->x[i] = residue_of(i, s->in.width, w->stride_width, w->pad_width, w->kernel_width,
                             s->dilation_width);
    c->layout = layout_make(gradient_axis(c->y, c->residues_y, s->out.height),
                            gradient_axis(c->x, c->residues_x, s->out.width),
                            most_positions(c->x, c->residues_x));
    c->source_channels = s->outputs;
    c->rows = s->inputs;
    c->destination = s->in;
}

/* Divides the results of few images into tasks: bands of rows, each of which reads another part of
 * the source and, if there are too few bands, blocks of tiles. */
static void share_out(struct correlation *c)
{
    const size_t height = most_positions(c->y, c->residues_y);
    const size_t wanted =
        few_images(&c->sizes) ? divide_up(WANTED_TASKS, c->sizes.batch * c->sizes.groups) : 1;
    const size_t least_rows = divide_up(PANEL_POSITIONS, c->layout.pitch);
    c->bands = max_size(1, min_size(height / least_rows, wanted));
    c->tile_blocks = min_size(c->tiles, divide_up(wanted, c->bands));
    c->bands_rows = divide_up(height, c->bands);
    c->task_rows = min_size(c->rows, divide_up(c->tiles, c->tile_blocks) * TILE_ROWS);
}

/* Sets the size of a panel (results of all tiles of a task for some rows) and of a block of terms
 * so that everything is read from a cache. */
static void set_blocking(struct correlation *c)
{
    const struct conv_sizes *s = &c->sizes;
    const size_t least_rows = divide_up(PANEL_POSITIONS, c->layout.pitch);
    const size_t panel = PANEL_FLOATS / (c->task_rows * c->layout.pitch);
    const size_t panels = divide_up(c->bands_rows, max_size(least_rows, panel));
    /* floats of one channel that a step reads */
    const size_t reach = s->window.kernel_height * (TILE_VECTORS + 1) * LANES;
    const size_t source = BLOCK_SOURCE * s->taps / reach, weights = BLOCK_WEIGHTS / c->task_rows;
    c->panel_rows = divide_up(c->bands_rows, panels);
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
    c->in_place = c->residues_y == 1 && c->residues_x == 1 && c->y[0].step == 1 &&
                  c->x[0].step == 1 && c->layout.pitch == c->destination.width &&
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

struct correlation KERNEL(correlation_make)(const struct kernel_site *site, bool backward,
                                            struct carve *carve)
{
    struct correlation c = {.sizes = conv_sizes_of(site), .backward = backward};
    c.residues_y = backward ? c.sizes.window.stride_height : 1;
    c.residues_x = backward ? c.sizes.window.stride_width : 1;
    set_geometry(&c, carve, site->threads);
    return c;
}

static size_t bytes_of(const struct kernel_site *site, bool backward)
{
    struct carve carve = {0};
    KERNEL(correlation_make)(site, backward, &carve);
    return carve.used;
}

/* A batch smaller than planned may count as few images, which need another workspace: the larger of
 * the two is returned. */
size_t KERNEL(correlation_bytes)(const struct kernel_site *site, bool backward)
{
    const size_t groups = site->node->attributes.conv.groups;
    struct kernel_site few = *site;
    few.batch = max_size(1, min_size(site->batch, (FEW_IMAGES - 1) / groups));
    return max_size(bytes_of(site, backward), bytes_of(&few, backward));
}

static void backward_offsets(const struct correlation *c)
{
    size_t *at = c->offsets;
    for (size_t ry = 0; ry < c->residues_y; ry++)
        for (size_t rx = 0; rx < c->residues_x; rx++)
            for (size_t o = 0; o < c->source_channels; o++)
                for (size_t ty = 0; ty < c->y[ry].taps; ty++)
                    for (size_t tx = 0; tx < c->x[rx].taps; tx++)
                        *at++ = o * c->layout.plane +
                                (c->y[ry].base - ty * c->y[ry].source_step) * c->layout.pitch +
                                c->x[rx].base - tx * c->x[rx].source_step;
}

void KERNEL(correlation_set_offsets)(const struct correlation *c)
{
    if (c->backward)
        backward_offsets(c);
    else
        KERNEL(conv_input_offsets)(&c->sizes, &c->layout, c->offsets);
}
