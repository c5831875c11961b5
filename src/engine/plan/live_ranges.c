/* Time is the position in the execution order. Every array (a value, a gradient, what a kernel
 * saves) becomes a block whose live range reaches from its first write to its last read.
 *
 * A result that may be computed in place takes over the block of an input that the same pass reads
 * for the last time: the live range of the input's block is extended, and the result's own block
 * gets 0 bytes and is not used. A recomputed value has two blocks, one for the forward pass and one
 * from its recomputation on. Views have no block; root[] of the order gives the node whose block
 * they show. */
#include "engine/plan/internal.h"

#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/plan/fallback.h"

#include <stdlib.h>
#include <string.h>

#define NO_BLOCK LIVE_RANGES_NONE
enum { MAX_BLOCKS = 5 }; /* per node: value and saved array, both twice, and the gradient */

/* --- creation --- */

static size_t *new_indices(size_t count, struct error *error)
{
    return memory_new(count, sizeof(size_t), "the plan", error);
}

bool live_ranges_create(struct live_ranges *ranges, struct plan *plan,
                        const struct step_order *order, const struct plan_settings *settings,
                        struct error *error)
{
    const size_t nodes = plan->graph->node_count;
    const size_t blocks = MAX_BLOCKS * nodes + layouts_copy_count(plan);
    *ranges = (struct live_ranges){.plan = plan,
                                   .order = order,
                                   .input_gradient = settings->needs_input_gradient,
                                   .nodes = nodes,
                                   .block_capacity = blocks};
    ranges->blocks = memory_new(blocks, sizeof *ranges->blocks, "the plan", error);
    ranges->written = memory_new(blocks, sizeof *ranges->written, "the plan", error);
    ranges->first_node = new_indices(blocks, error);
    ranges->next_node = new_indices(nodes, error);
    ranges->value_block = new_indices(nodes, error);
    ranges->backward_block = new_indices(nodes, error);
    ranges->gradient_block = new_indices(nodes, error);
    ranges->saved_block = new_indices(nodes, error);
    ranges->backward_saved_block = new_indices(nodes, error);
    ranges->copy_block = memory_new(nodes, sizeof *ranges->copy_block, "the plan", error);
    return ranges->blocks && ranges->written && ranges->first_node && ranges->next_node &&
           ranges->value_block && ranges->backward_block && ranges->gradient_block &&
           ranges->saved_block && ranges->backward_saved_block && ranges->copy_block;
}

void live_ranges_free(struct live_ranges *ranges)
{
    free(ranges->blocks);
    free(ranges->written);
    free(ranges->first_node);
    free(ranges->next_node);
    free(ranges->value_block);
    free(ranges->backward_block);
    free(ranges->gradient_block);
    free(ranges->saved_block);
    free(ranges->backward_saved_block);
    free(ranges->copy_block);
}

static void forget_blocks(struct live_ranges *ranges)
{
    ranges->block_count = 0;
    for (size_t n = 0; n < ranges->nodes; n++)
        ranges->value_block[n] = ranges->backward_block[n] = ranges->gradient_block[n] =
            ranges->saved_block[n] = ranges->backward_saved_block[n] = ranges->next_node[n] =
                NO_BLOCK;
    for (size_t b = 0; b < ranges->block_capacity; b++)
        ranges->first_node[b] = NO_BLOCK;
    memset(ranges->written, 0, ranges->block_capacity * sizeof *ranges->written);
}

/* --- blocks --- */

static size_t new_block(struct live_ranges *ranges, size_t bytes, size_t first, size_t last)
{
    ranges->blocks[ranges->block_count] =
        (struct arena_block){.bytes = bytes, .first = first, .last = last};
    return ranges->block_count++;
}

/* Extends the live range of a block to `position`, if it ends earlier. */
static void extend(struct live_ranges *ranges, size_t block, size_t position)
{
    if (block != NO_BLOCK && ranges->blocks[block].last < position)
        ranges->blocks[block].last = position;
}

/* Returns the position after the last pass, where the caller reads results. */
static size_t end_of(const struct live_ranges *ranges)
{
    return ranges->plan->order.count;
}

