/* A value that is not kept is computed again just before the first backward pass that reads it,
 * after whatever that needs in turn, back to values that are kept; and then it stays until its last
 * reader, so that nothing is computed more than twice. In a chain cut by kept values this is the
 * scheme of Chen et al. 2016: a segment at a time, from the last to the first. */
#include "engine/plan/step_order.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdlib.h>

/* --- what a step reads --- */

static bool has_trait(const struct plan_step *step, unsigned trait)
{
    return plan_step_traits(step) & trait;
}

bool schedule_reads_input(const struct plan_step *step)
{
    return step->backward && has_trait(step, KERNEL_BACKWARD_READS_INPUT);
}

size_t schedule_inputs_read(const struct plan_step *step)
{
    return step->site.node->input_count;
}

bool schedule_reads_output(const struct plan_step *step)
{
    return step->backward && has_trait(step, KERNEL_BACKWARD_READS_OUTPUT);
}

bool schedule_makes_saved_again(const struct plan_step *step)
{
    return step->kernel && step->kernel->saved_bytes && !has_trait(step, KERNEL_REUSES_SAVED);
}

static bool moves_statistics(const struct graph *graph, const struct node *node)
{
    for (size_t p = 0; p < node->parameter_count; p++)
        if (!graph->parameters[node->parameters[p]].learnable)
            return true;
    return false;
}

bool schedule_can_give_up(const struct schedule *schedule, size_t node)
{
    const struct graph *graph = schedule->plan->graph;
    const size_t writer = schedule->writer[node];
    if (writer == PLAN_NONE || schedule->root[node] != node ||
        schedule->root[graph->output] == node || (graph->nodes[node].op->traits & OP_LOSS))
        return false;
    return !moves_statistics(graph, &graph->nodes[node]) ||
           has_trait(&schedule->plan->steps[writer], KERNEL_REUSES_SAVED);
}

/* --- creation --- */

static void find_writers(struct schedule *schedule)
{
    const struct plan *plan = schedule->plan;
    for (size_t n = 0; n < plan->graph->node_count; n++) {
        schedule->root[n] = n;
        schedule->writer[n] = PLAN_NONE;
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        schedule->writer[step->node] = s;
        if (!step->kernel)
            schedule->root[step->node] = schedule->root[step->inputs[0]];
    }
}

bool schedule_create(struct schedule *schedule, struct plan *plan, struct error *error)
{
    const size_t nodes = plan->graph->node_count;
    schedule->plan = plan;
    schedule->root = memory_new(nodes, sizeof *schedule->root, "the plan", error);
    schedule->writer = memory_new(nodes, sizeof *schedule->writer, "the plan", error);
    schedule->late = memory_new(nodes, sizeof *schedule->late, "the plan", error);
    schedule->pending = memory_new(nodes, sizeof *schedule->pending, "the plan", error);
    plan->order = memory_new(3 * plan->step_count, sizeof *plan->order, "the plan", error);
    if (!schedule->root || !schedule->writer || !schedule->late || !schedule->pending ||
        !plan->order)
        return false;
    find_writers(schedule);
    return true;
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->root);
    free(schedule->writer);
    free(schedule->late);
    free(schedule->pending);
}

/* --- what is computed again --- */

static void mark_inputs(struct schedule *schedule, const struct plan_step *step, size_t count)
{
    for (size_t k = 0; k < count; k++)
        schedule->late[schedule->root[step->inputs[k]]] = true;
}

static void find_late(struct schedule *schedule)
{
    const struct plan *plan = schedule->plan;
    for (size_t n = 0; n < plan->graph->node_count; n++)
        schedule->late[n] = false;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (schedule_reads_input(step))
            mark_inputs(schedule, step, schedule_inputs_read(step));
        if (schedule_reads_output(step))
            schedule->late[step->node] = true;
    }
}

/* What computes a value again reads its inputs late as well: from the last step to the first.
 * Until it has its place in the order, recompute_at is 0. */
static void give_up(struct schedule *schedule, const bool *keep)
{
    struct plan *plan = schedule->plan;
    for (size_t s = plan->step_count; s-- > 0;) {
        struct plan_step *step = &plan->steps[s];
        const bool kept = !keep || keep[step->node] || !schedule_can_give_up(schedule, step->node);
        step->recompute_at = PLAN_NONE;
        if (!schedule->late[step->node] || kept)
            continue;
        step->recompute_at = 0;
        mark_inputs(schedule, step, step->input_count);
    }
}

/* --- the order --- */

static size_t act(struct plan *plan, enum plan_pass pass, size_t step)
{
    plan->order[plan->order_count] = (struct plan_order_entry){pass, step};
    return plan->order_count++;
}

/* Asks for the value of a node, if it has been given up and is not there again. */
static void ask_for(struct schedule *schedule, size_t node, size_t *asked)
{
    const size_t writer = schedule->writer[node];
    if (writer == PLAN_NONE || schedule->plan->steps[writer].recompute_at != 0 ||
        schedule->pending[node])
        return;
    schedule->pending[node] = true;
    ++*asked;
}

static void ask_for_inputs(struct schedule *schedule, const struct plan_step *step, size_t count,
                           size_t *asked)
{
    for (size_t k = 0; k < count; k++)
        ask_for(schedule, schedule->root[step->inputs[k]], asked);
}

/* Before the backward pass of step s. Inputs come from earlier steps: one walk down finds all that
 * is needed, one up runs it. */
static void compute_again(struct schedule *schedule, size_t s)
{
    struct plan *plan = schedule->plan;
    const struct plan_step *reader = &plan->steps[s];
    size_t asked = 0, met = 0, low = s + 1;
    if (schedule_reads_input(reader))
        ask_for_inputs(schedule, reader, schedule_inputs_read(reader), &asked);
    if (schedule_reads_output(reader) || schedule_makes_saved_again(reader))
        ask_for(schedule, reader->node, &asked);
    while (met < asked) {
        const struct plan_step *step = &plan->steps[--low];
        if (!schedule->pending[step->node])
            continue;
        met++;
        ask_for_inputs(schedule, step, step->input_count, &asked);
    }
    for (size_t t = low; t <= s; t++)
        if (schedule->pending[plan->steps[t].node]) {
            plan->steps[t].recompute_at = act(plan, PLAN_RECOMPUTE, t);
            schedule->pending[plan->steps[t].node] = false;
        }
}

void schedule_make(struct schedule *schedule, const bool *keep)
{
    struct plan *plan = schedule->plan;
    find_late(schedule);
    give_up(schedule, keep);
    plan->order_count = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        plan->steps[s].backward_at = PLAN_NONE;
        act(plan, PLAN_FORWARD, s);
    }
    for (size_t s = plan->step_count; s-- > 0 && plan->mode == PLAN_TRAINING;) {
        if (plan->steps[s].backward)
            compute_again(schedule, s);
        plan->steps[s].backward_at = act(plan, PLAN_BACKWARD, s);
    }
}
