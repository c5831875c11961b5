/* Time: action i of the plan (plan_schedule.h). Every array (a value, a gradient, what a kernel
 * saves) becomes a memory block with the times of its first write and last read. Arrays that share
 * memory (in-place results) share a block: `value_block[node]` and `gradient_block[node]` say
 * which, and merging two widens the lifetime of the one that is kept. A value that is computed
 * again has a second block for that, `late_block[node]`; else that is the same. Views have no
 * blocks: the schedule's `root` leads to what they show. */
#include "engine/plan/plan.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/ops/op.h"
#include "engine/plan/arena.h"
#include "engine/plan/fusion.h"
#include "engine/plan/recompute.h"
#include "engine/plan/step_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_BLOCK ((size_t)-1)
enum { MOST_BLOCKS = 5 }; /* a node: value and what is saved, twice each, and the gradient */
/* Beyond this an arena cannot be real; refusing early keeps size arithmetic from overflowing. */
#define BYTES_LIMIT (SIZE_MAX / 4096)

struct planner {
    struct plan *plan;
    const struct plan_settings *settings;
    bool finishes; /* kernels may finish what follows them */
    size_t nodes;
    bool *needed, *wants_gradient; /* by node */
    bool *written;                 /* by block: a gradient that someone has begun */
    bool *listed;                  /* by block: among the plan's arrays */
    size_t workspace;
    struct schedule schedule;
    size_t *value_block, *late_block, *gradient_block; /* by node */
    size_t *first_node, *next_node; /* by block, by node: the nodes whose gradient it holds */
    size_t *saved_block, *late_saved_block; /* by step */
    struct arena_block *blocks;
    size_t block_count;
    int64_t *live; /* by time: what begins and ends there, for the search */
};

static size_t backward_time(const struct planner *planner, size_t step)
{
    return planner->plan->steps[step].backward_at;
}

static size_t end_time(const struct planner *planner)
{
    return planner->plan->order_count;
}

static const struct node *node_at(const struct planner *planner, size_t number)
{
    return &planner->plan->graph->nodes[number];
}

static bool is_view(const struct planner *planner, const struct node *node)
{
    return (node->op->traits & OP_VIEW) ||
           (planner->plan->mode == PLAN_INFERENCE && op_is_identity_in_inference(node));
}

static size_t value_bytes(const struct planner *planner, size_t node)
{
    return shape_count(node_at(planner, node)->output) * sizeof(float) * planner->plan->batch;
}

/* --- which nodes take part --- */

static bool mark_needed(struct planner *planner, struct error *error)
{
    const struct graph *graph = planner->plan->graph;
    bool training = planner->plan->mode == PLAN_TRAINING;
    size_t losses = training ? graph->loss_count : planner->settings->with_loss ? 1 : 0;
    if (losses > graph->loss_count)
        losses = graph->loss_count;
    planner->needed[graph->output] = true;
    for (size_t i = 0; i < losses; i++)
        planner->needed[graph->losses[i]] = true;
    graph_complete_ancestors(graph, planner->needed);
    if (training && graph->loss_count == 0)
        return error_set(error, ERROR_INPUT, "the network", "end it with a \"loss\"",
                         "it has no loss, so it cannot be trained");
    return true;
}

static void mark_gradients(struct planner *planner)
{
    for (size_t n = 0; n < planner->nodes && planner->plan->mode == PLAN_TRAINING; n++) {
        const struct node *node = node_at(planner, n);
        bool wants = n == 0 ? planner->settings->needs_input_gradient
                            : !planner->plan->frozen &&
                                  graph_node_parameter_count(planner->plan->graph, n) > 0;
        for (size_t k = 0; k < node->input_count; k++)
            wants |= planner->wants_gradient[node->inputs[k]];
        planner->wants_gradient[n] = wants;
    }
}

/* --- steps and kernels --- */

static bool check_size(const struct planner *planner, size_t number, struct error *error)
{
    const struct node *node = node_at(planner, number);
    if (shape_count(node->output) < BYTES_LIMIT / sizeof(float) / planner->plan->batch)
        return true;
    return error_set(error, ERROR_MEMORY, node->name, "choose a smaller batch",
                     "%zu images of %zu x %zu x %zu do not fit the address space",
                     planner->plan->batch, node->output.channels, node->output.height,
                     node->output.width);
}

