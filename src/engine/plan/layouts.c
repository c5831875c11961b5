/* On a device with channel-blocked kernels, values are channel-blocked wherever the kernel that
 * writes them supports it (KERNEL_BLOCKED). Nothing is converted between such kernels: convolutions
 * also read the plain input of the network, and a pooling over the whole plane writes a vector,
 * which is plain.
 *
 * In training, either all kernels know the layouts of their inputs, or the whole plan is plain
 * (steps.c). Values and gradients have no padding: their memory is as small as that of plain ones.
 *
 * In inference, the plan provides a plain copy for any other kernel that reads a channel-blocked
 * value. Channel-blocked values are by rows or by planes, all in the same way (floats_layout).
 *
 * There, convolutions read beyond the edges of a plane. A value therefore has as much padding as
 * the reader that needs most. The inputs of a concat become parts of its value if each begins at a
 * whole block: the kernels that compute them write there, and the concat has nothing left to do.
 *
 * In int8, values are integers where the step's kernel computes with integers and the caller does
 * not read the value; all others are plain float32. A kernel that reads the other kind gets a copy,
 * so that a picture becomes integers where the first convolution reads it.
 *
 * On a GPU, below float32, values are channels-last wherever possible (plan->channels_last).
 * Nothing is converted there either: convolutions and pooling read one layout and write another
 * (KERNEL_CONVERTS_LAYOUT), and all other kernels that know the layout have it in all of their
 * arrays. So every value is assumed to be channels-last at first; one that a kernel cannot have so
 * becomes plain, and with it those that must have its layout, until nothing changes. A vector is
 * plain, and so are the inputs of the network, what the caller reads, and what a view reads, such
 * as flatten: the order of values that a linear layer sees does not depend on layouts. */
#include "engine/plan/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/int8.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The share of the lanes that must be used, or training with a channel-blocked layout is slower
 * than without: LeNet, which uses 0.51 of 16 lanes and 0.76 of 8, was 6 and 10 % slower. The other
 * networks use 0.99 and more. */
#define LEAST_USED 0.85

/* --- before the kernel is chosen --- */

/* Returns `channels`, and the unused lanes of the last block, as a multiple of `channels`. */
static double padded(size_t channels, size_t block)
{
    return (double)((channels + block - 1) / block * block) / (double)channels;
}

bool layouts_pay(const struct plan *plan)
{
    const struct graph *graph = plan->graph;
    double used = 0, computed = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        struct shape inputs[NODE_MAX_INPUTS];
        if (node->op != &op_conv)
            continue;
        graph_input_shapes(graph, node, inputs);
        const struct conv_attributes *conv = &node->attributes.conv;
        const bool dense = conv->groups == 1 && graph->nodes[node->inputs[0]].op != &op_input;
        const double work = (double)shape_count(node->output) *
                            (double)(inputs[0].channels / conv->groups) *
                            (double)(conv->window.kernel_height * conv->window.kernel_width);
        used += work;
        computed += work * padded(node->output.channels, plan->block) *
                    (dense ? padded(inputs[0].channels, plan->block) : 1);
    }
    return used >= LEAST_USED * computed;
}

/* Returns whether the node only copies or moves its input. Its value has the layout of its input,
 * also when it is fused into the node that reads it. */
static bool passes_layout_on(const struct node *node)
{
    return (node->op->traits & OP_MOVES_CHANNELS) || op_is_identity_in_inference(node);
}

/* Returns whether a node may be fused into the node before it: its output has the shape of its
 * input. */
static bool may_be_fused(const struct graph *graph, const struct node *node)
{
    struct shape inputs[NODE_MAX_INPUTS];
    graph_input_shapes(graph, node, inputs);
    return node->input_count > 0 && shape_equal(inputs[0], node->output);
}

void layouts_mark_plain(const struct plan *plan, bool *plain)
{
    const struct graph *graph = plan->graph;
    plain[graph->output] = true;
    for (size_t n = graph->node_count; n-- > 0;) {
        const struct node *node = &graph->nodes[n];
        for (size_t k = 0; plain[n] && may_be_fused(graph, node) && k < node->input_count; k++)
            plain[node->inputs[k]] = true;
    }
}

