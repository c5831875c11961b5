/* Tests inference on the device cpu, where batch norms, sums and activations are fused into
 * convolutions, concatenations are computed in place, and values are channel-blocked: predictions
 * agree with those of the reference, on every instruction set, for any number of threads and
 * images; weights are packed again when they have changed; and the plan fuses what it can. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "instruction_sets.h"
#include "op_harness.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3 };

/* --- a network at work --- */

struct lab {
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
    float *images;
};

static void lab_close(struct lab *lab)
{
    execution_free(lab->execution);
    weights_free(&lab->weights);
    plan_free(lab->plan);
    device_close(lab->device);
    network_free(lab->network);
    free(lab->images);
}

/* Fills the parameters so that no norm is the identity. */
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

/* `name` is a network's name, or the text of a network file. */
static bool lab_open(struct lab *lab, const char *name, const char *device, size_t threads)
{
    struct error error = {0};
    const bool is_text = name[0] == '{';
    *lab = (struct lab){0};
    const struct network_request request = {.network = is_text ? "test.json" : name,
                                            .text = is_text ? name : NULL};
    const struct plan_settings settings = {
        .mode = PLAN_INFERENCE, .batch = BATCH, .threads = threads};
    lab->network = network_build(&request, &error);
    lab->device = device_open(device, threads, &error);
    if (lab->network && lab->device)
        lab->plan = plan_build(&lab->network->graph, lab->device->driver, &settings, &error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, &error))
        return tap_ok(false, "%s: %s", name, error.why);
    fill_weights(&lab->weights);
    lab->execution = execution_create(lab->plan, lab->device, &lab->weights, NULL, 1, &error);
    const size_t values = BATCH * shape_count(lab->network->input);
    lab->images = memory_new_aligned(values, sizeof(float), "a batch", &error);
    if (!lab->execution || !lab->images)
        return tap_ok(false, "%s: %s", name, error.why);
    random_fill_uniform(2, RANDOM_TEST, 0, -1, 1, lab->images, values);
    return true;
}

static size_t output_count(const struct lab *lab)
{
    const struct graph *graph = &lab->network->graph;
    return shape_count(graph->nodes[graph->output].output);
}

static const float *predict(struct lab *lab, size_t count)
{
    const struct execution_batch batch = {.images = lab->images, .count = count};
    execution_bind(lab->execution, &batch);
    execution_forward(lab->execution, 0);
    return execution_output(lab->execution);
}

/* --- the same predictions as the reference --- */

#define FILE_OF(input_, layers_)                                                                   \
    "{\"input\": " input_ ", \"classes\": 10, \"layers\": [" layers_                               \
    ",{\"op\": \"average_pool\", \"global\": true}, {\"op\": \"flatten\"},"                        \
    "{\"op\": \"linear\", \"output\": \"classes\"}]}"
#define CONV(name_, outputs_, more_)                                                               \
    "{\"op\": \"conv\", \"name\": \"" name_ "\", \"output\": " outputs_ more_ "}"
#define LAYER(op_, more_) ",{\"op\": \"" op_ "\"" more_ "}"
#define KERNEL_3          ", \"kernel\": 3, \"pad\": 1"