static bool build_step(struct planner *planner, size_t number, struct error *error)
{
    struct plan *plan = planner->plan;
    const struct node *node = node_at(planner, number);
    struct plan_step *step = &plan->steps[plan->step_count];
    *step = (struct plan_step){
        .node = number,
        .backward = planner->wants_gradient[number],
        .reader = PLAN_NONE,
        .fused_into = PLAN_NONE,
        .input_count = node->input_count,
        .saved = PLAN_NONE,
        .backward_saved = PLAN_NONE,
        .backward_at = PLAN_NONE,
        .recompute_at = PLAN_NONE,
        .site = {.node = node,
                 .batch = plan->batch,
                 .ranks = plan->ranks,
                 .training = plan->mode == PLAN_TRAINING,
                 .threads = plan->threads},
    };
    memcpy(step->inputs, node->inputs, sizeof step->inputs);
    graph_input_shapes(plan->graph, node, step->site.inputs);
    for (size_t k = 0; k < node->input_count; k++)
        step->site.input_gradient[k] = planner->wants_gradient[node->inputs[k]];
    plan->step_count++;
    if (is_view(planner, node)) {
        snprintf(step->choice, sizeof step->choice, "%s",
                 N_("a view of its input: nothing to compute"));
        return true;
    }
    step->kernel =
        device_choose_kernel(plan->driver, &step->site, step->choice, sizeof step->choice, error);
    return step->kernel;
}

static bool build_steps(struct planner *planner, struct error *error)
{
    for (size_t n = 0; n < planner->nodes; n++) {
        if (!planner->needed[n])
            continue;
        if (!check_size(planner, n, error))
            return false;
        if (node_at(planner, n)->op != &op_input && !build_step(planner, n, error))
            return false;
    }
    return true;
}

/* --- lifetimes --- */

static size_t new_block(struct planner *planner, size_t bytes, size_t first, size_t last)
{
    planner->blocks[planner->block_count] =
        (struct arena_block){.bytes = bytes, .first = first, .last = last};
    return planner->block_count++;
}

static void extend(struct planner *planner, size_t block, size_t time)
{
    if (block != NO_BLOCK && planner->blocks[block].last < time)
        planner->blocks[block].last = time;
}

static size_t value_of(const struct planner *planner, size_t node)
{
    return planner->value_block[planner->schedule.root[node]];
}

/* Where the value is after the forward pass. */
static size_t late_value_of(const struct planner *planner, size_t node)
{
    return planner->late_block[planner->schedule.root[node]];
}

/* The first `count` inputs. */
static void extend_inputs(struct planner *planner, const struct plan_step *step, size_t count,
                          size_t time)
{
    for (size_t k = 0; k < count; k++)
        extend(planner,
               time < planner->plan->step_count ? value_of(planner, step->inputs[k])
                                                : late_value_of(planner, step->inputs[k]),
               time);
}

/* A block for every value that the forward pass computes, living from its step to its last reader
 * there; to the end when the caller reads it. */
static void make_value_blocks(struct planner *planner)
{
    struct plan *plan = planner->plan;
    const size_t output = planner->schedule.root[plan->graph->output];
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        bool result = step->node == output || (step->site.node->op->traits & OP_LOSS);
        if (step->kernel)
            planner->value_block[step->node] = new_block(planner, value_bytes(planner, step->node),
                                                         s, result ? end_time(planner) : s);
        planner->late_block[step->node] = planner->value_block[step->node];
        extend_inputs(planner, step, step->input_count, s);
    }
}

/* What comes after the forward pass: second blocks, and readers that let others live on. */
static void make_late_blocks(struct planner *planner)
{
    struct plan *plan = planner->plan;
    for (size_t a = plan->step_count; a < plan->order_count; a++) {
        const struct plan_step *step = &plan->steps[plan->order[a].step];
        const bool again = plan->order[a].pass == PLAN_RECOMPUTE;
        if (again)
            planner->late_block[step->node] =
                new_block(planner, value_bytes(planner, step->node), a, a);
        if (again)
            extend_inputs(planner, step, step->input_count, a);
        else if (schedule_reads_input(step))
            extend_inputs(planner, step, schedule_inputs_read(step), a);
        if (schedule_reads_output(step))
            extend(planner, planner->late_block[step->node], a);
    }
}

