/* Convolution on channel-blocked arrays: one kernel for inference, whose weights are packed once,
 * with the scale of fused batch norms, and one for training, which packs them in every call. */
#include "base/language.h"
#include "engine/devices/cpu/blocked_conv.h"

#include <math.h>

static struct blocked_conv forward_of(const struct kernel_site *site, struct carve *carve)
{
    return KERNEL(blocked_conv_make)(site, false, site->layouts[0], carve);
}

static bool supports_output(const struct kernel_site *site, const char **reason)
{
    struct carve carve = {0};
    const struct shape out = site->node->output;
    const struct window *w = &site->node->attributes.conv.window;
    *reason = N_("a plain layout");
    if (site->output_layout.block != LANES)
        return false;
    *reason = N_("an output of one position");
    if (shape_area(out) == 1)
        return false;
    *reason = N_("too few output channels");
    if (out.channels < LANES / 2)
        return false;
    *reason = N_("a dilation");
    if (TERM_TAPS > 1 && conv_is_dilated(&site->node->attributes.conv))
        return false; /* a term's elements of the window are neighbours in the source */
    *reason = N_("a stride above 8");
    if (max_size(w->stride_height, w->stride_width) > BLOCKED_MAX_STRIDE)
        return false;
    const struct blocked_conv c = forward_of(site, &carve);
    *reason = N_("small groups");
    return KERNEL(blocked_conv_groups_fit)(&c);
}

/* --- inference --- */

static size_t prepared_conv(const struct kernel_site *site)
{
    struct carve carve = {0};
    forward_of(site, &carve);
    return carve.used;
}

static void prepare_conv(const struct kernel_call *call)
{
    struct carve carve = {.base = call->prepared};
    struct blocked_conv c = forward_of(call->site, &carve);
    KERNEL(blocked_conv_prepare)(&c, call);
    memcpy(call->prepared, &c, sizeof c);
}

/* Copies the residue of an axis, forward. */
static inline void copy_residue(struct conv_residues *to, const struct conv_residues *from)
{
    memcpy(to, from, offsetof(struct conv_residues, of[1]));
}

/* Sets *c to the prepared convolution with the arrays of the call. Each task of a chain does that,
 * so it copies no more than it needs. */
static inline void set_inference(struct blocked_conv *c, const struct kernel_call *call)
{
    const struct blocked_conv *prepared = call->prepared;
    memcpy(c, prepared, offsetof(struct blocked_conv, y));
    copy_residue(&c->y, &prepared->y);
    copy_residue(&c->x, &prepared->x);
    c->call = call;
    c->in = blocked_input(call, 0);
    c->out = blocked_output(call);
    c->copies = call->workspace;
    c->epilogue = epilogue_of(call);
}

static void infer_conv(const struct kernel_call *call)
{
    struct blocked_conv c;
    set_inference(&c, call);
    KERNEL(blocked_conv_run)(&c);
}

static void infer_conv_rows(const struct kernel_call *call, const struct kernel_rows *rows,
                            size_t thread)
{
    struct blocked_conv c;
    set_inference(&c, call);
    KERNEL(blocked_conv_run_rows)(&c, rows, thread);
}

static size_t row_blocks_conv(const struct kernel_site *site)
{
    struct carve carve = {0};
    const struct blocked_conv c = forward_of(site, &carve);
    return KERNEL(blocked_conv_row_blocks)(&c, site);
}

/* Returns the time that the columns of a row take: a tile also loads its weights, which counts as
 * one more position. */
static double row_seconds(const struct kernel_site *site, const struct blocked_conv *c)
{
    const double *figures = site->machine->seconds;
    const size_t width = c->to.width;
    const size_t pairs = c->out_blocks / TILE_BLOCKS, singles = c->out_blocks % TILE_BLOCKS;
    const size_t work_1 = width + divide_up(width, TILE_POSITIONS_1);
    const size_t work_2 = width + divide_up(width, TILE_POSITIONS_2);
    return (double)(pairs * TILE_BLOCKS * work_2) * figures[MACHINE_CONV_2] +
           (double)(singles * work_1) * figures[MACHINE_CONV_1];
}

/* Returns the time of the terms of one image. Every strip reads all weights. */
static double seconds_conv(const struct kernel_site *site)
{
    struct carve carve = {0};
    const struct blocked_conv c = forward_of(site, &carve);
    const size_t terms = c.term_channels * c.sizes.taps;
    const double weights = (double)(terms * c.out_blocks * LANES * sizeof(float));
    const double strips = (double)divide_up(c.y.of[0].count, c.strip_rows);
    return fmax((double)(terms * c.to.height) * row_seconds(site, &c),
                strips * machine_reading(site->machine, weights));
}

