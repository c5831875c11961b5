/* Questions about a plan and its steps, and the end of a plan. Everything that builds a plan rests
 * on these functions, so this file calls none of the others here; plan_build.c builds the plan. */
#include "engine/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    free(plan->steps);
    free(plan->order.entries);
    free(plan->layouts);
    free(plan->rounded);
    free(plan->quantizations);
    free(plan->arena.values);
    free(plan->arena.backward_values);
    free(plan->arena.gradients);
    free(plan->arena.arrays);
    free(plan);
}

const struct plan_step *plan_find_step(const struct plan *plan, size_t node)
{
    size_t begin = 0, end = plan->step_count; /* steps are in the order of their nodes */
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (plan->steps[middle].node == node)
            return &plan->steps[middle];
        if (plan->steps[middle].node < node)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

unsigned plan_step_traits(const struct plan_step *step)
{
    const unsigned traits = step->kernel ? step->kernel->traits : 0;
    const bool masks = step->site.fused_add || (traits & KERNEL_FUSES_ACTIVATION);
    const bool reads = traits && masks && step->site.fused_activation;
    return traits | (reads ? KERNEL_BACKWARD_READS_OUTPUT : 0);
}

bool plan_step_is_view(const struct plan_step *step)
{
    return !step->kernel && step->fused_into == PLAN_NONE && !step->joins;
}

bool plan_step_backward_reads_input(const struct plan_step *step)
{
    return step->backward && (plan_step_traits(step) & KERNEL_BACKWARD_READS_INPUT);
}

bool plan_step_backward_reads_output(const struct plan_step *step)
{
    return step->backward && (plan_step_traits(step) & KERNEL_BACKWARD_READS_OUTPUT);
}

size_t plan_step_backward_input_count(const struct plan_step *step)
{
    return step->site.node->input_count;
}

bool plan_step_rewrites_saved(const struct plan_step *step)
{
    return step->kernel && step->kernel->saved_bytes &&
           !(plan_step_traits(step) & KERNEL_REUSES_SAVED);
}

/* Returns the suffix that tables add to the name of a kernel with channels-last values; "" for
 * other values. */
static const char *layout_suffix(const struct plan *plan, const struct plan_step *step)
{
    const bool from = plan->layouts[step->inputs[0]].channels_last;
    const bool to = plan->layouts[step->node].channels_last;
    return from && to ? " NHWC" : to ? " to NHWC" : from ? " from NHWC" : "";
}

const char *plan_step_kernel_name(const struct plan *plan, const struct plan_step *step, char *text,
                                  size_t size)
{
    if (step->kernel) {
        const char *name =
            step->kernel->runs_as ? step->kernel->runs_as(&step->site) : step->kernel->name;
        const char *suffix = layout_suffix(plan, step);
        if (!*suffix)
            return name;
        snprintf(text, size, "%s%s", name, suffix);
        return text;
    }
    if (plan_step_is_view(step))
        return "view";
    if (step->joins)
        return "joined in place";
    snprintf(text, size, "fused into %s", plan->graph->nodes[step->fused_into].name);
    return text;
}

uint64_t plan_step_flops(const struct plan *plan, const struct plan_step *step, enum plan_pass pass)
{
    const uint64_t flops = step->kernel ? graph_node_flops(plan->graph, step->node) : 0;
    const bool learns = !plan->frozen && graph_node_parameter_count(plan->graph, step->node) > 0;
    if (pass != PLAN_BACKWARD)
        return flops;
    return step->backward ? flops * (size_t)(learns + step->site.input_gradient[0]) : 0;
}

uint64_t plan_bytes_beside_weights(const struct plan *plan)
{
    return plan->forecast.total - plan->forecast.weights + plan->forecast.tables;
}

double plan_recompute_overhead(const struct memory_forecast *forecast)
{
    const uint64_t once = forecast->flops - forecast->flops_again;
    return once > 0 ? 100.0 * (double)forecast->flops_again / (double)once : 0;
}
