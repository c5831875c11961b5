/* Data-parallel training on several emulated GPUs: the losses equal those of one GPU within
 * rounding, and repeated, replayed, delayed, profiled or resumed runs give the same bits; a loss
 * that is NaN or infinite changes no weight of any GPU; unsupported requests are refused; if memory
 * or a GPU fails, no GPU waits for ever, and an error names the GPU. */
#include "choose_tests.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"
#include "sample.h"

#include "engine/execution/gan.h"
#include "engine/profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = LAB_IMAGES, ITERATIONS = 10 };

/* The dropout has 75 values for each image, so that a GPU's part begins within a block of random
 * numbers. */
static const char odd[] =
    "{\"name\": \"odd\", \"input\": [3, 10, 10], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 6, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"batch_norm\"}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"conv\", \"output\": 3, \"kernel\": 2, \"stride\": 2}, {\"op\": \"batch_norm\"},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"dropout\", \"rate\": 0.4},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};
static const struct solver_settings adam = {SOLVER_ADAM, 0.9f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE};

struct subject {
    const char *network;
    enum technique technique;
    size_t batch, iterations;
};
static const struct subject odds = {"odd", TECHNIQUE_NONE, BATCH, ITERATIONS};

static bool lab_try(struct lab *lab, const struct subject *subject, const char *device,
                    const struct solver_settings *solver, struct error *error)
{
    const bool ours = strcmp(subject->network, "odd") == 0;
    struct network_request request = {
        .network = subject->network, .technique = subject->technique, .text = ours ? odd : NULL};
    struct plan_settings settings = {.mode = PLAN_TRAINING,
                                     .batch = subject->batch,
                                     .ranks = device_ranks(device),
                                     .threads = 1,
                                     .solver = *solver};
    return lab_make(lab, &request, device, &settings, error);
}

static bool lab_open(struct lab *lab, const struct subject *subject, const char *device,
                     const struct solver_settings *solver)
{
    struct error error = {0};
    if (lab_try(lab, subject, device, solver, &error))
        return true;
    tap_ok(false, "%s on %s: %s: %s", subject->network, device, error.what, error.why);
    lab_close(lab);
    return false;
}

/* --- the losses of one GPU --- */

static void test_like_one(const struct subject *subject, const char *gpus,
                          const struct solver_settings *solver, double tolerance)
{
    struct lab group, one;
    double worst = 0;
    if (!lab_open(&group, subject, gpus, solver))
        return;
    if (!lab_open(&one, subject, "cuda:0", solver)) {
        lab_close(&group);
        return;
    }
    for (size_t i = 0; i < subject->iterations; i++) {
        const double wanted = (double)lab_iterate(&one, i, subject->batch);
        const double loss = (double)lab_iterate(&group, i, subject->batch);
        worst = fmax(worst, fabs(loss - wanted) / fabs(wanted));
    }
    tap_ok(is_well(&group) && worst < tolerance,
           "%s%s%s, batch %zu, %s on %s: the same as on one GPU (%.1e)", subject->network,
           subject->technique ? "-" : "",
           subject->technique ? technique_name(subject->technique) : "", subject->batch,
           solver_names[solver->kind], gpus, worst);
    const bool fetched =
        execution_fetch(group.execution, NULL) && execution_fetch(one.execution, NULL);
    const double apart = distance(group.weights.values, one.weights.values, floats_of(&one));
    if (solver->kind != SOLVER_ADAM)
        tap_ok(fetched && apart < 10 * tolerance, "  the weights and statistics, too (%.1e)",
               apart);
    lab_close(&group);
    lab_close(&one);
}

/* A wide network, and deep ones with channel moves, `make check` one of each; under a sanitizer
 * they take ten minutes. */
static void test_networks(void)
{
#ifndef __SANITIZE_ADDRESS__
    static const struct subject lenet = {"lenet", TECHNIQUE_NONE, 8, 3};
    static const struct subject subjects[] = {{"resnet20", TECHNIQUE_NONE, 4, 2},
                                              {"resnet20", TECHNIQUE_SHIFT, 2, 2},
                                              {"resnet20", TECHNIQUE_SHUFFLE, 2, 2}};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (sample_has(i + 2, 3, 3))
            test_like_one(&subjects[i], "cuda:0,1", &sgd, 1e-4);
    if (sample_is_whole())
        test_like_one(&lenet, "cuda:0,1", &sgd, 1e-5);
    test_like_one(&lenet, "cuda:0,1,2,3", &sgd, 1e-5);
#endif
}