static size_t copies_bytes(const struct kernel_site *site)
{
    struct carve carve = {0};
    return forward_of(site, &carve).copy_elements * site->threads * sizeof(element);
}

static size_t pad_needed(const struct kernel_site *site)
{
    struct carve carve = {0};
    const struct blocked_conv c = forward_of(site, &carve);
    return KERNEL(blocked_conv_pad)(&c);
}

static bool fuses_move(const struct kernel_site *site, const struct node *move)
{
    const struct window *w = &site->node->attributes.conv.window;
    return TERM_VALUES == 1 &&
           (move->op == &op_channel_shuffle || (w->pad_height == 0 && w->pad_width == 0));
}

const struct kernel KERNEL(conv_blocked) = {
    .name = "conv blocked",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_FUSES_CHANNEL_MOVES | KERNEL_FUSES_EPILOGUE |
              KERNEL_FUSES_NORMS,
    .supports = supports_output,
    .fuses_move = fuses_move,
    .input_pad = pad_needed,
    .workspace_bytes = copies_bytes,
    .prepared_bytes = prepared_conv,
    .prepare = prepare_conv,
    .seconds = TERM_VALUES == 1 ? seconds_conv : NULL,
    .forward = infer_conv,
    .forward_rows = infer_conv_rows,
    .row_blocks = row_blocks_conv,
};

/* --- training --- */

/* Returns one pass of the site, with its copies, in the memory of `carve`. */
static struct blocked_conv pass_of(const struct kernel_site *site, bool backward,
                                   struct carve *carve)
{
    const struct tensor_layout layout = backward ? site->output_layout : site->layouts[0];
    struct blocked_conv c = KERNEL(blocked_conv_make)(site, backward, layout, carve);
    c.copies = carve_elements(carve, c.copy_elements * site->threads);
    return c;
}

static size_t pass_bytes(const struct kernel_site *site, bool backward)
{
    struct carve carve = {0};
    pass_of(site, backward, &carve);
    return carve.used;
}

static size_t training_bytes(const struct kernel_site *site)
{
    size_t bytes = max_size(pass_bytes(site, false), KERNEL(blocked_weights_workspace)(site));
    return site->input_gradient[0] ? max_size(bytes, pass_bytes(site, true)) : bytes;
}

static void forward_conv(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct blocked_conv c = pass_of(call->site, false, &carve);
    c.in = blocked_input(call, 0);
    c.out = blocked_output(call);
    KERNEL(blocked_conv_prepare)(&c, call);
    KERNEL(blocked_conv_run)(&c);
}

static void backward_input(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct carve carve = {.base = call->workspace};
    struct blocked_conv c = pass_of(site, true, &carve);
    c.in = blocked_make(call->output_gradient, site->node->output, site->output_layout);
    c.out = blocked_make(call->input_gradients[0], site->inputs[0], site->layouts[0]);
    c.accumulate = call->accumulate[0];
    KERNEL(blocked_conv_prepare)(&c, call);
    KERNEL(blocked_conv_run)(&c);
}

static void backward_conv(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        backward_input(call);
    if (call->parameter_gradients[0])
        KERNEL(blocked_weights_backward)(call);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        KERNEL(blocked_bias_backward)(call);
}

/* Returns whether the kernel trains the site: not with a plain input, whose gradient would have to
 * be plain too. */
static bool supports_training(const struct kernel_site *site, const char **reason)
{
    struct carve carve = {0};
    if (!supports_output(site, reason))
        return false;
    *reason = N_("a plain layout");
    if (!site->layouts[0].block)
        return !site->input_gradient[0];
    *reason = N_("a stride with a dilation");
    if (conv_strides_and_dilates(site))
        return false;
    *reason = N_("small groups");
    const struct blocked_conv c = pass_of(site, true, &carve);
    return KERNEL(blocked_conv_groups_fit)(&c);
}

const struct kernel KERNEL(conv_blocked_training) = {
    .name = "conv blocked",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_TRAINS_ONLY | KERNEL_BACKWARD_READS_INPUT,
    .supports = supports_training,
    .workspace_bytes = training_bytes,
    .forward = forward_conv,
    .backward = backward_conv,
};