/* The input of a step whose place its result may take, for nobody reads it after time `a`: the
 * first, or either summand of an add that is finished, in its order. NO_BLOCK: none. */
static size_t find_place(const struct planner *planner, const struct plan_step *step, size_t a,
                         bool late)
{
    const struct node *sum = step->site.fused_add;
    const size_t count = sum ? 2 : 1, begin = sum && sum->inputs[0] != step->node ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        const size_t node = step->inputs[(begin + i) % count];
        const size_t input = late ? late_value_of(planner, node) : value_of(planner, node);
        if (input != NO_BLOCK && planner->blocks[input].last == a)
            return input;
    }
    return NO_BLOCK;
}

/* Where nobody reads an input after it, a result may take its place. */
static void share_values(struct planner *planner)
{
    struct plan *plan = planner->plan;
    for (size_t a = 0; a < plan->order_count; a++) {
        const struct plan_step *step = &plan->steps[plan->order[a].step];
        const bool late = plan->order[a].pass == PLAN_RECOMPUTE;
        if (plan->order[a].pass == PLAN_BACKWARD || !(plan_step_traits(step) & KERNEL_IN_PLACE))
            continue;
        size_t *own = late ? &planner->late_block[step->node] : &planner->value_block[step->node];
        const size_t input = find_place(planner, step, a, late);
        if (input == NO_BLOCK)
            continue;
        extend(planner, input, planner->blocks[*own].last);
        planner->blocks[*own].bytes = 0; /* nobody else lives in it yet: actions come in order */
        if (!late && planner->late_block[step->node] == *own)
            planner->late_block[step->node] = input;
        *own = input;
    }
}

static void put_gradient(struct planner *planner, size_t node, size_t block)
{
    planner->gradient_block[node] = block;
    if (block == NO_BLOCK)
        return;
    planner->next_node[node] = planner->first_node[block];
    planner->first_node[block] = node;
}

/* A gradient's block lives from the backward pass of its last consumer to that of its own step. A
 * view's gradient is its input's. */
static void make_gradient_blocks(struct planner *planner)
{
    struct plan *plan = planner->plan;
    if (planner->wants_gradient[0]) /* kept: its first write is found below */
        put_gradient(
            planner, 0,
            new_block(planner, value_bytes(planner, 0), end_time(planner), end_time(planner)));
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        const struct node *node = step->site.node;
        if (!step->backward || (node->op->traits & OP_LOSS))
            continue;
        size_t time = backward_time(planner, s);
        put_gradient(planner, step->node,
                     step->kernel ? new_block(planner, value_bytes(planner, step->node), time, time)
                                  : planner->gradient_block[step->inputs[0]]);
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        for (size_t k = 0; step->backward && k < step->input_count; k++) {
            size_t block = planner->gradient_block[step->inputs[k]];
            if (block != NO_BLOCK && planner->blocks[block].first > backward_time(planner, s))
                planner->blocks[block].first = backward_time(planner, s);
        }
    }
}

/* A gradient moves into a block that dies when it is born. */
static void move_gradient(struct planner *planner, size_t gradient, size_t to)
{
    extend(planner, to, planner->blocks[gradient].last);
    planner->blocks[gradient].bytes = 0;
    planner->written[to] = true;
    for (size_t n = planner->first_node[gradient], next; n != NO_BLOCK; n = next) {
        next = planner->next_node[n];
        put_gradient(planner, n, to);
    }
    planner->first_node[gradient] = NO_BLOCK;
}

/* Where the gradient of input k, which a step begins, may lie: in the block of the output's
 * gradient or, for the other summand of an add that is finished, of the output itself, if that dies
 * at this moment. NO_BLOCK: in none but its own. */