/* Checks that the other results of an execution are those of the whole batch. */
static void test_results(void)
{
    struct lab group, one;
    if (!lab_open(&group, &odds, "cuda:1,0,2", &sgd) || !lab_open(&one, &odds, "cuda", &sgd))
        return;
    const struct graph *graph = &one.network->graph;
    const size_t outputs = shape_count(graph->nodes[graph->output].output);
    for (size_t i = 0; i < 2; i++) {
        const size_t count = i ? BATCH / 2 : BATCH;
        lab_step(&group, i, count);
        lab_step(&one, i, count);
        execution_wait(group.execution);
        const double apart = distance(execution_image_losses(group.execution),
                                      execution_image_losses(one.execution), count);
        tap_ok(apart < 1e-5, "the losses of %zu images, in their order (%.1e)", count, apart);
        tap_ok(distance(execution_output(group.execution), execution_output(one.execution),
                        count * outputs) < 1e-5,
               "  and their output");
        tap_ok(distance(execution_parameter_gradients(group.execution),
                        execution_parameter_gradients(one.execution),
                        graph->learnable_floats) < 1e-5,
               "  and the gradients");
    }
    lab_close(&group);
    lab_close(&one);
}

/* --- the same bits --- */

static void test_replay(void)
{
    struct lab replayed, asked;
    bool same = true;
    if (!lab_open(&replayed, &odds, "cuda:0,1", &adam) ||
        !lab_open(&asked, &odds, "cuda:2,3", &adam))
        return;
    const size_t graphs = emulator_graphs_run();
    for (size_t i = 0; i < 7; i++) {
        const size_t count = i == 4 ? 2 : BATCH;
        const float loss = lab_iterate(&replayed, i, count);
        same = same && loss == lab_step(&asked, i, count);
    }
    tap_ok(emulator_graphs_run() == graphs + 2 * 5, "each GPU replays full batches but the first");
    tap_ok(same && same_weights(&replayed, &asked) && is_well(&replayed),
           "  with the bits of separate passes on the other GPUs");
    lab_close(&replayed);
    lab_close(&asked);
}

/* Delays the GPUs; their streams advance in any order that events allow. */
static void test_delays(void)
{
    enum { TRIES = SANITIZED ? 2 : 5, LATE_ITERATIONS = 6 };
    struct lab prompt, late;
    float wanted[LATE_ITERATIONS];
    size_t same = 0;
    if (!lab_open(&prompt, &odds, "cuda:0,1,2", &sgd))
        return;
    for (size_t i = 0; i < LATE_ITERATIONS; i++)
        wanted[i] = lab_iterate(&prompt, i, BATCH);
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        bool equal = true;
        if (!lab_open(&late, &odds, "cuda:0,1,2", &sgd))
            return;
        emulator_set_delay(seed);
        for (size_t i = 0; i < LATE_ITERATIONS; i++)
            equal = lab_iterate(&late, i, BATCH) == wanted[i] && equal;
        same += same_weights(&prompt, &late) && is_well(&late) && equal;
        execution_wait(late.execution);
        emulator_set_delay(0);
        lab_close(&late);
    }
    lab_close(&prompt);
    tap_ok(same == TRIES, "GPUs that lag behind compute the same, in %zu of %d orders", same,
           TRIES);
}

static void test_profile(void)
{
    struct lab measured, plain;
    if (!lab_open(&measured, &odds, "cuda:0,1", &sgd) || !lab_open(&plain, &odds, "cuda:0,1", &sgd))
        return;
    const size_t nodes = measured.network->graph.node_count;
    struct profile *profile = profile_create(nodes, 1, NULL);
    for (size_t i = 0; i < 6; i++) {
        execution_set_profile(measured.execution, i == 2 || i == 3 ? profile : NULL);
        lab_iterate(&measured, i, BATCH);
        lab_iterate(&plain, i, BATCH);
    }
    tap_ok(profile_node(profile, 1).calls == 2 && profile_update_seconds(profile) > 0,
           "a profile is that of rank 0");
    tap_ok(same_weights(&measured, &plain), "  and changes no bit");
    profile_free(profile);
    lab_close(&measured);
    lab_close(&plain);
}

