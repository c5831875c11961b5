/* Tests executions: shared memory changes no result, training and inference agree, short batches
 * work, the first bad layer is found after a divergence, and the thread count changes no bit. The
 * device cpu runs with the kernels of each instruction set. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct lab {
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
    float *images;
    int32_t labels[64];
};

enum { STEPS = SANITIZED ? 2 : 3, GRADIENT_STEP = SANITIZED ? 29 : 7 };

static const struct solver_settings solver = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

static bool lab_open(struct lab *lab, const char *name, const char *text, const char *device,
                     size_t threads, enum plan_mode mode, size_t batch)
{
    struct error error = {0};
    *lab = (struct lab){0};
    struct network_request request = {.network = name, .text = text};
    struct plan_settings settings = {
        .mode = mode, .batch = batch, .threads = threads, .solver = solver, .with_loss = true};
    lab->network = network_build(&request, &error);
    lab->device = device_open(device, threads, &error);
    if (!lab->network || !lab->device)
        return tap_ok(false, "%s: %s", name, error.why);
    lab->plan = plan_build(&lab->network->graph, lab->device->driver, &settings, &error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, &error))
        return tap_ok(false, "%s: %s", name, error.why);
    weights_initialise(&lab->weights, 11, lab->device->pool);
    lab->execution = execution_create(lab->plan, lab->device, &lab->weights, &solver, 11, &error);
    size_t values = batch * shape_count(lab->network->input);
    lab->images = memory_new_aligned(values, sizeof(float), "a batch", &error);
    random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, lab->images, values);
    for (size_t i = 0; i < batch; i++)
        lab->labels[i] = (int32_t)(i * 7 % lab->network->classes);
    return lab->execution && lab->images;
}

static void lab_close(struct lab *lab)
{
    execution_free(lab->execution);
    weights_free(&lab->weights);
    plan_free(lab->plan);
    device_close(lab->device);
    network_free(lab->network);
    free(lab->images);
}

static void lab_bind(struct lab *lab, size_t count)
{
    struct execution_batch batch = {.images = lab->images, .labels = lab->labels, .count = count};
    execution_bind(lab->execution, &batch);
}

static void lab_train(struct lab *lab, size_t iterations)
{
    for (size_t i = 0; i < iterations; i++) {
        execution_forward(lab->execution, i);
        execution_backward(lab->execution);
        execution_update(lab->execution, 0.01f);
    }
}

/* Sanitizers watch an odd number of threads alone; more of them run the same code. */
static void test_thread_counts(const char *name, size_t batch)
{
    struct lab one, many;
    if (!lab_open(&one, name, NULL, "cpu", 1, PLAN_TRAINING, batch))
        return;
    lab_bind(&one, batch);
    lab_train(&one, STEPS);
    for (size_t threads = 2; threads <= 5; threads++) {
        if (SANITIZED && threads != 3)
            continue;
        if (!lab_open(&many, name, NULL, "cpu", threads, PLAN_TRAINING, batch))
            return;
        lab_bind(&many, batch);
        lab_train(&many, STEPS);
        tap_ok(memcmp(one.weights.values, many.weights.values,
                      one.network->graph.total_floats * sizeof(float)) == 0,
               "%s, batch %zu: %zu threads give the bits of one", name, batch, threads);
        lab_close(&many);
    }
    lab_close(&one);
}

static void test_short_batch(const char *device)
{
    struct lab full, exact;
    if (!lab_open(&full, "lenet", NULL, device, 2, PLAN_INFERENCE, 10) ||
        !lab_open(&exact, "lenet", NULL, device, 2, PLAN_INFERENCE, 3))
        return;
    lab_bind(&full, 3);
    lab_bind(&exact, 3);
    execution_forward(full.execution, 0);
    execution_forward(exact.execution, 0);
    float loss = execution_main_loss(full.execution), other = execution_main_loss(exact.execution);
    tap_ok(fabsf(loss - other) <= 1e-6f * other,
           "%s: three images in a plan for ten give the loss of a plan for three (%g, %g)", device,
           (double)loss, (double)other);
    float logits[30];
    memcpy(logits, execution_output(full.execution), sizeof logits);
    struct execution_batch unlabelled = {.images = full.images, .count = 3};
    execution_bind(full.execution, &unlabelled);
    execution_forward(full.execution, 0);
    tap_ok(memcmp(execution_output(full.execution), logits, sizeof logits) == 0,
           "%s: without labels the logits are the same", device);
    lab_close(&full);
    lab_close(&exact);
}