/* Returns the layout of an array of integers. */
static struct tensor_layout integers_layout(const struct plan *plan)
{
    return (struct tensor_layout){.block = plan->block, .u8 = true};
}

/* Offers a step of a plan in int8 integers only, if it reads and writes integers, or else plain
 * float32. */
static void offer_int8(const struct plan *plan, struct plan_step *step, bool plain)
{
    struct kernel_site *site = &step->site;
    const struct node *node = site->node;
    for (size_t k = 0; k < step->input_count; k++)
        site->quantizations[k] = plan->quantizations[step->inputs[k]];
    /* a view of a value in float32 has a separate quantization if integers are read from it */
    const bool as_viewed =
        node->op->traits & OP_VIEW && quantization_is_set(site->quantizations[0]);
    site->output_quantization = as_viewed ? site->quantizations[0] : node->quantization;
    const bool integers = !plain && quantization_is_set(site->output_quantization);
    site->int8 = int8_computes(site, integers, &step->float_reason);
    for (size_t k = 0; k < step->input_count; k++)
        site->layouts[k] = site->int8 ? integers_layout(plan) : (struct tensor_layout){0};
    if (site->int8 && integers)
        site->output_layout = integers_layout(plan);
}

/* Returns the layout of a channel-blocked array of float32 or bf16. It is by rows if a batch has
 * fewer images than there are threads, which then share images. A thread that computes whole images
 * reads one by planes in order, since most kernels compute plane after plane. */
static struct tensor_layout floats_layout(const struct plan *plan)
{
    if (!plan->block)
        return (struct tensor_layout){0};
    return (struct tensor_layout){.block = plan->block,
                                  .by_rows =
                                      plan->mode == PLAN_INFERENCE && plan->batch < plan->threads,
                                  .bf16 = plan->bf16};
}

void layouts_offer(const struct plan *plan, struct plan_step *step, bool plain)
{
    struct kernel_site *site = &step->site;
    for (size_t k = 0; k < step->input_count; k++)
        site->layouts[k] = plan->layouts[step->inputs[k]];
    if (plan->int8)
        offer_int8(plan, step, plain);
    else if (!plain)
        site->output_layout = floats_layout(plan);
}

/* Gives a view the quantization of its input. */
static void settle_quantization(struct plan *plan, const struct plan_step *step)
{
    const struct quantization viewed = plan->quantizations[step->inputs[0]];
    plan->quantizations[step->node] =
        !step->kernel && quantization_is_set(viewed) ? viewed : step->site.output_quantization;
}

void layouts_settle(struct plan *plan, struct plan_step *step)
{
    struct tensor_layout *layout = &plan->layouts[step->node];
    const struct node *node = step->site.node;
    *layout = (struct tensor_layout){0};
    if (plan->int8 && step->kernel)
        *layout = step->site.output_layout;
    else if (!step->kernel || passes_layout_on(node))
        *layout = plan->layouts[node->inputs[0]];
    else if ((step->kernel->traits & KERNEL_BLOCKED) && shape_area(node->output) > 1)
        *layout = step->site.output_layout;
    else if (plan->mode == PLAN_TRAINING && (step->kernel->traits & KERNEL_ANY_LAYOUT))
        *layout = plan->layouts[node->inputs[0]];
    step->site.output_layout = *layout;
    if (plan->int8)
        settle_quantization(plan, step);
}

bool layouts_agree(const struct plan *plan, const struct plan_step *step)
{
    const unsigned knows = KERNEL_BLOCKED | KERNEL_ANY_LAYOUT;
    bool agree = true;
    for (size_t k = 0; k < step->input_count; k++)
        agree &= !plan->layouts[step->inputs[k]].block || !step->kernel ||
                 (step->kernel->traits & knows);
    return plan->mode != PLAN_TRAINING || agree;
}

/* --- channels-last --- */

static bool *last_of(struct plan *plan, size_t node)
{
    return &plan->layouts[node].channels_last;
}

/* Makes the input and output values of a step plain. Returns whether one of them was not. */
static bool make_plain(struct plan *plan, const struct plan_step *step)
{
    bool changed = *last_of(plan, step->node);
    *last_of(plan, step->node) = false;
    for (size_t k = 0; k < step->input_count; k++) {
        changed |= *last_of(plan, step->inputs[k]);
        *last_of(plan, step->inputs[k]) = false;
    }
    return changed;
}

