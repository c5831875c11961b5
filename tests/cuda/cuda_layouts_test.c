/* Channels-last values on the emulated GPU: which values of a plan have this layout, and that
 * networks train as with plain ones. Kernels for both layouts round the same operands, so weights
 * differ only by the order of sums. The same plan in float32 has no rounded operands and is
 * compared with the reference. Two orders of threads, recorded iterations and a smaller last batch
 * give the same bits; the memory that is allocated does not depend on the layout of values. */
#include "choose_tests.h"
#include "cuda/emulated_device.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"
#include "sample.h"

#include "engine/devices/cuda/cuda.h"
#include "engine/ops/op.h"

enum { BATCH = 6, ITERATIONS = 2 };

#define NETWORK(name, input, layers)                                                               \
    "{\"name\": \"" name "\", \"input\": " input ", \"classes\": 4, \"normalise\": \"unit\",\n"    \
    " \"layers\": [" layers "{\"op\": \"linear\", \"output\": \"classes\"}]}\n"
#define CONV(outputs, kernel, more)                                                                \
    "{\"op\": \"conv\", \"output\": " outputs ", \"kernel\": " kernel more "},\n"
#define NORM(name) "{\"op\": \"batch_norm\", \"name\": \"" name "\"},\n"
#define RELU(name) "{\"op\": \"relu\", \"name\": \"" name "\"},\n"
#define ADD(name, a, b)                                                                            \
    "{\"op\": \"add\", \"name\": \"" name "\", \"from\": [\"" a "\", \"" b "\"]},\n"
#define GLOBAL_POOL "{\"op\": \"average_pool\", \"name\": \"pool\", \"global\": true},\n"
#define FLATTEN     "{\"op\": \"flatten\"},\n"

/* Few channels and many, a stride, a 1x1 shortcut, and channels that are no multiple of four. */
static const char residual[] = NETWORK(
    "residual", "[3, 9, 8]",
    CONV("16", "3", ", \"pad\": 1, \"bias\": false") NORM("n1") RELU("a") CONV(
        "16", "3", ", \"pad\": 1, \"bias\": false") NORM("n2") ADD("s1", "a", "n2") RELU("b")
        CONV("72", "3", ", \"pad\": 1, \"stride\": 2, \"bias\": false") NORM("n3") RELU("c") CONV(
            "72", "3",
            ", \"pad\": 1") "{\"op\": \"batch_norm\", \"name\": \"n4\"},\n"
                            "{\"op\": \"conv\", \"output\": 72, \"kernel\": 1, \"stride\": 2, "
                            "\"from\": \"b\"},\n" NORM("n5") ADD("s2", "n4", "n5") RELU("d")
                                CONV("10", "3", ", \"pad\": 1") NORM("n6") RELU("e") CONV(
                                    "136", "3",
                                    ", \"pad\": 1, \"name\": \"last\"") "{\"op\": "
                                                                        "\"tanh\"},\n" GLOBAL_POOL);

/* Branches, groups, and a pooling whose output a linear layer reads. */
static const char branches[] = NETWORK(
    "branches", "[3, 14, 13]",
    CONV("24", "5", ", \"stride\": 1, \"pad\": 2") RELU(
        "a") "{\"op\": \"lrn\", \"name\": \"l\"},\n"
             "{\"op\": \"max_pool\", \"kernel\": 3, \"stride\": 2, \"name\": \"p\"},\n"
             "{\"op\": \"conv\", \"output\": 12, \"kernel\": 1, \"name\": \"x\", \"from\": "
             "\"p\"},\n"
             "{\"op\": \"conv\", \"output\": 40, \"kernel\": 3, \"pad\": 1, \"groups\": 2, "
             "\"name\": \"y\", "
             "\"from\": \"p\"},\n"
             "{\"op\": \"average_pool\", \"kernel\": 3, \"stride\": 1, \"pad\": 1, \"name\": "
             "\"z\", "
             "\"from\": \"p\"},\n"
             "{\"op\": \"concat\", \"name\": \"joined\", \"from\": [\"x\", \"y\", \"z\", \"x\"]},\n"
             "{\"op\": \"leaky_relu\", \"slope\": 0.1},\n" CONV("36", "3",
                                                                ", \"pad\": 1, \"groups\": 4")
                 RELU("r") "{\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 2, \"name\": "
                           "\"pool\"},\n" FLATTEN "{\"op\": \"dropout\", \"rate\": 0.4},\n");

