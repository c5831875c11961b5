/* The roofline model: the work of passes, their limits, and the figures of a benchmark. */
#include "engine/plan/roofline.h"

#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "engine/plan/traffic.h"
#include "tap.h"
#include "training/bench/bench_pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* --- the arithmetic --- */

static void test_limits(void)
{
    const struct device_limits limits = {.flops = 100e9, .sgemm_flops = 80e9, .bytes = 10e9};
    const struct roofline_work heavy = {4e9, 1e8}, light = {1e9, 2e9}, even = {1e9, 1e8};
    const struct roofline_work moved = {0, 5e9}, nothing = {0, 0};
    tap_ok(near(roofline_seconds(&limits, heavy), 0.04), "40 FLOPs a byte: 0.04 s of arithmetic");
    tap_ok(roofline_limit(&limits, heavy) == ROOFLINE_COMPUTE, "  that is the limit");
    tap_ok(near(roofline_seconds(&limits, light), 0.2), "half a FLOP a byte: 0.2 s of memory");
    tap_ok(roofline_limit(&limits, light) == ROOFLINE_MEMORY, "  that is the limit");
    tap_ok(near(roofline_seconds(&limits, even), 0.01) &&
               roofline_limit(&limits, even) == ROOFLINE_COMPUTE,
           "if both take equally long, it is compute");
    tap_ok(near(roofline_seconds(&limits, moved), 0.5) &&
               roofline_limit(&limits, moved) == ROOFLINE_MEMORY,
           "without FLOPs only memory is left");
    tap_ok(roofline_seconds(&limits, nothing) == 0 &&
               roofline_limit(&limits, nothing) == ROOFLINE_NONE,
           "no work has no limit");
    tap_ok(near(roofline_intensity(heavy), 40) && roofline_intensity(moved) == 0 &&
               isnan(roofline_intensity(nothing)),
           "FLOPs per byte; NaN without bytes");
    const struct roofline_work sum = roofline_add(heavy, roofline_scale(light, 3));
    tap_ok(near(sum.flops, 7e9) && near(sum.bytes, 6.1e9), "work adds up");
}

/* --- work --- */

struct made {
    struct network *network;
    struct plan *plan;
};

static struct made make_on(const char *device_name, const char *name, struct plan_settings settings)
{
    struct error error = {0};
    struct network_request request = {.network = name};
    struct made made = {.network = network_build(&request, &error)};
    struct device *device = device_open(device_name, 1, &error);
    if (made.network && device)
        made.plan = plan_build(&made.network->graph, device->driver, &settings, &error);
    device_close(device);
    if (!made.plan)
        tap_ok(false, "a plan of %s: %s: %s", name, error.what, error.why);
    return made;
}

static struct made make(const char *name, struct plan_settings settings)
{
    return make_on("reference", name, settings);
}

static void discard(struct made *made)
{
    plan_free(made->plan);
    network_free(made->network);
}

static const struct plan_step *step_named(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (strcmp(plan->steps[i].site.node->name, name) == 0)
            return &plan->steps[i];
    return NULL;
}

static const struct plan_settings training = {.mode = PLAN_TRAINING,
                                              .batch = 10,
                                              .threads = 1,
                                              .solver = {.kind = SOLVER_SGD, .momentum = 0.9f}};

static bool is_work(struct roofline_work work, double flops, double bytes)
{
    const bool same = near(work.flops, flops) && near(work.bytes, bytes);
    if (!same)
        tap_note("%.0f FLOPs and %.0f bytes, not %.0f and %.0f", work.flops, work.bytes, flops,
                 bytes);
    return same;
}

static void test_training(void)
{
    struct made made = make("lenet", training);
    const struct plan *plan = made.plan;
    if (!plan)
        return;
    const struct plan_step *conv1 = step_named(plan, "conv1"), *conv2 = step_named(plan, "conv2");
    tap_ok(is_work(roofline_forward(plan, conv1), 5760000, 4 * (10 * (784 + 11520) + 520)),
           "forward: ten images, the weights once");
    tap_ok(is_work(roofline_backward(plan, conv1), 5760000, 4 * (10 * (784 + 11520) + 520)),
           "backward where the input's gradient is not wanted: the FLOPs once");
    tap_ok(is_work(roofline_backward(plan, conv2), 2 * 32e6,
                   4 * (10 * (3200 + 2880 + 2880) + 2 * 25050)),
           "backward with the input's gradient: twice, and the weights are read as well");
    tap_ok(is_work(roofline_backward(plan, step_named(plan, "flatten")), 0, 0), "a view: nothing");
    const double learnable = 4.0 * (double)made.network->graph.learnable_floats;
    tap_ok(is_work(roofline_update(plan), 0, 5 * learnable),
           "SGD with momentum reads three arrays and writes two");
    discard(&made);
}

