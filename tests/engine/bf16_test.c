/* Tests computing in bf16: which values are rounded to what, that the device cpu with its kernels
 * for bf16 agrees with the reference device, which rounds around kernels of float32, in inference
 * and in training, and that memory, threads and recomputation behave as in float32. The kernels
 * themselves are compared by blocked_kernels_test and blocked_training_test. */
#include "base/float16.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "instruction_sets.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3 };

static const struct solver_settings solver = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

/* --- the rounding --- */

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void test_rounding(void)
{
    bool normal = true, small = true;
    for (uint32_t bits = 0; bits < 0xFFFFFFFF - 4099; bits += 4099) {
        float value;
        memcpy(&value, &bits, sizeof value);
        const float rounded = bf16_round(value);
        if (fabsf(value) < FLT_MIN)
            small &= same_bits(rounded, copysignf(0, value));
        else if (!isnan(value))
            normal &= same_bits(rounded, bf16_to_float(bf16_from_float(value)));
    }
    tap_ok(normal, "normal numbers become the nearest bf16");
    tap_ok(small, "numbers below the normal ones become 0 with their sign");
    tap_ok(isnan(bf16_round(NAN)) && isinf(bf16_round(INFINITY)), "NaN and infinity stay");
    tap_ok(bf16_round(1 + 0x1p-8f) == 1 && bf16_round(1 + 0x1.8p-7f) == 1 + 0x1p-6f,
           "ties go to the even neighbour");
}

/* --- networks --- */

struct lab {
    struct network *network;
    struct device *device;
    struct plan *plan;
    struct weights weights;
    struct execution *execution;
    float *images;
    int32_t labels[BATCH];
};

static bool lab_open(struct lab *lab, const char *name, const char *device,
                     const struct plan_settings *settings)
{
    struct error error = {0};
    struct network_request request = {.network = name};
    *lab = (struct lab){.network = network_build(&request, &error),
                        .device = device_open(device, settings->threads, &error)};
    if (!lab->network || !lab->device)
        return tap_ok(false, "%s: %s", name, error.why);
    lab->plan = plan_build(&lab->network->graph, lab->device->driver, settings, &error);
    if (!lab->plan || !weights_create(&lab->weights, &lab->network->graph, &error))
        return tap_ok(false, "%s: %s", name, error.why);
    weights_initialise(&lab->weights, 11, lab->device->pool);
    lab->execution = execution_create(lab->plan, lab->device, &lab->weights, &solver, 11, &error);
    const size_t values = BATCH * shape_count(lab->network->input);
    lab->images = memory_new_aligned(values, sizeof(float), "a batch", &error);
    random_fill_uniform(1, RANDOM_TEST, 0, -1, 1, lab->images, values);
    for (size_t i = 0; i < BATCH; i++)
        lab->labels[i] = (int32_t)(i * 7 % lab->network->classes);
    struct execution_batch batch = {.images = lab->images, .labels = lab->labels, .count = BATCH};
    execution_bind(lab->execution, &batch);
    return true;
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

static struct plan_settings settings_of(enum plan_mode mode, enum device_precision precision,
                                        size_t threads)
{
    return (struct plan_settings){.mode = mode,
                                  .batch = BATCH,
                                  .threads = threads,
                                  .solver = solver,
                                  .with_loss = true,
                                  .precision = precision};
}

/* The results of one iteration. */
struct results {
    float *values; /* the logits, and in training the gradients of all parameters */
    size_t count;
    float loss;
};

static struct results compute(const char *name, const char *device, enum plan_mode mode,
                              enum device_precision precision)
{
    struct lab lab;
    struct results results = {0};
    const struct plan_settings settings = settings_of(mode, precision, 2);
    if (!lab_open(&lab, name, device, &settings))
        return results;
    const struct graph *graph = &lab.network->graph;
    const size_t logits = BATCH * shape_count(graph->nodes[graph->output].output);
    const size_t gradients = mode == PLAN_TRAINING ? graph->learnable_floats : 0;
    results.count = logits + gradients;
    results.values = memory_new_aligned(results.count, sizeof(float), "results", NULL);
    execution_forward(lab.execution, 0);
    results.loss = execution_loss(lab.execution);
    memcpy(results.values, execution_output(lab.execution), logits * sizeof(float));
    if (gradients > 0) {
        execution_backward(lab.execution);
        memcpy(results.values + logits, execution_parameter_gradients(lab.execution),
               gradients * sizeof(float));
    }
    lab_close(&lab);
    return results;
}

/* Returns the Euclidean distance of the results from `wanted`, relative to the length of that. */
static double distance(const struct results *got, const struct results *wanted)
{
    double squares = 0, length = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const double difference = (double)got->values[i] - (double)wanted->values[i];
        squares += difference * difference;
        length += (double)wanted->values[i] * (double)wanted->values[i];
    }
    return got->count == wanted->count ? sqrt(squares / length) : INFINITY;
}

