#include "engine/plan/traffic.h"

#include "engine/ops/op.h"

double traffic_node_bytes(const struct plan *plan, size_t node, size_t batch)
{
    const struct graph *graph = plan->graph;
    const struct node *layer = &graph->nodes[node];
    const struct plan_step *step = plan_find_step(plan, node);
    struct shape inputs[NODE_MAX_INPUTS];
    if (step && !step->kernel)
        return 0;
    size_t values = shape_count(layer->output);
    graph_input_shapes(graph, layer, inputs);
    for (size_t i = 0; i < layer->input_count; i++)
        values += shape_count(inputs[i]);
    if (step && step->site.fused_add) /* the other summand */
        values += shape_count(step->site.inputs[1]);
    size_t parameters = graph_node_parameter_count(graph, node);
    return sizeof(float) * ((double)values + (double)parameters / (double)batch);
}

/* Values of one image that backward reads: the gradient of the output, and what its kernel says. A
 * product of inputs and weights needs its input for the weights' gradient alone. */
static size_t values_read_backward(const struct plan_step *step, bool learns)
{
    const struct node *node = step->site.node;
    const unsigned traits = plan_step_traits(step);
    const size_t output = shape_count(node->output);
    size_t values = node->op->traits & OP_LOSS ? 0 : output;
    if (traits & KERNEL_BACKWARD_READS_OUTPUT)
        values += output;
    if ((traits & KERNEL_BACKWARD_READS_INPUT) && (learns || !node->op->flops))
        for (size_t k = 0; k < node->input_count; k++)
            values += shape_count(step->site.inputs[k]);
    return values;
}

static size_t gradient_values(const struct plan_step *step)
{
    size_t values = 0;
    for (size_t k = 0; k < step->input_count; k++)
        if (step->site.input_gradient[k])
            values += shape_count(step->site.inputs[k]) * (step->accumulate[k] ? 2 : 1);
    return values;
}

double traffic_backward_bytes(const struct plan *plan, const struct plan_step *step)
{
    if (!step->backward || !step->kernel)
        return 0;
    const double parameters = (double)graph_node_parameter_count(plan->graph, step->node);
    const bool learns = !plan->frozen && parameters > 0;
    const size_t values = values_read_backward(step, learns) + gradient_values(step);
    const size_t saved = step->kernel->saved_bytes ? step->kernel->saved_bytes(&step->site) : 0;
    return sizeof(float) * ((double)plan->batch * (double)values +
                            parameters * (step->site.input_gradient[0] + learns)) +
           (double)saved;
}

double traffic_update_bytes(const struct plan *plan)
{
    const struct memory_forecast *forecast = &plan->forecast;
    return 3.0 * (double)forecast->gradients + 2.0 * (double)forecast->solver;
}

double traffic_bytes(const struct plan *plan, size_t batch)
{
    double bytes = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        bytes += traffic_node_bytes(plan, plan->steps[i].node, batch);
    return bytes;
}
