#include "engine/execution/int8_weights.h"

#include "base/memory.h"
#include "engine/ops/int8.h"

#include <math.h>
#include <stdlib.h>

bool int8_weights_create(struct execution *execution, struct error *error)
{
    const struct graph *graph = execution->plan->graph;
    if (!execution->device->driver->computes_on_host || !int8_is_simulated(graph))
        return true;
    execution->rounded = memory_new_aligned(graph->total_floats, sizeof *execution->rounded,
                                            "the rounded weights", error);
    return execution->rounded;
}

void int8_weights_free(struct execution *execution)
{
    free(execution->rounded);
}

float *int8_weights_at(const struct execution *execution, const struct parameter *parameter,
                       float *weights)
{
    const bool copied = execution->rounded && graph_weight_scale(execution->plan->graph, parameter);
    return (copied ? execution->rounded : weights) + parameter->offset;
}

void int8_weights_round(struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    const float *values = execution->weights->values;
    if (!execution->rounded || execution->rounded_version == execution->weights->version)
        return;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const struct parameter *scale = graph_weight_scale(graph, parameter);
        const size_t row = parameter->count / parameter->dims[0];
        for (size_t i = 0; scale && i < parameter->count; i++) {
            const float step = values[scale->offset + i / row];
            const float value = values[parameter->offset + i];
            execution->rounded[parameter->offset + i] =
                isnan(value) ? value : step * (float)quantization_round_weight(step, value);
        }
    }
    execution->rounded_version = execution->weights->version;
}

void int8_weights_mask(struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    const float *values = execution->weights->values;
    for (size_t p = 0; execution->rounded && p < graph->parameter_count; p++) {
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