static size_t find_gradient_place(const struct planner *planner, size_t s, size_t k)
{
    const struct plan_step *step = &planner->plan->steps[s];
    const bool other = step->site.fused_add && k == 1;
    const size_t blocks[2] = {planner->gradient_block[step->node],
                              other ? planner->late_block[step->node] : NO_BLOCK};
    if (!(step->kernel->traits & KERNEL_GRADIENT_IN_PLACE) || (k > 0 && !other))
        return NO_BLOCK;
    for (size_t i = 0; i < 2; i++)
        if (blocks[i] != NO_BLOCK && planner->blocks[blocks[i]].last == backward_time(planner, s) &&
            planner->blocks[blocks[i]].bytes ==
                planner->blocks[planner->gradient_block[step->inputs[k]]].bytes)
            return blocks[i];
    return NO_BLOCK;
}

/* The caller writes the output's gradient before the backward pass begins: all others add. */
static void seed_output_gradient(struct planner *planner)
{
    struct plan *plan = planner->plan;
    size_t block = planner->gradient_block[plan->graph->output];
    if (!plan->seeds_output_gradient || block == NO_BLOCK)
        return;
    planner->written[block] = true;
    planner->blocks[block].first = plan->step_count;
}

/* Walks the backward pass in time: who begins a gradient overwrites, who comes later adds. */
static void order_gradient_writes(struct planner *planner)
{
    struct plan *plan = planner->plan;
    for (size_t s = plan->step_count; s-- > 0;) {
        struct plan_step *step = &plan->steps[s];
        if (!step->backward || !step->kernel)
            continue;
        for (size_t k = 0; k < step->input_count; k++) {
            size_t block = planner->gradient_block[step->inputs[k]];
            if (block == NO_BLOCK)
                continue;
            step->accumulate[k] = planner->written[block];
            planner->written[block] = true;
            const size_t place =
                step->accumulate[k] ? NO_BLOCK : find_gradient_place(planner, s, k);
            if (place != NO_BLOCK)
                move_gradient(planner, block, place);
        }
    }
}

/* A forward pass in training writes what it saves even where no backward pass will read it: a
 * pooling of the network's input. One that is run again finds it there, or makes it anew. */
static void make_saved_blocks(struct planner *planner)
{
    struct plan *plan = planner->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (!step->kernel || !step->kernel->saved_bytes)
            continue;
        const size_t bytes = step->kernel->saved_bytes(&step->site);
        const size_t again = step->recompute_at == PLAN_NONE ? s : step->recompute_at;
        const size_t last = step->backward ? backward_time(planner, s) : again;
        const bool twice = again != s && schedule_makes_saved_again(step);
        planner->saved_block[s] = new_block(planner, bytes, s, twice ? s : last);
        planner->late_saved_block[s] =
            twice ? new_block(planner, bytes, again, last) : planner->saved_block[s];
    }
}

/* --- the arena --- */

static size_t offset_of(const struct planner *planner, size_t block)
{
    return block == NO_BLOCK ? PLAN_NONE : planner->blocks[block].offset;
}

static size_t workspace_bytes(const struct plan *plan)
{
    size_t most = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        size_t bytes = step->kernel && step->kernel->workspace_bytes
                           ? step->kernel->workspace_bytes(&step->site)
                           : 0;
        most = bytes > most ? bytes : most;
    }
    return memory_round_up(most);
}

static void forecast_memory(struct plan *plan, const struct plan_settings *settings,
                            size_t workspace)
{
    struct memory_forecast *forecast = &plan->forecast;
    uint64_t learnable = plan->graph->learnable_floats * sizeof(float);
    forecast->weights = plan->graph->total_floats * sizeof(float);
    if (plan->mode == PLAN_TRAINING && !plan->frozen) {
        forecast->gradients = learnable;
        forecast->solver = learnable * solver_state_count(&settings->solver);
    }
    forecast->workspace = workspace;
    forecast->activations = plan->arena_bytes - workspace;
    forecast->total = forecast->weights + forecast->gradients + forecast->solver +
                      forecast->activations + forecast->workspace;
    if (forecast->unlimited == 0) /* the first layout keeps all */
        forecast->unlimited = forecast->total;
    forecast->tables = plan->step_count * (sizeof *plan->steps + sizeof *plan->order +
                                           sizeof(struct kernel_site)) +
                       plan->order_count * sizeof(struct kernel_call) +
                       plan->graph->node_count * (3 * sizeof(size_t) + 2 * sizeof(float *)) +
                       plan->array_count * sizeof *plan->arrays;
    forecast->flops = forecast->flops_again = 0;
    for (size_t a = 0; a < plan->order_count; a++) {
        const struct plan_order_entry *action = &plan->order[a];
        uint64_t flops = plan_step_flops(plan, &plan->steps[action->step], action->pass);
        forecast->flops += flops;
        forecast->flops_again += action->pass == PLAN_RECOMPUTE ? flops : 0;
    }
}