/* Checks that cpu and reference agree in bf16 better than bf16 agrees with float32, whose distance
 * shows that something was rounded at all. The cpu computes fused nodes without rounding between
 * them, and adds in another order, which rounds some values to the other neighbour; after batch
 * norms over three images, that changes the gradients of deep networks by more than the tolerance
 * of a single kernel. */
static void test_agreement(const char *name, enum plan_mode mode, double tolerance)
{
    struct results cpu = compute(name, "cpu", mode, PRECISION_BF16);
    struct results reference = compute(name, "reference", mode, PRECISION_BF16);
    struct results exact = compute(name, "cpu", mode, PRECISION_FLOAT32);
    const double between = distance(&cpu, &reference), rounding = distance(&reference, &exact);
    tap_ok(between < tolerance && between < rounding && rounding > 1e-3 && rounding < 1 &&
               fabsf(cpu.loss - reference.loss) <= 0.005f * fabsf(reference.loss),
           "%s, %s: cpu and reference differ by %.5f, from float32 by %.5f; losses %g and %g", name,
           mode == PLAN_TRAINING ? "training" : "inference", between, rounding, (double)cpu.loss,
           (double)reference.loss);
    free(cpu.values);
    free(reference.values);
    free(exact.values);
}

/* --- memory, threads, recomputation --- */

/* Emulated tiles take a thousand times as long. */
#ifdef EMULATED
enum { TRAINED = 1 };
#else
enum { TRAINED = 2 };
#endif

static void train(struct lab *lab, size_t iterations)
{
    for (size_t i = 0; i < iterations; i++)
        execution_iterate(lab->execution, i, 0.01f);
}

static bool same_weights(const struct lab *a, const struct lab *b)
{
    return memcmp(a->weights.values, b->weights.values,
                  a->network->graph.total_floats * sizeof(float)) == 0;
}

static void test_threads(const char *name)
{
    struct lab one, three;
    const struct plan_settings alone = settings_of(PLAN_TRAINING, PRECISION_BF16, 1);
    const struct plan_settings many = settings_of(PLAN_TRAINING, PRECISION_BF16, 3);
    if (!lab_open(&one, name, "cpu", &alone) || !lab_open(&three, name, "cpu", &many))
        return;
    train(&one, TRAINED);
    train(&three, TRAINED);
    tap_ok(same_weights(&one, &three), "%s: three threads give the bits of one", name);
    lab_close(&one);
    lab_close(&three);
}

static void test_recomputation(const char *name)
{
    struct lab full, least;
    struct plan_settings settings = settings_of(PLAN_TRAINING, PRECISION_BF16, 2);
    struct plan_settings limited = settings;
    limited.memory_limit = PLAN_LEAST_MEMORY;
    if (!lab_open(&full, name, "cpu", &settings) || !lab_open(&least, name, "cpu", &limited))
        return;
    train(&full, TRAINED);
    train(&least, TRAINED);
    tap_ok(least.plan->forecast.flops_again > 0 &&
               least.plan->forecast.total < full.plan->forecast.total &&
               same_weights(&full, &least),
           "%s: recomputed values have the same bits", name);
    lab_close(&full);
    lab_close(&least);
}

static uint64_t activations(const char *name, enum plan_mode mode, enum device_precision precision)
{
    struct lab lab;
    const struct plan_settings settings = settings_of(mode, precision, 2);
    const bool opened = lab_open(&lab, name, "cpu", &settings);
    const uint64_t bytes = opened ? lab.plan->forecast.activations : 0;
    if (opened)
        lab_close(&lab);
    return bytes;
}