/* Fused channel moves, one that is not, and a depthwise convolution, which stays plain. */
static const char moves[] = NETWORK(
    "moves", "[3, 8, 7]",
    CONV("20", "1", "") NORM(
        "n1") "{\"op\": \"tanh\"},\n"
              "{\"op\": \"channel_shift\", \"name\": \"move\"},\n" CONV(
                  "72", "3", ", \"pad\": 1, \"stride\": 2")
                  NORM(
                      "n2") "{\"op\": \"tanh\"},\n"
                            "{\"op\": \"channel_shuffle\", \"groups\": 3},\n" CONV(
                                "48", "1",
                                "") "{\"op\": \"channel_shuffle\", \"groups\": 4}, {\"op\": "
                                    "\"tanh\", \"name\": \"t\"},\n" CONV("40", "1", "") NORM("n3")
                                        RELU("u") CONV(
                                            "40", "3",
                                            ", \"pad\": 1, \"groups\": 40, \"name\": \"depthwise\"")
                                            NORM("n4") RELU("v") GLOBAL_POOL);

#define TRANSPOSED(outputs, more) "{\"op\": \"conv_transpose\", \"output\": " outputs more "},\n"

/* Transposed convolutions: with strides, a bias, groups, and channels that are no multiple of 4. */
static const char decoder[] = NETWORK(
    "decoder", "[3, 8, 6]",
    CONV("40", "3", ", \"pad\": 1, \"stride\": 2") NORM("n1") RELU("a")
        TRANSPOSED("48", ", \"kernel\": 4, \"stride\": 2, \"pad\": 1, \"bias\": true") NORM("n2")
            RELU("b") TRANSPOSED("24", ", \"kernel\": 3, \"pad\": 1, \"groups\": 2") RELU("c")
                TRANSPOSED("10", ", \"kernel\": 2, \"stride\": 2, \"name\": \"up\"") NORM("n3")
                    RELU("d") GLOBAL_POOL);

static const struct {
    const char *name, *text;
} networks[] = {
    {"residual", residual}, {"branches", branches}, {"moves", moves}, {"decoder", decoder}};
enum { NETWORKS = sizeof networks / sizeof *networks };

static const struct solver_settings sgd = {
    .kind = SOLVER_NESTEROV, .momentum = 0.9f, .weight_decay = 1e-3f};

/* Opens a network for training; `layout` is the value of TINCA_CUDA_LAYOUT. */
static bool lab_open(struct lab *lab, const char *text, const char *device,
                     enum device_precision precision, const char *layout, uint64_t limit)
{
    struct error error = {0};
    const struct network_request request = {.network = "test", .text = text};
    const struct plan_settings settings = {.mode = PLAN_TRAINING,
                                           .batch = BATCH,
                                           .ranks = device_ranks(device),
                                           .threads = 1,
                                           .solver = sgd,
                                           .memory_limit = limit};
    setenv("TINCA_CUDA_LAYOUT", layout, 1);
    struct device *opened = device_open(device, 1, &error);
    if (opened && device_set_precision(opened, precision, &error) &&
        lab_make_on(lab, &request, opened, &settings, &error))
        return true;
    tap_ok(false, "%s: %s: %s", device, error.what, error.why);
    return false;
}

/* Trains for some iterations, the second with a smaller batch. */
static void train(struct lab *lab)
{
    for (size_t i = 0; i < ITERATIONS; i++)
        lab_iterate(lab, i, i == 1 ? BATCH - 2 : BATCH);
}