/* A block that several share is listed once, as its first owner's. */
static void list_array(struct planner *planner, enum plan_array_kind kind, size_t node,
                       size_t block)
{
    struct plan *plan = planner->plan;
    if (block == NO_BLOCK || planner->listed[block] || planner->blocks[block].bytes == 0)
        return;
    const struct arena_block *found = &planner->blocks[block];
    planner->listed[block] = true;
    plan->arrays[plan->array_count++] = (struct plan_array){.kind = kind,
                                                            .node = node,
                                                            .offset = found->offset,
                                                            .bytes = found->bytes,
                                                            .first = found->first,
                                                            .last = found->last};
}

/* Gradients are written from the last node to the first. */
static void list_arrays(struct planner *planner)
{
    const struct plan *plan = planner->plan;
    for (size_t n = 0; n < planner->nodes; n++)
        list_array(planner, PLAN_VALUE, n, planner->value_block[n]);
    for (size_t n = planner->nodes; n-- > 0;)
        list_array(planner, PLAN_GRADIENT, n, planner->gradient_block[n]);
    for (size_t s = 0; s < plan->step_count; s++)
        list_array(planner, PLAN_SAVED, plan->steps[s].node, planner->saved_block[s]);
    for (size_t n = 0; n < planner->nodes; n++)
        list_array(planner, PLAN_VALUE_RECOMPUTED, n, planner->late_block[n]);
    for (size_t s = 0; s < plan->step_count; s++)
        list_array(planner, PLAN_SAVED, plan->steps[s].node, planner->late_saved_block[s]);
}

static void place_arrays(struct planner *planner)
{
    struct plan *plan = planner->plan;
    for (size_t n = 0; n < planner->nodes; n++) {
        plan->values[n] = offset_of(planner, value_of(planner, n));
        plan->backward_values[n] = offset_of(planner, late_value_of(planner, n));
        plan->gradients[n] = offset_of(planner, planner->gradient_block[n]);
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        plan->steps[s].saved = offset_of(planner, planner->saved_block[s]);
        plan->steps[s].backward_saved = offset_of(planner, planner->late_saved_block[s]);
    }
    list_arrays(planner);
}

static bool lay_out_arena(struct planner *planner, struct error *error)
{
    struct plan *plan = planner->plan;
    size_t packed;
    if (!arena_pack(planner->blocks, planner->block_count, &packed, error))
        return false;
    place_arrays(planner);
    plan->workspace = packed;
    plan->arena_bytes = packed + planner->workspace;
    forecast_memory(plan, planner->settings, planner->workspace);
    return true;
}

/* --- putting it together --- */

static size_t *new_indices(size_t count, struct error *error)
{
    size_t *indices = memory_new(count, sizeof *indices, "the plan", error);
    for (size_t i = 0; indices && i < count; i++)
        indices[i] = NO_BLOCK;
    return indices;
}

static bool planner_create(struct planner *planner, struct error *error)
{
    size_t nodes = planner->nodes;
    planner->needed = memory_new(nodes, sizeof(bool), "the plan", error);
    planner->wants_gradient = memory_new(nodes, sizeof(bool), "the plan", error);
    const size_t blocks = MOST_BLOCKS * nodes;
    planner->written = memory_new(blocks, sizeof(bool), "the plan", error);
    planner->listed = memory_new(blocks, sizeof(bool), "the plan", error);
    planner->plan->arrays = memory_new(blocks, sizeof(struct plan_array), "the plan", error);
    planner->blocks = memory_new(blocks, sizeof *planner->blocks, "the plan", error);
    planner->value_block = new_indices(nodes, error);
    planner->late_block = new_indices(nodes, error);
    planner->gradient_block = new_indices(nodes, error);
    planner->first_node = new_indices(blocks, error);
    planner->next_node = new_indices(nodes, error);
    planner->saved_block = new_indices(nodes, error);
    planner->late_saved_block = new_indices(nodes, error);
    return planner->needed && planner->wants_gradient && planner->written && planner->listed &&
           planner->plan->arrays && planner->blocks && planner->value_block &&
           planner->late_block && planner->gradient_block && planner->first_node &&
           planner->next_node && planner->saved_block && planner->late_saved_block;
}

