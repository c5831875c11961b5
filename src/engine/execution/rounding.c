/* Rounding to bf16 around kernels of float32. */
#include "engine/execution/rounding.h"

#include "base/memory.h"
#include "engine/plan/rounding.h"

/* Returns a rounded copy of `count` values at *workspace, which then points behind it; returns
 * `from` itself if there is nothing to copy. */
static float *copy_rounded(const struct execution *execution, const float *from, size_t count,
                           char **workspace)
{
    float *copy = (float *)*workspace;
    if (count == 0)
        return (float *)from;
    execution->device->driver->round(execution->device, from, copy, count);
    *workspace += memory_round_up(count * sizeof *copy);
    return copy;
}

void rounding_copy_operands(const struct execution *execution, const struct plan_step *step,
                            struct kernel_call *call)
{
    const size_t batch = call->site->batch;
    char *workspace = (char *)call->workspace + step->rounding.workspace;
    call->inputs[0] =
        copy_rounded(execution, call->inputs[0], rounding_input_count(step, batch), &workspace);
    call->parameters[0] = copy_rounded(execution, call->parameters[0],
                                       rounding_weight_count(execution->plan, step), &workspace);
    if (call->output_gradient)
        call->output_gradient = copy_rounded(execution, call->output_gradient,
                                             rounding_output_count(step, batch), &workspace);
}

static void round_in_place(const struct execution *execution, float *values, size_t count)
{
    execution->device->driver->round(execution->device, values, values, count);
}

void rounding_round_results(const struct execution *execution, const struct plan_step *step,
                            enum plan_pass pass, const struct kernel_call *call)
{
    const size_t batch = call->site->batch;
    if (pass != PLAN_BACKWARD && step->rounding.output)
        round_in_place(execution, call->output, batch * shape_count(step->site.node->output));
    for (size_t k = 0; pass == PLAN_BACKWARD && k < step->input_count; k++)
        if (step->rounding.gradients[k] && call->input_gradients[k])
            round_in_place(execution, call->input_gradients[k],
                           batch * shape_count(step->site.inputs[k]));
}