/* Fetches all values and writes them into another execution, as a checkpoint does. */
static void test_going_on(void)
{
    struct lab whole, first, second;
    bool same = true;
    if (!lab_open(&whole, &odds, "cuda:0,1", &adam) ||
        !lab_open(&first, &odds, "cuda:0,1", &adam) || !lab_open(&second, &odds, "cuda:0,1", &adam))
        return;
    for (size_t i = 0; i < 3; i++) {
        lab_iterate(&whole, i, BATCH);
        lab_iterate(&first, i, BATCH);
    }
    same = execution_fetch(first.execution, NULL);
    lab_iterate(&second, 0, BATCH); /* it has already computed other iterations */
    memcpy(second.weights.values, first.weights.values, floats_of(&first) * sizeof(float));
    for (size_t k = 0; k < 2; k++)
        memcpy(execution_solver_state(second.execution, k),
               execution_solver_state(first.execution, k),
               first.network->graph.learnable_floats * sizeof(float));
    execution_touch(second.execution);
    execution_set_solver_step(second.execution, execution_solver_step(first.execution));
    for (size_t i = 3; i < 6; i++)
        same = same && lab_iterate(&whole, i, BATCH) == lab_iterate(&second, i, BATCH);
    tap_ok(same && same_weights(&whole, &second), "a checkpoint suffices for all GPUs to continue");
    memset(second.weights.values, 0, floats_of(&second) * sizeof(float));
    weights_mark_changed(&second.weights); /* and without a word to the execution */
    const float loss = lab_iterate(&second, 6, BATCH);
    tap_ok(fabsf(loss - logf(10)) < 1e-5f, "weights that the host writes reach them (%g)",
           (double)loss);
    lab_close(&whole);
    lab_close(&first);
    lab_close(&second);
}

/* --- losses that are NaN or infinite --- */

/* One image of the last GPU is broken: no GPU updates its weights. */
static void test_divergence(void)
{
    struct lab lab;
    struct bad_layer layer;
    if (!lab_open(&lab, &odds, "cuda:0,1,2", &adam))
        return;
    const size_t count = lab.network->graph.learnable_floats;
    float *before = memory_new(count, sizeof *before, "a test", NULL);
    for (size_t i = 0; i < 3; i++)
        lab_iterate(&lab, i, BATCH);
    execution_fetch(lab.execution, NULL);
    memcpy(before, lab.weights.values, count * sizeof *before);
    float *broken = &lab.images[(BATCH - 1) * shape_count(lab.network->input)];
    const float kept = *broken;
    *broken = NAN;
    const float loss = lab_iterate(&lab, 3, BATCH);
    execution_fetch(lab.execution, NULL);
    tap_ok(!isfinite(loss) && execution_solver_step(lab.execution) == 3 &&
               memcmp(before, lab.weights.values, count * sizeof *before) == 0,
           "a NaN loss on the last GPU changes no weight");
    tap_ok(execution_find_first_bad_layer(lab.execution, 3, &layer) && !layer.in_weights &&
               strcmp(layer.node, lab.network->graph.nodes[1].name) == 0,
           "  and the layer is found (%s)", layer.node);
    *broken = kept;
    free(before);
    lab_close(&lab);
}

/* --- refusals --- */

static void test_refusals(void)
{
    static const struct {
        const char *device;
        size_t batch;
        enum error_kind kind;
        const char *word;
    } cases[] = {{"cuda:0,1", 11, ERROR_USAGE, "choose batch 10 or 12"},
                 {"cuda:0,1,2", 2, ERROR_USAGE, "choose batch 3"},
                 {"cuda:0,0", 12, ERROR_USAGE, "the GPU 0 twice"},
                 {"cuda:0,4", 12, ERROR_UNSUPPORTED, "only 4"},
                 {"cuda:0,x", 12, ERROR_USAGE, "no such device"},
                 {"cuda:0,", 12, ERROR_USAGE, "no such device"},
                 {"cuda:,1", 12, ERROR_USAGE, "no such device"},
                 {"cpu:0,1", 12, ERROR_USAGE, "no such device"}};
    struct lab lab;
    char text[1024];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct subject subject = {"odd", TECHNIQUE_NONE, cases[i].batch, 1};
        struct error error = {0};
        const bool made = lab_try(&lab, &subject, cases[i].device, &sgd, &error);
        error_format(&error, text, sizeof text);
        tap_ok(!made && error.kind == cases[i].kind && strstr(text, cases[i].word), "%s", text);
        lab_close(&lab);
    }
}

static void test_library(void)
{
    struct lab lab;
    struct error error = {0};
    emulator_hide_nccl(true);
    bool made = lab_try(&lab, &odds, "cuda:0,1", &sgd, &error);
    emulator_hide_nccl(false);
    tap_ok(!made && error.kind == ERROR_UNSUPPORTED && strstr(error.why, "libnccl.so.2") &&
               strstr(error.advice, "cuda:0"),
           "without NCCL: %s: %s: %s", error.what, error.why, error.advice);
    lab_close(&lab);
    emulator_fail_join(true);
    made = lab_try(&lab, &odds, "cuda:0,1", &sgd, &error);
    emulator_fail_join(false);
    tap_ok(!made && error.kind == ERROR_SYSTEM && strstr(error.why, "refused"),
           "when it refuses: %s: %s: %s", error.what, error.why, error.advice);
    lab_close(&lab);
}