static void planner_free(struct planner *planner)
{
    free(planner->needed);
    free(planner->wants_gradient);
    free(planner->written);
    free(planner->listed);
    free(planner->blocks);
    free(planner->live);
    free(planner->value_block);
    free(planner->late_block);
    free(planner->gradient_block);
    free(planner->first_node);
    free(planner->next_node);
    free(planner->saved_block);
    free(planner->late_saved_block);
    schedule_free(&planner->schedule);
}

static void forget_blocks(struct planner *planner)
{
    planner->block_count = planner->plan->array_count = 0;
    for (size_t n = 0; n < planner->nodes; n++)
        planner->value_block[n] = planner->late_block[n] = planner->gradient_block[n] =
            planner->saved_block[n] = planner->late_saved_block[n] = NO_BLOCK;
    for (size_t b = 0; b < MOST_BLOCKS * planner->nodes; b++)
        planner->first_node[b] = NO_BLOCK;
    memset(planner->written, 0, MOST_BLOCKS * planner->nodes * sizeof *planner->written);
    memset(planner->listed, 0, MOST_BLOCKS * planner->nodes * sizeof *planner->listed);
}

/* All blocks of an iteration in which the values of keep[] are kept (schedule_make). */
static void make_blocks(struct planner *planner, const bool *keep)
{
    forget_blocks(planner);
    schedule_make(&planner->schedule, keep);
    make_value_blocks(planner);
    if (planner->plan->mode == PLAN_TRAINING)
        make_late_blocks(planner);
    share_values(planner);
    if (planner->plan->mode != PLAN_TRAINING)
        return;
    make_gradient_blocks(planner);
    seed_output_gradient(planner);
    order_gradient_writes(planner);
    make_saved_blocks(planner);
}

/* --- the limit --- */

static bool within_limit(const struct plan *plan, const struct plan_settings *settings)
{
    const uint64_t limit = settings->memory_limit;
    return plan->mode != PLAN_TRAINING || limit == 0 ||
           (limit != PLAN_LEAST_MEMORY && plan->forecast.total <= limit);
}

/* For the search: the arena's size when these values are kept, exactly or its lower bound. */
static uint64_t measure_arena(void *context, const bool *keep, bool exactly)
{
    struct planner *planner = context;
    size_t packed;
    make_blocks(planner, keep);
    if (!exactly)
        return arena_lower_bound(planner->blocks, planner->block_count, planner->live,
                                 planner->plan->order_count) +
               planner->workspace;
    if (!arena_pack(planner->blocks, planner->block_count, &packed, NULL))
        return UINT64_MAX;
    return packed + planner->workspace;
}

static bool compute_again(struct planner *planner, struct error *error)
{
    const struct plan *plan = planner->plan;
    const struct memory_forecast *forecast = &plan->forecast;
    const uint64_t fixed = forecast->weights + forecast->gradients + forecast->solver;
    const uint64_t limit = planner->settings->memory_limit;
    const struct recompute_search search = {.schedule = &planner->schedule,
                                            .measure = measure_arena,
                                            .context = planner,
                                            .limit = limit == PLAN_LEAST_MEMORY ? 0
                                                     : limit > fixed            ? limit - fixed
                                                                                : 0};
    bool *keep = memory_new(planner->nodes, sizeof *keep, "the plan", error);
    planner->live = memory_new(3 * plan->step_count + 2, sizeof *planner->live, "the plan", error);
    bool chosen = keep && planner->live && recompute_choose(&search, keep, error);
    if (chosen)
        make_blocks(planner, keep);
    free(keep);
    return chosen && lay_out_arena(planner, error);
}