static float loss_of(struct lab *lab, const struct execution_batch *batch)
{
    execution_bind(lab->execution, batch);
    execution_forward(lab->execution, 0);
    return execution_main_loss(lab->execution);
}

/* Returns whether a loss is the mean of these losses of images. */
static bool is_mean(float loss, const float *losses, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)losses[i];
    return fabs((double)loss - sum / (double)count) <= 1e-6 * (double)loss;
}

/* Each binding is checked after one that differs from it in one respect. */
static void test_bindings(const char *device)
{
    struct lab lab;
    if (!lab_open(&lab, "lenet", NULL, device, 2, PLAN_INFERENCE, 4))
        return;
    const size_t image = shape_count(lab.network->input);
    memset(lab.labels, 0, sizeof lab.labels);
    const struct execution_batch all = {.images = lab.images, .labels = lab.labels, .count = 4};
    struct execution_batch fewer = all, later, relabelled = all, unlabelled = all;
    fewer.count = 3;
    later = fewer;
    later.images += image;
    relabelled.labels = (const int32_t[]){1, 1, 1, 1};
    unlabelled.labels = NULL;
    float losses[4];
    const float fewer_loss = loss_of(&lab, &fewer), loss = loss_of(&lab, &all);
    memcpy(losses, execution_image_losses(lab.execution), sizeof losses);
    tap_ok(is_mean(fewer_loss, losses, 3), "%s: the same images are bound with more", device);
    loss_of(&lab, &fewer);
    tap_ok(is_mean(loss_of(&lab, &later), losses + 1, 3),
           "%s: other images are bound, the last of which was bound with more", device);
    loss_of(&lab, &all);
    tap_ok(loss_of(&lab, &relabelled) != loss, "%s: other labels are bound", device);
    execution_bind(lab.execution, &unlabelled);
    execution_forward(lab.execution, 0);
    tap_ok(loss_of(&lab, &all) == loss, "%s: labels are bound after none", device);
    memcpy(lab.images, later.images, image * sizeof(float));
    tap_ok(loss_of(&lab, &all) != loss, "%s: other images in the same array are read", device);
    lab_close(&lab);
}

/* Inference of a network without batch norm or dropout gives the values of training's forward pass,
 * though its arena is far smaller. */
static void test_modes_agree(const char *device)
{
    struct lab training, inference;
    if (!lab_open(&training, "lenet", NULL, device, 1, PLAN_TRAINING, 4) ||
        !lab_open(&inference, "lenet", NULL, device, 1, PLAN_INFERENCE, 4))
        return;
    lab_bind(&training, 4);
    lab_bind(&inference, 4);
    execution_forward(training.execution, 0);
    execution_forward(inference.execution, 0);
    float a = execution_loss(training.execution), b = execution_loss(inference.execution);
    tap_ok(fabsf(a - b) <= 1e-6f * a, "%s: training and inference agree (%g, %g)", device,
           (double)a, (double)b);
    tap_ok(inference.plan->arena.bytes < training.plan->arena.bytes, "in a smaller arena");
    lab_close(&training);
    lab_close(&inference);
}

static void test_culprit(void)
{
    struct lab lab;
    struct bad_layer layer;
    if (!lab_open(&lab, "lenet", NULL, "cpu", 1, PLAN_TRAINING, 4))
        return;
    lab_bind(&lab, 4);
    execution_forward(lab.execution, 0);
    tap_ok(!execution_find_first_bad_layer(lab.execution, 0, &layer), "nothing is wrong at first");
    for (size_t p = 0; p < lab.network->graph.parameter_count; p++)
        if (strcmp(lab.network->graph.parameters[p].name, "conv2.weight") == 0)
            lab.weights.values[lab.network->graph.parameters[p].offset + 5] = NAN;
    execution_forward(lab.execution, 0);
    tap_ok(!isfinite(execution_loss(lab.execution)), "a weight that is no number spoils the loss");
    tap_ok(execution_find_first_bad_layer(lab.execution, 0, &layer) &&
               strcmp(layer.node, "conv2") == 0 && layer.in_weights,
           "the layer is %s", layer.node);
    lab_close(&lab);
}

