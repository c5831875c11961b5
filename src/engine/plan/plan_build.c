/* A plan is built in stages, each of which rests on the ones before:
 *
 *   steps         one per needed node, with its kernel                   steps.c
 *   fusion        which steps another step's kernel computes as well     fusion.c
 *   layouts       how values lie in memory                               layouts.c
 *   chains        which steps of an inference run as one job             step_order.c
 *   order         the order of all passes of an iteration                step_order.c
 *   live ranges   which arrays there are, when, and which share memory   live_ranges.c
 *   placement     their offsets in the arena, and the forecast           arena.c
 *
 * If the forecast exceeds the memory limit, or if there is no limit on a GPU, recompute.c chooses
 * values to recompute, and the last three stages are repeated for its choice. */
#include "engine/plan/plan.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/graph/batch_subtrees.h"
#include "engine/ops/op.h"
#include "engine/plan/fallback.h"
#include "engine/plan/internal.h"
#include "engine/plan/rounding.h"

#include <stdio.h>
#include <stdlib.h>

struct planner {
    struct plan *plan;
    const struct plan_settings *settings;
    size_t workspace; /* bytes */
    struct step_order order;
    struct live_ranges ranges;
    int64_t *scratch; /* for arena_lower_bound */
};

/* --- the stages --- */

static bool within_limit(const struct plan *plan, const struct plan_settings *settings)
{
    const uint64_t limit = settings->memory_limit;
    return plan->mode != PLAN_TRAINING || limit == 0 ||
           (limit != PLAN_LEAST_MEMORY && plan->forecast.total <= limit);
}

/* Makes order and live ranges with the values of keep[] in memory; NULL: all. */
static void find_ranges(struct planner *planner, const bool *keep)
{
    step_order_make(&planner->order, keep);
    live_ranges_find(&planner->ranges);
}

/* Implements recompute_search.measure. */
static uint64_t measure_arena(void *context, const bool *keep, bool exact)
{
    struct planner *planner = context;
    const struct live_ranges *ranges = &planner->ranges;
    size_t packed;
    find_ranges(planner, keep);
    if (!exact)
        return arena_lower_bound(ranges->blocks, ranges->block_count, planner->scratch,
                                 planner->plan->order.count) +
               planner->workspace;
    if (!arena_pack(ranges->blocks, ranges->block_count, &packed, NULL))
        return UINT64_MAX;
    return packed + planner->workspace;
}

/* Returns whether a training plan without a memory limit recomputes norms. On a GPU it does: that
 * takes at most 4 % of an iteration, as measured, and saves 40 % of the memory. */
static bool recomputes_norms(const struct planner *planner)
{
    return planner->plan->mode == PLAN_TRAINING && planner->settings->memory_limit == 0 &&
           !planner->plan->driver->computes_on_host;
}

/* Repeats order, live ranges and placement with as much recomputation as the limit requires; if
 * there is no limit, of normalised values. */
static bool recompute_values(struct planner *planner, struct error *error)
{
    const struct plan *plan = planner->plan;
    const struct memory_forecast *forecast = &plan->forecast;
    const uint64_t fixed = forecast->weights + forecast->gradients + forecast->solver;
    const uint64_t limit = planner->settings->memory_limit;
    const struct recompute_search search = {.order = &planner->order,
                                            .measure = measure_arena,
                                            .context = planner,
                                            .limit = limit == PLAN_LEAST_MEMORY ? 0
                                                     : limit > fixed            ? limit - fixed
                                                                                : 0};
    bool *keep = memory_new(plan->graph->node_count, sizeof *keep, "the plan", error);
    planner->scratch =
        memory_new(3 * plan->step_count + 2, sizeof *planner->scratch, "the plan", error);
    const bool chosen =
        keep && planner->scratch &&
        (limit == 0 ? recompute_choose_norms : recompute_choose)(&search, keep, error);
    if (chosen)
        find_ranges(planner, keep);
    free(keep);
    return chosen && placement_make(&planner->ranges, planner->settings, planner->workspace, error);
}