static const char *const networks[] = {
    "resnet20-0.5",
    "resnet20-dsc",
    "resnet20-shift",
    "resnet20-shuffle",
    "squeezenet",
    "squeezenet-shuffle",
    "lenet",
    /* the residual block before and after the activation, and of two convolutions */
    FILE_OF("[3, 9, 11]", CONV("a", "32", KERNEL_3) LAYER("batch_norm", "") LAYER(
                              "relu", ", \"name\": \"b\"") "," CONV("c", "32", KERNEL_3)
                              LAYER("relu", ", \"name\": \"d\"") LAYER("add", ", \"from\": [\"b\", "
                                                                              "\"d\"]")),
    FILE_OF("[3, 9, 11]", CONV("a", "32", KERNEL_3) "," CONV("b", "32", ", \"kernel\": 1") "," CONV(
                              "c", "32", KERNEL_3 ", \"from\": \"a\"")
                              LAYER("add", ", \"from\": [\"c\", \"b\"]") LAYER("relu", "")),
    /* two convolutions, then their norms: the sum is computed by the later convolution */
    FILE_OF("[3, 9, 11]", CONV("a", "32", KERNEL_3) "," CONV("b", "32", ", \"kernel\": 1") "," CONV(
                              "c", "32", KERNEL_3 ", \"from\": \"a\"")
                              LAYER("batch_norm", ", \"from\": \"b\", \"name\": \"d\"")
                                  LAYER("batch_norm", ", \"from\": \"c\", \"name\": \"e\"")
                                      LAYER("add", ", \"from\": [\"d\", \"e\"]") LAYER("relu", "")),
    /* a sum of a channel-blocked and a plain value */
    FILE_OF("[3, 9, 11]",
            CONV("a", "32", KERNEL_3) LAYER("tanh", ", \"name\": \"b\"") "," CONV(
                "c", "32", KERNEL_3) LAYER("add", ", \"from\": [\"c\", \"b\"]")
                LAYER("relu", "") "," CONV("d", "16", KERNEL_3) LAYER("batch_norm", "")),
    /* concatenations: in place, of parts that do not fill their blocks, of one part twice, with a
     * pooling that reads with padding, and followed by a norm and an activation */
    FILE_OF("[3, 8, 8]", CONV("a", "32", KERNEL_3) "," CONV("b", "16", ", \"kernel\": 1") "," CONV(
                             "c", "32", KERNEL_3 ", \"from\": \"a\"")
                             LAYER("concat", ", \"from\": [\"b\", \"c\"]") LAYER("batch_norm", "")
                                 LAYER("relu", "") "," CONV("d", "16", KERNEL_3)),
    FILE_OF("[3, 8, 8]",
            CONV("a", "20", KERNEL_3) "," CONV("b", "20", ", \"kernel\": 1")
                LAYER("concat", ", \"from\": [\"a\", \"b\", \"a\"]") "," CONV("c", "24", KERNEL_3)),
    FILE_OF("[3, 12, 12]",
            CONV("a", "32", KERNEL_3) LAYER("max_pool", ", \"kernel\": 3, \"stride\": 1, "
                                                        "\"pad\": 1, \"name\": \"p\"")
                LAYER("concat", ", \"from\": [\"p\", \"a\", \"a\"]")
                    LAYER("leaky_relu", ", \"slope\": 0.2") "," CONV("b", "16", KERNEL_3)),
    /* kernels that know plain layouts only, between convolutions and at the end */
    FILE_OF("[3, 10, 10]",
            CONV("a", "24", KERNEL_3) LAYER("tanh", "") "," CONV("b", "24", KERNEL_3)
                LAYER("lrn", ", \"size\": 5") LAYER("sigmoid", "") "," CONV("c", "20", KERNEL_3)),
    "{\"input\": [3, 8, 8], \"classes\": 10, \"layers\": [" CONV("a", "32", KERNEL_3)
        LAYER("relu", "") LAYER("flatten", "") LAYER("linear", ", \"output\": \"classes\"") "]}",
};
enum { NETWORKS = sizeof networks / sizeof *networks, NORMS_AFTER_BOTH = 9 };

/* With more threads than images, values are by rows (struct tensor_layout). */
static const size_t thread_counts[] = {1, 2, BATCH + 2};
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

static const double tolerance = 2e-5;

