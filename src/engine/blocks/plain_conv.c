/* The techniques for convolutions outside the studies' blocks, so that they work with every
 * network, including a user's. A K x K convolution i->o with stride s and padding p becomes:
 *
 *   dsc      dw KxK i (s, p), pw i->o
 *   shuffle  pw i->o in g groups, channel shuffle, dw KxK o (s, p); a 1x1 convolution becomes a 1x1
 *            convolution in g groups and a channel shuffle
 *   shift    channel shift, pw i->o (s). If the padding is less than half of the kernel, the image
 *            must shrink by K - 1 - 2p: an average pooling of (K - 2p) x (K - 2p) before the pw
 *            does that, and has the stride. A depthwise convolution becomes the shift (and pooling)
 *            without pw, because networks of this kind have a 1x1 convolution behind it that mixes
 *            the channels (Wu et al. 2018)
 *
 * All of these are linear, as the convolution was; batch norm and activation remain those of the
 * network. The last part has the layer's bias and initialisation, except that "he" replaces a fixed
 * deviation, which was chosen for another number of inputs. A part before it is initialised so that
 * it preserves the variance. The pointwise part of dsc and shift has the groups of the convolution.
 *
 * Unchanged are: the convolution that reads the image and the last layer with weights, as in the
 * studies' networks; convolutions whose output is "classes" or that have "keep"; 1x1 convolutions
 * (except with shuffle); depthwise ones (except with shift); with shuffle, those whose channels g
 * does not divide; with shift, those with a padding of more than half of the kernel or with a
 * dilation. */
#include "engine/blocks/block.h"

#include "engine/ops/op.h"

#include <stdio.h>

struct plain {
    struct conv_attributes conv;
    const char *suffix; /* suffix of its nodes' names */
    size_t input;       /* node */
    size_t channels;    /* channels of the input */
};

static bool is_pointwise(const struct plain *plain)
{
    return plain->conv.window.kernel_height == 1 && plain->conv.window.kernel_width == 1;
}

static bool is_depthwise(const struct plain *plain)
{
    return plain->conv.groups == plain->channels;
}

static size_t add_part(struct block_site *site, const struct plain *plain, const char *part,
                       const struct op *op, size_t input, const union attributes *attributes)
{
    char suffix[NODE_NAME_SIZE];
    snprintf(suffix, sizeof suffix, "%s%s%s", plain->suffix, *plain->suffix ? "." : "", part);
    return block_add(site, op, suffix, input, attributes);
}

/* Returns the attributes of a part that another part follows: without bias. */
static union attributes first_part(struct window window, size_t outputs, size_t groups)
{
    return (union attributes){.conv = {.window = window,
                                       .outputs = outputs,
                                       .groups = groups,
                                       .weight_init = {INITIALISE_XAVIER, 0}}};
}

static union attributes last_part(const struct plain *plain, struct window window, size_t groups)
{
    union attributes last = {.conv = plain->conv};
    enum initialiser_kind kind = plain->conv.weight_init.kind;
    last.conv.window = window; /* a dilation has no effect on a 1x1 window */
    last.conv.groups = groups;
    if (kind == INITIALISE_GAUSSIAN || kind == INITIALISE_CONSTANT)
        last.conv.weight_init = (struct initialiser){INITIALISE_HE, 0};
    return last;
}

static struct window pointwise(size_t stride_height, size_t stride_width)
{
    return (struct window){1, 1, stride_height, stride_width, 0, 0};
}

/* --- dsc --- */

static bool dsc_applies(const struct plain *plain, const struct variation *variation)
{
    (void)variation;
    return !is_pointwise(plain) && !is_depthwise(plain);
}

static size_t build_dsc(struct block_site *site, const struct plain *plain)
{
    union attributes dw = first_part(plain->conv.window, plain->channels, plain->channels);
    union attributes pw = last_part(plain, pointwise(1, 1), plain->conv.groups);
    dw.conv.dilation_height = plain->conv.dilation_height;
    dw.conv.dilation_width = plain->conv.dilation_width;
    size_t node = add_part(site, plain, "dw", &op_conv, plain->input, &dw);
    return add_part(site, plain, "pw", &op_conv, node, &pw);
}

/* --- shuffle --- */

static bool shuffle_applies(const struct plain *plain, const struct variation *variation)
{
    return !is_depthwise(plain) && plain->channels % variation->groups == 0 &&
           plain->conv.outputs % variation->groups == 0;
}