static bool run_stages(struct planner *planner, bool fuse_epilogues, struct error *error)
{
    struct plan *plan = planner->plan;
    if (!steps_build(plan, planner->settings, error) ||
        !fusion_apply(plan, fuse_epilogues, error) ||
        !fallback_check(plan, planner->settings->strict_device, error))
        return false;
    layouts_complete(plan);
    rounding_complete(plan);
    plan->prepared_bytes = steps_place_prepared(plan);
    step_order_find_chains(plan);
    if (!step_order_create(&planner->order, plan, error) ||
        !live_ranges_create(&planner->ranges, plan, &planner->order, planner->settings, error))
        return false;
    plan->arena.arrays =
        memory_new(planner->ranges.block_capacity, sizeof *plan->arena.arrays, "the plan", error);
    if (!plan->arena.arrays)
        return false;
    planner->workspace = steps_place_workspace(plan);
    find_ranges(planner, NULL);
    if (!placement_make(&planner->ranges, planner->settings, planner->workspace, error) ||
        ((!within_limit(plan, planner->settings) || recomputes_norms(planner)) &&
         !recompute_values(planner, error)))
        return false;
    step_order_split_chains(plan);
    return true;
}

static void planner_free(struct planner *planner)
{
    step_order_free(&planner->order);
    live_ranges_free(&planner->ranges);
    free(planner->scratch);
}

/* --- refusals --- */

/* Writes a number of bytes in the syntax of the option that sets the limit. It is rounded up, so
 * that the limit it names is accepted. */
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
                     "the memory limit is %s; even with recomputation, training needs %s", limit,
                     bytes);
}

/* Sets the error for a plan that needs the least memory and still exceeds the limit. */
static void set_limit_error_of(const struct plan *plan, const struct plan_settings *settings,
                               struct error *error)
{
    const size_t batch =
        plan_largest_batch(plan->graph, plan->driver, settings,
                           plan->batch * plan->ranks * plan->processes, settings->memory_limit);
    plan_set_limit_error(settings, plan->forecast.total, batch, error);
}

/* Sets the error for a batch that the ranks cannot share evenly, and returns false. Advises the
 * nearest batches that they can. */
static bool set_uneven_error(size_t batch, size_t ranks, struct error *error)
{
    char what[64], advice[96];
    const size_t below = batch / ranks * ranks;
    snprintf(what, sizeof what, _("batch %zu"), batch);
    if (below)
        snprintf(advice, sizeof advice, _("choose batch %zu or %zu"), below, below + ranks);
    else
        snprintf(advice, sizeof advice, _("choose batch %zu"), ranks);
    return error_set(error, ERROR_USAGE, what, advice,
                     "%zu GPUs share each batch, and this one cannot be divided evenly among them",
                     ranks);
}

/* Returns the number of blocks; inference has one, since it has no sums over images. */
static size_t image_blocks_of(const struct plan_settings *settings)
{
    return settings->mode == PLAN_TRAINING && settings->image_blocks ? settings->image_blocks : 1;
}

static bool check_image_blocks(const struct device_driver *driver,
                               const struct plan_settings *settings, struct error *error)
{
    if (image_blocks_of(settings) == 1 || driver->computes_on_host)
        return true;
    return error_set(error, ERROR_UNSUPPORTED, driver->name,
                     "choose --blocks 1, or the device cpu or reference",
                     "it cannot add over images in %zu blocks", settings->image_blocks);
}

static size_t processes_of(const struct plan_settings *settings)
{
    return settings->mode == PLAN_TRAINING && settings->processes ? settings->processes : 1;
}

/* Checks that several processes can have equal micro-batches, whole blocks of images. */
static bool check_processes(const struct device_driver *driver,
                            const struct plan_settings *settings, struct error *error)
{
    const size_t processes = processes_of(settings), blocks = image_blocks_of(settings);
    char what[64], advice[96];
    if (processes == 1)
        return true;
    if (!driver->computes_on_host)
        return error_set(error, ERROR_UNSUPPORTED, driver->name,
                         "choose the device cpu, or give one process several GPUs (cuda:0,1)",
                         "several processes cannot share a batch on it");
    snprintf(what, sizeof what, "--blocks %zu", blocks);
    snprintf(advice, sizeof advice, _("choose a multiple of %zu, or another number of processes"),
             processes);
    if (blocks % processes)
        return error_set(error, ERROR_USAGE, what, advice,
                         "%zu processes cannot have equally many of %zu blocks", processes, blocks);
    snprintf(what, sizeof what, _("batch %zu"), settings->batch);
    snprintf(advice, sizeof advice, _("choose a multiple of %zu"), blocks);
    return settings->batch % blocks == 0 ||
           error_set(error, ERROR_USAGE, what, advice,
                     "%zu processes share each batch in %zu blocks, and this one cannot be divided "
                     "evenly among them",
                     processes, blocks);
}

