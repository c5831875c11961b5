/* Executions on the emulated device cuda: the same trajectories as the reference's; a replayed
 * iteration gives the bits of one that is not replayed; a loss that is NaN or infinite changes no
 * weight; a checkpoint suffices to continue to the same bits; every failed allocation and a GPU
 * that fails give errors. */
#include "choose_tests.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"

#include "base/clock.h"
#include "engine/profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 6 };

static const char mixed[] =
    "{\"name\": \"mixed\", \"input\": [3, 12, 12], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 8, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"batch_norm\"}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 2},\n"
    "  {\"op\": \"conv\", \"output\": 8, \"kernel\": 3, \"pad\": 1, \"groups\": 8},\n"
    "  {\"op\": \"conv\", \"output\": 16, \"kernel\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"dropout\", \"rate\": 0.3},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

static const struct solver_settings solvers[] = {
    {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE},
    {SOLVER_ADAM, 0.9f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE}};

static bool lab_try(struct lab *lab, const char *name, const char *device, enum plan_mode mode,
                    const struct solver_settings *solver, struct error *error)
{
    const bool ours = strcmp(name, "mixed") == 0;
    struct network_request request = {.network = name, .text = ours ? mixed : NULL};
    struct plan_settings settings = {
        .mode = mode, .batch = BATCH, .threads = 1, .solver = *solver, .with_loss = true};
    return lab_make(lab, &request, device, &settings, error);
}

static bool lab_open(struct lab *lab, const char *name, const char *device,
                     const struct solver_settings *solver)
{
    struct error error = {0};
    if (lab_try(lab, name, device, PLAN_TRAINING, solver, &error))
        return true;
    tap_ok(false, "%s on %s: %s: %s", name, device, error.what, error.why);
    lab_close(lab);
    return false;
}

/* Like lab_step, but without reading the loss, so the host does not wait for the device. */
static void lab_hurry(struct lab *lab, size_t iteration, size_t count)
{
    lab_bind(lab, count);
    execution_forward(lab->execution, iteration);
    execution_backward(lab->execution);
    execution_update(lab->execution, 0.01f);
}

/* --- like the reference --- */

static void test_trajectory(const char *name, size_t iterations,
                            const struct solver_settings *solver)
{
    struct lab gpu, plain;
    double worst = 0;
    if (!lab_open(&gpu, name, "cuda", solver))
        return;
    if (!lab_open(&plain, name, "reference", solver)) {
        lab_close(&gpu);
        return;
    }
    for (size_t i = 0; i < iterations; i++) {
        const size_t count = i == iterations - 2 ? BATCH - 2 : BATCH;
        const double wanted = (double)lab_iterate(&plain, i, count);
        worst = fmax(worst, fabs((double)lab_iterate(&gpu, i, count) - wanted) / fabs(wanted));
    }
    tap_ok(is_well(&gpu) && worst < 1e-3,
           "%s with %s: %zu iterations, one on a short batch, as the reference (%.1e)", name,
           solver_names[solver->kind], iterations, worst);
    const bool fetched = execution_fetch(gpu.execution, NULL);
    const double apart = distance(gpu.weights.values, plain.weights.values, floats_of(&gpu));
    /* adam turns gradients that are only rounding errors into steps of the full rate */
    if (solver->kind != SOLVER_ADAM)
        tap_ok(fetched && apart < 1e-3, "  the weights, too (%.1e)", apart);
    lab_close(&gpu);
    lab_close(&plain);
}

