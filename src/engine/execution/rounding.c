/* Rounded values.
 *
 * Training with weights that are rounded to integers (ops/fake_quantize.c says how the values
 * between the layers are): the weights that the solver changes stay float32. The kernels of both
 * passes read a copy, rounded to the multiples of the layer's scales, which is made anew when the
 * weights have changed. The gradient of the copy is taken for that of the weights, except where a
 * weight lies beyond the range: there it is 0.
 *
 * In a plan of bf16, operands and results are rounded around kernels of float32 (plan/rounding.h).
 */
#include "engine/execution/internal.h"

#include "base/memory.h"
#include "engine/ops/int8.h"
#include "engine/plan/rounding.h"

#include <math.h>
#include <stdlib.h>

/* --- weights as integers --- */

bool int8_weights_create(struct execution *execution, struct error *error)
{
    const struct graph *graph = execution->plan->graph;
    if (!execution->device->driver->computes_on_host || !int8_is_simulated(graph))
        return true;
    execution->derived.rounded = memory_new_aligned(
        graph->total_floats, sizeof *execution->derived.rounded, "the rounded weights", error);
    return execution->derived.rounded;
}

void int8_weights_free(struct execution *execution)
{
    free(execution->derived.rounded);
}

float *int8_weights_at(const struct execution *execution, const struct parameter *parameter,
                       float *weights)
{
    const bool copied =
        execution->derived.rounded && graph_weight_scale(execution->plan->graph, parameter);
    return (copied ? execution->derived.rounded : weights) + parameter->offset;
}

void int8_weights_round(struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    const float *values = execution->weights->values;
    if (!execution->derived.rounded ||
        execution->derived.rounded_version == execution->weights->version)
        return;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const struct parameter *scale = graph_weight_scale(graph, parameter);
        const size_t row = parameter->count / parameter->dims[0];
        for (size_t i = 0; scale && i < parameter->count; i++) {
            const float step = values[scale->offset + i / row];
            const float value = values[parameter->offset + i];
            execution->derived.rounded[parameter->offset + i] =
                isnan(value) ? value : step * (float)quantization_round_weight(step, value);
        }
    }
    execution->derived.rounded_version = execution->weights->version;
}

void int8_weights_mask(struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    const float *values = execution->weights->values;
    for (size_t p = 0; execution->derived.rounded && p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const struct parameter *scale = graph_weight_scale(graph, parameter);
        const size_t row = parameter->count / parameter->dims[0];
        for (size_t i = 0; scale && i < parameter->count; i++) {
            const float step = values[scale->offset + i / row];
            if (fabsf(rintf(values[parameter->offset + i] / step)) > QUANTIZED_WEIGHT_MAX)
                execution->gradients[parameter->offset + i] = 0;
        }
    }
}

/* --- bf16 --- */

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
