/* The generator of Pix2Pix (Isola et al. 2017), a UNet: `steps` convolutions 4x4/2 each halve the
 * image, and as many transposed convolutions double it. Each step on the way up reads the step
 * before it, concatenated with the output of the step of its size on the way down. Keys: "width" of
 * the first step, which doubles from step to step up to "widest"; "steps"; "output" channels;
 * "dropout" rate of the first "dropout_steps" steps on the way up. The last convolution has no
 * activation; the network adds one.
 *
 *   down  leaky ReLU 0.2 (not before the first), convolution, batch norm (not at the first and the
 *         last)
 *   up    ReLU, transposed convolution, batch norm (not at the last), dropout
 *
 * In inference as in training, batch norm uses the statistics of the single image and dropout is
 * on: they are the generator's noise. A convolution has a bias if no batch norm follows.
 *
 * The techniques change the convolutions on the way down, i->o channels:
 *   dsc      dw 4x4/2 i, pw i->o
 *   shuffle  pw i->i/2 in g groups, BN, ReLU, channel shuffle, dw 4x4/2, BN, pw i/2->o
 *   shift    pw i->i/2, BN, ReLU, channel shift, pw i/2->o with stride 2
 * With shuffle and shift the step that reads the image keeps its convolution: three channels are
 * too few for groups or for moves in nine directions. */
#include "engine/blocks/block.h"

#include "engine/ops/op.h"

#include <stdio.h>

enum { MAX_STEPS = 12, STEP_NAME_SIZE = 32 };
static const float slope = 0.2f;
static const struct initialiser gaussian = {INITIALISE_GAUSSIAN, 0.02f};

/* One convolution on the way down. */
struct step {
    char name[STEP_NAME_SIZE]; /* "down3" */
    size_t input;              /* node */
    size_t inputs, outputs;
    bool bias;
};

static size_t add(struct block_site *site, const char *step, const char *part, const struct op *op,
                  size_t input, const union attributes *attributes)
{
    char suffix[NODE_NAME_SIZE];
    snprintf(suffix, sizeof suffix, "%s.%s", step, part);
    return block_add(site, op, suffix, input, attributes);
}

static size_t add_conv(struct block_site *site, const char *step, const char *part, size_t input,
                       struct conv_attributes conv)
{
    union attributes attributes = {.conv = conv};
    attributes.conv.groups = conv.groups ? conv.groups : 1;
    attributes.conv.weight_init = gaussian;
    return add(site, step, part, &op_conv, input, &attributes);
}

static size_t add_norm(struct block_site *site, const char *step, const char *part, size_t input)
{
    union attributes norm = {.batch_norm = {.epsilon = 1e-5f, .momentum = 0.1f, .instance = true}};
    return add(site, step, part, &op_batch_norm, input, &norm);
}

#define HALVING   ((struct window){4, 4, 2, 2, 1, 1})
#define POINTWISE ((struct window){1, 1, 1, 1, 0, 0})

/* --- down --- */

static size_t build_plain(struct block_site *site, const struct step *step)
{
    return add_conv(
        site, step->name, "conv", step->input,
        (struct conv_attributes){.window = HALVING, .outputs = step->outputs, .bias = step->bias});
}

static size_t build_dsc(struct block_site *site, const struct step *step)
{
    size_t node = add_conv(site, step->name, "dw", step->input,
                           (struct conv_attributes){
                               .window = HALVING, .outputs = step->inputs, .groups = step->inputs});
    return add_conv(site, step->name, "pw", node,
                    (struct conv_attributes){
                        .window = POINTWISE, .outputs = step->outputs, .bias = step->bias});
}

/* Appends the beginning of a step with shuffle or shift: pw i->i/2, BN, ReLU. */
static size_t add_squeeze(struct block_site *site, const struct step *step, size_t groups)
{
    size_t node = add_conv(site, step->name, "pw1", step->input,
                           (struct conv_attributes){
                               .window = POINTWISE, .outputs = step->inputs / 2, .groups = groups});
    node = add_norm(site, step->name, "bn1", node);
    return add(site, step->name, "relu1", &op_relu, node, NULL);
}

static size_t build_shuffle(struct block_site *site, const struct step *step)
{
    const size_t half = step->inputs / 2;
    size_t groups = site->variation->groups;
    if (step->inputs % groups || half % groups)
        groups = 1;
    union attributes shuffle = {.shuffle = {.groups = groups}};
    size_t node = add_squeeze(site, step, groups);
    node = add(site, step->name, "shuffle", &op_channel_shuffle, node, &shuffle);
    node = add_conv(site, step->name, "dw", node,
                    (struct conv_attributes){.window = HALVING, .outputs = half, .groups = half});
    node = add_norm(site, step->name, "bn2", node);
    return add_conv(site, step->name, "pw2", node,
                    (struct conv_attributes){
                        .window = POINTWISE, .outputs = step->outputs, .bias = step->bias});
}

static size_t build_shift(struct block_site *site, const struct step *step)
{
    struct window striding = POINTWISE;
    striding.stride_height = striding.stride_width = 2;
    size_t node = add_squeeze(site, step, 1);
    node = add(site, step->name, "shift", &op_channel_shift, node, NULL);
    return add_conv(
        site, step->name, "pw2", node,
        (struct conv_attributes){.window = striding, .outputs = step->outputs, .bias = step->bias});
}