/* Checks that a plan in int8 is for inference of a quantized network, which has the scales. */
static bool check_int8(const struct graph *graph, const struct plan_settings *settings,
                       struct error *error)
{
    if (settings->precision != PRECISION_INT8)
        return true;
    if (settings->mode == PLAN_TRAINING)
        return error_set(error, ERROR_UNSUPPORTED, "int8",
                         "train in float32, and then quantize the model with tinca quantize",
                         "only trained networks compute in it");
    if (graph_is_quantized(graph))
        return true;
    return error_set(error, ERROR_UNSUPPORTED, "int8",
                     "quantize the trained model with tinca quantize, and compute with the result",
                     "the network is not quantized: nothing says which values its integers stand "
                     "for");
}

/* --- building --- */

static size_t *new_offsets(size_t count, struct error *error)
{
    size_t *offsets = memory_new(count, sizeof *offsets, "the plan", error);
    for (size_t i = 0; offsets && i < count; i++)
        offsets[i] = PLAN_NONE;
    return offsets;
}

/* Returns a plan without steps, or NULL with an error. */
static struct plan *plan_new(const struct graph *graph, const struct device_driver *driver,
                             const struct plan_settings *settings, struct error *error)
{
    const size_t batch = settings->batch ? settings->batch : 1;
    const size_t ranks = settings->ranks ? settings->ranks : 1;
    const bool even = batch % ranks == 0 || set_uneven_error(batch, ranks, error);
    const bool possible = even && device_check_precision(driver, settings->precision, error) &&
                          check_image_blocks(driver, settings, error) &&
                          check_processes(driver, settings, error) &&
                          check_int8(graph, settings, error);
    struct plan *plan = possible ? memory_new(1, sizeof *plan, "the plan", error) : NULL;
    if (!plan)
        return NULL;
    *plan = (struct plan){
        .graph = graph,
        .driver = driver,
        .mode = settings->mode,
        .frozen = settings->frozen,
        .seeds_output_gradient = settings->seeds_output_gradient,
        .sample_batches = settings->sample_batches,
        .device_batches = settings->device_batches,
        .soft_targets = settings->soft_targets,
        .batch = batch / ranks / processes_of(settings),
        .ranks = ranks,
        .processes = processes_of(settings),
        .image_blocks = image_blocks_of(settings) / processes_of(settings),
        .subtrees = batch_subtrees_divide(image_blocks_of(settings), processes_of(settings)).most,
        .threads = settings->threads ? settings->threads : 1,
        .bf16 = settings->precision == PRECISION_BF16 && driver->computes_on_host,
        .int8 = settings->precision == PRECISION_INT8};
    if (settings->machine)
        plan->machine = *settings->machine;
    if (plan->int8)
        plan->block = driver->int8_block;
    else if (driver->channel_block)
        plan->block = driver->channel_block();
    if (driver->prefers_channels_last && settings->device)
        plan->channels_last = driver->prefers_channels_last(settings->device->precision);
    plan->steps = memory_new(graph->node_count, sizeof *plan->steps, "the plan", error);
    plan->layouts = memory_new(graph->node_count, sizeof *plan->layouts, "the plan", error);
    plan->rounded = memory_new(graph->node_count, sizeof *plan->rounded, "the plan", error);
    plan->quantizations =
        memory_new(graph->node_count, sizeof *plan->quantizations, "the plan", error);
    plan->arena.values = new_offsets(graph->node_count, error);
    plan->arena.backward_values = new_offsets(graph->node_count, error);
    plan->arena.gradients = new_offsets(graph->node_count, error);
    for (size_t n = 0; plan->quantizations && n < graph->node_count; n++)
        plan->quantizations[n] = graph->nodes[n].quantization;
    if (plan->steps && plan->layouts && plan->rounded && plan->quantizations &&
        plan->arena.values && plan->arena.backward_values && plan->arena.gradients)
        return plan;
    plan_free(plan);
    return NULL;
}

/* Returns a plan that meets the memory limit or, if none does, the one that exceeds it least. */
static struct plan *build(const struct graph *graph, const struct device_driver *driver,
                          const struct plan_settings *settings, bool fuse_epilogues,
                          bool spare_workspace, struct error *error)
{
    struct plan *plan = plan_new(graph, driver, settings, error);
    if (!plan)
        return NULL;
    plan->only_forecast = settings->only_forecast;
    plan->spare_workspace = spare_workspace;
    struct planner planner = {.plan = plan, .settings = settings};
    const bool built = run_stages(&planner, fuse_epilogues, error);
    planner_free(&planner);
    if (built)
        return plan;
    plan_free(plan);
    return NULL;
}

/* Returns the smaller of `plan`, which it frees otherwise, and a plan without fused epilogues or
 * without large workspaces of libraries. The backward pass of a fused epilogue has more arrays in
 * use at once than separate passes have. */
