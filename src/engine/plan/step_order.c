/* A value that does not stay in memory is recomputed just before the first backward pass that reads
 * it, after the values that it needs in turn, back to values that are in memory. It then stays
 * until its last reader, so that nothing is computed more than twice. In a chain this is the
 * activation checkpointing of Chen et al. 2016: one segment at a time, from the last to the first.
 */
#include "engine/plan/internal.h"

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
    plan->order.entries =
        memory_new(3 * plan->step_count, sizeof *plan->order.entries, "the plan", error);
    if (!order->root || !order->writer || !order->read_late || !order->pending ||
        !plan->order.entries)
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
    plan->order.entries[plan->order.count] = (struct plan_order_entry){pass, step};
    return plan->order.count++;
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
    plan->order.count = 0;
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

/* Chains of steps, in inference: consecutive steps of the execution order that run as one job of
 * the thread pool. A task of the job is a row block of one image; it runs all steps of the chain
 * for its rows, one after the other. The threads meet once per chain instead of once per step, and
 * go from chain to chain by themselves (pool_run_jobs), which is why a step that joins no other is
 * a chain, too. That pays if several threads share an image: with whole images as tasks, the
 * additional memory (below) costs more time than is saved.
 *
 * A thread may be ahead of another one by the whole chain. A step may thus read at most the rows
 * that it writes of a value that the chain computes (it is row-local); of any other value it may
 * read all rows. Nothing in the chain may write memory that an earlier step of the chain reads: all
 * that a chain reads or writes is in use until its last step (live_ranges.c), and a chain is split
 * where memory is shared nevertheless. */

/* --- which steps can join --- */

static bool rounds(const struct step_rounding *rounding)
{
    bool any = rounding->input || rounding->weights || rounding->output;
    for (size_t k = 0; k < NODE_MAX_INPUTS; k++)
        any |= rounding->gradients[k];
    return any;
}

/* Returns whether the kernel of a step can compute some rows of an image, and nothing else has to
 * be done for the step. */
static bool can_be_in_chain(const struct plan_step *step)
{
    if (!step->kernel->forward_rows || step->kernel->row_blocks(&step->site) == 0 ||
        step->falls_back || step->by_blocks || rounds(&step->rounding))
        return false;
    for (size_t k = 0; k < step->input_count; k++)
        if (step->copies[k] != PLAN_NONE)
            return false;
    return true;
}

/* Returns whether the step reads no other rows of its first input than those that it writes. It
 * always reads a second summand like that. */
static bool is_row_local(const struct plan_step *step)
{
    const struct node *move = step->site.fused_move;
    const struct window *w = &step->site.node->attributes.conv.window;
    return step->site.node->op == &op_conv && w->kernel_height == 1 && w->stride_height == 1 &&
           w->pad_height == 0 && (!move || move->op != &op_channel_shift);
}

/* Returns whether a step from `first` on computes the value of a node, or some of it. */
static bool computed_since(const struct plan *plan, size_t node, size_t first)
{
    const struct plan_step *step = plan_find_step(plan, node);
    while (step && !step->kernel && !step->joins)
        step = plan_find_step(plan, step->inputs[0]);
    if (!step || step < plan->steps + first)
        return false;
    bool computed = step->kernel;
    for (size_t k = 0; k < step->input_count && !computed; k++)
        computed = computed_since(plan, step->inputs[k], first);
    return computed;
}

static bool needs_workspace(const struct plan_step *step)
{
    return step->kernel->workspace_bytes && step->kernel->workspace_bytes(&step->site) > 0;
}

/* Returns whether step s can join the chain that begins with step `first`. Threads divide the
 * workspace as each kernel wants, so only one step of a chain may use it. */
static bool can_join(const struct plan *plan, size_t first, size_t s)
{
    const struct plan_step *step = &plan->steps[s];
    bool workspace_in_use = false;
    for (size_t i = first; i < s; i++)
        workspace_in_use |= plan->steps[i].kernel && needs_workspace(&plan->steps[i]);
    return step->site.node->output.height == plan->steps[first].site.node->output.height &&
           !(workspace_in_use && needs_workspace(step)) &&
           (is_row_local(step) || !computed_since(plan, step->inputs[0], first));
}

