/* Tests pruning: the groups of channels, on every built-in network with every technique. A pruned
 * network has the FLOPs and parameters that the selection says, and computes what the masked
 * network computes: on the reference device to the last digit, on the device cpu within rounding.
 * Also targets, and what is refused. */
#include "base/memory.h"
#include "engine/compress/channel_groups.h"
#include "engine/compress/channel_importance.h"
#include "engine/compress/prune_network.h"
#include "engine/execution/execution.h"
#include "engine/ops/op.h"
#include "random_fill.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2 };

/* --- networks --- */

/* Fills the parameters so that no norm is the identity and no bias is zero. */
static void fill_weights(struct weights *weights)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const bool factor = strstr(parameter->name, "running_var") || parameter->rank == 1;
        const float limit = factor ? 1.5f : sqrtf(3.0f / (float)parameter->fan_in);
        random_fill_uniform(1, RANDOM_TEST, (uint32_t)p, factor ? 0.5f : -limit, limit,
                            weights->values + parameter->offset, parameter->count);
    }
    weights_mark_changed(weights);
}

/* Returns the output for a random batch, [BATCH, C, H, W], which the caller frees; NULL with an
 * error. */
static float *infer(const struct network *network, struct weights *weights, const char *name,
                    struct error *error)
{
    const struct graph *graph = &network->graph;
    const struct plan_settings settings = {.mode = PLAN_INFERENCE, .batch = BATCH, .threads = 1};
    const size_t values = BATCH * shape_count(network->input);
    const size_t outputs = BATCH * shape_count(graph->nodes[graph->output].output);
    struct device *device = device_open(name, 1, error);
    struct plan *plan = device ? plan_build(graph, device->driver, &settings, error) : NULL;
    struct execution *execution =
        plan ? execution_create(plan, device, weights, NULL, 1, error) : NULL;
    float *images = memory_new_aligned(values, sizeof *images, "images", error);
    float *output = memory_new(outputs, sizeof *output, "outputs", error);
    if (execution && images && output) {
        random_fill_uniform(2, RANDOM_TEST, 0, -1, 1, images, values);
        execution_bind(execution, &(struct execution_batch){.images = images, .count = BATCH});
        execution_forward(execution, 0);
        memcpy(output, execution_output(execution), outputs * sizeof *output);
    } else {
        free(output);
        output = NULL;
    }
    free(images);
    execution_free(execution);
    plan_free(plan);
    device_close(device);
    return output;
}

/* Returns the largest difference, relative to the largest value; infinite if something is NaN. */
static double distance(const float *a, const float *b, size_t count)
{
    double most = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double apart = fabs((double)a[i] - (double)b[i]);
        if (isnan(apart))
            return (double)INFINITY;
        most = fmax(most, apart);
        largest = fmax(largest, fabs((double)a[i]));
    }
    return largest > 0 ? most / largest : most;
}

/* --- pruned and masked --- */

struct lab {
    struct network *network, *pruned;
    struct channel_groups groups;
    struct prune_selection selection;
    struct weights weights, smaller;
    bool *removed;
};

static void lab_free(struct lab *lab)
{
    free(lab->removed);
    prune_selection_free(&lab->selection);
    weights_free(&lab->weights);
    weights_free(&lab->smaller);
    channel_groups_free(&lab->groups);
    network_free(lab->network);
    network_free(lab->pruned);
}

/* Selects groups at random so that at most this share of the FLOPs remains. */
static bool choose(struct lab *lab, double share, struct error *error)
{
    double *importance = memory_new(lab->groups.count, sizeof *importance, "importance", error);
    lab->removed = memory_new(lab->groups.count, sizeof *lab->removed, "removed", error);
    if (!importance || !lab->removed)
        return false;
    for (size_t i = 0; i < lab->groups.count; i++) {
        const struct random_block block = random_philox(7, RANDOM_TEST, 5, i);
        importance[i] = (double)random_to_unit(block.word[0]);
    }
    const uint64_t limit = (uint64_t)(share * (double)graph_flops(&lab->network->graph));
    const bool chosen =
        prune_select(&lab->selection, &lab->groups, importance, PRUNE_FLOPS, limit, error);
    free(importance);
    return chosen;
}