static bool plan_with(struct planner *planner, struct error *error)
{
    if (!planner_create(planner, error) || !mark_needed(planner, error))
        return false;
    mark_gradients(planner);
    if (!build_steps(planner, error))
        return false;
    if (!plan_absorb(planner->plan, planner->finishes, error))
        return false;
    planner->workspace = workspace_bytes(planner->plan);
    if (!schedule_create(&planner->schedule, planner->plan, error))
        return false;
    make_blocks(planner, NULL);
    return lay_out_arena(planner, error) &&
           (within_limit(planner->plan, planner->settings) || compute_again(planner, error));
}

/* Rounded up, and as the limit is written: what the refusal names is accepted. */
static const char *write_limit(uint64_t bytes, char *text, size_t size)
{
    const bool large = bytes >> 20 >= 10;
    const uint64_t unit = (uint64_t)1 << (large ? 20 : 10);
    snprintf(text, size, "%llu%s", (unsigned long long)((bytes + unit - 1) / unit),
             large ? "MiB" : "KiB");
    return text;
}

bool plan_set_limit_error(const struct plan_settings *settings, uint64_t least, size_t batch,
                          struct error *error)
{
    char what[64], bytes[32], limit[32], advice[160];
    snprintf(what, sizeof what, _("batch %zu"), settings->batch);
    write_limit(least, bytes, sizeof bytes);
    text_bytes(settings->memory_limit, limit, sizeof limit);
    if (batch)
        snprintf(advice, sizeof advice,
                 _("raise the limit to %s, or choose batch %zu, which fits it"), bytes, batch);
    else
        snprintf(advice, sizeof advice,
                 _("raise the limit to %s; not even one image fits this one"), bytes);
    return error_set(error, ERROR_MEMORY, what, advice,
                     "the memory limit is %s, and with all computed again that helps it needs %s",
                     limit, bytes);
}

/* `plan` is the one that needs the least. */
static void refuse(const struct plan *plan, const struct plan_settings *settings,
                   struct error *error)
{
    const size_t batch = plan_largest_batch(plan->graph, plan->driver, settings,
                                            plan->batch * plan->ranks, settings->memory_limit);
    plan_set_limit_error(settings, plan->forecast.total, batch, error);
}

/* Advises the nearest batches that are multiples of the cards. */
static bool refuse_cut(size_t batch, size_t cards, struct error *error)
{
    char what[64], advice[96];
    const size_t below = batch / cards * cards;
    snprintf(what, sizeof what, _("batch %zu"), batch);
    if (below)
        snprintf(advice, sizeof advice, _("choose batch %zu or %zu"), below, below + cards);
    else
        snprintf(advice, sizeof advice, _("choose batch %zu"), cards);
    return error_set(error, ERROR_USAGE, what, advice,
                     "%zu GPUs compute it together, and it cannot be cut into as many equal parts",
                     cards);
}

/* Where the limit cannot be kept, the plan that comes nearest. */
static struct plan *build(const struct graph *graph, const struct device_driver *driver,
                          const struct plan_settings *settings, bool finishes, struct error *error)
{
    const size_t batch = settings->batch ? settings->batch : 1;
    const size_t cards = settings->ranks ? settings->ranks : 1;
    const bool cuts = batch % cards == 0 || refuse_cut(batch, cards, error);
    struct plan *plan = cuts ? memory_new(1, sizeof *plan, "the plan", error) : NULL;
    if (!plan)
        return NULL;
    *plan = (struct plan){.graph = graph,
                          .driver = driver,
                          .mode = settings->mode,
                          .frozen = settings->frozen,
                          .seeds_output_gradient = settings->seeds_output_gradient,
                          .batch = batch / cards,
                          .ranks = cards,
                          .threads = settings->threads ? settings->threads : 1};
    plan->steps = memory_new(graph->node_count, sizeof *plan->steps, "the plan", error);
    plan->values = new_indices(graph->node_count, error);
    plan->backward_values = new_indices(graph->node_count, error);
    plan->gradients = new_indices(graph->node_count, error);
    struct planner planner = {
        .plan = plan, .settings = settings, .finishes = finishes, .nodes = graph->node_count};
    bool built = plan->steps && plan->values && plan->backward_values && plan->gradients &&
                 plan_with(&planner, error);
    planner_free(&planner);
    if (built)
        return plan;
    plan_free(plan);
    return NULL;
}