/* Returns whether the values of a step may have the layouts that they have now. */
static bool allows_layouts(struct plan *plan, const struct plan_step *step)
{
    const unsigned traits = step->kernel ? step->kernel->traits : 0;
    const bool converts = traits & KERNEL_CONVERTS_LAYOUT;
    const bool keeps = !step->kernel ? passes_layout_on(step->site.node)
                                     : !step->falls_back && (traits & KERNEL_CHANNELS_LAST);
    bool any = *last_of(plan, step->node), equal = true;
    for (size_t k = 0; k < step->input_count; k++) {
        any |= *last_of(plan, step->inputs[k]);
        equal &= *last_of(plan, step->inputs[k]) == *last_of(plan, step->node);
    }
    return !any || converts || (keeps && equal);
}

/* Returns whether a convolution reads and writes channels-last values. If it only reads or only
 * writes them, nothing is gained, since libraries do not convert. */
static bool convolves_channels_last(struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++)
        if ((plan->steps[s].site.node->op == &op_conv ||
             plan->steps[s].site.node->op == &op_conv_transpose) &&
            *last_of(plan, plan->steps[s].node) && *last_of(plan, plan->steps[s].inputs[0]))
            return true;
    return false;
}

bool layouts_put_channels_last(struct plan *plan, const bool *plain)
{
    bool changed = true;
    for (size_t s = 0; s < plan->step_count; s++) {
        const size_t node = plan->steps[s].node;
        *last_of(plan, node) = !plain[node] && shape_area(plan->graph->nodes[node].output) > 1;
    }
    while (changed) {
        changed = false;
        for (size_t s = plan->step_count; s-- > 0;)
            if (!allows_layouts(plan, &plan->steps[s]))
                changed |= make_plain(plan, &plan->steps[s]);
    }
    const bool pays = convolves_channels_last(plan);
    for (size_t s = 0; s < plan->step_count; s++)
        *last_of(plan, plan->steps[s].node) &= pays;
    for (size_t s = 0; s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        step->site.output_layout = plan->layouts[step->node];
        for (size_t k = 0; k < step->input_count; k++)
            step->site.layouts[k] = plan->layouts[step->inputs[k]];
    }
    return pays;
}

/* --- parts of a concatenation --- */

/* Returns the step whose kernel writes the value of a node; NULL for an input of the network. */
static struct plan_step *find_writer(struct plan *plan, size_t node)
{
    struct plan_step *step = (struct plan_step *)plan_find_step(plan, node);
    while (step && !step->kernel && !step->joins)
        step = (struct plan_step *)plan_find_step(plan, step->inputs[0]);
    return step;
}

static bool can_be_part(const struct plan *plan, const struct plan_step *writer, bool last)
{
    return writer && writer->kernel && (writer->kernel->traits & KERNEL_BLOCKED) &&
           writer->part_of == PLAN_NONE && plan->layouts[writer->node].block &&
           (last || writer->site.node->output.channels % plan->block == 0);
}

static bool can_join(struct plan *plan, const struct plan_step *step)
{
    for (size_t k = 0; k < step->input_count; k++) {
        const struct plan_step *writer = find_writer(plan, step->inputs[k]);
        if (!can_be_part(plan, writer, k + 1 == step->input_count))
            return false;
        for (size_t other = 0; other < k; other++)
            if (find_writer(plan, step->inputs[other]) == writer)
                return false;
    }
    return true;
}

static void join_in_place(struct plan *plan, struct plan_step *step)
{
    size_t channel = 0;
    for (size_t k = 0; k < step->input_count; k++) {
        struct plan_step *writer = find_writer(plan, step->inputs[k]);
        writer->part_of = step->node;
        writer->part_channel = channel;
        channel += writer->site.node->output.channels;
    }
    step->kernel = NULL;
    step->joins = true;
    snprintf(step->choice, sizeof step->choice, "%s",
             N_("its inputs are computed where it needs them: nothing to copy"));
}