static const struct variant {
    size_t (*build)(struct block_site *site, const struct step *step);
    bool of_image; /* also changes the step that reads the image */
} variants[TECHNIQUES] = {
    [TECHNIQUE_NONE] = {build_plain, true},
    [TECHNIQUE_DSC] = {build_dsc, true},
    [TECHNIQUE_SHUFFLE] = {build_shuffle, false},
    [TECHNIQUE_SHIFT] = {build_shift, false},
};

/* Returns the row of the technique; a technique without a row leaves the block as it is. */
static const struct variant *choose_variant(struct block_site *site)
{
    const struct variant *variant = &variants[site->variation->technique];
    if (!variant->build)
        return &variants[TECHNIQUE_NONE];
    site->used_technique = true;
    return variant;
}

static size_t channels_of(const struct block_site *site, size_t node)
{
    return site->failed ? 2 : site->graph->nodes[node].output.channels;
}

/* --- the UNet --- */

struct unet {
    size_t width, widest, steps, output;
    double dropout;
    size_t dropout_steps;
};

static size_t width_of(struct block_site *site, const struct unet *unet, size_t step)
{
    size_t width = unet->width;
    for (size_t i = 0; i < step && width < unet->widest; i++)
        width *= 2;
    return block_vary_width(site, width < unet->widest ? width : unet->widest);
}

static size_t build_down(struct block_site *site, const struct unet *unet, size_t number,
                         size_t input)
{
    const struct variant *variant = choose_variant(site);
    const bool first = number == 0, last = number + 1 == unet->steps;
    struct step step = {
        .input = input, .outputs = width_of(site, unet, number), .bias = first || last};
    snprintf(step.name, sizeof step.name, "down%zu", number + 1);
    union attributes leaky = {.leaky_relu = {.slope = slope}};
    if (!first)
        step.input = add(site, step.name, "leaky_relu", &op_leaky_relu, input, &leaky);
    step.inputs = channels_of(site, step.input);
    size_t node =
        first && !variant->of_image ? build_plain(site, &step) : variant->build(site, &step);
    return step.bias ? node : add_norm(site, step.name, "bn", node);
}

/* Appends step `number` on the way up, counted from 0. */
static size_t build_up(struct block_site *site, const struct unet *unet, size_t number,
                       size_t input)
{
    char name[STEP_NAME_SIZE];
    const bool last = number + 1 == unet->steps;
    union attributes dropout = {.dropout = {.rate = (float)unet->dropout, .always = true}};
    union attributes up = {
        .conv = {.window = HALVING,
                 .outputs = last ? unet->output : width_of(site, unet, unet->steps - 2 - number),
                 .groups = 1,
                 .bias = last,
                 .weight_init = gaussian}};
    snprintf(name, sizeof name, "up%zu", number + 1);
    size_t node = add(site, name, "relu", &op_relu, input, NULL);
    node = add(site, name, "conv", &op_conv_transpose, node, &up);
    if (last)
        return node;
    node = add_norm(site, name, "bn", node);
    if (number < unet->dropout_steps && unet->dropout > 0)
        node = add(site, name, "dropout", &op_dropout, node, &dropout);
    return node;
}

static struct unet read_keys(struct block_site *site, struct layer_reader *reader)
{
    const struct shape input = site->graph->nodes[site->input].output;
    struct unet unet = {
        .width = layer_count(reader, "width", 64, 1, 65536),
        .widest = layer_count(reader, "widest", 512, 1, 65536),
        .steps = layer_count(reader, "steps", 8, 1, MAX_STEPS),
        .output = layer_count(reader, "output", 3, 1, 65536),
        .dropout = layer_number(reader, "dropout", 0.5, 0, 0.999),
        .dropout_steps = layer_count(reader, "dropout_steps", 3, 0, MAX_STEPS),
    };
    const size_t multiple = (size_t)1 << unet.steps;
    if (!reader->failed && (input.height % multiple || input.width % multiple))
        layer_fail(reader, "steps", "of %zu need an image whose sides are multiples of %zu",
                   unet.steps, multiple);
    if (!reader->failed && width_of(site, &unet, 0) < 2)
        layer_fail(reader, "width", "of %zu leaves no channels at this width rate and these groups",
                   unet.width);
    return unet;
}

static size_t build(struct block_site *site, struct layer_reader *reader)
{
    size_t downs[MAX_STEPS];
    struct unet unet = read_keys(site, reader);
    if (reader->failed)
        return 0;
    size_t node = site->input;
    for (size_t i = 0; i < unet.steps; i++)
        node = downs[i] = build_down(site, &unet, i, node);
    for (size_t i = 0; i < unet.steps; i++) {
        char name[STEP_NAME_SIZE];
        node = build_up(site, &unet, i, node);
        snprintf(name, sizeof name, "up%zu.concat", i + 1);
        if (i + 1 < unet.steps)
            node =
                block_join(site, &op_concat, name, (size_t[]){downs[unet.steps - 2 - i], node}, 2);
    }
    return node;
}

const struct block block_unet = {.name = "unet", .build = build};