/* Compares the predictions of all images, and of one alone, with those of `wanted`. */
static bool check_network(const char *name, const float *wanted, size_t threads, float *first)
{
    struct lab lab;
    if (!lab_open(&lab, name, "cpu", threads))
        return false;
    const size_t outputs = output_count(&lab);
    const float *got = predict(&lab, BATCH);
    const double difference = harness_difference(got, wanted, BATCH * outputs);
    bool good = difference <= tolerance;
    if (!good)
        tap_note("%s: %zu threads differ by %g", name, threads, difference);
    if (threads == 1)
        memcpy(first, got, BATCH * outputs * sizeof *first);
    good = good && memcmp(first, got, BATCH * outputs * sizeof *first) == 0;
    good = good && memcmp(first, predict(&lab, 1), outputs * sizeof *first) == 0;
    lab_close(&lab);
    return good;
}

/* Sanitizers see every second network, with each instruction set the others. */
static void test_networks(enum instruction_set set, float *const *wanted)
{
    size_t good = 0;
    float first[BATCH * 16];
    size_t tried = 0;
    for (size_t i = 0; i < NETWORKS; i++) {
        bool agrees = true;
        if (!sample_has(i + (size_t)set, 1, 2))
            continue;
        for (size_t t = 0; t < THREAD_COUNTS; t += SANITIZED ? 2 : 1)
            agrees = agrees && check_network(networks[i], wanted[i], thread_counts[t], first);
        good += agrees;
        tried++;
    }
    tap_ok(good == tried,
           "%s: %zu of %zu networks predict as the reference, with the same bits for any number of "
           "threads and images",
           instruction_set_name(set), good, tried);
}

static bool compute_reference(float **wanted)
{
    for (size_t i = 0; i < NETWORKS; i++) {
        struct lab lab;
        if (!lab_open(&lab, networks[i], "reference", 1))
            return false;
        const size_t count = BATCH * output_count(&lab);
        wanted[i] = memory_new_aligned(count, sizeof(float), "predictions", NULL);
        memcpy(wanted[i], predict(&lab, BATCH), count * sizeof(float));
        lab_close(&lab);
    }
    return true;
}

/* --- weights that change --- */

static void test_changed_weights(void)
{
    struct lab lab, other;
    if (!lab_open(&lab, "resnet20-0.5", "cpu", 2) || !lab_open(&other, "resnet20-0.5", "cpu", 2))
        return;
    const size_t outputs = BATCH * output_count(&lab);
    predict(&lab, BATCH);
    for (size_t i = 0; i < lab.weights.graph->total_floats; i++) {
        lab.weights.values[i] *= 0.9f;
        other.weights.values[i] *= 0.9f;
    }
    weights_mark_changed(&lab.weights);
    tap_ok(memcmp(predict(&lab, BATCH), predict(&other, BATCH), outputs * sizeof(float)) == 0,
           "weights are packed again once they have changed");
    lab_close(&lab);
    lab_close(&other);
}

/* An inference that shares the weights of a training sees every step of it. */
static void test_training_between(void)
{
    struct error error = {0};
    struct lab lab, other;
    const struct solver_settings solver = {.kind = SOLVER_SGD};
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = BATCH, .threads = 1, .solver = solver};
    int32_t labels[BATCH] = {1, 2, 3};
    if (!lab_open(&lab, "resnet20-0.5", "cpu", 1) || !lab_open(&other, "resnet20-0.5", "cpu", 1))
        return;
    struct plan *plan = plan_build(&lab.network->graph, lab.device->driver, &settings, &error);
    struct execution *training =
        execution_create(plan, lab.device, &lab.weights, &solver, 1, &error);
    const struct execution_batch batch = {.images = lab.images, .labels = labels, .count = BATCH};
    const size_t outputs = BATCH * output_count(&lab);
    predict(&lab, BATCH);
    execution_bind(training, &batch);
    execution_iterate(training, 0, 0.1f);
    memcpy(other.weights.values, lab.weights.values,
           lab.weights.graph->total_floats * sizeof(float));
    weights_mark_changed(&other.weights);
    tap_ok(memcmp(predict(&lab, BATCH), predict(&other, BATCH), outputs * sizeof(float)) == 0,
           "an inference sees the weights and statistics of a training step");
    execution_free(training);
    plan_free(plan);
    lab_close(&lab);
    lab_close(&other);
}