static size_t backward_at(const struct live_ranges *ranges, size_t step)
{
    return ranges->plan->steps[step].backward_at;
}

static size_t value_bytes(const struct live_ranges *ranges, size_t node)
{
    return layouts_value_bytes(ranges->plan, node);
}

size_t live_ranges_value(const struct live_ranges *ranges, size_t node)
{
    return ranges->value_block[ranges->order->root[node]];
}

size_t live_ranges_backward_value(const struct live_ranges *ranges, size_t node)
{
    return ranges->backward_block[ranges->order->root[node]];
}

/* --- values --- */

/* Extends the live ranges of the first `count` inputs of a step to the pass at `position`. */
static void extend_inputs(struct live_ranges *ranges, const struct plan_step *step, size_t count,
                          size_t position)
{
    const bool forward = position < ranges->plan->step_count;
    for (size_t k = 0; k < count; k++)
        extend(ranges,
               forward ? live_ranges_value(ranges, step->inputs[k])
                       : live_ranges_backward_value(ranges, step->inputs[k]),
               position);
}

/* Makes the block of the value that step s writes. Parts of a concatenation share the block of the
 * whole, which the first of them makes. */
static void make_value(struct live_ranges *ranges, size_t s, size_t last)
{
    const struct plan_step *step = &ranges->plan->steps[s];
    const size_t owner = step->part_of == PLAN_NONE ? step->node : step->part_of;
    if (ranges->value_block[owner] == NO_BLOCK)
        ranges->value_block[owner] = new_block(ranges, value_bytes(ranges, owner), s, last);
    extend(ranges, ranges->value_block[owner], last);
    ranges->value_block[step->node] = ranges->value_block[owner];
}

/* Makes a block for every plain copy that the kernel of step s reads. */
static void make_copies(struct live_ranges *ranges, size_t s)
{
    const struct plan_step *step = &ranges->plan->steps[s];
    for (size_t k = 0; k < step->input_count; k++)
        if (step->copies[k] != PLAN_NONE)
            ranges->copy_block[s][k] =
                new_block(ranges, layouts_copy_bytes(ranges->plan, step, k), s, s);
}

/* Makes a block for every value of the forward pass. It lives from its step to its last reader
 * there, or to the end if the caller reads it. */
static void find_forward_values(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    const size_t output = ranges->order->root[plan->graph->output];
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        const bool result = step->node == output || (step->site.node->op->traits & OP_LOSS);
        if (step->kernel || step->joins)
            make_value(ranges, s, result ? end_of(ranges) : s);
        make_copies(ranges, s);
        ranges->backward_block[step->node] = ranges->value_block[step->node];
        extend_inputs(ranges, step, step->input_count, s);
    }
}

/* Extends the live ranges of all that a chain of steps reads and writes to its last step. */
static void extend_chains(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    for (size_t first = 0; first < plan->step_count; first = plan->steps[first].chain_end) {
        const size_t last = plan->steps[first].chain_end - 1;
        for (size_t s = first; s < last; s++) {
            const struct plan_step *step = &plan->steps[s];
            extend(ranges, live_ranges_value(ranges, step->node), last);
            extend_inputs(ranges, step, step->input_count, last);
        }
    }
}

/* Returns whether backward reads the output only to mask the gradient, before it writes anything
 * else; its results may then take the output's memory. */
static bool masks_gradient(const struct plan_step *step)
{
    return step->kernel && (step->kernel->traits & KERNEL_FUSES_ACTIVATION) &&
           step->site.fused_activation;
}

/* Makes second blocks for recomputed values, and extends the live ranges of the values that
 * recomputations and backward passes read. */
static void find_backward_values(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    for (size_t at = plan->step_count; at < plan->order.count; at++) {
        const struct plan_step *step = &plan->steps[plan->order.entries[at].step];
        const bool recompute = plan->order.entries[at].pass == PLAN_RECOMPUTE;
        if (recompute)
            ranges->backward_block[step->node] =
                new_block(ranges, value_bytes(ranges, step->node), at, at);
        if (recompute)
            extend_inputs(ranges, step, step->input_count, at);
        else if (plan_step_backward_reads_input(step))
            extend_inputs(ranges, step, plan_step_backward_input_count(step), at);
        if (plan_step_backward_reads_output(step))
            extend(ranges, ranges->backward_block[step->node], masks_gradient(step) ? at - 1 : at);
    }
}