static void test_gradients(void)
{
    struct lab gpu, plain;
    if (!lab_open(&gpu, "mixed", "cuda", &solvers[0]) ||
        !lab_open(&plain, "mixed", "reference", &solvers[0]))
        return;
    lab_step(&gpu, 0, BATCH);
    lab_step(&plain, 0, BATCH);
    const size_t count = gpu.network->graph.learnable_floats;
    const struct graph *graph = &gpu.network->graph;
    tap_ok(distance(execution_parameter_gradients(gpu.execution),
                    execution_parameter_gradients(plain.execution), count) < 1e-3,
           "the gradients can be read");
    tap_ok(distance(execution_output(gpu.execution), execution_output(plain.execution),
                    BATCH * shape_count(graph->nodes[graph->output].output)) < 1e-3,
           "and the output");
    tap_ok(distance(execution_image_losses(gpu.execution), execution_image_losses(plain.execution),
                    BATCH) < 1e-3,
           "and the losses of the images");
    lab_close(&gpu);
    lab_close(&plain);
}

static void test_inference(void)
{
    struct lab gpu, trained;
    struct error error = {0};
    float first[BATCH * 10];
    if (!lab_open(&trained, "mixed", "cuda", &solvers[0]))
        return;
    for (size_t i = 0; i < 3; i++)
        lab_iterate(&trained, i, BATCH);
    struct plan_settings settings = {.mode = PLAN_INFERENCE, .batch = BATCH, .with_loss = true};
    struct execution_batch batch = {.images = trained.images, .count = BATCH};
    gpu = trained;
    gpu.plan = plan_build(&trained.network->graph, trained.device->driver, &settings, &error);
    gpu.execution = execution_create(gpu.plan, trained.device, &trained.weights, NULL, 11, &error);
    const size_t graphs = emulator_graphs_run();
    bool same = true;
    for (size_t i = 0; i < 4; i++) {
        execution_bind(gpu.execution, &batch);
        execution_forward(gpu.execution, 0);
        const float *output = execution_output(gpu.execution);
        same = same && (i == 0 || memcmp(first, output, sizeof first) == 0);
        memcpy(first, output, sizeof first);
    }
    tap_ok(same && emulator_graphs_run() == graphs + 3,
           "inference is replayed, with the same bits");
    batch.labels = trained.labels;
    execution_bind(gpu.execution, &batch);
    execution_forward(gpu.execution, 0);
    const float loss = execution_main_loss(gpu.execution);
    tap_ok(isfinite(loss) && loss > 0 && emulator_graphs_run() == graphs + 3,
           "with labels the task differs: a loss of %g", (double)loss);
    execution_free(gpu.execution);
    plan_free(gpu.plan);
    lab_close(&trained);
}

/* --- recordings --- */

static void test_replay(const struct solver_settings *solver)
{
    struct lab replayed, asked;
    bool same = true;
    if (!lab_open(&replayed, "mixed", "cuda", solver) || !lab_open(&asked, "mixed", "cuda", solver))
        return;
    const size_t graphs = emulator_graphs_run();
    for (size_t i = 0; i < 7; i++) {
        const size_t count = i == 4 ? 1 : BATCH;
        const float loss = lab_iterate(&replayed, i, count);
        same = same && loss == lab_step(&asked, i, count);
    }
    tap_ok(emulator_graphs_run() == graphs + 5, "%s: all full batches but the first are replayed",
           solver_names[solver->kind]);
    tap_ok(same && same_weights(&replayed, &asked) && is_well(&replayed),
           "  with the bits of separate passes, dropout included");
    lab_close(&replayed);
    lab_close(&asked);
}

static void test_profile(void)
{
    struct lab measured, plain;
    struct error error = {0};
    double seconds = 0;
    if (!lab_open(&measured, "mixed", "cuda", &solvers[0]) ||
        !lab_open(&plain, "mixed", "cuda", &solvers[0]))
        return;
    const size_t nodes = measured.network->graph.node_count;
    struct profile *profile = profile_create(nodes, 1, &error);
    for (size_t i = 0; i < 6; i++) {
        execution_set_profile(measured.execution, i == 2 || i == 3 ? profile : NULL);
        lab_iterate(&measured, i, BATCH);
        lab_iterate(&plain, i, BATCH);
    }
    size_t calls = 0;
    for (size_t n = 0; n < nodes; n++) {
        const struct profile_layer layer = profile_node(profile, n);
        calls += layer.calls == 2;
        seconds += layer.forward_seconds + layer.backward_seconds;
    }
    tap_ok(calls > 5 && seconds > 0 && profile_update_seconds(profile) > 0,
           "a profile has the time of every layer (%zu) and of the update", calls);
    size_t rows = 0;
    struct gemm_row *products = profile_gemm_rows(profile, &rows, &error);
    tap_ok(rows > 0 && products[0].calls > 0 && products[0].m > 0 && products[0].seconds > 0,
           "  and the library's matrix products (%zu kinds and shapes)", rows);
    free(products);
    tap_ok(same_weights(&measured, &plain), "  and changes no bit");
    profile_free(profile);
    lab_close(&measured);
    lab_close(&plain);
}

