/* Writes into the plan what the execution needs to know of the arena: the offset of each value,
 * gradient and saved array, and the size of the whole. The list of arrays with their live ranges is
 * for people, who see it in the memory view; a block that several nodes share is listed once, for
 * its first owner. */
#include "engine/plan/placement.h"

#include "base/memory.h"
#include "engine/ops/int8.h"
#include "engine/plan/fallback.h"

#include <stdlib.h>

/* --- the list of arrays --- */

struct array_list {
    const struct live_ranges *ranges;
    bool *listed; /* by block */
};

static void list_array(const struct array_list *list, enum plan_array_kind kind, size_t node,
                       size_t number)
{
    struct plan *plan = list->ranges->plan;
    if (number == LIVE_RANGES_NONE || list->listed[number] ||
        list->ranges->blocks[number].bytes == 0)
        return;
    const struct arena_block *block = &list->ranges->blocks[number];
    list->listed[number] = true;
    plan->arrays[plan->array_count++] = (struct plan_array){.kind = kind,
                                                            .node = node,
                                                            .offset = block->offset,
                                                            .bytes = block->bytes,
                                                            .first = block->first,
                                                            .last = block->last};
}

/* The first owner of a gradient is the last node, since the backward pass starts there. */
static bool list_arrays(const struct live_ranges *ranges, struct error *error)
{
    struct plan *plan = ranges->plan;
    const struct array_list list = {
        .ranges = ranges,
        .listed = memory_new(ranges->block_capacity, sizeof(bool), "the plan", error)};
    plan->array_count = 0;
    if (!list.listed)
        return false;
    for (size_t n = 0; n < ranges->nodes; n++)
        list_array(&list, PLAN_VALUE, n, ranges->value_block[n]);
    for (size_t n = ranges->nodes; n-- > 0;)
        list_array(&list, PLAN_GRADIENT, n, ranges->gradient_block[n]);
    for (size_t s = 0; s < plan->step_count; s++)
        list_array(&list, PLAN_SAVED, plan->steps[s].node, ranges->saved_block[s]);
    for (size_t n = 0; n < ranges->nodes; n++)
        list_array(&list, PLAN_VALUE_RECOMPUTED, n, ranges->backward_block[n]);
    for (size_t s = 0; s < plan->step_count; s++)
        list_array(&list, PLAN_SAVED, plan->steps[s].node, ranges->backward_saved_block[s]);
    free(list.listed);
    return true;
}

/* --- offsets --- */

static size_t offset_of(const struct live_ranges *ranges, size_t block)
{
    return block == LIVE_RANGES_NONE ? PLAN_NONE : ranges->blocks[block].offset;
}

/* Sets the offsets of plain copies, and moves each part of a concatenation to where it begins in
 * the whole; what is fused into the part's kernel has the same value. */
static void set_layout_offsets(const struct live_ranges *ranges)
{
    struct plan *plan = ranges->plan;
    for (size_t s = 0; s < plan->step_count && (plan->block || plan->int8); s++) {
        struct plan_step *step = &plan->steps[s];
        const size_t plane = tensor_plane(plan->layouts[step->node], step->site.node->output);
        if (!step->kernel && !step->joins)
            plan->values[step->node] = plan->values[step->inputs[0]];
        else if (step->part_of != PLAN_NONE)
            plan->values[step->node] += step->part_channel / plan->block * plane *
                                        tensor_value_bytes(plan->layouts[step->node]);
        for (size_t k = 0; k < step->input_count; k++)
            if (step->copies[k] != PLAN_NONE)
                step->copies[k] = ranges->blocks[ranges->copy_block[s][k]].offset;
    }
}

static void set_offsets(const struct live_ranges *ranges)
{
    struct plan *plan = ranges->plan;
    for (size_t n = 0; n < ranges->nodes; n++) {
        plan->values[n] = offset_of(ranges, live_ranges_value(ranges, n));
        plan->backward_values[n] = offset_of(ranges, live_ranges_backward_value(ranges, n));
        plan->gradients[n] = offset_of(ranges, ranges->gradient_block[n]);
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        plan->steps[s].saved = offset_of(ranges, ranges->saved_block[s]);
        plan->steps[s].backward_saved = offset_of(ranges, ranges->backward_saved_block[s]);
    }
    set_layout_offsets(ranges);
}

/* --- the forecast --- */

static void forecast_flops(struct plan *plan)
{
    plan->forecast.flops = plan->forecast.flops_again = 0;
    for (size_t at = 0; at < plan->order_count; at++) {
        const struct plan_order_entry *entry = &plan->order[at];
        const uint64_t flops = plan_step_flops(plan, &plan->steps[entry->step], entry->pass);
        plan->forecast.flops += flops;
        plan->forecast.flops_again += entry->pass == PLAN_RECOMPUTE ? flops : 0;
    }
}

static void forecast_memory(struct plan *plan, const struct plan_settings *settings,
                            size_t workspace)
{
    struct memory_forecast *forecast = &plan->forecast;
    const uint64_t learnable = plan->graph->learnable_floats * sizeof(float);
    forecast->weights = plan->graph->total_floats * sizeof(float);
    if (int8_is_simulated(plan->graph) && plan->driver->computes_on_host)
        forecast->weights *= 2; /* and as they are rounded (execution/rounding.c) */
    if (plan->mode == PLAN_TRAINING && !plan->frozen) {
        /* several processes: also the parts of all, which are added (cluster_sum); where they
         * share memory, this is more than they use */
        forecast->gradients = (plan->processes > 1 ? 2 * learnable : learnable) * plan->pieces;
        forecast->solver = learnable * solver_state_count(&settings->solver);
    }
    forecast->workspace = workspace;
    forecast->activations = plan->arena_bytes - workspace;
    forecast->prepared = plan->prepared_bytes;
    forecast->total = forecast->weights + forecast->gradients + forecast->solver +
                      forecast->activations + forecast->workspace + forecast->prepared;
    if (forecast->unlimited == 0)
        forecast->unlimited = forecast->total;
    forecast->tables = plan->step_count * (sizeof *plan->steps + sizeof *plan->order +
                                           sizeof(struct kernel_site) + 6 * sizeof(size_t)) +
                       plan->order_count * sizeof(struct kernel_call) +
                       plan->graph->node_count * (3 * sizeof(size_t) + 2 * sizeof(float *)) +
                       plan->array_count * sizeof *plan->arrays + fallback_host_bytes(plan);
}

static void forecast_fallback(struct plan *plan)
{
    const struct fallback_cost cost = fallback_cost(plan);
    plan->forecast.fallback_nodes = cost.nodes;
    plan->forecast.fallback_bytes = cost.bytes;
}

bool placement_make(struct live_ranges *ranges, const struct plan_settings *settings,
                    size_t workspace, struct error *error)
{
    struct plan *plan = ranges->plan;
    size_t packed;
    if (!arena_pack(ranges->blocks, ranges->block_count, &packed, error) ||
        !list_arrays(ranges, error))
        return false;
    set_offsets(ranges);
    plan->workspace = packed;
    plan->arena_bytes = packed + workspace;
    forecast_memory(plan, settings, workspace);
    forecast_flops(plan);
    forecast_fallback(plan);
    return true;
}