static void test_memory(const char *name, enum plan_mode mode)
{
    const uint64_t bf16 = activations(name, mode, PRECISION_BF16);
    const uint64_t float32 = activations(name, mode, PRECISION_FLOAT32);
    tap_ok(bf16 > 0 && (double)bf16 < 0.62 * (double)float32,
           "%s, %s: activations take %llu KiB instead of %llu", name,
           mode == PLAN_TRAINING ? "training" : "inference", (unsigned long long)(bf16 >> 10),
           (unsigned long long)(float32 >> 10));
}

static void test_divergence(const char *name)
{
    struct lab lab;
    struct bad_layer layer;
    const struct plan_settings settings = settings_of(PLAN_TRAINING, PRECISION_BF16, 2);
    if (!lab_open(&lab, name, "cpu", &settings))
        return;
    train(&lab, 1);
    tap_ok(!execution_find_first_bad_layer(lab.execution, 0, &layer), "%s: all layers are finite",
           name);
    for (size_t i = 0; i < BATCH * shape_count(lab.network->input); i++)
        lab.images[i] = 2e38f;
    tap_ok(execution_find_first_bad_layer(lab.execution, 0, &layer) && !layer.in_weights,
           "%s: too large images overflow in %s", name, layer.node);
    lab_close(&lab);
}

/* --- plans that no kernels for bf16 compute --- */

static void test_plain_plan(const char *name)
{
    struct lab lab;
    const struct plan_settings settings = settings_of(PLAN_TRAINING, PRECISION_BF16, 2);
    if (!lab_open(&lab, name, "cpu", &settings))
        return;
    tap_ok(lab.plan->block == 0, "%s: the plan is plain", name);
    lab_close(&lab);
    test_agreement(name, PLAN_TRAINING, 0.3);
    test_threads(name);
}

/* --- refusals --- */

static bool refused(const char *device, enum device_precision precision, const char *because)
{
    struct error error = {0};
    struct network_request request = {.network = "lenet"};
    struct network *network = network_build(&request, NULL);
    const struct plan_settings settings = settings_of(PLAN_TRAINING, precision, 1);
    struct plan *plan =
        plan_build(&network->graph, device_find(device, NULL, NULL), &settings, &error);
    const bool refused = !plan && error.kind == ERROR_UNSUPPORTED && strstr(error.why, because);
    if (!refused)
        tap_note("%s: %s", device, plan ? "was built" : error.why);
    plan_free(plan);
    network_free(network);
    return refused;
}

static void test_refusals(void)
{
    tap_ok(refused("cpu", PRECISION_TF32, "does not compute in it"), "the cpu refuses tf32");
    tap_ok(refused("reference", PRECISION_FP16, "does not compute in it"),
           "the reference refuses fp16");
    instruction_set_asked(); /* which instruction_set_release restores */
    setenv("TINCA_CPU", "generic", 1);
    tap_ok(refused("cpu", PRECISION_BF16, "cannot compute in it here"),
           "the cpu refuses bf16 without AVX512-BF16");
    instruction_set_release();
}

/* `make check`, and sanitizers, see each of the deep networks infer, train or train with threads.
 */
static void test_cpu(void)
{
    static const char *const deep[] = {"resnet20", "resnet20-shift", "squeezenet-dsc"};
    test_agreement("lenet", PLAN_INFERENCE, 1e-4);
    test_agreement("lenet", PLAN_TRAINING, 1e-4);
    test_threads("lenet");
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        if (sample_has(i, 2, 2))
            test_agreement(deep[i], PLAN_INFERENCE, 0.005);
        if (sample_has(i + 2, 3, 3))
            test_agreement(deep[i], PLAN_TRAINING, 0.3);
        if (sample_has(i, 3, 3))
            test_threads(deep[i]);
    }
    test_recomputation("resnet20");
    test_memory("resnet20", PLAN_TRAINING);
    test_memory("squeezenet", PLAN_TRAINING);
    test_memory("resnet20", PLAN_INFERENCE);
    test_divergence("lenet");
    test_plain_plan("squeezenet-shuffle");
}

TEST_CASE(bf16_test)
{
    struct kernel_set bf16;
    test_rounding();
    test_refusals();
    if (kernel_set_bf16(&bf16))
        test_cpu();
    return tap_done();
}
