/* Building the steps of a plan takes three passes over the graph: one backward marks the nodes that
 * the output and the losses need, one forward marks those that need a gradient, and one forward
 * makes a step of each needed node and chooses its kernel. A node needs a gradient if it has
 * parameters to learn or if one of its inputs needs one. */
#include "engine/plan/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/graph/image_blocks.h"
#include "engine/ops/op.h"
#include "engine/plan/fallback.h"
#include "engine/plan/rounding.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No real arena reaches this size. Refusing larger ones early keeps size arithmetic from
 * overflowing. */
#define BYTES_LIMIT (SIZE_MAX / 4096)

struct step_builder {
    struct plan *plan;
    const struct plan_settings *settings;
    bool *needed, *needs_gradient; /* by node */
    bool *plain;                   /* by node: the value must have the plain layout */
    bool layouts_agree;            /* every kernel supports the layouts of its inputs */
};

static bool mark_needed(struct step_builder *builder, struct error *error)
{
    const struct graph *graph = builder->plan->graph;
    const bool training = builder->plan->mode == PLAN_TRAINING;
    size_t losses = training ? graph->loss_count : builder->settings->with_loss ? 1 : 0;
    if (losses > graph->loss_count)
        losses = graph->loss_count;
    builder->needed[graph->output] = true;
    for (size_t i = 0; i < losses; i++)
        builder->needed[graph->losses[i]] = true;
    graph_complete_ancestors(graph, builder->needed);
    if (training && graph->loss_count == 0)
        return error_set(error, ERROR_INPUT, "the network", "end it with a \"loss\"",
                         "it has no loss, so it cannot be trained");
    return true;
}

static void mark_gradients(struct step_builder *builder)
{
    const struct plan *plan = builder->plan;
    const struct graph *graph = plan->graph;
    for (size_t n = 0; n < graph->node_count && plan->mode == PLAN_TRAINING; n++) {
        const struct node *node = &graph->nodes[n];
        bool needs = n == 0 ? builder->settings->needs_input_gradient
                            : !plan->frozen && graph_node_parameter_count(graph, n) > 0;
        for (size_t k = 0; k < node->input_count; k++)
            needs |= builder->needs_gradient[node->inputs[k]];
        builder->needs_gradient[n] = needs;
    }
}

static bool check_size(const struct plan *plan, const struct node *node, struct error *error)
{
    if (shape_count(node->output) < BYTES_LIMIT / sizeof(float) / plan->batch)
        return true;
    return error_set(error, ERROR_MEMORY, node->name, "choose a smaller batch",
                     "%zu images of %zu x %zu x %zu do not fit the address space", plan->batch,
                     node->output.channels, node->output.height, node->output.width);
}

/* Returns whether the node is a view; a channel-blocked value cannot have a view of another shape.
 */
static bool is_view(const struct plan *plan, const struct node *node)
{
    const struct tensor_layout input = plan->layouts[node->inputs[0]];
    return ((node->op->traits & OP_VIEW) && !input.block && !input.u8) ||
           (plan->mode == PLAN_INFERENCE && op_is_identity_in_inference(node));
}

/* Returns whether the node sums over images with a kernel that does not divide the batch itself. */
static bool sums_images(const struct node *node)
{
    return node->parameter_count > 0 && !(node->op->traits & OP_READS_WHOLE_BATCH);
}

/* Sets the batch for which a kernel is chosen to the largest block of images, so that a process
 * which has only this block makes the same choice. */
static void divide_batch(const struct plan *plan, struct plan_step *step)
{
    step->by_blocks = plan->image_blocks > 1 && sums_images(step->site.node);
    if (step->by_blocks)
        step->site.batch = (plan->batch + plan->image_blocks - 1) / plan->image_blocks;
}

static void start_step(const struct step_builder *builder, size_t number, struct plan_step *step)
{
    const struct plan *plan = builder->plan;
    const struct node *node = &plan->graph->nodes[number];
    *step = (struct plan_step){
        .node = number,
        .backward = builder->needs_gradient[number],
        .fused_into = PLAN_NONE,
        .part_of = PLAN_NONE,
        .input_count = node->input_count,
        .saved = PLAN_NONE,
        .backward_saved = PLAN_NONE,
        .backward_at = PLAN_NONE,
        .recompute_at = PLAN_NONE,
        .site = {.node = node,
                 .batch = plan->batch,
                 .ranks = plan->ranks,
                 .image_blocks = plan->image_blocks,
                 .training = plan->mode == PLAN_TRAINING,
                 .bf16 = plan->bf16,
                 .threads = plan->threads,
                 .context = builder->settings->device ? builder->settings->device->state : NULL,
                 .only_forecast = plan->only_forecast,
                 .spare_workspace = plan->spare_workspace,
                 .machine = &plan->machine},
    };
    memcpy(step->inputs, node->inputs, sizeof step->inputs);
    graph_input_shapes(plan->graph, node, step->site.inputs);
    for (size_t k = 0; k < NODE_MAX_INPUTS; k++)
        step->copies[k] = PLAN_NONE;
    for (size_t k = 0; k < node->input_count; k++)
        step->site.input_gradient[k] = builder->needs_gradient[node->inputs[k]];
    divide_batch(plan, step);
    layouts_offer(plan, step, builder->plain[number]);
}

/* Returns the kernel that is recorded for a node, "" if there is none, NULL without a record. */
static const char *find_recorded(const struct plan_choices *choices, const char *node)
{
    for (size_t i = 0; choices && i < choices->count; i++)
        if (strcmp(choices->list[i].node, node) == 0)
            return choices->list[i].kernel;
    return choices ? "" : NULL;
}