static bool lab_open(struct lab *lab, const struct network_request *request, double share,
                     struct error *error)
{
    *lab = (struct lab){0};
    return (lab->network = network_build(request, error)) &&
           channel_groups_find(&lab->groups, &lab->network->graph, NULL, error) &&
           weights_create(&lab->weights, &lab->network->graph, error) &&
           choose(lab, share, error) &&
           (lab->pruned =
                prune_network(lab->network, &lab->selection, NULL, error)) &&
           weights_create(&lab->smaller, &lab->pruned->graph, error);
}

/* Checks that every channel of the graph is in the one group that lists it. */
static bool groups_are_complete(const struct channel_groups *groups)
{
    size_t listed = 0;
    for (size_t g = 0; g < groups->count; g++)
        for (size_t i = 0; i < groups->groups[g].size; i++, listed++)
            if (groups->group_of[groups->channels[groups->groups[g].begin + i]] != g)
                return false;
    return listed == groups->channel_count;
}

static void check_counts(const struct lab *lab, double share, const char *what)
{
    const uint64_t before = graph_flops(&lab->network->graph),
                   after = graph_flops(&lab->pruned->graph);
    tap_ok(groups_are_complete(&lab->groups), "%s: every channel is in one group", what);
    tap_ok(after == lab->selection.flops && (double)after <= share * (double)before &&
               graph_parameter_count(&lab->pruned->graph) == lab->selection.parameters,
           "  FLOPs and parameters are those of the selection, %.4f for %.2f",
           (double)after / (double)before, share);
}

/* Compares the pruned network with the masked one on a device. */
static void compare(struct lab *lab, const char *device, double tolerance)
{
    struct error error = {0};
    const struct graph *graph = &lab->network->graph;
    const size_t count = BATCH * shape_count(graph->nodes[graph->output].output);
    fill_weights(&lab->weights);
    float *whole = infer(lab->network, &lab->weights, device, &error);
    const bool copied = whole && prune_copy_weights(&lab->groups, &lab->selection, &lab->weights,
                                                    &lab->smaller, &error);
    prune_mask_weights(&lab->groups, &lab->selection, &lab->weights);
    float *masked = copied ? infer(lab->network, &lab->weights, device, &error) : NULL;
    float *pruned = masked ? infer(lab->pruned, &lab->smaller, device, &error) : NULL;
    if (!pruned)
        tap_ok(false, "  on %s: %s: %s", device, error.what, error.why);
    else {
        const double apart = distance(masked, pruned, count);
        tap_ok(apart <= tolerance, "  on %s it computes what the masked network does (%.2g)",
               device, apart);
        tap_ok(distance(whole, pruned, count) > 1e-3, "  and not what the whole one does");
    }
    free(whole);
    free(masked);
    free(pruned);
}

static void check(const struct network_request *request, double share, const char *what)
{
    struct error error = {0};
    struct lab lab;
    if (lab_open(&lab, request, share, &error)) {
        check_counts(&lab, share, what);
        compare(&lab, "reference", 0);
        compare(&lab, "cpu", 1e-4);
    } else
        tap_ok(false, "%s: %s: %s", what, error.what, error.why);
    lab_free(&lab);
}

/* What makes a network small enough for the reference device, and the share that is its target:
 * half of those with lrn cannot be removed. */
struct trial {
    const char *name;
    double width_rate, share;
};

static struct trial trial_of(const char *name)
{
    static const struct trial trials[] = {{"alexnet", 8, 0.92},
                                          {"googlenet", 8, 0.9},
                                          {"vgg19", 4, 0.5},
                                          {"pix2pix", 8, 0.5},
                                          {"resnet110", 2, 0.6}};
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        if (strcmp(trials[i].name, name) == 0)
            return trials[i];
    return (struct trial){name, 0, 0.5};
}

static void test_built_in(void)
{
    for (size_t i = 0; i < network_builtin_count; i++)
        for (size_t t = 0; t < TECHNIQUES; t++) {
            char what[96];
            const struct trial trial = trial_of(network_builtins[i].name);
            const struct network_request request = {.network = network_builtins[i].name,
                                                    .technique = (enum technique)t,
                                                    .width_rate = trial.width_rate};
            struct network *possible = network_build(&request, NULL);
            snprintf(what, sizeof what, "%s with %s", request.network,
                     technique_name(request.technique));
            if (possible && strcmp(request.network, "perceptron") != 0)
                check(&request, trial.share, what);
            network_free(possible);
        }
}

int main(void)
{
    test_built_in();
    return tap_done();
}