/* Returns the number of the step after the longest chain that can begin with step `first`. */
static size_t find_end(const struct plan *plan, size_t first)
{
    size_t end = first + 1;
    for (size_t s = end; s < plan->step_count; s++) {
        if (!plan->steps[s].kernel)
            continue;
        if (!can_be_in_chain(&plan->steps[s]) || !can_join(plan, first, s))
            break;
        end = s + 1;
    }
    return end;
}

/* Returns whether several threads share an image in a step of [first, end). */
static bool divides_images(const struct plan *plan, size_t first, size_t end)
{
    bool divides = false;
    for (size_t s = first; s < end; s++) {
        const struct plan_step *step = &plan->steps[s];
        divides |= step->kernel && step->kernel->row_blocks(&step->site) > 1;
    }
    return divides;
}

/* Returns whether a step would keep fewer threads busy as a chain of its own than outside of
 * chains, because row blocks begin at even rows. */
static bool is_too_low(const struct plan_step *step)
{
    const size_t row_pairs = (step->site.node->output.height + 1) / 2;
    return row_pairs < step->kernel->row_blocks(&step->site) && row_pairs < step->site.threads;
}

void step_order_find_chains(struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++)
        plan->steps[s].chain_end = s + 1;
    if (plan->mode != PLAN_INFERENCE)
        return;
    for (size_t s = 0; s < plan->step_count; s = plan->steps[s].chain_end) {
        struct plan_step *step = &plan->steps[s];
        if (!step->kernel || !can_be_in_chain(step))
            continue;
        const size_t end = find_end(plan, s);
        if (!divides_images(plan, s, end) || (end == s + 1 && is_too_low(step)))
            continue;
        step->chain_end = end;
        for (size_t i = s; i < end; i++)
            plan->steps[i].in_chain = true;
    }
}

/* --- memory --- */

/* Bytes [begin, end) of the arena that belong to the value of node `owner`; a concatenation owns
 * its parts, which never overlap. */
struct arena_range {
    size_t owner, begin, end;
};

static struct arena_range range_of(const struct plan *plan, size_t node)
{
    const struct plan_step *step = plan_find_step(plan, node);
    while (step && !step->kernel && !step->joins) {
        node = step->inputs[0];
        step = plan_find_step(plan, node);
    }
    if (step && step->part_of != PLAN_NONE)
        node = step->part_of;
    const size_t begin = plan->arena.values[node];
    if (begin == PLAN_NONE) /* an input of the network */
        return (struct arena_range){.owner = node};
    return (struct arena_range){node, begin, begin + layouts_value_bytes(plan, node)};
}

static bool ranges_overlap(struct arena_range a, struct arena_range b)
{
    return a.owner != b.owner && a.begin < b.end && b.begin < a.end;
}

/* Returns whether step s writes memory that a step of [first, s) reads or writes. */
static bool disturbs(const struct plan *plan, size_t first, size_t s)
{
    const struct arena_range written = range_of(plan, plan->steps[s].node);
    for (size_t i = first; i < s; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (!step->kernel)
            continue;
        if (ranges_overlap(written, range_of(plan, step->node)))
            return true;
        for (size_t k = 0; k < step->input_count; k++)
            if (ranges_overlap(written, range_of(plan, step->inputs[k])))
                return true;
    }
    return false;
}

void step_order_split_chains(struct plan *plan)
{
    for (size_t first = 0; first < plan->step_count; first = plan->steps[first].chain_end) {
        const size_t end = plan->steps[first].chain_end;
        for (size_t s = first + 1; s < end; s++)
            if (plan->steps[s].kernel && disturbs(plan, first, s)) {
                plan->steps[first].chain_end = s;
                plan->steps[s].chain_end = end;
                break;
            }
    }
}
