/* There are three kinds of fusion. Each is possible only if a single step reads the value between
 * the two nodes:
 *
 *   fused gather     a channel move is fused into the kernel after it, which then loads each
 *                    channel from its place before the move (KERNEL_FUSES_CHANNEL_MOVES)
 *   fused norm       in inference, a batch norm is fused into the kernel before it, which then
 *                    multiplies its weights by the norm's scale (KERNEL_FUSES_NORMS)
 *   fused epilogue   an add and a relu, in either order, are fused into the kernel before them,
 *                    which then writes the sum or the activation (KERNEL_FUSES_EPILOGUE, or
 *                    KERNEL_FUSES_ACTIVATION for a relu alone)
 *
 * A norm or a relu after a concatenation is fused into all kernels that compute its inputs.
 *
 * A fused move becomes a view of its input. A fused add or relu becomes a view of the step that
 * computes it: all of them share one value array and one gradient array. */
#include "engine/plan/internal.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>

struct fusion {
    struct plan *plan;
    struct plan_step **only_reader; /* by node: the one step that reads its value; NULL if none or
                                       several do, or if the caller reads it too */
};

/* Fills only_reader[] in one pass over the inputs of all steps. */
static bool find_readers(struct fusion *fusion, struct plan *plan, struct error *error)
{
    const size_t nodes = plan->graph->node_count;
    bool *is_read = memory_new(nodes, sizeof *is_read, "the plan", error);
    fusion->only_reader = memory_new(nodes, sizeof *fusion->only_reader, "the plan", error);
    const bool created = is_read && fusion->only_reader;
    for (size_t s = 0; created && s < plan->step_count; s++) {
        const struct node *node = plan->steps[s].site.node;
        for (size_t k = 0; k < node->input_count; k++) {
            const size_t input = node->inputs[k];
            fusion->only_reader[input] = is_read[input] ? NULL : &plan->steps[s];
            is_read[input] = true;
        }
    }
    if (created)
        fusion->only_reader[plan->graph->output] = NULL;
    free(is_read);
    return created;
}

static bool kernel_has_trait(const struct plan_step *step, unsigned trait)
{
    return step && step->kernel && (step->kernel->traits & trait);
}

/* --- fused gather --- */

static void fuse_move(const struct fusion *fusion, struct plan_step *move)
{
    struct plan_step *reader = fusion->only_reader[move->node];
    if (!kernel_has_trait(reader, KERNEL_FUSES_CHANNEL_MOVES) ||
        (reader->kernel->fuses_move && !reader->kernel->fuses_move(&reader->site, move->site.node)))
        return;
    reader->site.fused_move = move->site.node;
    move->kernel = NULL;
    move->falls_back = false;
    move->fused_into = reader->node;
    snprintf(move->choice, sizeof move->choice,
             "fused into %s, which reads its input through this move", reader->site.node->name);
}

/* --- fused epilogue --- */

/* Turns `step` into a view of node `value`, which the kernel of `into` computes. */
static void become_fused(struct plan_step *step, const struct plan_step *into, size_t value)
{
    step->kernel = NULL;
    step->falls_back = false;
    step->fused_into = into->node;
    step->inputs[0] = value;
    step->input_count = 1;
    snprintf(step->choice, sizeof step->choice, "fused into %s, which computes it in the same pass",
             into->site.node->name);
}

/* Returns the node whose kernel computes the value of a node, perhaps because it is fused. */
static size_t computed_by(const struct fusion *fusion, size_t node)
{
    const struct plan_step *step = plan_find_step(fusion->plan, node);
    while (step && !step->kernel) {
        node = step->inputs[0];
        step = plan_find_step(fusion->plan, node);
    }
    return node;
}

/* Returns whether the kernel of a step can work on the value of a node as on its own output: a
 * channel-blocked kernel on a channel-blocked one, any other on one that is not. */
static bool has_own_layout(const struct fusion *fusion, const struct plan_step *step, size_t node)
{
    return kernel_has_trait(step, KERNEL_BLOCKED) == (fusion->plan->layouts[node].block > 0);
}

/* Fuses an add into the later of the two steps that it reads, since the other summand must have
 * been computed by then. */
static bool fuse_add(const struct fusion *fusion, struct plan_step *step, struct plan_step *sum,
                     size_t value)
{
    const struct node *add = sum ? sum->site.node : NULL;
    if (!add || add->op != &op_add || add->input_count != 2 || sum->site.int8 != step->site.int8 ||
        !has_own_layout(fusion, step, sum->node))
        return false;
    const size_t other = add->inputs[0] == value ? 1 : 0;
    if (computed_by(fusion, add->inputs[other]) > step->node)
        return false;
    step->inputs[1] = add->inputs[other];
    step->input_count = 2;
    step->site.inputs[1] = sum->site.inputs[other];
    step->site.quantizations[1] = sum->site.quantizations[other];
    step->site.input_gradient[1] = sum->site.input_gradient[other];
    step->site.fused_add = add;
    step->backward |= sum->backward;
    become_fused(sum, step, step->node);
    return true;
}

