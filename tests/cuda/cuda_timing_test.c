/* Times on an emulated GPU that lags behind the host and whose work takes time: the marks of a
 * timer cover what was enqueued between them; bench and runs time whole iterations, with a backward
 * pass each, although the host is told the loss before that pass. The limits of a GPU are measured
 * within its free memory. */
#include "choose_tests.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"
#include "session_files.h"

#include "engine/devices/device.h"
#include "training/bench/bench.h"
#include "training/run_start.h"

#include <math.h>

enum { BATCH = 2, PACE = 2000 /* microseconds that a kernel or a copy takes at least */ };

/* The least milliseconds of a training iteration, which test_timer counts; a busy machine may take
 * longer. */
static double least_ms;

static const char small[] =
    "{\"name\": \"small\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"average_pool\", \"kernel\": 4, \"stride\": 4},\n"
    "  {\"op\": \"conv\", \"output\": 4, \"kernel\": 3}, {\"op\": \"batch_norm\"},\n"
    "  {\"op\": \"relu\"}, {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": "
    "\"classes\"}]}\n";

static void set_slow(bool slow)
{
    emulator_set_delay(slow ? EMULATOR_LAZY : 0);
    emulator_set_pace(slow ? PACE : 0);
}

static void test_timer(void)
{
    struct lab lab;
    struct error error = {0};
    const struct network_request request = {.network = home_path("small.json")};
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = BATCH, .threads = 1, .solver = {.kind = SOLVER_SGD}};
    if (!tap_ok(lab_make(&lab, &request, "cuda", &settings, &error), "a network (%s)", error.why))
        return;
    struct device_timer timer = {.device = lab.device};
    for (size_t i = 0; i < 3; i++)
        lab_iterate(&lab, i, BATCH);
    execution_wait(lab.execution);
    set_slow(true);
    const size_t before = emulator_tasks_done();
    device_timer_mark(&timer, 0);
    const uint64_t began = clock_nanoseconds();
    execution_iterate(lab.execution, 3, 0.01f);
    const double until_loss = clock_seconds(began, clock_nanoseconds());
    const double least_until_loss = 1e-3 * PACE * (double)(emulator_tasks_done() - before);
    device_timer_mark(&timer, 1);
    const double measured = device_timer_seconds(&timer, 0, 1);
    const double whole = clock_seconds(began, clock_nanoseconds());
    least_ms = 1e-3 * PACE * (double)(emulator_tasks_done() - before);
    set_slow(false);
    tap_ok(least_until_loss < 0.7 * least_ms && is_well(&lab),
           "the loss is known before the iteration is over (%.2f of %.2f ms)", 1e3 * until_loss,
           1e3 * whole);
    tap_ok(1e3 * measured >= least_ms && measured < 1.001 * whole,
           "the timer measures the whole iteration (%.2f ms)", 1e3 * measured);
    device_timer_mark(&timer, 1);
    device_timer_mark(&timer, 2);
    tap_ok(device_timer_seconds(&timer, 1, 2) < 0.5 * measured,
           "and a mark that is set anew counts from there");
    lab_close(&lab);
}

static void test_bench(enum plan_mode mode)
{
    struct bench bench;
    struct error error = {0};
    const struct bench_settings settings = {.network = {.network = home_path("small.json")},
                                            .device = "cuda",
                                            .mode = mode,
                                            .batch = BATCH,
                                            .iterations = 7,
                                            .profile = mode == PLAN_TRAINING,
                                            .limits = mode == PLAN_TRAINING};
    set_slow(true);
    const bool well = bench_run(&settings, &bench, &error);
    set_slow(false);
    if (!tap_ok(well, "bench measures %s (%s)", mode == PLAN_TRAINING ? "training" : "inference",
                error.why))
        return;
    const struct statistics *ms = &bench.ms_per_image, *latency = &bench.latency_ms;
    if (mode == PLAN_TRAINING)
        tap_ok(ms->min * BATCH >= least_ms && latency->median == 0,
               "each iteration is whole (%.3f, at least %.3f ms)", ms->min * BATCH, least_ms);
    else /* the copies of batch and answer take time, too */
        tap_ok(ms->min > 0 && latency->min >= ms->min * BATCH + 2e-3 * PACE,
               "the latency has the copies of the batch and of the answer (%.3f, %.3f ms)",
               latency->min, ms->min * BATCH);
    tap_ok(mode == PLAN_INFERENCE || bench.limits_measured, "the profile has the GPU's limits (%s)",
           bench.limits_error.why);
    bench_free(&bench);
}