/* Returns the block of an input whose memory the result of the pass at position `at` may take,
 * because nothing reads the input later: the first input, or either summand of a fused add, in the
 * order of the add. */
static size_t find_input_to_replace(const struct live_ranges *ranges, const struct plan_step *step,
                                    size_t at, bool recompute)
{
    const struct node *add = step->site.fused_add;
    const size_t count = add ? 2 : 1, begin = add && add->inputs[0] != step->node ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        const size_t node = step->inputs[(begin + i) % count];
        const size_t input =
            recompute ? live_ranges_backward_value(ranges, node) : live_ranges_value(ranges, node);
        if (input != NO_BLOCK && ranges->blocks[input].last == at &&
            layout_equal(ranges->plan->layouts[node], ranges->plan->layouts[step->node]))
            return input;
    }
    return NO_BLOCK;
}

/* Merges the result of each in-place kernel into the block of an input where that is possible. The
 * passes are visited in order, so no other value shares the result's block yet. */
static void share_values(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    for (size_t at = 0; at < plan->order.count; at++) {
        const struct plan_step *step = &plan->steps[plan->order.entries[at].step];
        const bool recompute = plan->order.entries[at].pass == PLAN_RECOMPUTE;
        if (plan->order.entries[at].pass == PLAN_BACKWARD ||
            !(plan_step_traits(step) & KERNEL_IN_PLACE) || step->part_of != PLAN_NONE)
            continue;
        size_t *result =
            recompute ? &ranges->backward_block[step->node] : &ranges->value_block[step->node];
        const size_t input = find_input_to_replace(ranges, step, at, recompute);
        if (input == NO_BLOCK)
            continue;
        extend(ranges, input, ranges->blocks[*result].last);
        ranges->blocks[*result].bytes = 0;
        if (!recompute && ranges->backward_block[step->node] == *result)
            ranges->backward_block[step->node] = input;
        *result = input;
    }
}

/* --- gradients --- */

static void set_gradient_block(struct live_ranges *ranges, size_t node, size_t block)
{
    ranges->gradient_block[node] = block;
    if (block == NO_BLOCK)
        return;
    ranges->next_node[node] = ranges->first_node[block];
    ranges->first_node[block] = node;
}

/* Starts the live range of each gradient at the first backward pass that writes it, which is that
 * of the last step that reads the value. */
static void find_first_writes(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        for (size_t k = 0; step->backward && k < step->input_count; k++) {
            const size_t block = ranges->gradient_block[step->inputs[k]];
            if (block != NO_BLOCK && ranges->blocks[block].first > backward_at(ranges, s))
                ranges->blocks[block].first = backward_at(ranges, s);
        }
    }
}

/* Makes a block for every gradient. It lives until the backward pass of the node's step, that of
 * the network's input until the end. The gradient of a view is that of its input. */
static void find_gradients(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    if (ranges->input_gradient)
        set_gradient_block(
            ranges, 0, new_block(ranges, value_bytes(ranges, 0), end_of(ranges), end_of(ranges)));
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        const size_t at = backward_at(ranges, s);
        if (!step->backward || (step->site.node->op->traits & OP_LOSS))
            continue;
        set_gradient_block(ranges, step->node,
                           step->kernel ? new_block(ranges, value_bytes(ranges, step->node), at, at)
                                        : ranges->gradient_block[step->inputs[0]]);
    }
    find_first_writes(ranges);
}

/* Starts the live range of the output's gradient at the end of the forward pass, where the caller
 * writes it, so that all backward passes add to it. */
static void seed_output_gradient(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    const size_t block = ranges->gradient_block[plan->graph->output];
    if (!plan->seeds_output_gradient || block == NO_BLOCK)
        return;
    ranges->written[block] = true;
    ranges->blocks[block].first = plan->step_count;
}