static size_t count_last(const struct lab *lab)
{
    size_t last = 0;
    for (size_t n = 0; n < lab->plan->graph->node_count; n++)
        last += lab->plan->layouts[n].channels_last;
    return last;
}

static bool is_last(const struct lab *lab, const char *name)
{
    for (size_t n = 0; n < lab->plan->graph->node_count; n++)
        if (strcmp(lab->plan->graph->nodes[n].name, name) == 0)
            return lab->plan->layouts[n].channels_last;
    tap_note("no layer %s", name);
    return false;
}

static size_t count_kernels(const struct lab *lab, const char *name)
{
    char text[PLAN_KERNEL_NAME_SIZE];
    size_t count = 0;
    for (size_t s = 0; s < lab->plan->step_count; s++)
        count += strcmp(plan_step_kernel_name(lab->plan, &lab->plan->steps[s], text, sizeof text),
                        name) == 0;
    return count;
}

/* --- which values --- */

static void test_values(void)
{
    struct lab lab;
    if (lab_open(&lab, residual, "cuda", PRECISION_TF32, "", 0)) {
        size_t values = 0;
        for (size_t s = 0; s < lab.plan->step_count; s++)
            values += shape_area(lab.plan->steps[s].site.node->output) > 1;
        tap_ok(count_last(&lab) == values && !lab.plan->layouts[0].channels_last &&
                   !is_last(&lab, "pool"),
               "all %zu values between the input and the global pooling are channels-last", values);
        tap_ok(
            count_kernels(&lab, "conv implicit gemm float32 to NHWC") == 1 &&
                count_kernels(&lab, "conv implicit gemm + float32 NHWC") == 5 &&
                count_kernels(&lab, "conv implicit gemm float32 NHWC") == 1 &&
                count_kernels(&lab, "average_pool from NHWC") == 1,
            "  and the names of kernels say so, and which of these small ones compute in float32");
        lab_close(&lab);
    }
    if (lab_open(&lab, branches, "cuda", PRECISION_BF16, "", 0)) {
        tap_ok(is_last(&lab, "joined") && is_last(&lab, "l") && is_last(&lab, "r") &&
                   !is_last(&lab, "pool"),
               "what flatten reads is plain, what is before it is not");
        lab_close(&lab);
    }
    if (lab_open(&lab, moves, "cuda", PRECISION_FP16, "", 0)) {
        tap_ok(is_last(&lab, "t") && is_last(&lab, "move") && !is_last(&lab, "u") &&
                   !is_last(&lab, "depthwise"),
               "a depthwise convolution reads and writes plain values");
        lab_close(&lab);
    }
    if (lab_open(&lab, decoder, "cuda", PRECISION_TF32, "", 0)) {
        tap_ok(is_last(&lab, "a") && is_last(&lab, "b") && is_last(&lab, "c") && is_last(&lab, "d"),
               "transposed convolutions read and write channels-last values");
        lab_close(&lab);
    }
    if (lab_open(&lab, residual, "cuda", PRECISION_FLOAT32, "", 0)) {
        tap_ok(count_last(&lab) == 0, "in float32 all values are plain");
        lab_close(&lab);
    }
    if (lab_open(&lab, residual, "cuda", PRECISION_TF32, "nchw", 0)) {
        tap_ok(count_last(&lab) == 0, "with TINCA_CUDA_LAYOUT=nchw all values are plain");
        lab_close(&lab);
    }
}

/* --- equal results --- */

/* Trains a network in both layouts, and channels-last in another order of threads (in the same one
 * under a sanitizer, which would see the same: there the second training is left out). */