static struct plan *take_smaller(struct plan *plan, const struct plan_settings *settings,
                                 bool fuse_epilogues)
{
    struct plan *other = build(plan->graph, plan->driver, settings, fuse_epilogues, true, NULL);
    const bool smaller = other && other->forecast.total < plan->forecast.total;
    plan_free(smaller ? plan : other);
    return smaller ? other : plan;
}

/* Checks that all losses support soft targets. */
static bool check_soft_targets(const struct graph *graph, struct error *error)
{
    for (size_t i = 0; i < graph->loss_count; i++)
        if (graph->nodes[graph->losses[i]].op != &op_softmax_cross_entropy &&
            graph->nodes[graph->losses[i]].op != &op_distillation)
            return error_set(error, ERROR_USAGE, graph->nodes[graph->losses[i]].name,
                             "train without mixup, cutmix and --class-weights",
                             "%s is not softmax_cross_entropy: there are no target probabilities "
                             "to mix or weight",
                             graph->nodes[graph->losses[i]].op->name);
    return true;
}

/* Checks that training with simulated quantization is possible: the weights are rounded in the
 * host's memory, and bf16 cannot hold the values of the grids. */
static bool check_simulated(const struct graph *graph, const struct device_driver *driver,
                            const struct plan_settings *settings, struct error *error)
{
    if (settings->mode != PLAN_TRAINING || !graph_is_quantized(graph))
        return true;
    if (!driver->computes_on_host)
        return error_set(error, ERROR_UNSUPPORTED, driver->name,
                         "choose the device cpu or reference, or train the network before it is "
                         "quantized",
                         "it cannot train a quantized network");
    return settings->precision == PRECISION_FLOAT32 ||
           error_set(error, ERROR_UNSUPPORTED, driver->name, "choose --precision float32",
                     "a quantized network is trained in float32: the other precisions cannot hold "
                     "its levels");
}

struct plan *plan_build(const struct graph *graph, const struct device_driver *driver,
                        const struct plan_settings *settings, struct error *error)
{
    if ((settings->soft_targets && !check_soft_targets(graph, error)) ||
        !check_simulated(graph, driver, settings, error))
        return NULL;
    struct plan *plan = build(graph, driver, settings, true, false, error);
    if (plan && !within_limit(plan, settings) && !driver->computes_on_host)
        plan = take_smaller(plan, settings, true);
    if (plan && !within_limit(plan, settings) && fusion_has_epilogues(plan))
        plan = take_smaller(plan, settings, false);
    if (!plan || settings->memory_limit == PLAN_LEAST_MEMORY || within_limit(plan, settings))
        return plan;
    if (error)
        set_limit_error_of(plan, settings, error);
    plan_free(plan);
    return NULL;
}

/* Returns the number of nodes that fall back even with one image per rank. */
static uint64_t least_fallbacks(const struct graph *graph, const struct device_driver *driver,
                                const struct plan_settings *settings)
{
    struct plan_settings smallest = *settings;
    smallest.batch = settings->ranks ? settings->ranks : 1;
    smallest.memory_limit = 0;
    smallest.only_forecast = true;
    struct plan *plan = plan_build(graph, driver, &smallest, NULL);
    const uint64_t nodes = plan ? plan->forecast.fallback_nodes : 0;
    plan_free(plan);
    return nodes;
}

/* Returns whether a batch fits into memory without more than `fallbacks` nodes that fall back
 * because it is too large for a kernel of the device. */
static bool batch_fits(const struct graph *graph, const struct device_driver *driver,
                       const struct plan_settings *settings, size_t batch, uint64_t fallbacks,
                       uint64_t bytes)
{
    struct plan_settings smaller = *settings;
    smaller.batch = batch;
    smaller.only_forecast = true;
    struct plan *plan = plan_build(graph, driver, &smaller, NULL);
    const bool fits =
        plan && plan->forecast.total <= bytes && plan->forecast.fallback_nodes <= fallbacks;
    plan_free(plan);
    return fits;
}

size_t plan_largest_batch(const struct graph *graph, const struct device_driver *driver,
                          const struct plan_settings *settings, size_t limit, uint64_t bytes)
{
    const size_t ranks = settings->ranks ? settings->ranks : 1;
    const uint64_t fallbacks = least_fallbacks(graph, driver, settings);
    size_t fits = 0, too_large = limit / ranks + 1; /* images per rank */
    while (too_large - fits > 1) {
        const size_t middle = fits + (too_large - fits) / 2;
        if (batch_fits(graph, driver, settings, middle * ranks, fallbacks, bytes))
            fits = middle;
        else
            too_large = middle;
    }
    return fits * ranks;
}