static void test_pairs(void)
{
    struct error error = {0};
    const struct network_request request = {.network = "pix2pix"};
    const struct plan_settings settings = {.mode = PLAN_TRAINING, .batch = 2, .ranks = 2};
    struct network *network = network_build(&request, &error);
    struct device *device = device_open("cuda:0,1", 1, &error);
    struct gan_plan plan;
    tap_ok(network && device &&
               !gan_plan_build(&plan, network, device->driver, &settings, &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "%s: %s", error.what, error.why);
    gan_plan_free(&plan);
    device_close(device);
    network_free(network);
}

/* Sums over blocks of images are for devices that compute on the host. */
static void test_blocks(void)
{
    struct error error = {0};
    const struct network_request request = {.network = "lenet"};
    const struct plan_settings settings = {.mode = PLAN_TRAINING, .batch = 4, .image_blocks = 2};
    struct network *network = network_build(&request, &error);
    struct device *device = device_open("cuda", 1, &error);
    tap_ok(network && device && !plan_build(&network->graph, device->driver, &settings, &error) &&
               error.kind == ERROR_UNSUPPORTED && strstr(error.advice, "--blocks 1"),
           "%s: %s", error.what, error.why);
    device_close(device);
    network_free(network);
}

/* --- failures --- */

static void test_allocations(void)
{
    struct lab lab;
    size_t failed = 0, wordless = 0;
    for (size_t n = 1; n < 100; n++) {
        struct error error = {0};
        emulator_fail_allocation(n);
        const bool made = lab_try(&lab, &odds, "cuda:0,1", &adam, &error);
        emulator_fail_allocation(0);
        lab_close(&lab);
        if (made)
            break;
        failed++;
        wordless += error.kind != ERROR_MEMORY || !error.why[0] || emulator_communicators() > 0;
    }
    tap_ok(failed > 10 && failed < 99 && wordless == 0,
           "each of %zu allocations failed once: an error about memory each time", failed);
}

/* Computes five iterations on GPUs of which one fails at its n-th launch. Returns whether an error
 * names that GPU. */
static bool is_reported(size_t n, int gpu, int status)
{
    struct lab lab;
    struct error error = {0};
    char name[16];
    snprintf(name, sizeof name, "cuda:%d", gpu);
    if (!lab_open(&lab, &odds, "cuda:0,1,2", &sgd))
        return false;
    emulator_fail_gpu(gpu);
    emulator_fail_launch(n, status);
    for (size_t i = 0; i < 5 && device_check(lab.device, NULL); i++)
        lab_iterate(&lab, i, BATCH);
    execution_wait(lab.execution);
    const bool reported = !device_check(lab.device, &error) && error.kind == ERROR_SYSTEM &&
                          strcmp(error.what, name) == 0 && !execution_fetch(lab.execution, NULL);
    lab_close(&lab);
    emulator_fail_launch(0, 0);
    emulator_fail_gpu(-1);
    return reported && emulator_communicators() == 0;
}

static void test_breakdowns(int gpu, int status)
{
    size_t reported = 0;
    const size_t step = sample_is_whole() ? 7 : 21;
    while (reported < 60 && is_reported(1 + reported * step, gpu, status))
        reported++;
    tap_ok(reported >= 2 && reported < 60 && !is_reported(1 + (reported + 1) * step, gpu, status),
           "GPU %d, error %d: each of %zu failed launches was reported", gpu, status, reported);
}

static void run_like_one(void)
{
    test_like_one(&odds, "cuda:0,1", &sgd, 1e-5);
    test_like_one(&odds, "cuda:0,1,2", &sgd, 1e-5);
    test_like_one(&odds, "cuda:3,2,1,0", &adam, 1e-4);
}

static void run_failures(void)
{
    test_breakdowns(0, 700);
    test_breakdowns(1, 700);
    test_breakdowns(2, 214);
}

static void begin(void)
{
    emulator_set_gpus(4);
    cuda_use_module(tinca_cuda_module());
}

static const struct named_test tests[] = {
    {"refusals", test_refusals},       {"library", test_library},  {"pairs", test_pairs},
    {"blocks", test_blocks},           {"like-one", run_like_one}, {"networks", test_networks},
    {"results", test_results},         {"replay", test_replay},    {"delays", test_delays},
    {"profile", test_profile},         {"resume", test_going_on},  {"divergence", test_divergence},
    {"allocations", test_allocations}, {"failures", run_failures},
};

TEST_CASE(cuda_group_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