static void compare(size_t number, enum device_precision precision, unsigned busy, double most)
{
    struct lab plain, last, other;
    const char *text = networks[number].text;
    emulated_set_busy_blocks(busy);
    if (!lab_open(&plain, text, "cuda", precision, "nchw", 0) ||
        !lab_open(&last, text, "cuda", precision, "", 0) ||
        !lab_open(&other, text, "cuda", precision, "", 0))
        return;
    emulator_set_order(0);
    train(&plain);
    train(&last);
    emulator_set_order(busy + 5);
    if (!SANITIZED)
        train(&other);
    const bool same = (SANITIZED || same_weights(&last, &other)) &&
                      execution_fetch(plain.execution, NULL) &&
                      execution_fetch(last.execution, NULL);
    const double apart = distance(last.weights.values, plain.weights.values, floats_of(&last));
    tap_ok(same && apart > 0 && apart <= most && count_last(&last) > 0 && count_last(&plain) == 0 &&
               is_well(&last) && is_well(&other),
           "%s in %s, %u blocks busy: weights differ by %.1g after %d iterations%s",
           networks[number].name, device_precision_names[precision], busy, apart, ITERATIONS,
           same ? "" : ", and by the order of threads");
    emulator_set_order(0);
    lab_close(&plain);
    lab_close(&last);
    lab_close(&other);
}

static void test_equal(void)
{
    static const enum device_precision precisions[] = {PRECISION_TF32, PRECISION_BF16,
                                                       PRECISION_FP16};
    for (size_t i = 0; i < NETWORKS; i++)
        for (size_t p = 0; p < 3; p++)
            if (sample_has(p + 2 * i, 3, 3)) /* each precision, and each network */
                compare(i, precisions[p], 2, precisions[p] == PRECISION_BF16 ? 1e-2 : 1e-3);
    if (!SANITIZED)
        compare(0, PRECISION_TF32, EMULATED_BUSY_BLOCKS, 1e-3);
}

static void test_cudnn(void)
{
    struct lab lab;
    emulator_hide_cudnn(false);
    compare(0, PRECISION_TF32, 2, 1e-3);
    compare(1, PRECISION_FP16, 2, 1e-3);
    if (!lab_open(&lab, residual, "cuda", PRECISION_TF32, "", 0))
        return;
    train(&lab);
    tap_ok(count_kernels(&lab, "conv cuDNN NHWC") >= 4 && is_well(&lab),
           "cuDNN computes %zu convolutions", count_kernels(&lab, "conv cuDNN NHWC"));
    lab_close(&lab);
}

/* The plan is made below float32, and so are the layouts; then products are exact. */
static void test_float32(void)
{
    for (size_t i = 0; i < NETWORKS; i++) {
        struct lab wanted, got;
        struct error error = {0};
        emulated_set_busy_blocks(i == 0 ? 2 : 16);
        if (!lab_open(&wanted, networks[i].text, "reference", PRECISION_FLOAT32, "", 0) ||
            !lab_open(&got, networks[i].text, "cuda", PRECISION_TF32, "", 0))
            return;
        device_set_precision(got.device, PRECISION_FLOAT32, &error);
        train(&wanted);
        train(&got);
        execution_fetch(got.execution, NULL);
        const double apart = distance(got.weights.values, wanted.weights.values, floats_of(&got));
        tap_ok(apart <= 1e-4 && count_last(&got) > 0 && is_well(&got),
               "%s, channels-last in float32: weights differ from the reference's by %.1g",
               networks[i].name, apart);
        lab_close(&wanted);
        lab_close(&got);
    }
}

/* --- recorded iterations --- */

static void test_graphs(void)
{
    struct lab recorded, called;
    emulated_set_busy_blocks(16);
    if (!lab_open(&recorded, branches, "cuda", PRECISION_BF16, "", 0) ||
        !lab_open(&called, branches, "cuda", PRECISION_BF16, "", 0))
        return;
    const size_t before = emulator_graphs_run();
    for (size_t i = 0; i < 4; i++) {
        lab_iterate(&recorded, i, BATCH);
        lab_step(&called, i, BATCH);
    }
    tap_ok(emulator_graphs_run() > before && same_weights(&recorded, &called) &&
               count_last(&recorded) > 0 && is_well(&recorded),
           "iterations that are recorded as a graph give the bits of others");
    lab_close(&recorded);
    lab_close(&called);
}

/* --- inference --- */