/* The host is slow between two stamps of a pass; the GPU must not wait for it there. */
static void test_slow_host(void)
{
    struct error error = {0};
    struct device *device = device_open("cuda", 1, &error);
    if (!device)
        return;
    const struct device_backend *backend = device->driver->backend;
    for (int i = 0; i < 2; i++) {
        backend->stamp(device, 0);
        clock_sleep(0.05);
        backend->stamp(device, 1);
        const double seconds = backend->stamp_seconds(device, 0, 1);
        tap_ok(seconds >= 0 && seconds < 0.04,
               "a layer's time does not contain that of the host (%.3g s)", seconds);
    }
    backend->stamp(device, 0); /* nobody waits for this one */
    tap_ok(device_check(device, &error), "  and the GPU is well");
    device_close(device);
}

/* --- what overlaps --- */

enum { DELAY_ITERATIONS = 8 };

/* Trains on batches of changing content and size; the caller overwrites each batch at once after
 * binding it. */
static void iterate_all(struct lab *lab, bool hurry, float losses[DELAY_ITERATIONS])
{
    for (size_t i = 0; i < DELAY_ITERATIONS; i++) {
        const size_t count = i == 5 ? 2 : BATCH;
        for (size_t k = 0; k < 40; k++)
            lab->images[k] = (float)(i + k) / 20;
        if (hurry)
            lab_hurry(lab, i, count);
        else
            losses[i] = lab_iterate(lab, i, count);
        memset(lab->images, 0, 40 * sizeof *lab->images);
    }
}

/* The device is delayed, and its streams advance in any order that events allow: the bits are those
 * of a device without delay. */
static void test_delays(bool hurry)
{
    enum { TRIES = SANITIZED ? 2 : 3 };
    struct lab prompt, late;
    float wanted[DELAY_ITERATIONS] = {0};
    size_t same = 0;
    if (!lab_open(&prompt, "mixed", "cuda", &solvers[0]))
        return;
    iterate_all(&prompt, false, wanted);
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        float losses[DELAY_ITERATIONS];
        memcpy(losses, wanted, sizeof losses);
        if (!lab_open(&late, "mixed", "cuda", &solvers[0]))
            return;
        emulator_set_delay(seed);
        iterate_all(&late, hurry, losses);
        same += same_weights(&prompt, &late) && is_well(&late) &&
                memcmp(losses, wanted, sizeof losses) == 0;
        emulator_set_delay(0);
        lab_close(&late);
    }
    lab_close(&prompt);
    tap_ok(same == TRIES, "a device that lags behind computes the same%s, in %zu of %d orders",
           hurry ? " if nobody waits for it" : "", same, TRIES);
}

/* --- losses that are NaN or infinite --- */

/* Returns the last layer's bias; no later layer can hide a NaN in it. */
static float *last_bias(struct lab *lab)
{
    const struct graph *graph = &lab->network->graph;
    size_t last = 0;
    for (size_t p = 0; p < graph->parameter_count; p++)
        last = graph->parameters[p].learnable ? p : last;
    return lab->weights.values + graph->parameters[last].offset;
}

