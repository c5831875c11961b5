/* Two ways, both only where nobody else reads the value between:
 *
 *   before a kernel   a move of channels, which it reads through (KERNEL_FUSES_CHANNEL_MOVES)
 *   behind a kernel   an add, then a relu, which it finishes (KERNEL_FUSES_EPILOGUE)
 *
 * What is read through shows the value it would have moved. What is finished shows the value of the
 * step that finishes it: there is one array for all of them, and one for its gradient. */
#include "engine/plan/fusion.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>

/* For each step the only other one that reads its value. */
struct absorber {
    struct plan_step **reader; /* by node; NULL: none, several, or the caller reads it too */
};

/* Fills reader[] in one pass over what all steps read. False with an error when memory is out. */
static bool find_readers(struct absorber *absorber, struct plan *plan, struct error *error)
{
    const size_t nodes = plan->graph->node_count;
    unsigned char *reads = memory_new(nodes, sizeof *reads, "the plan", error);
    absorber->reader = memory_new(nodes, sizeof *absorber->reader, "the plan", error);
    const bool made = reads && absorber->reader;
    for (size_t s = 0; made && s < plan->step_count; s++) {
        const struct node *node = plan->steps[s].site.node;
        for (size_t k = 0; k < node->input_count; k++) {
            absorber->reader[node->inputs[k]] = reads[node->inputs[k]] ? NULL : &plan->steps[s];
            reads[node->inputs[k]] = 1;
        }
    }
    if (made)
        absorber->reader[plan->graph->output] = NULL;
    free(reads);
    return made;
}

static struct plan_step *only_reader(const struct absorber *absorber, const struct plan_step *of)
{
    return absorber->reader[of->node];
}

static bool can(const struct plan_step *step, unsigned trait)
{
    return step && step->kernel && (step->kernel->traits & trait);
}

/* --- moves of channels that are read through --- */

/* A shift or shuffle whose only reader can take its input from where it was becomes a view: value
 * and gradient are its input's, and the reader is told of the move. */
static void read_through(const struct absorber *absorber, struct plan_step *step)
{
    struct plan_step *reader = only_reader(absorber, step);
    if (!can(reader, KERNEL_FUSES_CHANNEL_MOVES))
        return;
    reader->site.fused_move = step->site.node;
    step->kernel = NULL;
    step->reader = reader->node;
    snprintf(step->choice, sizeof step->choice, "read through by %s: nothing is computed or stored",
             reader->site.node->name);
}

/* --- what is finished --- */

static void become_finished(struct plan_step *step, const struct plan_step *by, size_t shows)
{
    step->kernel = NULL;
    step->fused_into = by->node;
    step->inputs[0] = shows;
    step->input_count = 1;
    snprintf(step->choice, sizeof step->choice, "done by %s in its own pass", by->site.node->name);
}

/* A sum of two is finished by the later of them: the other one must be there. */
static bool finish_sum(struct plan_step *step, struct plan_step *sum)
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
    become_finished(sum, step, step->node);
    return true;
}

static void finish_activation(struct plan_step *step, struct plan_step *activation)
{
    if (!activation || activation->site.node->op != &op_relu)
        return;
    step->site.fused_activation = activation->site.node;
    become_finished(activation, step, activation->inputs[0]);
}

static void finish(const struct absorber *absorber, struct plan_step *step)
{
    struct plan_step *next = only_reader(absorber, step);
    if (finish_sum(step, next))
        next = only_reader(absorber, next);
    finish_activation(step, next);
}

bool plan_absorb(struct plan *plan, bool finishes, struct error *error)
{
    struct absorber absorber;
    const bool found = find_readers(&absorber, plan, error);
    for (size_t s = 0; found && s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        if (step->site.node->op->traits & OP_MOVES_CHANNELS)
            read_through(&absorber, step);
        else if (finishes && can(step, KERNEL_FUSES_EPILOGUE))
            finish(&absorber, step);
    }
    free(absorber.reader);
    return found;
}