static void test_inference(void)
{
    struct made made = make("lenet", (struct plan_settings){.batch = 10, .threads = 1});
    if (!made.plan)
        return;
    const struct plan_step *conv2 = step_named(made.plan, "conv2");
    tap_ok(roofline_forward(made.plan, conv2).flops == 32e6, "inference: the same FLOPs forward");
    tap_ok(is_work(roofline_backward(made.plan, conv2), 0, 0), "  nothing backward");
    tap_ok(is_work(roofline_update(made.plan), 0, 0), "  no step of a solver");
    discard(&made);
}

/* Each of 64 tiles has 16 products of 32 x 32 channels, and 32 and 24 additions for a channel. */
static void test_winograd(void)
{
    struct made made = make_on("cpu", "resnet20", (struct plan_settings){.batch = 3, .threads = 1});
    if (!made.plan)
        return;
    const struct plan_step *conv = step_named(made.plan, "stage2.0.conv2");
    const double direct = (double)graph_node_flops(made.plan->graph, conv->node);
    tap_ok(strcmp(conv->kernel->name, "conv winograd") == 0 && direct == 2.0 * 9 * 32 * 32 * 256,
           "a convolution that Winograd's algorithm computes");
    tap_ok(roofline_forward(made.plan, conv).flops ==
               3 * 64.0 * (2 * 16 * 32 * 32 + (32 + 24) * 32),
           "  takes fewer FLOPs than its definition");
    discard(&made);
}

/* Frozen weights: a discriminator that only evaluates. */
static void test_frozen(void)
{
    struct plan_settings settings = training;
    settings.frozen = settings.needs_input_gradient = true;
    struct made made = make("lenet", settings);
    if (!made.plan)
        return;
    tap_ok(is_work(roofline_backward(made.plan, step_named(made.plan, "conv2")), 32e6,
                   4 * (10 * (3200 + 2880) + 25050)),
           "frozen: only the input's gradient, without reading the input");
    tap_ok(is_work(roofline_update(made.plan), 0, 0), "  no step of a solver");
    discard(&made);
}

/* In a residual network some gradients are added to those of another branch. */
static void test_accumulation(void)
{
    struct made made = make("resnet20", training);
    size_t adding = 0, right = 0;
    for (size_t i = 0; made.plan && i < made.plan->step_count; i++) {
        struct plan_step *step = &made.plan->steps[i];
        if (step->site.node->op != &op_conv || !step->accumulate[0] ||
            !step->site.input_gradient[0])
            continue;
        const double added = traffic_backward_bytes(made.plan, step);
        step->accumulate[0] = false;
        const double written = traffic_backward_bytes(made.plan, step);
        adding++;
        right += near(added - written, 40.0 * (double)shape_count(step->site.inputs[0]));
    }
    tap_ok(adding > 0 && right == adding, "an accumulated gradient is read, too: %zu of them",
           adding);
    discard(&made);
}

/* --- measuring --- */

static void test_device(const char *set, size_t threads)
{
    struct error error = {0};
    struct device_limits limits = {0};
    setenv("TINCA_CPU", set, 1);
    struct device *device = device_open("cpu", threads, &error);
    const bool measured = device && device_measure_limits(device, &limits, &error);
    tap_ok(measured, "%s, %zu threads: the limits are measured", set, threads);
    tap_ok(limits.bytes > 0 && limits.sgemm_flops > 0 && limits.flops >= limits.sgemm_flops,
           "  each is positive, and no product is faster than the peak: %.3g, %.3g, %.3g",
           limits.flops, limits.sgemm_flops, limits.bytes);
    device_close(device);
    unsetenv("TINCA_CPU");
}

static void test_device_without(void)
{
    struct error error = {0};
    struct device_limits limits = {.flops = 7};
    struct device *device = device_open("reference", 1, &error);
    tap_ok(device && !device_measure_limits(device, &limits, &error) &&
               error.kind == ERROR_UNSUPPORTED && error.why[0],
           "the reference gives the reason");
    tap_ok(limits.flops == 7, "  and does not change the values");
    device_close(device);
}

/* --- a benchmark, with times and limits put in by hand --- */

static bool make_bench(struct bench *bench, const char *device, enum plan_mode mode)
{
    struct error error = {0};
    struct bench_settings settings = {.network.network = "lenet",
                                      .device = device,
                                      .threads = 1,
                                      .mode = mode,
                                      .batch = 2,
                                      .iterations = 3,
                                      .profile = true,
                                      .limits = true};
    return tap_ok(bench_run(&settings, bench, &error), "a benchmark on %s", device);
}