/* Returns the block in whose memory step s may write the gradient of its input k, because that
 * block is read for the last time by the same backward pass: the gradient of the step's output or,
 * for the summand of a fused add, also the output itself. */
static size_t find_block_to_replace(const struct live_ranges *ranges, size_t s, size_t k)
{
    const struct plan_step *step = &ranges->plan->steps[s];
    const bool summand = step->site.fused_add && k == 1;
    const size_t blocks[2] = {ranges->gradient_block[step->node],
                              summand ? ranges->backward_block[step->node] : NO_BLOCK};
    if (!(step->kernel->traits & KERNEL_GRADIENT_IN_PLACE) || (k > 0 && !summand))
        return NO_BLOCK;
    for (size_t i = 0; i < 2; i++)
        if (blocks[i] != NO_BLOCK && ranges->blocks[blocks[i]].last == backward_at(ranges, s) &&
            ranges->blocks[blocks[i]].bytes ==
                ranges->blocks[ranges->gradient_block[step->inputs[k]]].bytes)
            return blocks[i];
    return NO_BLOCK;
}

/* Merges the block `gradient` into block `to`, for all nodes whose gradient it holds. */
static void merge_gradient(struct live_ranges *ranges, size_t gradient, size_t to)
{
    extend(ranges, to, ranges->blocks[gradient].last);
    ranges->blocks[gradient].bytes = 0;
    ranges->written[to] = true;
    for (size_t n = ranges->first_node[gradient], next; n != NO_BLOCK; n = next) {
        next = ranges->next_node[n];
        set_gradient_block(ranges, n, to);
    }
    ranges->first_node[gradient] = NO_BLOCK;
}

static void share_gradient(struct live_ranges *ranges, size_t s, size_t k)
{
    struct plan_step *step = &ranges->plan->steps[s];
    const size_t block = ranges->gradient_block[step->inputs[k]];
    if (block == NO_BLOCK)
        return;
    step->accumulate[k] = ranges->written[block];
    ranges->written[block] = true;
    const size_t to = step->accumulate[k] ? NO_BLOCK : find_block_to_replace(ranges, s, k);
    if (to != NO_BLOCK)
        merge_gradient(ranges, block, to);
}

/* Follows the backward pass: the first step that writes a gradient overwrites the memory, and may
 * take that of another block; all later ones add. */
static void share_gradients(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    for (size_t s = plan->step_count; s-- > 0;)
        for (size_t k = 0; k < plan->steps[s].input_count; k++)
            if (plan->steps[s].backward && plan->steps[s].kernel)
                share_gradient(ranges, s, k);
}

/* --- saved arrays --- */

/* Makes a block for the array that each kernel saves. A forward pass in training saves even if no
 * backward pass reads it, as for the pooling of the network's input. A recomputation writes it once
 * more into a second block, or reads it where the forward pass wrote it. */
static void find_saved(struct live_ranges *ranges)
{
    const struct plan *plan = ranges->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (!step->kernel || !step->kernel->saved_bytes ||
            fallback_leaves_device(plan->driver, step))
            continue;
        const size_t bytes = step->kernel->saved_bytes(&step->site);
        const size_t recompute = step->recompute_at == PLAN_NONE ? s : step->recompute_at;
        const size_t last = step->backward ? backward_at(ranges, s) : recompute;
        const bool twice = recompute != s && plan_step_rewrites_saved(step);
        ranges->saved_block[s] = new_block(ranges, bytes, s, twice ? s : last);
        ranges->backward_saved_block[s] =
            twice ? new_block(ranges, bytes, recompute, last) : ranges->saved_block[s];
    }
}

void live_ranges_find(struct live_ranges *ranges)
{
    const bool training = ranges->plan->mode == PLAN_TRAINING;
    forget_blocks(ranges);
    find_forward_values(ranges);
    if (training)
        find_backward_values(ranges);
    else
        extend_chains(ranges);
    share_values(ranges);
    if (!training)
        return;
    find_gradients(ranges);
    seed_output_gradient(ranges);
    share_gradients(ranges);
    find_saved(ranges);
}