static void join_concatenations(struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        if (step->kernel && step->site.node->op == &op_concat && plan->layouts[step->node].block &&
            can_join(plan, step))
            join_in_place(plan, step);
    }
}

/* --- padding --- */

/* Returns the node whose padding a value shares: for a part of a concatenation, the concatenation.
 */
static size_t padded_node(struct plan *plan, size_t node)
{
    const struct plan_step *writer = find_writer(plan, node);
    if (!writer)
        return node;
    return writer->part_of == PLAN_NONE ? writer->node : writer->part_of;
}

static void find_padding(struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (!step->kernel || !step->kernel->input_pad || !plan->layouts[step->inputs[0]].block)
            continue;
        struct tensor_layout *layout = &plan->layouts[padded_node(plan, step->inputs[0])];
        const size_t pad = step->kernel->input_pad(&step->site);
        layout->pad = pad > layout->pad ? pad : layout->pad;
    }
}

/* Gives every value the layout of the step that writes it. */
static void share_layouts(struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        const struct plan_step *writer = find_writer(plan, step->node);
        struct tensor_layout *layout = &plan->layouts[step->node];
        if (writer && writer != step) {
            *layout = plan->layouts[writer->node];
        } else if (step->part_of != PLAN_NONE) {
            layout->pad = plan->layouts[step->part_of].pad;
            layout->channels = plan->graph->nodes[step->part_of].output.channels;
        }
    }
}

/* Gives the kernel of a step in int8 a copy of every input that has integers but is read as
 * float32, or the reverse. */
static void set_int8_copies(struct plan *plan, struct plan_step *step)
{
    step->site.output_layout = plan->layouts[step->node];
    for (size_t k = 0; k < step->input_count; k++) {
        const struct tensor_layout layout = plan->layouts[step->inputs[k]];
        const bool copied = step->kernel && layout.u8 != step->site.int8;
        if (!step->kernel || !copied)
            step->site.layouts[k] = layout;
        else
            step->site.layouts[k] =
                step->site.int8 ? integers_layout(plan) : (struct tensor_layout){0};
        step->copies[k] = copied ? 0 : PLAN_NONE; /* placement gives it an offset */
    }
}

static void set_site_layouts(struct plan *plan, struct plan_step *step)
{
    if (plan->int8) {
        set_int8_copies(plan, step);
        return;
    }
    const bool blocked =
        plan->mode == PLAN_TRAINING || (step->kernel && (step->kernel->traits & KERNEL_BLOCKED));
    step->site.output_layout = plan->layouts[step->node];
    for (size_t k = 0; k < step->input_count; k++) {
        const struct tensor_layout layout = plan->layouts[step->inputs[k]];
        const bool copied = step->kernel && !blocked && layout.block;
        step->site.layouts[k] = copied ? (struct tensor_layout){0} : layout;
        step->copies[k] = copied ? 0 : PLAN_NONE; /* placement gives it an offset */
    }
}

void layouts_complete(struct plan *plan)
{
    if (!plan->block && !plan->int8)
        return;
    if (plan->mode == PLAN_INFERENCE) {
        join_concatenations(plan);
        find_padding(plan);
    }
    share_layouts(plan);
    for (size_t s = 0; s < plan->step_count; s++)
        set_site_layouts(plan, &plan->steps[s]);
}

/* --- sizes --- */

size_t layouts_value_bytes(const struct plan *plan, size_t node)
{
    const struct tensor_layout layout = plan->layouts[node];
    return tensor_image(layout, plan->graph->nodes[node].output) * tensor_value_bytes(layout) *
           plan->batch;
}

size_t layouts_copy_bytes(const struct plan *plan, const struct plan_step *step, size_t input)
{
    const struct tensor_layout layout = step->site.layouts[input];
    return tensor_image(layout, step->site.inputs[input]) * tensor_value_bytes(layout) *
           plan->batch;
}

size_t layouts_copy_count(const struct plan *plan)
{
    size_t copies = 0;
    for (size_t s = 0; s < plan->step_count; s++)
        for (size_t k = 0; k < plan->steps[s].input_count; k++)
            copies += plan->steps[s].copies[k] != PLAN_NONE;
    return copies;
}