static bool fuse_activation(const struct fusion *fusion, struct plan_step *step,
                            struct plan_step *activation)
{
    if (!activation || activation->site.node->op != &op_relu ||
        activation->site.int8 != step->site.int8 ||
        (!kernel_has_trait(step, KERNEL_BLOCKED) &&
         !has_own_layout(fusion, step, activation->node)))
        return false;
    step->site.fused_activation = activation->site.node;
    become_fused(activation, step, activation->inputs[0]);
    return true;
}

/* Fuses the steps that follow node `value`, which `step` computes. */
static void fuse_epilogue(const struct fusion *fusion, struct plan_step *step, size_t value)
{
    struct plan_step *next = fusion->only_reader[value];
    if (fuse_add(fusion, step, next, value)) {
        fuse_activation(fusion, step, fusion->only_reader[next->node]);
        return;
    }
    if (fuse_activation(fusion, step, next) && kernel_has_trait(step, KERNEL_BLOCKED) &&
        !step->site.training)
        step->site.activation_first =
            fuse_add(fusion, step, fusion->only_reader[next->node], next->node);
}

/* --- fused norms --- */

static bool is_norm(const struct plan_step *step)
{
    return step && step->kernel && step->site.node->op == &op_batch_norm &&
           !step->site.node->attributes.batch_norm.instance;
}

static void add_norm(struct plan_step *step, const struct plan_step *norm, size_t first_channel)
{
    struct kernel_site *site = &step->site;
    site->fused_norms[site->fused_norm_count++] =
        (struct fused_norm){norm->site.node, first_channel};
}

/* Fuses the batch norm after a step; returns the last node that its kernel then computes. */
static size_t fuse_norm(const struct fusion *fusion, struct plan_step *step)
{
    struct plan_step *norm = fusion->only_reader[step->node];
    if (!kernel_has_trait(step, KERNEL_FUSES_NORMS) || !is_norm(norm))
        return step->node;
    add_norm(step, norm, 0);
    become_fused(norm, step, step->node);
    return norm->node;
}

/* --- consumers of a concatenation --- */

/* Returns the step that computes input k of a concatenation, perhaps with fused nodes; NULL if more
 * than the concatenation reads it. */
static struct plan_step *find_part(const struct fusion *fusion, const struct plan_step *concat,
                                   size_t k)
{
    const struct plan *plan = fusion->plan;
    struct plan_step *part = (struct plan_step *)plan_find_step(plan, concat->inputs[k]);
    while (part && fusion->only_reader[part->node] && part->fused_into != PLAN_NONE)
        part = (struct plan_step *)plan_find_step(plan, part->inputs[0]);
    return part && fusion->only_reader[part->node] ? part : NULL;
}

/* Returns whether the kernels of all inputs can compute the norm, the activation or both that
 * follow the concatenation. In int8 there are no norms, and all values must be integers. */
static bool parts_can_fuse(const struct fusion *fusion, const struct plan_step *concat,
                           const struct plan_step *activation)
{
    for (size_t k = 0; k < concat->input_count; k++) {
        const struct plan_step *part = find_part(fusion, concat, k);
        const unsigned needed = concat->site.int8 ? KERNEL_FUSES_EPILOGUE : KERNEL_FUSES_NORMS;
        if (!kernel_has_trait(part, needed) || part->site.fused_add ||
            part->site.fused_activation || part->site.fused_norm_count == KERNEL_MAX_NORMS ||
            part->site.int8 != concat->site.int8 ||
            (activation && activation->site.int8 != concat->site.int8))
            return false;
    }
    return true;
}

static void fuse_after_concat(const struct fusion *fusion, struct plan_step *concat)
{
    struct plan_step *next = fusion->only_reader[concat->node];
    struct plan_step *norm = is_norm(next) ? next : NULL;
    struct plan_step *activation = norm ? fusion->only_reader[norm->node] : next;
    if (!activation || activation->site.node->op != &op_relu)
        activation = NULL;
    if (!parts_can_fuse(fusion, concat, activation) || (concat->site.int8 && norm))
        return;
    size_t channel = 0;
    for (size_t k = 0; k < concat->input_count; k++) {
        struct plan_step *part = find_part(fusion, concat, k);
        if (norm)
            add_norm(part, norm, channel);
        if (activation)
            part->site.fused_activation = activation->site.node;
        channel += part->site.node->output.channels;
    }
    if (norm)
        become_fused(norm, concat, concat->node);
    if (activation)
        become_fused(activation, concat, concat->node);
}

bool fusion_apply(struct plan *plan, bool epilogues, struct error *error)
{
    struct fusion fusion = {.plan = plan};
    const bool found = find_readers(&fusion, plan, error);
    for (size_t s = 0; found && s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        if (step->site.node->op->traits & OP_MOVES_CHANNELS)
            fuse_move(&fusion, step);
        else if (epilogues && kernel_has_trait(step, KERNEL_FUSES_EPILOGUE))
            fuse_epilogue(&fusion, step, fuse_norm(&fusion, step));
        else if (epilogues && kernel_has_trait(step, KERNEL_FUSES_ACTIVATION))
            fuse_activation(&fusion, step, fusion.only_reader[step->node]);
        else if (step->kernel && step->site.node->op == &op_concat && !step->site.training)
            fuse_after_concat(&fusion, step);
    }
    free(fusion.only_reader);
    return found;
}

bool fusion_has_epilogues(const struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].site.fused_add || plan->steps[s].site.fused_activation)
            return true;
    return false;
}