static void test_pass(const struct bench *bench)
{
    struct bench_pass pass;
    const struct bench_part *part = &bench->main;
    const struct plan_step *conv2 = step_named(part->plan, "conv2");
    const double seconds = profile_node(part->profile, conv2->node).backward_seconds / 3;
    tap_ok(bench_backward(bench, part, conv2, &pass) && near(pass.seconds, seconds),
           "a pass has the time of one iteration");
    tap_ok(near(pass.work.flops, 2 * 6.4e6) && near(pass.attainable, 2 * 6.4e-3) &&
               pass.limit == ROOFLINE_COMPUTE,
           "  its work and its least time");
    tap_ok(near(bench_pass_gflops(&pass), 2 * 6.4e-3 / seconds), "  its rate");
    tap_ok(near(bench_pass_of_attainable(&pass), 2 * 6.4e-1 / seconds),
           "  the share that it reaches");
    tap_ok(near(bench_pass_of_sgemm(bench, &pass), 2 * 6.4e6 / seconds / 0.5e9 * 100),
           "  beside the rate of matrix products");
    tap_ok(near(bench_pass_share(bench, &pass), 100 * seconds / bench->profiled_seconds),
           "  its share of the iteration");
    tap_ok(!bench_forward(bench, part, step_named(part->plan, "flatten"), &pass),
           "a view has no pass");
}

static void test_whole(const struct bench *bench)
{
    struct bench_pass whole = bench_whole(bench), pass;
    struct bench_pass sum = {.seconds = 0};
    for (size_t i = 0; i < bench->main.plan->step_count; i++)
        for (int backward = 0; backward < 2; backward++) {
            const struct plan_step *step = &bench->main.plan->steps[i];
            if (backward ? bench_backward(bench, &bench->main, step, &pass)
                         : bench_forward(bench, &bench->main, step, &pass)) {
                sum.seconds += pass.seconds;
                sum.attainable += pass.attainable;
                sum.work = roofline_add(sum.work, pass.work);
            }
        }
    tap_ok(bench_update(bench, &bench->main, &pass), "the solver's step is measured");
    tap_ok(pass.seconds > 0 && sum.seconds + pass.seconds <= bench->profiled_seconds,
           "all passes together take no longer than the iteration");
    tap_ok(near(whole.work.flops, sum.work.flops) &&
               near(whole.work.bytes, sum.work.bytes + pass.work.bytes) &&
               near(whole.attainable, sum.attainable + pass.attainable),
           "the whole is the sum of its passes");
    tap_ok(near(whole.seconds, 2e-3 * bench->ms_per_image.median),
           "but its time is that without a profile");
}

static void test_bench(void)
{
    struct bench bench;
    if (!make_bench(&bench, "cpu", PLAN_TRAINING))
        return;
    tap_ok(bench.limits_measured, "its device's limits are measured");
    bench.limits = (struct device_limits){.flops = 1e9, .sgemm_flops = 0.5e9, .bytes = 1e9};
    test_pass(&bench);
    test_whole(&bench);
    bench_free(&bench);
}

static void test_bench_without_limits(void)
{
    struct bench bench;
    struct bench_pass pass;
    if (!make_bench(&bench, "reference", PLAN_INFERENCE))
        return;
    const struct plan_step *conv2 = step_named(bench.main.plan, "conv2");
    tap_ok(!bench.limits_measured && bench.limits_error.why[0], "the benchmark knows why not");
    tap_ok(bench_forward(&bench, &bench.main, conv2, &pass) && bench_pass_gflops(&pass) > 0,
           "without limits a pass still has a rate");
    tap_ok(isnan(pass.attainable) && isnan(bench_pass_of_attainable(&pass)) &&
               isnan(bench_pass_of_sgemm(&bench, &pass)) && pass.limit == ROOFLINE_NONE,
           "  and no limit to reach");
    tap_ok(!bench_backward(&bench, &bench.main, conv2, &pass) &&
               !bench_update(&bench, &bench.main, &pass),
           "  in inference only forward");
    bench_free(&bench);
}

TEST_CASE(roofline_test)
{
    test_limits();
    test_training();
    test_inference();
    test_winograd();
    test_frozen();
    test_accumulation();
    test_device("generic", 1);
    test_device("avx2", 1);
    test_device("avx512", 2);
    test_device_without();
    test_bench();
    test_bench_without_limits();
    return tap_done();
}
