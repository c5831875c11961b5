/* The bytes that layers, passes and iterations read and write, for their place in the roofline. */
#include "engine/plan/traffic.h"

#include "engine/ops/op.h"

/* Returns the bytes of a node's value for one image. */
static size_t value_bytes(const struct plan *plan, size_t node)
{
    return shape_count(plan->graph->nodes[node].output) * tensor_value_bytes(plan->layouts[node]);
}

/* Returns the bytes of the parameters that a forward pass reads: inference in bf16 reads weights
 * that its kernels have rounded once. */
static double parameter_bytes(const struct plan *plan, const struct plan_step *step, size_t node)
{
    if (step && step->site.int8 && step->kernel->prepared_bytes)
        return (double)step->kernel->prepared_bytes(&step->site);
    const bool rounded =
        step && step->kernel->prepared_bytes && (step->kernel->traits & KERNEL_BF16);
    return (double)graph_node_parameter_count(plan->graph, node) *
           (double)(rounded ? sizeof(uint16_t) : sizeof(float));
}

double traffic_node_bytes(const struct plan *plan, size_t node, size_t batch)
{
    const struct graph *graph = plan->graph;
    const struct node *layer = &graph->nodes[node];
    const struct plan_step *step = plan_find_step(plan, node);
    if (step && !step->kernel)
        return 0;
    size_t values = value_bytes(plan, node);
    for (size_t i = 0; i < layer->input_count; i++)
        values += value_bytes(plan, layer->inputs[i]);
    if (step && step->site.fused_add) /* the second summand */
        values += value_bytes(plan, step->inputs[1]);
    return (double)values + parameter_bytes(plan, step, node) / (double)batch;
}

/* Returns the bytes of one image that backward reads: the output's gradient, and the inputs and
 * the output if the kernel's traits say so. A convolution or linear layer reads its input only for
 * the gradient of its weights. */
static size_t bytes_read_backward(const struct plan *plan, const struct plan_step *step,
                                  bool learns)
{
    const struct node *node = step->site.node;
    const unsigned traits = plan_step_traits(step);
    const size_t output = value_bytes(plan, step->node);
    size_t bytes = node->op->traits & OP_LOSS ? 0 : output;
    if (traits & KERNEL_BACKWARD_READS_OUTPUT)
        bytes += output;
    if ((traits & KERNEL_BACKWARD_READS_INPUT) && (learns || !node->op->flops))
        for (size_t k = 0; k < node->input_count; k++)
            bytes += value_bytes(plan, step->inputs[k]);
    return bytes;
}

/* Returns the bytes of input gradients that backward writes, and reads if it adds to them. */
static size_t gradient_bytes(const struct plan *plan, const struct plan_step *step)
{
    size_t bytes = 0;
    for (size_t k = 0; k < step->input_count; k++)
        if (step->site.input_gradient[k])
            bytes += value_bytes(plan, step->inputs[k]) * (step->accumulate[k] ? 2 : 1);
    return bytes;
}

double traffic_backward_bytes(const struct plan *plan, const struct plan_step *step)
{
    if (!step->backward || !step->kernel)
        return 0;
    const double parameters = (double)graph_node_parameter_count(plan->graph, step->node);
    const bool learns = !plan->frozen && parameters > 0;
    const size_t bytes = bytes_read_backward(plan, step, learns) + gradient_bytes(plan, step);
    const size_t saved = step->kernel->saved_bytes ? step->kernel->saved_bytes(&step->site) : 0;
    return (double)plan->batch * (double)bytes +
           sizeof(float) * parameters * (step->site.input_gradient[0] + learns) + (double)saved;
}

double traffic_update_bytes(const struct plan *plan)
{
    const struct memory_forecast *forecast = &plan->forecast;
    return 3.0 * (double)forecast->gradients + 2.0 * (double)forecast->solver;
}

size_t traffic_int8_weights(const struct plan *plan)
{
    size_t bytes = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (step->kernel && step->site.int8 && step->kernel->prepared_bytes)
            bytes += step->kernel->prepared_bytes(&step->site);
    }
    return bytes;
}

double traffic_bytes(const struct plan *plan, size_t batch)
{
    double bytes = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        bytes += traffic_node_bytes(plan, plan->steps[i].node, batch);
    return bytes;
}