static void test_inference(void)
{
    emulated_set_busy_blocks(2);
    for (size_t i = 0; i < NETWORKS; i++) {
        float *outputs[2] = {0};
        double apart = INFINITY;
        for (size_t layout = 0; layout < 2; layout++) {
            struct lab lab;
            struct error error = {0};
            const struct network_request request = {.network = "test", .text = networks[i].text};
            const struct plan_settings settings = {
                .mode = PLAN_INFERENCE, .batch = BATCH, .threads = 1};
            setenv("TINCA_CUDA_LAYOUT", layout ? "" : "nchw", 1);
            struct device *device = device_open("cuda", 1, &error);
            device_set_precision(device, PRECISION_TF32, &error);
            if (!lab_make_on(&lab, &request, device, &settings, &error))
                tap_note("%s: %s", error.what, error.why);
            lab_bind(&lab, BATCH);
            execution_forward(lab.execution, 0);
            outputs[layout] = memory_new_aligned(BATCH * 4, sizeof(float), "outputs", NULL);
            memcpy(outputs[layout], execution_output(lab.execution), BATCH * 4 * sizeof(float));
            if (layout && count_last(&lab) == 0)
                tap_note("all values are plain");
            else
                apart = distance(outputs[layout], outputs[0], BATCH * 4);
            lab_close(&lab);
        }
        tap_ok(apart <= 1e-3, "%s: outputs of inference differ by %.1g", networks[i].name, apart);
        free(outputs[0]);
        free(outputs[1]);
    }
}

/* --- memory --- */

static void test_memory(void)
{
    struct lab all, least, several, plain;
    emulated_set_busy_blocks(2);
    if (!lab_open(&all, residual, "cuda", PRECISION_TF32, "", 0) ||
        !lab_open(&least, residual, "cuda", PRECISION_TF32, "", PLAN_LEAST_MEMORY))
        return;
    train(&all);
    train(&least);
    tap_ok(least.plan->forecast.total < all.plan->forecast.total && count_last(&least) > 0 &&
               same_weights(&all, &least),
           "with recomputation the weights have the same bits");
    const uint64_t used = device_memory_used(all.device);
    train(&all);
    tap_ok(device_memory_used(all.device) == used && used >= all.plan->forecast.total,
           "iterations allocate nothing");
    lab_close(&least);
    if (lab_open(&plain, residual, "cuda", PRECISION_TF32, "nchw", 0)) {
        const struct memory_forecast *a = &all.plan->forecast, *b = &plain.plan->forecast;
        tap_ok(a->activations == b->activations && a->weights == b->weights,
               "values take as much memory as plain ones");
        lab_close(&plain);
    }
    lab_close(&all);
    if (lab_open(&several, residual, "cuda:0,1", PRECISION_TF32, "", 0) &&
        lab_open(&all, residual, "cuda", PRECISION_TF32, "", 0)) {
        for (size_t i = 0; i < ITERATIONS; i++) {
            lab_iterate(&several, i, BATCH);
            lab_iterate(&all, i, BATCH);
        }
        execution_fetch(several.execution, NULL);
        execution_fetch(all.execution, NULL);
        const double apart = distance(several.weights.values, all.weights.values, floats_of(&all));
        tap_ok(apart <= 1e-3 && count_last(&several) > 0 && is_well(&several),
               "two GPUs: weights differ from those of one by %.1g", apart);
        lab_close(&several);
        lab_close(&all);
    }
}

/* The first GPU that is opened sets the number of blocks that keep it busy. cuDNN stays loaded once
 * it is, so the tests without it come first. */
static void begin(void)
{
    struct error error = {0};
    emulator_set_gpus(2);
    cuda_use_module(tinca_cuda_module());
    emulator_hide_cudnn(true);
    device_close(device_open("cuda", 1, &error));
}

static const struct named_test tests[] = {
    {"values", test_values}, {"equal", test_equal},         {"float32", test_float32},
    {"graphs", test_graphs}, {"inference", test_inference}, {"memory", test_memory},
    {"cudnn", test_cudnn},
};

TEST_CASE(cuda_layouts_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
