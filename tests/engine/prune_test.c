/* Tests pruning: the groups of channels, on every built-in network with every technique. A pruned
 * network has the FLOPs and parameters that the selection says, and computes what the masked
 * network computes: on the reference device to the last digit, on the device cpu within rounding.
 * Also targets, and what is refused. */
#include "base/memory.h"
#include "engine/compress/channel_groups.h"
#include "engine/compress/channel_importance.h"
#include "engine/compress/magnitude.h"
#include "engine/compress/prune_network.h"
#include "engine/execution/execution.h"
#include "engine/ops/op.h"
#include "engine/prune_golden.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1 };

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
           (lab->pruned = prune_network(lab->network, &lab->selection, NULL, false, error)) &&
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
    float *whole = infer(lab->network, &lab->weights, "cpu", &error);
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

/* `make check` sees every network with half of the techniques, sanitizers with one, and every
 * technique with some networks. */
static void test_built_in(void)
{
    for (size_t i = 0; i < network_builtin_count; i++)
        for (size_t t = 0; t < TECHNIQUES; t++) {
            if (!sample_has(i + t, 2, TECHNIQUES))
                continue;
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

/* --- groups of small networks --- */

#define CONV(name_, outputs_, more_)                                                               \
    "{\"op\": \"conv\", \"name\": \"" name_ "\", \"kernel\": 1, \"output\": " outputs_ more_ "}"
#define OP(op_, more_) "{\"op\": \"" op_ "\"" more_ "}"
#define NETWORK(input_, layers_)                                                                   \
    "{\"input\": " input_ ", \"classes\": 3, \"layers\": [" layers_ ","                            \
    "{\"op\": \"average_pool\", \"global\": true}, {\"op\": \"flatten\"},"                         \
    "{\"op\": \"linear\", \"name\": \"out\", \"output\": \"classes\"}]}"

static struct network *build_text(const char *text, struct error *error)
{
    return network_build(&(struct network_request){.network = "small.json", .text = text}, error);
}

/* Writes the places of the channels of a layer: letters, the same for those of one group, in the
 * order in which they come; '.' for one that is held. */
static void print_groups(const struct channel_groups *groups, const char *layer, char *text,
                         size_t size)
{
    size_t node, known[64], count = 0, at = 0;
    if (!graph_find(groups->graph, layer, &node)) {
        snprintf(text, size, "no layer %s", layer);
        return;
    }
    for (size_t i = groups->first[node]; i < groups->first[node + 1] && at + 1 < size; i++) {
        const size_t group = groups->group_of[i];
        size_t k = 0;
        while (k < count && known[k] != group)
            k++;
        if (k == count && count < sizeof known / sizeof *known)
            known[count++] = group;
        text[at++] = groups->groups[group].hold != CHANNEL_FREE ? '.' : (char)('a' + k);
    }
    text[at] = '\0';
}

static void check_groups(const char *what, const char *text, const char *layer, const char *keep,
                         const char *expected)
{
    struct error error = {0};
    struct network *network = build_text(text, &error);
    struct channel_groups groups = {0};
    char found[128] = "";
    bool kept[64] = {false};
    size_t node;
    if (network && keep && graph_find(&network->graph, keep, &node))
        kept[node] = true;
    if (network && channel_groups_find(&groups, &network->graph, kept, &error))
        print_groups(&groups, layer, found, sizeof found);
    tap_ok(strcmp(found, expected) == 0, "%s: %s is %s (%s) %s %s", what, layer, expected, found,
           error.what, error.why);
    channel_groups_free(&groups);
    network_free(network);
}

static void test_groups(void)
{
    static const char sum[] =
        NETWORK("[3, 4, 4]", CONV("a", "4", "") "," CONV("b", "4", "") "," OP(
                                 "add", ", \"name\": \"s\", \"from\": [\"a\", \"b\"]"));
    static const char shift[] = NETWORK(
        "[3, 4, 4]", CONV("a", "20", "") "," OP("channel_shift", "") "," CONV("b", "4", ""));
    static const char shuffle[] =
        NETWORK("[3, 4, 4]", CONV("a", "8", "") "," OP("channel_shuffle", ", \"groups\": 2"));
    static const char grouped[] =
        NETWORK("[3, 4, 4]",
                CONV("a", "6", "") "," CONV("b", "8", ", \"groups\": 2") "," CONV("c", "8", ""));
    static const char shuffled[] = NETWORK(
        "[3, 4, 4]", CONV("a", "8", "") "," OP("channel_shuffle", ", \"groups\": 2") "," CONV(
                         "b", "8", ", \"groups\": 2"));
    static const char depthwise[] =
        NETWORK("[3, 4, 4]",
                CONV("a", "3", "") "," CONV("b", "6", ", \"groups\": 3") "," CONV("c", "4", ""));
    static const char concat[] = NETWORK(
        "[3, 4, 4]",
        CONV("a", "2", "") "," CONV("b", "3", ", \"from\": \"input\"") "," OP(
            "concat", ", \"name\": \"j\", \"from\": [\"a\", \"b\"]") "," OP("lrn",
                                                                            ", \"from\": \"b\""));
    static const char flat[] =
        "{\"input\": [1, 2, 2], \"classes\": 3, \"layers\": [" CONV("a", "2", "") "," OP(
            "flatten", ", \"name\": \"f\"") ",{\"op\": \"linear\", \"output\": \"classes\"}]}";
    check_groups("a sum", sum, "s", NULL, "abcd");
    check_groups("  one of whose terms is kept", sum, "s", "b", "....");
    check_groups("  as its other term", sum, "a", "b", "....");
    check_groups("a shift joins the places of its nine parts", shift, "a", NULL,
                 "abababababababababcd");
    check_groups("  and leaves the next layer alone", shift, "b", NULL, "abcd");
    check_groups("a shuffle joins columns", shuffle, "a", NULL, "abcdabcd");
    check_groups("groups keep their number: inputs", grouped, "a", NULL, "abcabc");
    check_groups("  and outputs", grouped, "b", NULL, "abcdabcd");
    check_groups("a shuffle before groups joins both", shuffled, "a", NULL, "abababab");
    check_groups("a depthwise convolution loses whole groups", depthwise, "b", NULL, "aabbcc");
    check_groups("a concatenation joins nothing", concat, "j", NULL, "ab...");
    check_groups("  and lrn holds its own input only", concat, "a", NULL, "ab");
    check_groups("a flattened channel is one", flat, "f", NULL, "aaaabbbb");
}

/* --- what is refused, and least channels --- */

static void test_least(void)
{
    struct error error = {0};
    struct network *network = network_build(&(struct network_request){.network = "lenet"}, &error);
    struct channel_groups groups;
    struct prune_selection selection;
    channel_groups_find(&groups, &network->graph, NULL, &error);
    double *importance = memory_new(groups.count, sizeof *importance, "importance", &error);
    for (size_t i = 0; i < groups.count; i++)
        importance[i] = (double)i;
    tap_ok(!prune_select(&selection, &groups, importance, PRUNE_FLOPS, 1, &error) &&
               error.kind == ERROR_INPUT,
           "one FLOP is refused: %s", error.why);
    const size_t all = graph_parameter_count(&network->graph);
    bool selected =
        prune_select(&selection, &groups, importance, PRUNE_PARAMETERS, all / 50, &error);
    size_t conv1 = 0, ip1 = 0;
    graph_find(&network->graph, "conv1", &conv1);
    graph_find(&network->graph, "ip1", &ip1);
    tap_ok(selected && selection.parameters <= all / 50 && selection.kept[conv1] >= 2 &&
               selection.kept[ip1] >= 50,
           "a fiftieth of the parameters leaves every layer a tenth (%zu of 20, %zu of 500)",
           selected ? selection.kept[conv1] : 0, selected ? selection.kept[ip1] : 0);
    prune_selection_free(&selection);
    selected = prune_select(&selection, &groups, importance, PRUNE_PARAMETERS, all, &error);
    tap_ok(selected && selection.parameters == all, "a met target removes nothing");
    prune_selection_free(&selection);
    free(importance);
    channel_groups_free(&groups);
    network_free(network);
}

/* --- criteria --- */

static bool load_golden(struct weights *weights)
{
    const struct graph *graph = weights->graph;
    size_t found = 0;
    for (size_t p = 0; p < graph->parameter_count; p++)
        for (size_t i = 0; i < sizeof golden_parameters / sizeof *golden_parameters; i++)
            if (strcmp(graph->parameters[p].name, golden_parameters[i].name) == 0 &&
                graph->parameters[p].count == golden_parameters[i].count) {
                memcpy(weights->values + graph->parameters[p].offset, golden_parameters[i].values,
                       golden_parameters[i].count * sizeof(float));
                found++;
            }
    weights_mark_changed(weights);
    return found == sizeof golden_parameters / sizeof *golden_parameters;
}

/* Adds the Taylor values of the golden batches, with gradients of a device. */
static bool sum_taylor(const struct network *network, const struct channel_groups *groups,
                       struct weights *weights, const char *name, double *sums, struct error *error)
{
    const struct solver_settings solver = {.kind = SOLVER_SGD};
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = GOLDEN_IMAGES, .threads = 1, .solver = solver};
    struct device *device = device_open(name, 1, error);
    struct plan *plan =
        device ? plan_build(&network->graph, device->driver, &settings, error) : NULL;
    struct execution *execution =
        plan ? execution_create(plan, device, weights, &solver, 1, error) : NULL;
    bool good = execution;
    for (size_t i = 0; good && i < GOLDEN_BATCHES; i++) {
        const struct execution_batch batch = {
            .images = golden_images + i * GOLDEN_IMAGES * shape_count(network->input),
            .labels = golden_labels + i * GOLDEN_IMAGES,
            .count = GOLDEN_IMAGES};
        execution_bind(execution, &batch);
        execution_forward(execution, i);
        execution_backward(execution);
        good = channel_importance_add_taylor(groups, weights->values,
                                             execution_parameter_gradients(execution), sums, error);
    }
    execution_free(execution);
    plan_free(plan);
    device_close(device);
    return good;
}

/* Compares the importance of the free groups, in their order, with golden values. NAN in the golden
 * values stands for a group without a value. */
static void check_importance(const struct channel_groups *groups, const double *importance,
                             const double *golden, size_t count, const char *what)
{
    size_t at = 0, wrong = 0;
    double most = 0;
    for (size_t g = 0; g < groups->count; g++) {
        if (groups->groups[g].hold != CHANNEL_FREE)
            continue;
        const double wanted = at < count ? golden[at] : (double)NAN;
        if (isnan(wanted) != isnan(importance[g]))
            wrong++;
        else if (!isnan(wanted))
            most = fmax(most, fabs(importance[g] / wanted - 1));
        at++;
    }
    tap_ok(at >= count && wrong == 0 && most < 1e-5,
           "%s as PyTorch's (%zu groups, %zu wrong, %.2g)", what, at, wrong, most);
}

static void test_criteria_on(const char *device)
{
    struct error error = {0};
    struct network *network = build_text(golden_network, &error);
    struct channel_groups groups = {0};
    struct weights weights = {0};
    if (!network || !channel_groups_find(&groups, &network->graph, NULL, &error) ||
        !weights_create(&weights, &network->graph, &error) || !load_golden(&weights)) {
        tap_ok(false, "the golden network: %s: %s", error.what, error.why);
        return;
    }
    double *importance = memory_new(groups.count, sizeof *importance, "importance", &error);
    double *sums = memory_new(groups.channel_count, sizeof *sums, "sums", &error);
    channel_importance(&groups, &weights, CRITERION_L1, NULL, importance, &error);
    check_importance(&groups, importance, golden_l1, sizeof golden_l1 / sizeof *golden_l1,
                     "L1 norms");
    channel_importance(&groups, &weights, CRITERION_BN, NULL, importance, &error);
    check_importance(&groups, importance, golden_bn, sizeof golden_bn / sizeof *golden_bn,
                     "scales of batch norm");
    const bool summed = sum_taylor(network, &groups, &weights, device, sums, &error);
    channel_importance(&groups, &weights, CRITERION_TAYLOR, sums, importance, &error);
    tap_ok(summed, "gradients on %s %s %s", device, error.what, error.why);
    check_importance(&groups, importance, golden_taylor,
                     sizeof golden_taylor / sizeof *golden_taylor, "Taylor values");
    free(importance);
    free(sums);
    weights_free(&weights);
    channel_groups_free(&groups);
    network_free(network);
}

/* --- magnitude --- */

static int compare_floats(const void *a, const void *b)
{
    const float first = fabsf(*(const float *)a), second = fabsf(*(const float *)b);
    return (first > second) - (first < second);
}

/* Counts the weights of LeNet after pruning `share`: zeros, and those that are smaller than the
 * largest zero was and yet remain. */
static void check_magnitude(double share)
{
    struct error error = {0};
    struct network *network = network_build(&(struct network_request){.network = "lenet"}, &error);
    struct weights weights;
    uint64_t count, zeros;
    size_t number = 0, wrong = 0, biases = 0;
    weights_create(&weights, &network->graph, &error);
    fill_weights(&weights);
    const struct graph *graph = &network->graph;
    float *before = memory_new(graph->total_floats, sizeof *before, "weights", &error);
    float *sorted = memory_new(graph->total_floats, sizeof *sorted, "weights", &error);
    memcpy(before, weights.values, graph->total_floats * sizeof *before);
    for (size_t p = 0; p < graph->parameter_count; p++)
        for (size_t i = 0; graph->parameters[p].rank > 1 && i < graph->parameters[p].count; i++)
            sorted[number++] = before[graph->parameters[p].offset + i];
    qsort(sorted, number, sizeof *sorted, compare_floats);
    if (!tap_ok(magnitude_prune(&weights, share, &count, &zeros, &error), "weights are counted"))
        exit(tap_done());
    const size_t wanted = (size_t)(share * (double)number);
    const float least = fabsf(sorted[wanted]); /* of what remains */
    for (size_t p = 0; p < graph->parameter_count; p++)
        for (size_t i = 0; i < graph->parameters[p].count; i++) {
            const size_t at = graph->parameters[p].offset + i;
            const bool zero = weights.values[at] == 0;
            if (graph->parameters[p].rank == 1)
                biases += weights.values[at] != before[at];
            else if (zero ? fabsf(before[at]) > least
                          : fabsf(before[at]) < least || weights.values[at] != before[at])
                wrong++;
        }
    tap_ok(count == number && zeros == wanted && wrong == 0 && biases == 0,
           "the smallest %g of the weights become zero (%llu of %llu, %zu wrong)", share,
           (unsigned long long)zeros, (unsigned long long)count, wrong);
    free(before);
    free(sorted);
    weights_free(&weights);
    network_free(network);
}

static void test_every_operator(void)
{
    const char *missing = NULL;
    for (size_t i = 0; op_table[i] && !missing; i++)
        if (!channel_groups_know(op_table[i]) &&
            strcmp(op_table[i]->name, "fake_quantize") != 0) /* it is in no saved model */
            missing = op_table[i]->name;
    tap_ok(!missing, "every operator has a rule in channel_groups.c (%s)",
           missing ? missing : "none is missing");
}

/* What the built-in networks lack: gates that are a half where a masked channel is zero, groups of
 * several channels in both directions, and activations with parameters or without a zero at zero.
 */
static void test_other_operators(void)
{
    static const char text[] =
        "{\"input\": [3, 9, 8], \"classes\": 4, \"layers\": ["
        "{\"op\": \"conv\", \"name\": \"a\", \"output\": 24, \"kernel\": 3, \"pad\": 1},"
        "{\"op\": \"prelu\"},"
        "{\"op\": \"conv\", \"name\": \"b\", \"output\": 24, \"kernel\": [3, 2], "
        "\"dilation\": [2, 3], \"pad\": [2, 3], \"groups\": 4}, {\"op\": \"sigmoid\"},"
        "{\"block\": \"squeeze_excitation\", \"reduction\": 2, \"activation\": \"gelu\", "
        "\"gate\": \"hardsigmoid\"},"
        "{\"op\": \"channel_shuffle\", \"groups\": 3}, {\"op\": \"silu\"},"
        "{\"op\": \"conv_transpose\", \"name\": \"t\", \"output\": 18, \"kernel\": 4, "
        "\"stride\": 2, \"pad\": 1, \"groups\": 3}, {\"op\": \"elu\", \"alpha\": 0.4},"
        "{\"op\": \"batch_norm\", \"name\": \"n\", \"instance\": true},"
        "{\"op\": \"conv_transpose\", \"name\": \"d\", \"output\": 36, \"kernel\": 2, "
        "\"groups\": 18}, {\"op\": \"tanh\"},"
        "{\"op\": \"conv\", \"name\": \"m\", \"output\": 12, \"kernel\": 3, \"groups\": 12}, "
        "{\"op\": \"hardswish\"},"
        "{\"op\": \"dropout\", \"rate\": 0.2, \"channels\": true},"
        "{\"op\": \"max_pool\", \"name\": \"p\", \"kernel\": 3, \"stride\": 3, \"pad\": 1, "
        "\"ceil\": true},"
        "{\"op\": \"linear\", \"name\": \"l\", \"output\": 30}, {\"op\": \"leaky_relu\"},"
        "{\"op\": \"linear\", \"name\": \"o\", \"output\": \"classes\"}]}";
    check(&(struct network_request){.network = "other.json", .text = text}, 0.5,
          "a network of other operators");
}

TEST_CASE(prune_test)
{
    test_other_operators();
    test_every_operator();
    test_groups();
    test_least();
    test_criteria_on("reference");
    test_criteria_on("cpu");
    check_magnitude(0.5);
    check_magnitude(0.9);
    check_magnitude(0.001);
    test_built_in();
    return tap_done();
}