/* Adds the reason why no int8 kernel was considered to the explanation of the choice (choice.h). */
static void add_refusal(struct plan_step *step)
{
    const size_t used = strlen(step->choice);
    snprintf(step->choice + used, sizeof step->choice - used, "; int8 refused: %s",
             step->float_reason);
}

static bool choose_kernel(const struct step_builder *builder, struct plan_step *step,
                          struct error *error)
{
    const struct plan *plan = builder->plan;
    if (is_view(plan, step->site.node)) {
        snprintf(step->choice, sizeof step->choice, "%s",
                 N_("a view of its input: nothing to compute"));
        return true;
    }
    step->site.recorded_kernel = find_recorded(builder->settings->choices, step->site.node->name);
    const bool chosen = fallback_choose_kernel(plan->driver, step, error);
    step->site.recorded_kernel = NULL;
    step->predicted = chosen && device_predicts_kernel(plan->driver, &step->site);
    if (chosen && step->float_reason)
        add_refusal(step);
    return chosen;
}

static bool append_steps(struct step_builder *builder, struct error *error)
{
    struct plan *plan = builder->plan;
    for (size_t n = 0; n < plan->graph->node_count; n++) {
        const struct node *node = &plan->graph->nodes[n];
        if (!builder->needed[n])
            continue;
        if (!check_size(plan, node, error))
            return false;
        if (node->op == &op_input)
            continue;
        struct plan_step *step = &plan->steps[plan->step_count++];
        start_step(builder, n, step);
        if (!choose_kernel(builder, step, error))
            return false;
        builder->layouts_agree &= layouts_agree(plan, step);
        layouts_settle(plan, step);
    }
    return true;
}

/* Appends the steps of a training with channel-blocked values. Returns false if they do not pay, or
 * if a kernel needs plain ones. In bf16 they pay always, since no other kernels use the processor's
 * products of bf16. */
static bool append_blocked_steps(struct step_builder *builder)
{
    builder->layouts_agree = true;
    return (builder->plan->bf16 || layouts_pay(builder->plan)) && append_steps(builder, NULL) &&
           builder->layouts_agree;
}

/* Makes values channels-last where that is possible, and chooses the kernels of these steps. */
static bool put_channels_last(struct step_builder *builder, struct error *error)
{
    struct plan *plan = builder->plan;
    bool chosen = true;
    if (!layouts_put_channels_last(plan, builder->plain))
        return true;
    for (size_t s = 0; chosen && s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        bool last = step->site.output_layout.channels_last;
        for (size_t k = 0; k < step->input_count; k++)
            last |= step->site.layouts[k].channels_last;
        chosen = !last || choose_kernel(builder, step, error);
        assert(!step->falls_back || !last);
    }
    return chosen;
}

/* Appends the steps. Training has channel-blocked values everywhere or nowhere. */
static bool append_steps_in_layout(struct step_builder *builder, struct error *error)
{
    struct plan *plan = builder->plan;
    if (plan->mode == PLAN_TRAINING && plan->block) {
        if (append_blocked_steps(builder))
            return true;
        plan->block = 0;
        plan->step_count = 0;
        memset(plan->layouts, 0, plan->graph->node_count * sizeof *plan->layouts);
    }
    return append_steps(builder, error) &&
           (!plan->channels_last || put_channels_last(builder, error));
}

bool steps_build(struct plan *plan, const struct plan_settings *settings, struct error *error)
{
    const size_t nodes = plan->graph->node_count;
    struct step_builder builder = {.plan = plan, .settings = settings};
    builder.needed = memory_new(nodes, sizeof *builder.needed, "the plan", error);
    builder.needs_gradient = memory_new(nodes, sizeof *builder.needs_gradient, "the plan", error);
    builder.plain = memory_new(nodes, sizeof *builder.plain, "the plan", error);
    bool built =
        builder.needed && builder.needs_gradient && builder.plain && mark_needed(&builder, error);
    if (built) {
        layouts_mark_plain(plan, builder.plain);
        rounding_mark(plan, builder.plain);
        mark_gradients(&builder);
        built = append_steps_in_layout(&builder, error);
    }
    free(builder.needed);
    free(builder.needs_gradient);
    free(builder.plain);
    return built;
}

/* Returns the bytes of the parameter gradients of some blocks of images, as many as are in use at
 * once beside the result. */
static size_t partial_sums_bytes(const struct plan *plan, const struct plan_step *step)
{
    const struct node *node = step->site.node;
    size_t bytes = 0;
    for (size_t p = 0; step->backward && !plan->frozen && p < node->parameter_count; p++)
        bytes +=
            memory_round_up(plan->graph->parameters[node->parameters[p]].count * sizeof(float));
    return bytes * image_blocks_depth(plan->image_blocks);
}

size_t steps_place_workspace(struct plan *plan)
{
    size_t most = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        const bool on_device = step->kernel && !fallback_leaves_device(plan->driver, step);
        size_t bytes = on_device && step->kernel->workspace_bytes
                           ? memory_round_up(step->kernel->workspace_bytes(&step->site))
                           : 0;
        bytes += step->kernel ? rounding_workspace_bytes(plan, step) : 0;
        step->partial_sums = bytes;
        bytes += step->by_blocks ? partial_sums_bytes(plan, step) : 0;
        most = bytes > most ? bytes : most;
    }
    return memory_round_up(most);
}

size_t steps_place_prepared(struct plan *plan)
{
    size_t bytes = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        step->prepared = bytes;
        if (step->kernel && step->kernel->prepared_bytes)
            bytes += memory_round_up(step->kernel->prepared_bytes(&step->site));
    }
    return bytes;
}
