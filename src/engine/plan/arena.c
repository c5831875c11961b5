/* The packing is greedy by size: the largest block comes first, and each goes into the smallest gap
 * that holds it between the blocks already placed whose live ranges overlap its own (Pisarchyk &
 * Lee, "Efficient memory management for deep neural net inference", 2020, section 5). For networks,
 * which are nearly chains, the result is within a few per cent of arena_lower_bound. */
#include "engine/plan/internal.h"

#include "base/memory.h"
#include "engine/ops/int8.h"
#include "engine/plan/fallback.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A search collects the ranges of the arena that are occupied during the live range of a block, and
 * then takes the best gap between them. The blocks are kept in treaps (Seidel & Aragon, "Randomized
 * search trees", 1996), sorted by the start of their live ranges. Every node holds a summary of its
 * subtree, so that a search can skip a subtree
 * - if none of its blocks is in use during the block's live range,
 * - if it lies inside the occupied range that was found last,
 * - or if all its blocks are in use then and no gap between them holds the block, so that they
 * count as one occupied range. Values that live until their backward pass are stacked in the order
 * of execution and are thus found as one range, unless blocks of another size, or gradients, which
 * live for a few steps, lie between them. Therefore each block size has groups of its own for
 * short, longer and long live ranges, with one treap per group. Networks have few block sizes; if
 * there are many, the smallest ones share their groups. */

#define NO_NODE SIZE_MAX
enum {
    MAX_SIZES = 32,     /* block sizes that have groups of their own */
    LIFETIME_BASE = 16, /* a group's live ranges differ by less than this factor */
    MAX_LIFETIMES = 16  /* digits of SIZE_MAX to this base */
};

struct placed_node {
    size_t offset, end, first, last; /* the block's bytes and lifetime */
    size_t left, right;              /* children, NO_NODE if there is none */
    uint32_t priority;
    struct {               /* summary of the blocks in this subtree */
        size_t begin, end; /* the lowest offset and the highest end */
        size_t earliest_first, latest_first, earliest_last, latest_last;
        size_t largest_gap; /* at most this large, if all blocks were in use at the same time */
    } subtree;
};

struct placed_group {
    size_t bytes;      /* size of its first block */
    unsigned lifetime; /* length class of its live ranges (lifetime_of) */
    size_t root;
};

struct occupied_range {
    size_t begin, end;
};

bool placed_blocks_create(struct placed_blocks *placed, size_t capacity, struct error *error)
{
    *placed = (struct placed_blocks){0};
    placed->nodes = memory_new(capacity, sizeof *placed->nodes, "the plan", error);
    placed->ranges = memory_new(capacity, sizeof *placed->ranges, "the plan", error);
    placed->groups =
        memory_new((size_t)MAX_SIZES * MAX_LIFETIMES, sizeof *placed->groups, "the plan", error);
    if (placed->nodes && placed->ranges && placed->groups)
        return true;
    placed_blocks_free(placed);
    return false;
}

void placed_blocks_free(struct placed_blocks *placed)
{
    free(placed->nodes);
    free(placed->ranges);
    free(placed->groups);
    *placed = (struct placed_blocks){0};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* --- adding --- */

/* Returns the gap between one range's end and another one's begin; 0 if they overlap. */
static size_t gap_between(size_t end, size_t begin)
{
    return begin > end ? begin - end : 0;
}

/* Adds the summary of a child's subtree to that of `node`. */
static void add_to_summary(struct placed_node *node, const struct placed_node *child)
{
    const size_t gap = most(gap_between(node->subtree.end, child->subtree.begin),
                            gap_between(child->subtree.end, node->subtree.begin));
    node->subtree.largest_gap =
        most(node->subtree.largest_gap, most(gap, child->subtree.largest_gap));
    node->subtree.begin = least(node->subtree.begin, child->subtree.begin);
    node->subtree.end = most(node->subtree.end, child->subtree.end);
    node->subtree.earliest_first =
        least(node->subtree.earliest_first, child->subtree.earliest_first);
    node->subtree.latest_first = most(node->subtree.latest_first, child->subtree.latest_first);
    node->subtree.earliest_last = least(node->subtree.earliest_last, child->subtree.earliest_last);
    node->subtree.latest_last = most(node->subtree.latest_last, child->subtree.latest_last);
}

/* Computes the summary of node n from its block and its children. */
static void summarise(struct placed_blocks *placed, size_t n)
{
    struct placed_node *node = &placed->nodes[n];
    node->subtree.begin = node->offset;
    node->subtree.end = node->end;
    node->subtree.earliest_first = node->subtree.latest_first = node->first;
    node->subtree.earliest_last = node->subtree.latest_last = node->last;
    node->subtree.largest_gap = 0;
    if (node->left != NO_NODE)
        add_to_summary(node, &placed->nodes[node->left]);
    if (node->right != NO_NODE)
        add_to_summary(node, &placed->nodes[node->right]);
}

static bool is_before(const struct placed_node *a, const struct placed_node *b)
{
    return a->first < b->first;
}

/* Splits the subtree of `n` into the nodes that are sorted before `at` and the others. */
static void split(struct placed_blocks *placed, size_t n, const struct placed_node *at,
                  size_t *before, size_t *after)
{
    if (n == NO_NODE) {
        *before = *after = NO_NODE;
        return;
    }
    struct placed_node *node = &placed->nodes[n];
    if (is_before(node, at)) {
        *before = n;
        split(placed, node->right, at, &node->right, after);
    } else {
        *after = n;
        split(placed, node->left, at, before, &node->left);
    }
    summarise(placed, n);
}

/* Adds node `added` to the subtree of `n` and returns its new root. */
static size_t insert(struct placed_blocks *placed, size_t n, size_t added)
{
    struct placed_node *node = &placed->nodes[added];
    if (n == NO_NODE || placed->nodes[n].priority < node->priority) {
        split(placed, n, node, &node->left, &node->right);
        n = added;
    } else if (is_before(&placed->nodes[n], node)) {
        placed->nodes[n].right = insert(placed, placed->nodes[n].right, added);
    } else {
        placed->nodes[n].left = insert(placed, placed->nodes[n].left, added);
    }
    summarise(placed, n);
    return n;
}

/* Hashes the numbers 0, 1, 2... (the finaliser of MurmurHash3), so that the tree is as balanced as
 * a random one and yet the same in every plan. */
static uint32_t priority_of(uint32_t number)
{
    number = (number ^ number >> 16) * 0x85ebca6bu;
    number = (number ^ number >> 13) * 0xc2b2ae35u;
    return number ^ number >> 16;
}

/* Returns the length class of a block's live range: its logarithm to base LIFETIME_BASE. */
static unsigned lifetime_of(const struct arena_block *block)
{
    unsigned lifetime = 0;
    for (size_t length = block->last - block->first; length >= LIFETIME_BASE;
         length /= LIFETIME_BASE)
        lifetime++;
    return lifetime;
}

/* Returns the group that `block` belongs to, and creates it for the first block. */
static struct placed_group *group_for(struct placed_blocks *placed, const struct arena_block *block)
{
    const unsigned lifetime = lifetime_of(block);
    size_t bytes = placed->group_count ? placed->groups[placed->group_count - 1].bytes : 0;
    if (bytes != block->bytes && placed->size_count < MAX_SIZES) {
        bytes = block->bytes;
        placed->size_count++;
    }
    for (size_t i = placed->group_count; i-- > 0 && placed->groups[i].bytes == bytes;)
        if (placed->groups[i].lifetime == lifetime)
            return &placed->groups[i];
    struct placed_group *group = &placed->groups[placed->group_count++];
    *group = (struct placed_group){.bytes = bytes, .lifetime = lifetime, .root = NO_NODE};
    return group;
}

void placed_blocks_add(struct placed_blocks *placed, const struct arena_block *block)
{
    const size_t n = placed->count++;
    struct placed_group *group = group_for(placed, block);
    placed->nodes[n] = (struct placed_node){.offset = block->offset,
                                            .end = block->offset + block->bytes,
                                            .first = block->first,
                                            .last = block->last,
                                            .left = NO_NODE,
                                            .right = NO_NODE,
                                            .priority = priority_of((uint32_t)n)};
    group->root = insert(placed, group->root, n);
}

/* --- searching --- */

struct gap_search {
    struct placed_blocks *placed;
    const struct arena_block *block;
    struct occupied_range *range; /* the group's last range; NULL before the first one */
    size_t count;                 /* ranges found */
};

/* Records an occupied range. It extends the last one if the gap between them is too small for the
 * block. */
static void occupy(struct gap_search *search, size_t begin, size_t end)
{
    if (search->range && gap_between(search->range->end, begin) < search->block->bytes &&
        gap_between(end, search->range->begin) < search->block->bytes) {
        search->range->begin = least(search->range->begin, begin);
        search->range->end = most(search->range->end, end);
        return;
    }
    search->range = &search->placed->ranges[search->count++];
    *search->range = (struct occupied_range){begin, end};
}

/* Records the occupied ranges of the subtree of `n`. */
static void visit(struct gap_search *search, size_t n)
{
    if (n == NO_NODE)
        return;
    const struct placed_node *node = &search->placed->nodes[n];
    const struct arena_block *block = search->block;
    search->placed->visits++;
    if ((search->range && node->subtree.end <= search->range->end &&
         node->subtree.begin >= search->range->begin) ||
        node->subtree.earliest_first > block->last || node->subtree.latest_last < block->first)
        return;
    if (node->subtree.latest_first <= block->last && node->subtree.earliest_last >= block->first &&
        node->subtree.largest_gap < block->bytes) {
        occupy(search, node->subtree.begin, node->subtree.end);
        return;
    }
    visit(search, node->left);
    if (node->first <= block->last && node->last >= block->first)
        occupy(search, node->offset, node->end);
    visit(search, node->right);
}

static int lowest_first(const void *a, const void *b)
{
    const struct occupied_range *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

size_t placed_blocks_find_gap(struct placed_blocks *placed, const struct arena_block *block)
{
    struct gap_search search = {.placed = placed, .block = block};
    for (size_t i = 0; i < placed->group_count; i++) {
        search.range = NULL;
        visit(&search, placed->groups[i].root);
    }
    placed->visits += search.count;
    qsort(placed->ranges, search.count, sizeof *placed->ranges, lowest_first);
    size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
    for (size_t i = 0; i < search.count; i++) {
        const size_t gap = gap_between(end, placed->ranges[i].begin);
        if (gap >= block->bytes && gap < best_size) {
            best = end;
            best_size = gap;
        }
        end = most(end, placed->ranges[i].end);
    }
    return best != SIZE_MAX ? best : end;
}

static int largest_first(const void *a, const void *b)
{
    const struct arena_block *x = *(struct arena_block *const *)a;
    const struct arena_block *y = *(struct arena_block *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y; /* array order, so that a plan does not depend on qsort */
}

/* Places one block and updates the arena's size. Returns false if the offset overflows. */
static bool place_block(struct placed_blocks *placed, struct arena_block *block, size_t *total)
{
    if (block->bytes == 0) { /* it was merged into another block */
        block->offset = 0;
        return true;
    }
    block->offset = placed_blocks_find_gap(placed, block);
    if (block->bytes > SIZE_MAX / 2 - block->offset)
        return false;
    placed_blocks_add(placed, block);
    if (block->offset + block->bytes > *total)
        *total = block->offset + block->bytes;
    return true;
}

bool arena_pack(struct arena_block *blocks, size_t count, size_t *total, struct error *error)
{
    struct placed_blocks placed = {0};
    struct arena_block **by_size = memory_new(count, sizeof *by_size, "the plan", error);
    if (!by_size || !placed_blocks_create(&placed, count, error)) {
        free(by_size);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        by_size[i] = &blocks[i];
        blocks[i].bytes = memory_round_up(blocks[i].bytes);
    }
    qsort(by_size, count, sizeof *by_size, largest_first);
    *total = 0;
    bool fits = true;
    for (size_t i = 0; fits && i < count; i++)
        fits = place_block(&placed, by_size[i], total);
    placed_blocks_free(&placed);
    free(by_size);
    return fits || error_set(error, ERROR_MEMORY, "the plan", "choose a smaller batch",
                             "the activations do not fit the address space");
}

size_t arena_lower_bound(const struct arena_block *blocks, size_t count, int64_t *scratch,
                         size_t last)
{
    int64_t in_use = 0, most = 0;
    memset(scratch, 0, (last + 2) * sizeof *scratch);
    for (size_t i = 0; i < count; i++) {
        const int64_t bytes = (int64_t)memory_round_up(blocks[i].bytes);
        scratch[blocks[i].first] += bytes;
        scratch[blocks[i].last + 1] -= bytes;
    }
    for (size_t position = 0; position <= last; position++) {
        in_use += scratch[position];
        most = in_use > most ? in_use : most;
    }
    return (size_t)most;
}

/* Writes the execution's view of the arena into the plan: the offset of each value, gradient and
 * saved array, and the size of the whole. The list of arrays with their live ranges is for the
 * memory view; a block that several nodes share is listed once, for its first owner. */

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
    plan->arena.arrays[plan->arena.array_count++] = (struct plan_array){.kind = kind,
                                                                        .node = node,
                                                                        .offset = block->offset,
                                                                        .bytes = block->bytes,
                                                                        .first = block->first,
                                                                        .last = block->last};
}

/* Lists the arrays. The first owner of a gradient is the last node, since the backward pass starts
 * there. */
static bool list_arrays(const struct live_ranges *ranges, struct error *error)
{
    struct plan *plan = ranges->plan;
    const struct array_list list = {
        .ranges = ranges,
        .listed = memory_new(ranges->block_capacity, sizeof(bool), "the plan", error)};
    plan->arena.array_count = 0;
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
 * the whole; nodes that are fused into the part's kernel have the same value. */
static void set_layout_offsets(const struct live_ranges *ranges)
{
    struct plan *plan = ranges->plan;
    for (size_t s = 0; s < plan->step_count && (plan->block || plan->int8); s++) {
        struct plan_step *step = &plan->steps[s];
        const size_t plane = tensor_plane(plan->layouts[step->node], step->site.node->output);
        if (!step->kernel && !step->joins)
            plan->arena.values[step->node] = plan->arena.values[step->inputs[0]];
        else if (step->part_of != PLAN_NONE)
            plan->arena.values[step->node] += step->part_channel / plan->block * plane *
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
        plan->arena.values[n] = offset_of(ranges, live_ranges_value(ranges, n));
        plan->arena.backward_values[n] = offset_of(ranges, live_ranges_backward_value(ranges, n));
        plan->arena.gradients[n] = offset_of(ranges, ranges->gradient_block[n]);
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
    for (size_t at = 0; at < plan->order.count; at++) {
        const struct plan_order_entry *entry = &plan->order.entries[at];
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
        forecast->weights *= 2; /* there is also a rounded copy (execution/rounding.c) */
    if (plan->mode == PLAN_TRAINING && !plan->frozen) {
        /* several processes also have the shards of all, which are added (cluster_sum), or, where
         * they share memory, the window that the gradients move to, while they are in both */
        forecast->gradients = (plan->processes > 1 ? 2 * learnable : learnable) * plan->subtrees;
        forecast->solver = learnable * solver_state_count(&settings->solver);
    }
    forecast->workspace = workspace;
    forecast->activations = plan->arena.bytes - workspace;
    forecast->prepared = plan->prepared_bytes;
    forecast->total = forecast->weights + forecast->gradients + forecast->solver +
                      forecast->activations + forecast->workspace + forecast->prepared;
    if (forecast->unlimited == 0)
        forecast->unlimited = forecast->total;
    forecast->tables = plan->step_count * (sizeof *plan->steps + sizeof *plan->order.entries +
                                           sizeof(struct kernel_site) + 6 * sizeof(size_t)) +
                       plan->order.count * sizeof(struct kernel_call) +
                       plan->graph->node_count * (3 * sizeof(size_t) + 2 * sizeof(float *)) +
                       plan->arena.array_count * sizeof *plan->arena.arrays +
                       fallback_host_bytes(plan);
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
    plan->arena.workspace = packed;
    plan->arena.bytes = packed + workspace;
    forecast_memory(plan, settings, workspace);
    forecast_flops(plan);
    forecast_fallback(plan);
    return true;
}