/* --- what the plan fuses --- */

static void test_fused(const char *name)
{
    struct lab lab;
    size_t left = 0;
    if (!lab_open(&lab, name, "cpu", 2))
        return;
    for (size_t s = 0; s < lab.plan->step_count; s++) {
        const struct plan_step *step = &lab.plan->steps[s];
        const struct op *op = step->site.node->op;
        left += step->kernel &&
                (op == &op_batch_norm || op == &op_relu || op == &op_add || op == &op_concat);
    }
    tap_ok(left == 0,
           "%.40s: norms, sums, activations and concatenations cost nothing: %zu are left", name,
           left);
    lab_close(&lab);
}

static void test_forecast(void)
{
    struct lab lab;
    if (!lab_open(&lab, "squeezenet", "cpu", 2))
        return;
    const struct memory_forecast *forecast = &lab.plan->forecast;
    tap_ok(forecast->prepared > forecast->weights / 2 &&
               forecast->total == forecast->weights + forecast->activations + forecast->workspace +
                                      forecast->prepared,
           "the forecast counts the packed weights: %zu bytes", (size_t)forecast->prepared);
    lab_close(&lab);
}

/* The values of one part of a concatenation become infinite: it is found, and not its neighbour,
 * which is computed before it and lies in the same array, also when the infinite values of an
 * earlier run are still there. */
static void test_first_bad_part(size_t threads)
{
    static const char text[] =
        FILE_OF("[3, 8, 8]",
                CONV("a", "16", KERNEL_3) "," CONV("b", "32", KERNEL_3 ", \"from\": \"input\"")
                    LAYER("concat", ", \"from\": [\"b\", \"a\"]") "," CONV("c", "16", KERNEL_3));
    struct lab lab;
    struct bad_layer bad;
    if (!lab_open(&lab, text, "cpu", threads)) {
        lab_close(&lab);
        return;
    }
    predict(&lab, BATCH);
    const bool none = !execution_find_first_bad_layer(lab.execution, 0, &bad);
    const struct graph *graph = &lab.network->graph;
    for (size_t p = 0; p < graph->parameter_count; p++)
        if (strcmp(graph->parameters[p].name, "b.weight") == 0)
            for (size_t i = 0; i < graph->parameters[p].count; i++)
                lab.weights.values[graph->parameters[p].offset + i] = 3e38f;
    weights_mark_changed(&lab.weights);
    bool found = true;
    for (size_t run = 0; run < 2; run++)
        found = found && execution_find_first_bad_layer(lab.execution, 0, &bad) &&
                strcmp(bad.node, "b") == 0 && !bad.in_weights;
    tap_ok(none && found, "%zu threads: the first bad layer is a part of a concatenation", threads);
    lab_close(&lab);
}

TEST_CASE(inference_test)
{
    float *wanted[NETWORKS] = {NULL};
    if (compute_reference(wanted))
        for (int set = 0; set < INSTRUCTION_SETS; set++)
            if (instruction_set_force((enum instruction_set)set))
                test_networks((enum instruction_set)set, wanted);
    instruction_set_release();
    for (size_t i = 0; i < NETWORKS; i++)
        free(wanted[i]);
    test_changed_weights();
    test_training_between();
    test_fused("resnet20");
    test_fused("resnet20-dsc");
    test_fused("resnet20-shift");
    test_fused("resnet20-shuffle");
    test_fused("squeezenet");
    test_fused("squeezenet-shuffle");
    test_fused("googlenet");
    test_fused(networks[NORMS_AFTER_BOTH]);
    test_first_bad_part(1);
    test_first_bad_part(BATCH + 1);
    test_forecast();
    return tap_done();
}