static void test_benches(void)
{
    if (least_ms == 0)
        test_timer();
    test_bench(PLAN_TRAINING);
    test_bench(PLAN_INFERENCE);
}

/* Every epoch has two iterations and a validation, which waits for the GPU. The last iterations are
 * inspected, with a profile that waits for every pass. */
static void test_run(void)
{
    const char *const settings[] = {"data=digits,limit=16",
                                    "validate=digits,split=test,limit=8",
                                    "epochs=12",
                                    "batch=8",
                                    "checkpoint=0",
                                    NULL};
    if (least_ms == 0)
        test_timer();
    struct run_config config = configure(settings);
    struct error error = {0};
    struct statistics ms = {0};
    double times[24];
    size_t count = 0;
    config_set(&config, "network", home_path("small.json"), NULL);
    config_set(&config, "device", "cuda", NULL);
    set_slow(true);
    struct run *run = run_start(&config, NULL, &error);
    if (run)
        run_wait(run, -1);
    set_slow(false);
    for (size_t i = 0; run && i < series_count(run_series(run)) && count < 24; i++)
        times[count++] = (double)run_series(run)->points[i].ms_per_image;
    const bool computed = statistics_compute(times, count, &ms, &error);
    for (size_t i = 0; i < count; i++)
        tap_note("iteration %zu: %.3f ms/image", i + 1, times[i]);
    tap_ok(
        count == 24 && computed && ms.min * 8 >= least_ms,
        "the iterations of a run are whole, after a validation, too (%.3f, at least %.3f ms; %s)",
        ms.min * 8, least_ms, error.why);
    run_free(run);
}

static void test_limits(enum device_precision precision)
{
    struct error error = {0};
    struct device_limits limits = {.flops = 7};
    struct device *device = device_open("cuda", 1, &error);
    if (!tap_ok(device && device_set_precision(device, precision, &error), "a GPU (%s)", error.why))
        return;
    const uint64_t used = device_memory_used(device);
    emulator_set_free((size_t)8 << 20);
    bool measured = device_measure_limits(device, &limits, &error);
    emulator_set_free((size_t)1 << 33);
    tap_ok(!measured && error.kind == ERROR_MEMORY && limits.flops == 7 &&
               device_check(device, &error),
           "limits need free memory: %s: %s", error.what, error.why);
    emulator_fail_allocation(2);
    measured = device_measure_limits(device, &limits, &error);
    emulator_fail_allocation(0);
    tap_ok(!measured && limits.flops == 7 && device_memory_used(device) == used &&
               device_check(device, &error),
           "  and release what they got: %s", error.why);
    measured = device_measure_limits(device, &limits, &error);
    tap_ok(measured && limits.bytes > 1e6 && limits.sgemm_flops > 1e6 &&
               limits.flops >= limits.sgemm_flops && limits.bytes < 1e13 && limits.flops < 1e16,
           "%s: %.3g FLOP/s, %.3g in float32, %.3g B/s", device_precision_names[precision],
           limits.flops, limits.sgemm_flops, limits.bytes);
    tap_ok(device_memory_used(device) == used && device_check(device, &error),
           "  and nothing remains allocated");
    device_close(device);
}

static void test_all_limits(void)
{
    for (int p = 0; p < PRECISION_INT8; p++)
        test_limits((enum device_precision)p);
}

static void prepare(void)
{
    cuda_use_module(tinca_cuda_module());
    if (!tap_ok(make_home(), "a state home"))
        exit(tap_done());
    atexit(remove_home);
    write_text(home_path("small.json"), small);
}

static const struct named_test tests[] = {
    {"timer", test_timer}, {"bench", test_benches}, {"run", test_run}, {"limits", test_all_limits}};

TEST_CASE(cuda_timing_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, prepare);
}