static size_t build_shuffle(struct block_site *site, const struct plain *plain)
{
    const struct window *window = &plain->conv.window;
    size_t groups = site->variation->groups, outputs = plain->conv.outputs;
    union attributes shuffle = {.shuffle = {.groups = groups}};
    union attributes pw = first_part(pointwise(1, 1), outputs, groups);
    union attributes dw = last_part(plain, *window, outputs);
    if (is_pointwise(plain))
        pw = last_part(plain, *window, groups);
    size_t node = add_part(site, plain, "pw", &op_conv, plain->input, &pw);
    node = add_part(site, plain, "shuffle", &op_channel_shuffle, node, &shuffle);
    return is_pointwise(plain) ? node : add_part(site, plain, "dw", &op_conv, node, &dw);
}

/* --- shift --- */

static bool shift_applies(const struct plain *plain, const struct variation *variation)
{
    (void)variation;
    const struct window *window = &plain->conv.window;
    return !is_pointwise(plain) && !conv_is_dilated(&plain->conv) &&
           window->kernel_height > 2 * window->pad_height &&
           window->kernel_width > 2 * window->pad_width &&
           (!is_depthwise(plain) || plain->conv.outputs == plain->channels);
}

static size_t build_shift(struct block_site *site, const struct plain *plain)
{
    struct window window = plain->conv.window;
    window.kernel_height -= 2 * window.pad_height;
    window.kernel_width -= 2 * window.pad_width;
    window.pad_height = window.pad_width = 0;
    bool whole = is_depthwise(plain); /* no pointwise part */
    bool shrinks = window.kernel_height > 1 || window.kernel_width > 1;
    bool strides = window.stride_height > 1 || window.stride_width > 1;
    union attributes pool = {.pool = {.window = window}};
    size_t node = add_part(site, plain, "shift", &op_channel_shift, plain->input, NULL);
    if (shrinks || (whole && strides)) {
        node = add_part(site, plain, "pool", &op_average_pool, node, &pool);
        window = pointwise(1, 1);
    }
    if (whole)
        return node;
    union attributes pw = last_part(plain, window, plain->conv.groups);
    return add_part(site, plain, "pw", &op_conv, node, &pw);
}

static const struct variant {
    bool (*applies)(const struct plain *plain, const struct variation *variation);
    size_t (*build)(struct block_site *site, const struct plain *plain);
} variants[TECHNIQUES] = {
    [TECHNIQUE_DSC] = {dsc_applies, build_dsc},
    [TECHNIQUE_SHUFFLE] = {shuffle_applies, build_shuffle},
    [TECHNIQUE_SHIFT] = {shift_applies, build_shift},
};

static size_t add_as_it_is(struct block_site *site, const char *suffix, size_t input,
                           const struct conv_attributes *conv)
{
    union attributes attributes = {.conv = *conv};
    return block_add(site, &op_conv, suffix, input, &attributes);
}

size_t block_add_plain_conv(struct block_site *site, const char *suffix, size_t input,
                            const struct conv_attributes *conv)
{
    const struct variant *variant = &variants[site->variation->technique];
    if (site->failed)
        return 0;
    struct plain plain = {*conv, suffix, input, site->graph->nodes[input].output.channels};
    if (input == 0 || !variant->applies || !variant->applies(&plain, site->variation))
        return add_as_it_is(site, suffix, input, conv);
    site->used_technique = true;
    return variant->build(site, &plain);
}

/* --- the layer of a network file --- */

/* Varies the width of a convolution. A depthwise one gets as many outputs as its input has channels
 * after the variation. */
static void vary_width(struct block_site *site, struct layer_reader *reader,
                       struct conv_attributes *conv)
{
    bool depthwise = conv->groups == conv->outputs && conv->groups > 1;
    if (!depthwise)
        conv->outputs = block_read_width(site, reader, "output");
    else if (block_vary_width(site, conv->outputs) != conv->outputs)
        conv->outputs = conv->groups = site->graph->nodes[site->input].output.channels;
}

size_t block_build_plain_conv(struct block_site *site, struct layer_reader *reader, bool last)
{
    union attributes attributes = {0};
    struct conv_attributes *conv = &attributes.conv;
    op_conv.read(reader, &attributes);
    bool kept =
        layer_flag(reader, "keep", false) || last || layer_value_is_classes(reader, "output");
    if (!kept && !reader->failed)
        vary_width(site, reader, conv);
    if (!layer_reader_finish(reader))
        return 0;
    return kept ? add_as_it_is(site, "", site->input, conv)
                : block_add_plain_conv(site, "", site->input, conv);
}