static void test_divergence(bool recorded)
{
    struct lab lab;
    struct bad_layer layer;
    if (!lab_open(&lab, "mixed", "cuda", &solvers[1]))
        return;
    const size_t count = lab.network->graph.learnable_floats;
    float *before = memory_new(count, sizeof *before, "a test", NULL);
    for (size_t i = 0; recorded && i < 3; i++)
        lab_iterate(&lab, i, BATCH);
    execution_fetch(lab.execution, NULL);
    last_bias(&lab)[3] = NAN;
    execution_touch(lab.execution);
    memcpy(before, lab.weights.values, count * sizeof *before);
    const uint64_t step = execution_solver_step(lab.execution);
    const float loss = lab_iterate(&lab, 3, BATCH);
    execution_fetch(lab.execution, NULL);
    tap_ok(!isfinite(loss) && execution_solver_step(lab.execution) == step &&
               memcmp(before, lab.weights.values, count * sizeof *before) == 0,
           "a loss that is no number changes no weight%s", recorded ? ", replayed too" : "");
    tap_ok(execution_find_first_bad_layer(lab.execution, 3, &layer) && layer.in_weights,
           "  and the layer is found (%s)", layer.node);
    last_bias(&lab)[3] = 0;
    execution_touch(lab.execution);
    tap_ok(isfinite(lab_iterate(&lab, 3, BATCH)) &&
               execution_solver_step(lab.execution) == step + 1,
           "  and the next finite loss changes weights");
    free(before);
    lab_close(&lab);
}

/* --- continuing from a checkpoint --- */

/* Does what a checkpoint does: fetches all values and writes them into another execution. */
static void test_going_on(const struct solver_settings *solver)
{
    struct lab whole, first, second;
    bool same = true;
    if (!lab_open(&whole, "mixed", "cuda", solver) || !lab_open(&first, "mixed", "cuda", solver) ||
        !lab_open(&second, "mixed", "cuda", solver))
        return;
    const size_t learnable = first.network->graph.learnable_floats;
    for (size_t i = 0; i < 3; i++) {
        lab_iterate(&whole, i, BATCH);
        lab_iterate(&first, i, BATCH);
    }
    same = execution_fetch(first.execution, NULL);
    lab_iterate(&second, 0, BATCH); /* it has already computed other iterations */
    memcpy(second.weights.values, first.weights.values, floats_of(&first) * sizeof(float));
    for (size_t k = 0; k < solver_state_count(solver); k++)
        memcpy(execution_solver_state(second.execution, k),
               execution_solver_state(first.execution, k), learnable * sizeof(float));
    execution_touch(second.execution);
    execution_set_solver_step(second.execution, execution_solver_step(first.execution));
    for (size_t i = 3; i < 6; i++)
        same = same && lab_iterate(&whole, i, BATCH) == lab_iterate(&second, i, BATCH);
    tap_ok(same && same_weights(&whole, &second), "%s: what is kept is enough to go on",
           solver_names[solver->kind]);
    lab_close(&whole);
    lab_close(&first);
    lab_close(&second);
}

/* --- failures --- */

static void test_allocations(void)
{
    struct lab lab;
    size_t failed = 0, wordless = 0;
    for (size_t n = 1; n < 100; n++) {
        struct error error = {0};
        emulator_fail_allocation(n);
        const bool made = lab_try(&lab, "mixed", "cuda", PLAN_TRAINING, &solvers[1], &error);
        emulator_fail_allocation(0);
        lab_close(&lab);
        if (made)
            break;
        failed++;
        wordless += error.kind != ERROR_MEMORY || !error.why[0] || !error.what[0];
    }
    tap_ok(failed > 5 && failed < 99 && wordless == 0,
           "each of %zu allocations failed once: an error about memory each time", failed);
    if (lab_open(&lab, "mixed", "cuda", &solvers[0]))
        tap_ok(isfinite(lab_iterate(&lab, 0, BATCH)) && is_well(&lab),
               "and then it works once more");
    lab_close(&lab);
}

