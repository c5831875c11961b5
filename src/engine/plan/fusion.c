/* There are two kinds of fusion. Each is possible only if a single step reads the value between the
 * two nodes:
 *
 *   fused gather     a channel move is fused into the kernel after it, which then loads each
 *                    channel from its place before the move (KERNEL_FUSES_CHANNEL_MOVES)
 *   fused epilogue   an add, then a relu, is fused into the kernel before it, which then writes
 *                    the sum or the activation (KERNEL_FUSES_EPILOGUE)
 *
 * A fused move becomes a view of its input. A fused add or relu becomes a view of the step that
 * computes it: all of them share one value array and one gradient array. */
#include "engine/plan/fusion.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>

struct fusion {
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
    if (!kernel_has_trait(reader, KERNEL_FUSES_CHANNEL_MOVES))
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

/* Fuses an add into the later of the two steps that it reads, since the other summand must have
 * been computed by then. */
static bool fuse_add(struct plan_step *step, struct plan_step *sum)
{
    const struct node *add = sum ? sum->site.node : NULL;
    if (!add || add->op != &op_add || add->input_count != 2)
        return false;
    const size_t other = add->inputs[0] == step->node ? 1 : 0;
    if (add->inputs[other] > step->node)
        return false;
    step->inputs[1] = add->inputs[other];
    step->input_count = 2;
    step->site.inputs[1] = sum->site.inputs[other];
    step->site.input_gradient[1] = sum->site.input_gradient[other];
    step->site.fused_add = add;
    step->backward |= sum->backward;
    become_fused(sum, step, step->node);
    return true;
}

static void fuse_activation(struct plan_step *step, struct plan_step *activation)
{
    if (!activation || activation->site.node->op != &op_relu)
        return;
    step->site.fused_activation = activation->site.node;
    become_fused(activation, step, activation->inputs[0]);
}

static void fuse_epilogue(const struct fusion *fusion, struct plan_step *step)
{
    struct plan_step *next = fusion->only_reader[step->node];
    if (fuse_add(step, next))
        next = fusion->only_reader[next->node];
    fuse_activation(step, next);
}

bool fusion_apply(struct plan *plan, bool epilogues, struct error *error)
{
    struct fusion fusion;
    const bool found = find_readers(&fusion, plan, error);
    for (size_t s = 0; found && s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        if (step->site.node->op->traits & OP_MOVES_CHANNELS)
            fuse_move(&fusion, step);
        else if (epilogues && kernel_has_trait(step, KERNEL_FUSES_EPILOGUE))
            fuse_epilogue(&fusion, step);
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