static void test_profile(void)
{
    struct lab lab;
    size_t rows = 0;
    if (!lab_open(&lab, "lenet", NULL, "cpu", 2, PLAN_TRAINING, 8))
        return;
    struct profile *profile = profile_create(lab.network->graph.node_count, 2, NULL);
    execution_set_profile(lab.execution, profile);
    lab_bind(&lab, 8);
    lab_train(&lab, 3);
    bool timed = true;
    for (size_t s = 0; s < lab.plan->step_count; s++) {
        struct profile_layer layer = profile_node(profile, lab.plan->steps[s].node);
        timed = timed &&
                (!lab.plan->steps[s].kernel || (layer.calls == 3 && layer.forward_seconds > 0));
    }
    tap_ok(timed, "every layer was timed three times");
    struct gemm_row *table = profile_gemm_rows(profile, &rows, NULL);
    tap_ok(rows > 0 && table[0].calls > 0 && table[0].seconds >= table[rows - 1].seconds,
           "the GEMM table has %zu rows, slowest first", rows);
    free(table);
    profile_free(profile);
    lab_close(&lab);
}

/* A network with branches, in-place candidates and a view in awkward places; smooth, so that
 * central differences are true everywhere. */
static const char branches[] =
    "{\"input\": [3, 8, 8], \"classes\": 3, \"layers\": ["
    "{\"op\": \"conv\", \"name\": \"a\", \"output\": 4, \"kernel\": 3, \"pad\": 1},"
    "{\"op\": \"tanh\", \"name\": \"b\"},"
    "{\"op\": \"batch_norm\", \"name\": \"c\", \"from\": \"a\"},"
    "{\"op\": \"tanh\", \"name\": \"d\"},"
    "{\"op\": \"add\", \"name\": \"e\", \"from\": [\"b\", \"d\"]},"
    "{\"op\": \"sigmoid\", \"name\": \"f\"},"
    "{\"op\": \"concat\", \"name\": \"g\", \"from\": [\"f\", \"b\", \"c\"]},"
    "{\"op\": \"flatten\", \"name\": \"h\"},"
    "{\"op\": \"dropout\", \"name\": \"i\", \"rate\": 0.3, \"from\": \"g\"},"
    "{\"op\": \"average_pool\", \"name\": \"j\", \"global\": true},"
    "{\"op\": \"flatten\", \"name\": \"k\"},"
    "{\"op\": \"linear\", \"name\": \"l\", \"output\": 5, \"from\": \"h\"},"
    "{\"op\": \"concat\", \"name\": \"m\", \"from\": [\"k\", \"l\"]},"
    "{\"op\": \"linear\", \"name\": \"n\", \"output\": \"classes\"}]}";

static double loss_with(struct lab *lab, size_t parameter, size_t element, float change)
{
    float *value = lab->weights.values + lab->network->graph.parameters[parameter].offset + element;
    float kept = *value;
    *value = kept + change;
    execution_forward(lab->execution, 3);
    double sum = 0;
    for (size_t i = 0; i < 4; i++)
        sum += execution_image_losses(lab->execution)[i];
    *value = kept;
    return sum / 4;
}

/* Compares the whole graph's gradient with central differences, which covers sharing of memory,
 * accumulation of gradients at branches, and in-place steps. */
static void test_graph_gradient(const char *device)
{
    struct lab lab;
    if (!lab_open(&lab, "branches.json", branches, device, 2, PLAN_TRAINING, 4))
        return;
    const struct graph *graph = &lab.network->graph;
    float *gradient = memory_new(graph->learnable_floats, sizeof(float), "a test", NULL);
    lab_bind(&lab, 4);
    execution_forward(lab.execution, 3);
    execution_backward(lab.execution);
    memcpy(gradient, execution_parameter_gradients(lab.execution),
           graph->learnable_floats * sizeof(float));
    double worst = 0;
    for (size_t p = 0; p < graph->parameter_count; p++)
        for (size_t i = 0; graph->parameters[p].learnable && i < graph->parameters[p].count;
             i += GRADIENT_STEP) {
            double plus = loss_with(&lab, p, i, 2e-3f), minus = loss_with(&lab, p, i, -2e-3f);
            double difference = (plus - minus) / 4e-3;
            double found = gradient[graph->parameters[p].offset + i];
            double relative = fabs(found - difference) / fmax(0.05, fabs(difference));
            worst = relative > worst ? relative : worst;
        }
    tap_ok(worst < 0.02, "%s: a graph with branches has the gradient of its loss (%.2g)", device,
           worst);
    free(gradient);
    lab_close(&lab);
}

static void test_device(const char *device)
{
    test_graph_gradient(device);
    test_modes_agree(device);
    test_short_batch(device);
    test_bindings(device);
}

TEST_CASE(execution_test)
{
    test_device("reference");
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set)) {
            test_device("cpu");
            test_thread_counts("lenet", 7);
            test_thread_counts("resnet20", 5);
        }
    instruction_set_release();
    test_culprit();
    test_profile();
    return tap_done();
}