/* Computes three iterations on a GPU that fails at the n-th launch. Returns whether an error
 * reported it. */
static bool is_reported(size_t n, int status, enum error_kind kind, const char *word)
{
    struct lab lab;
    struct error error = {0};
    if (!lab_open(&lab, "mixed", "cuda", &solvers[0]))
        return false;
    emulator_fail_launch(n, status);
    for (size_t i = 0; i < 3 && device_check(lab.device, NULL); i++)
        lab_iterate(&lab, i, BATCH);
    execution_wait(lab.execution);
    const bool reported = !device_check(lab.device, &error) && error.kind == kind &&
                          strstr(error.why, word) && error.advice[0] &&
                          !execution_fetch(lab.execution, NULL);
    lab_close(&lab);
    emulator_fail_launch(0, 0);
    return reported;
}

/* Lets every fifth launch fail, each in a separate training, until n is beyond the number of
 * launches and none fails. */
static void test_breakdowns(int status, enum error_kind kind, const char *word)
{
    size_t reported = 0, after = 0;
    const size_t step = 5;
    while (reported < 100 && is_reported(1 + reported * step, status, kind, word))
        reported++;
    for (size_t more = 1; more <= 3; more++)
        after += is_reported(1 + (reported + more) * step, status, kind, word);
    tap_ok(reported >= 6 && reported < 100 && after == 0,
           "error %d: each of %zu failed launches was reported", status, reported);
}

static void test_opening(void)
{
    static const struct {
        int status;
        enum error_kind kind;
        const char *word;
    } cases[] = {{209, ERROR_UNSUPPORTED, "none for this GPU"}, {46, ERROR_SYSTEM, "lost"}};
    for (size_t i = 0; i < 2; i++) {
        struct error error = {0};
        emulator_fail_launch(1, cases[i].status);
        struct device *device = device_open("cuda:0", 1, &error);
        tap_ok(!device && error.kind == cases[i].kind && strstr(error.why, cases[i].word),
               "error %d when the device is opened: %s", cases[i].status, error.why);
        emulator_fail_launch(0, 0);
    }
    struct error error = {0};
    tap_ok(!device_open("cuda:1", 1, &error) && strstr(error.why, "only 1"), "cuda:1: %s",
           error.why);
    tap_ok(!device_open("cuda:0,1", 1, &error) && error.kind == ERROR_UNSUPPORTED, "cuda:0,1: %s",
           error.why);
    tap_ok(!device_open("cuda:0,x", 1, &error) && error.kind == ERROR_USAGE, "cuda:0,x: %s",
           error.why);
}

static void run_trajectories(void)
{
    test_trajectory("mixed", 10, &solvers[0]);
    test_trajectory("mixed", 10, &solvers[1]);
    if (!SANITIZED)
        test_trajectory("lenet", 5, &solvers[0]);
}

static void run_replay(void)
{
    test_replay(&solvers[0]);
    test_replay(&solvers[1]);
}

static void run_delays(void)
{
    test_delays(false);
    test_delays(true);
}

static void run_divergence(void)
{
    test_divergence(false);
    test_divergence(true);
}

static void run_resume(void)
{
    test_going_on(&solvers[0]);
    test_going_on(&solvers[1]);
}

static void run_failures(void)
{
    test_breakdowns(700, ERROR_SYSTEM, "illegal");
    test_breakdowns(214, ERROR_SYSTEM, "lost");
}

static void begin(void)
{
    cuda_use_module(tinca_cuda_module());
}

static const struct named_test tests[] = {
    {"trajectories", run_trajectories},
    {"gradients", test_gradients},
    {"inference", test_inference},
    {"replay", run_replay},
    {"profile", test_profile},
    {"profile-slow-host", test_slow_host},
    {"delays", run_delays},
    {"divergence", run_divergence},
    {"resume", run_resume},
    {"allocations", test_allocations},
    {"opening", test_opening},
    {"failures", run_failures},
};

TEST_CASE(cuda_execution_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