static bool finishes_any(const struct plan *plan)
{
    for (size_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].fused_into != PLAN_NONE)
            return true;
    return false;
}

/* A kernel that finishes a sum and an activation has more arrays at once, backward, than one after
 * the other would. Where only the memory counts the smaller plan is taken. */
static struct plan *take_smaller(struct plan *plan, const struct plan_settings *settings)
{
    struct plan *other = build(plan->graph, plan->driver, settings, false, NULL);
    const bool smaller = other && other->forecast.total < plan->forecast.total;
    plan_free(smaller ? plan : other);
    return smaller ? other : plan;
}

struct plan *plan_build(const struct graph *graph, const struct device_driver *driver,
                        const struct plan_settings *settings, struct error *error)
{
    struct plan *plan = build(graph, driver, settings, true, error);
    if (plan && !within_limit(plan, settings) && finishes_any(plan))
        plan = take_smaller(plan, settings);
    if (!plan || settings->memory_limit == PLAN_LEAST_MEMORY || within_limit(plan, settings))
        return plan;
    if (error)
        refuse(plan, settings, error);
    plan_free(plan);
    return NULL;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    free(plan->steps);
    free(plan->order);
    free(plan->values);
    free(plan->backward_values);
    free(plan->gradients);
    free(plan->arrays);
    free(plan);
}

uint64_t plan_step_flops(const struct plan *plan, const struct plan_step *step, enum plan_pass pass)
{
    const uint64_t flops = step->kernel ? graph_node_flops(plan->graph, step->node) : 0;
    const bool learns = !plan->frozen && graph_node_parameter_count(plan->graph, step->node) > 0;
    if (pass != PLAN_BACKWARD)
        return flops;
    return step->backward ? flops * (size_t)(learns + step->site.input_gradient[0]) : 0;
}

double plan_recompute_overhead(const struct memory_forecast *forecast)
{
    const uint64_t once = forecast->flops - forecast->flops_again;
    return once > 0 ? 100.0 * (double)forecast->flops_again / (double)once : 0;
}

unsigned plan_step_traits(const struct plan_step *step)
{
    const bool both = step->site.fused_add && step->site.fused_activation;
    return step->kernel ? step->kernel->traits | (both ? KERNEL_BACKWARD_READS_OUTPUT : 0) : 0;
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

bool plan_step_is_view(const struct plan_step *step)
{
    return !step->kernel && step->reader == PLAN_NONE && step->fused_into == PLAN_NONE;
}

const char *plan_step_kernel_name(const struct plan *plan, const struct plan_step *step, char *text,
                                  size_t size)
{
    if (step->kernel)
        return step->kernel->name;
    if (plan_step_is_view(step))
        return "view";
    if (step->fused_into != PLAN_NONE)
        snprintf(text, size, "done by %s", plan->graph->nodes[step->fused_into].name);
    else
        snprintf(text, size, "read through by %s", plan->graph->nodes[step->reader].name);
    return text;
}

static bool batch_fits(const struct graph *graph, const struct device_driver *driver,
                       const struct plan_settings *settings, size_t batch, uint64_t bytes)
{
    struct plan_settings smaller = *settings;
    smaller.batch = batch;
    struct plan *plan = plan_build(graph, driver, &smaller, NULL);
    bool fits = plan && plan->forecast.total <= bytes;
    plan_free(plan);
    return fits;
}

size_t plan_largest_batch(const struct graph *graph, const struct device_driver *driver,
                          const struct plan_settings *settings, size_t limit, uint64_t bytes)
{
    const size_t cards = settings->ranks ? settings->ranks : 1;
    size_t fits = 0, too_large = limit / cards + 1; /* of each card */
    while (too_large - fits > 1) {
        size_t middle = fits + (too_large - fits) / 2;
        if (batch_fits(graph, driver, settings, middle * cards, bytes))
            fits = middle;
        else
            too_large = middle;
    }
    return fits * cards;
}
