/* A value that does not stay in memory is recomputed just before the first backward pass that reads
 * it, after the values that it needs in turn, back to values that are in memory. It then stays
 * until its last reader, so that nothing is computed more than twice. In a chain this is the
 * activation checkpointing of Chen et al. 2016: one segment at a time, from the last to the first.
 */
#include "engine/plan/step_order.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdlib.h>

/* recompute_at of a step that is to be recomputed and has no position yet. Position 0 is always the
 * forward pass of the first step. */
enum { POSITION_OPEN = 0 };

/* --- creation --- */

static void find_writers(struct step_order *order)
{
    const struct plan *plan = order->plan;
    for (size_t n = 0; n < plan->graph->node_count; n++) {
        order->root[n] = n;
        order->writer[n] = PLAN_NONE;
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        order->writer[step->node] = s;
        if (!step->kernel && !step->joins)
            order->root[step->node] = order->root[step->inputs[0]];
    }
}

bool step_order_create(struct step_order *order, struct plan *plan, struct error *error)
{
    const size_t nodes = plan->graph->node_count;
    order->plan = plan;
    order->root = memory_new(nodes, sizeof *order->root, "the plan", error);
    order->writer = memory_new(nodes, sizeof *order->writer, "the plan", error);
    order->read_late = memory_new(nodes, sizeof *order->read_late, "the plan", error);
    order->pending = memory_new(nodes, sizeof *order->pending, "the plan", error);
    plan->order = memory_new(3 * plan->step_count, sizeof *plan->order, "the plan", error);
    if (!order->root || !order->writer || !order->read_late || !order->pending || !plan->order)
        return false;
    find_writers(order);
    return true;
}

void step_order_free(struct step_order *order)
{
    free(order->root);
    free(order->writer);
    free(order->read_late);
    free(order->pending);
}

/* --- which values are recomputed --- */

static bool updates_statistics(const struct graph *graph, const struct node *node)
{
    for (size_t p = 0; p < node->parameter_count; p++)
        if (!graph->parameters[node->parameters[p]].learnable)
            return true;
    return false;
}

bool step_order_can_recompute(const struct step_order *order, size_t node)
{
    const struct graph *graph = order->plan->graph;
    const size_t writer = order->writer[node];
    if (writer == PLAN_NONE || order->root[node] != node || order->root[graph->output] == node ||
        (graph->nodes[node].op->traits & OP_LOSS))
        return false;
    return !updates_statistics(graph, &graph->nodes[node]) ||
           (plan_step_traits(&order->plan->steps[writer]) & KERNEL_REUSES_SAVED);
}

static void mark_inputs_late(struct step_order *order, const struct plan_step *step, size_t count)
{
    for (size_t k = 0; k < count; k++)
        order->read_late[order->root[step->inputs[k]]] = true;
}

static void find_late_reads(struct step_order *order)
{
    const struct plan *plan = order->plan;
    for (size_t n = 0; n < plan->graph->node_count; n++)
        order->read_late[n] = false;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (plan_step_backward_reads_input(step))
            mark_inputs_late(order, step, plan_step_backward_input_count(step));
        if (plan_step_backward_reads_output(step))
            order->read_late[step->node] = true;
    }
}

/* Sets recompute_at of the steps to be recomputed to POSITION_OPEN, of the others to PLAN_NONE. A
 * recomputation reads its inputs late as well, so the walk goes from the last step to the first. */
static void select_recomputed(struct step_order *order, const bool *keep)
{
    struct plan *plan = order->plan;
    for (size_t s = plan->step_count; s-- > 0;) {
        struct plan_step *step = &plan->steps[s];
        const bool kept = !keep || keep[step->node] || !step_order_can_recompute(order, step->node);
        step->recompute_at = PLAN_NONE;
        if (!order->read_late[step->node] || kept)
            continue;
        step->recompute_at = POSITION_OPEN;
        mark_inputs_late(order, step, step->input_count);
    }
}

/* --- the order --- */

/* Appends a pass and returns its position. */
static size_t append(struct plan *plan, enum plan_pass pass, size_t step)
{
    plan->order[plan->order_count] = (struct plan_order_entry){pass, step};
    return plan->order_count++;
}

/* Marks a value as pending if it must still be recomputed, and then increments *pending. */
static void request_value(struct step_order *order, size_t node, size_t *pending)
{
    const size_t writer = order->writer[node];
    if (writer == PLAN_NONE || order->plan->steps[writer].recompute_at != POSITION_OPEN ||
        order->pending[node])
        return;
    order->pending[node] = true;
    ++*pending;
}

static void request_inputs(struct step_order *order, const struct plan_step *step, size_t count,
                           size_t *pending)
{
    for (size_t k = 0; k < count; k++)
        request_value(order, order->root[step->inputs[k]], pending);
}

/* Appends the recomputations that the backward pass of step s needs. The inputs of a step come from
 * earlier steps, so one walk down finds all pending values and one walk up appends them. */
static void append_recomputations(struct step_order *order, size_t s)
{
    struct plan *plan = order->plan;
    const struct plan_step *reader = &plan->steps[s];
    size_t pending = 0, met = 0, lowest = s + 1;
    if (plan_step_backward_reads_input(reader))
        request_inputs(order, reader, plan_step_backward_input_count(reader), &pending);
    if (plan_step_backward_reads_output(reader) || plan_step_rewrites_saved(reader))
        request_value(order, reader->node, &pending);
    while (met < pending) {
        const struct plan_step *step = &plan->steps[--lowest];
        if (!order->pending[step->node])
            continue;
        met++;
        request_inputs(order, step, step->input_count, &pending);
    }
    for (size_t t = lowest; t <= s; t++)
        if (order->pending[plan->steps[t].node]) {
            plan->steps[t].recompute_at = append(plan, PLAN_RECOMPUTE, t);
            order->pending[plan->steps[t].node] = false;
        }
}

void step_order_make(struct step_order *order, const bool *keep)
{
    struct plan *plan = order->plan;
    find_late_reads(order);
    select_recomputed(order, keep);
    plan->order_count = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        plan->steps[s].backward_at = PLAN_NONE;
        append(plan, PLAN_FORWARD, s);
    }
    for (size_t s = plan->step_count; s-- > 0 && plan->mode == PLAN_TRAINING;) {
        if (plan->steps[s].backward)
            append_recomputations(order, s);
        plan->steps[s].backward_at = append(plan, PLAN_BACKWARD, s);
    }
}
