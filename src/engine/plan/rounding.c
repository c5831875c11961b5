/* Decides which operands and results of a plan in bf16 are rounded. A value that is rounded where
 * it is written need not be rounded again where a product reads it. */
#include "engine/plan/rounding.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <string.h>

void rounding_mark(struct plan *plan, const bool *plain)
{
    const struct graph *graph = plan->graph;
    for (size_t n = 0; plan->bf16 && n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        plan->rounded[n] = node->op != &op_input && shape_area(node->output) > 1 && !plain[n];
        if (node->op->traits & OP_VIEW) /* shares the memory of its input */
            plan->rounded[n] = plan->rounded[node->inputs[0]];
    }
}

/* Returns whether the step's operator multiplies values by weights. */
static bool multiplies(const struct plan_step *step)
{
    return step->site.node->op->flops;
}

/* Appends a part to the explanation of the choice of the kernel (choice.h). */
static void add_to_choice(struct plan_step *step, const char *text)
{
    const size_t used = strlen(step->choice);
    snprintf(step->choice + used, sizeof step->choice - used, "; %s", text);
}

static void set_rounding(const struct plan *plan, struct plan_step *step)
{
    struct step_rounding *rounding = &step->rounding;
    rounding->output = plan->rounded[step->node];
    for (size_t k = 0; k < step->input_count; k++)
        rounding->gradients[k] = plan->rounded[step->inputs[k]];
    if (multiplies(step) && !(step->kernel->traits & KERNEL_BF16)) {
        rounding->weights = true;
        rounding->input = !plan->rounded[step->inputs[0]];
        rounding->output_gradient = step->backward && !plan->rounded[step->node];
    }
    if (rounding->weights || rounding->output)
        add_to_choice(step, N_("it computes in float32, and what it reads and writes is rounded"));
    if (step->kernel->workspace_bytes)
        rounding->workspace = memory_round_up(step->kernel->workspace_bytes(&step->site));
}

void rounding_complete(struct plan *plan)
{
    for (size_t s = 0; plan->bf16 && s < plan->step_count; s++) {
        struct plan_step *step = &plan->steps[s];
        if (step->kernel &&
            (!(step->kernel->traits & KERNEL_BF16) || kernel_multiplies_plain_bf16(step->kernel)))
            set_rounding(plan, step);
    }
}

size_t rounding_input_count(const struct plan_step *step, size_t batch)
{
    return step->rounding.input ? batch * shape_count(step->site.inputs[0]) : 0;
}

size_t rounding_weight_count(const struct plan *plan, const struct plan_step *step)
{
    return step->rounding.weights ? plan->graph->parameters[step->site.node->parameters[0]].count
                                  : 0;
}

size_t rounding_output_count(const struct plan_step *step, size_t batch)
{
    return step->rounding.output_gradient ? batch * shape_count(step->site.node->output) : 0;
}

size_t rounding_workspace_bytes(const struct plan *plan, const struct plan_step *step)
{
    return memory_round_up(rounding_input_count(step, plan->batch) * sizeof(float)) +
           memory_round_up(rounding_weight_count(plan, step) * sizeof(float)) +
           memory_round_up(rounding_output_count(step, plan->batch) * sizeof(float));
}
