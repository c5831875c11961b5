/* cuDNN on the emulated device: it is loaded at run time, in version 8 or 9, and computes large
 * convolutions with algorithms that give the same bits each time, in a workspace that the forecast
 * contains. Where it is missing, refuses, or lacks memory, the next kernel computes the convolution
 * and is named. Other failures are reported in cuDNN's words. */
#include "choose_tests.h"
#include "cuda/emulated_device.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"

#include "engine/devices/cuda/cuda.h"
#include "engine/ops/op.h"

#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 8, WORKSPACE = 8192 };

/* Convolutions that are large enough for a library where two blocks keep the GPU busy. */
static const char network_3x3[] =
    "{\"name\": \"three\", \"input\": [8, 8, 8], \"classes\": 4, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 12, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 12, \"kernel\": 3, \"pad\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}\n";
static const char network_1x1[] =
    "{\"name\": \"one\", \"input\": [8, 8, 8], \"classes\": 4, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 32, \"kernel\": 1},\n"
    "  {\"op\": \"conv\", \"output\": 32, \"kernel\": 1}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

static bool lab_open(struct lab *lab, const char *text, const char *device, uint64_t limit,
                     enum device_precision precision)
{
    struct error error = {0};
    const struct network_request request = {.network = "test", .text = text};
    const struct plan_settings settings = {
        .mode = PLAN_TRAINING, .batch = BATCH, .threads = 1, .solver = sgd, .memory_limit = limit};
    struct device *opened = device_open(device, 1, &error);
    if (opened && device_set_precision(opened, precision, &error) &&
        lab_make_on(lab, &request, opened, &settings, &error))
        return true;
    tap_ok(false, "%s: %s: %s", device, error.what, error.why);
    return false;
}

/* Trains on the device and on the reference; returns how far apart the losses are. */
static double train(struct lab *lab, const char *text, size_t iterations)
{
    struct lab plain;
    double worst = 0;
    if (!lab_open(&plain, text, "reference", 0, PRECISION_FLOAT32))
        return INFINITY;
    for (size_t i = 0; i < iterations; i++) {
        const size_t count = i == 2 ? BATCH - 3 : BATCH;
        const double wanted = (double)lab_iterate(&plain, i, count);
        worst = fmax(worst, fabs((double)lab_iterate(lab, i, count) - wanted) / fabs(wanted));
    }
    lab_close(&plain);
    return worst;
}

/* Trains with cuDNN as it is emulated now and expects this kernel to be named. */
static void expect(const char *text, const char *kernel, const char *what)
{
    struct lab lab;
    if (!lab_open(&lab, text, "cuda", 0, PRECISION_FLOAT32))
        return;
    const double apart = train(&lab, text, 4);
    tap_ok(apart < 1e-3 && is_well(&lab) && strcmp(lab_computed_by(&lab), kernel) == 0,
           "%s: %s computes it (%.1e)", what, lab_computed_by(&lab), apart);
    lab_close(&lab);
}

/* --- what is loaded --- */

static struct device_facts facts(void)
{
    struct device_facts facts = {0};
    struct error error = {0};
    const struct device_driver *driver = device_find("cuda", NULL, &error);
    if (!driver || !driver->describe(0, &facts))
        tap_ok(false, "the GPU is described");
    return facts;
}

/* These come first: a library that is loaded stays loaded. */
static void test_missing(void)
{
    emulator_hide_cudnn(true);
    expect(network_3x3, "conv implicit gemm", "no library");
    tap_ok(!facts().cudnn[0] && strstr(facts().no_cudnn, "libcudnn.so.9"),
           "  which is described: %s", facts().no_cudnn);
    emulator_hide_cudnn(false);
    emulator_set_cudnn_version(7605);
    expect(network_1x1, "conv 1x1 cuBLAS", "a library that is too old");
    tap_ok(!facts().cudnn[0] && strstr(facts().no_cudnn, "7.6.5"), "  which is described: %s",
           facts().no_cudnn);
}

static void test_version_8(void)
{
    emulator_set_cudnn_version(8907);
    tap_ok(strcmp(facts().cudnn, "8.9.7") == 0 && !facts().no_cudnn[0],
           "a library that is installed meanwhile is found: %s", facts().cudnn);
    expect(network_3x3, "conv cuDNN", "version 8");
    emulator_fail_cudnn(0, 9); /* not supported, as version 8 says it */
    expect(network_3x3, "conv cuDNN + implicit gemm",
           "version 8 does not support the forward pass");
    emulator_fail_cudnn(0, 2); /* allocation failed */
    expect(network_1x1, "conv cuDNN + 1x1 cuBLAS", "version 8 lacks memory");
    emulator_fail_cudnn(0, 0);
    emulator_fail_cudnn_create(true);
    expect(network_3x3, "conv implicit gemm", "the library cannot start");
    tap_ok(!facts().cudnn[0] && strstr(facts().no_cudnn, "8.9.7 cannot start: CUDNN_STATUS_2"),
           "  which is described in its words: %s", facts().no_cudnn);
    emulator_fail_cudnn_create(false);
    expect(network_3x3, "conv cuDNN", "the library starts again");
    tap_ok(strcmp(facts().cudnn, "8.9.7") == 0 && !facts().no_cudnn[0], "  and is described");
}

/* --- workspaces --- */

static size_t workspace_of(const char *text, uint64_t limit, size_t *total)
{
    struct lab lab;
    if (!lab_open(&lab, text, "cuda", limit, PRECISION_FLOAT32))
        return 0;
    const size_t bytes = (size_t)lab.plan->forecast.workspace;
    const size_t before = emulator_cudnn_passes(true);
    const bool finite = isfinite(lab_iterate(&lab, 0, BATCH)) && is_well(&lab);
    tap_ok(finite && device_memory_used(lab.device) >= lab.plan->forecast.total,
           "  a workspace of %zu bytes: %zu passes by the best algorithm, %s", bytes,
           emulator_cudnn_passes(true) - before, lab_computed_by(&lab));
    *total = (size_t)lab.plan->forecast.total;
    lab_close(&lab);
    return bytes;
}

static void test_workspace(void)
{
    size_t total, large, least;
    const size_t usual = workspace_of(network_1x1, 0, &total);
    emulator_set_cudnn_workspace((size_t)4 << 20);
    tap_ok(workspace_of(network_1x1, 0, &large) == (size_t)4 << 20 &&
               large - total == ((size_t)4 << 20) - usual,
           "the forecast contains a workspace of 4 MiB");
    tap_ok(workspace_of(network_1x1, total + (1 << 20), &least) < (size_t)1 << 20 &&
               least <= total + (1 << 20),
           "a memory limit is met without it");
    emulator_set_cudnn_workspace((size_t)3 << 30);
    const size_t before = emulator_cudnn_passes(false), best = emulator_cudnn_passes(true);
    expect(network_1x1, "conv cuDNN",
           "3 GiB are more than the layer may have, the next algorithm is not");
    tap_ok(emulator_cudnn_passes(false) > before && emulator_cudnn_passes(true) == best,
           "  the next algorithm ran");
    emulator_limit_cudnn(true);
    expect(network_1x1, "conv 1x1 cuBLAS", "if no algorithm fits, cuBLAS takes 1x1");
    expect(network_3x3, "conv implicit gemm", "  and our kernel takes 3x3");
    emulator_limit_cudnn(false);
    emulator_set_cudnn_workspace(WORKSPACE);
}

/* --- refusals and failures --- */

static void test_refusals(int refusal, const char *what)
{
    for (int pass = 0; pass < 3; pass++) {
        emulator_fail_cudnn(pass, refusal);
        expect(network_3x3, "conv cuDNN + implicit gemm", what);
        emulator_fail_cudnn(pass, 0);
    }
    for (int pass = 0; pass < 3; pass++)
        emulator_fail_cudnn(pass, refusal);
    expect(network_1x1, "conv 1x1 cuBLAS", what);
    for (int pass = 0; pass < 3; pass++)
        emulator_fail_cudnn(pass, 0);
}

static void test_failure(bool version_9)
{
    struct lab lab;
    struct error error = {0};
    if (!lab_open(&lab, network_3x3, "cuda", 0, PRECISION_FLOAT32))
        return;
    emulator_fail_cudnn(1, 5000);
    lab_iterate(&lab, 0, BATCH);
    emulator_fail_cudnn(1, 0);
    tap_ok(!device_check(lab.device, &error) && strstr(error.why, "CUDNN_STATUS_5000") &&
               !strstr(error.why, "lost") &&
               strstr(error.why, version_9 ? "an emulated cuDNN refused" : "CUDNN_STATUS_"),
           "another failure is reported in cuDNN's words: %s", error.why);
    lab_close(&lab);
}

/* --- bias and relu --- */

/* Trains a network and returns how many forward passes had a fused bias, with a relu or alone. */
static size_t fused_in(const char *text, bool relu)
{
    struct lab lab;
    const size_t before = emulator_cudnn_fused(relu);
    if (!lab_open(&lab, text, "cuda", 0, PRECISION_FLOAT32))
        return 0;
    const double apart = train(&lab, text, 4);
    tap_ok(apart < 1e-3 && is_well(&lab), "  %s computes it (%.1e)", lab_computed_by(&lab), apart);
    lab_close(&lab);
    return emulator_cudnn_fused(relu) - before;
}

/* Infers with a batch whose images are NaN: a fused relu must not hide that. */
static void test_not_finite(void)
{
    struct lab lab;
    if (!lab_open(&lab, network_3x3, "cuda", 0, PRECISION_FLOAT32))
        return;
    lab.images[0] = NAN;
    tap_ok(isnan(lab_iterate(&lab, 0, BATCH)), "NaN passes a fused relu");
    lab_close(&lab);
}

static void test_epilogue(void)
{
    tap_ok(fused_in(network_3x3, true) > 0 && fused_in(network_3x3, false) > 0,
           "bias and relu are fused, and a bias alone");
    emulator_set_cudnn_workspace((size_t)3 << 30); /* so that the next algorithm is chosen */
    tap_ok(fused_in(network_3x3, true) > 0 && fused_in(network_3x3, false) == 0,
           "another algorithm fuses a bias only with a relu");
    emulator_set_cudnn_workspace(WORKSPACE);
    emulator_fail_cudnn(3, 3000);
    expect(network_3x3, "conv cuDNN + epilogue", "if cuDNN cannot fuse them, a pass follows");
    tap_ok(fused_in(network_3x3, true) == 0, "  none is fused");
    emulator_fail_cudnn(3, 0);
    test_not_finite();
}

/* --- precision and bits --- */

static void test_precision(void)
{
    static const struct {
        enum device_precision precision;
        const char *kernel;
    } cases[] = {{PRECISION_TF32, "conv cuDNN"},
                 {PRECISION_BF16, "conv implicit gemm float32"},
                 {PRECISION_FP16, "conv cuDNN"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lab lab;
        if (!lab_open(&lab, network_3x3, "cuda", 0, cases[i].precision))
            return;
        tap_ok(isfinite(lab_iterate(&lab, 0, BATCH)) && is_well(&lab) &&
                   strcmp(lab_computed_by(&lab), cases[i].kernel) == 0,
               "%s: %s", device_precision_names[cases[i].precision], lab_computed_by(&lab));
        lab_close(&lab);
    }
}

static void test_bits(void)
{
    struct lab first, second;
    bool same = true;
    if (!lab_open(&first, network_3x3, "cuda", 0, PRECISION_FLOAT32) ||
        !lab_open(&second, network_3x3, "cuda", 0, PRECISION_FLOAT32))
        return;
    for (size_t i = 0; i < 5; i++)
        same = lab_iterate(&first, i, BATCH) == lab_iterate(&second, i, BATCH) && same;
    tap_ok(same && same_weights(&first, &second),
           "two trainings give the same bits, replayed, too");
    lab_close(&first);
    lab_close(&second);
}

/* Tests version 8 in another process, because a library that is loaded stays loaded. */
static void test_in_child(void)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO); /* its tests are counted as one */
        test_version_8();
        test_failure(false);
        fflush(stdout);
        _exit(tap_done());
    }
    tap_ok(child > 0 && waitpid(child, &status, 0) == child && status == 0,
           "a process with version 8");
}

static void test_version_9(void)
{
    emulator_set_cudnn_version(90100);
    tap_ok(strcmp(facts().cudnn, "9.1.0") == 0, "version 9 is found: %s", facts().cudnn);
    expect(network_3x3, "conv cuDNN", "version 9");
}

static void run_refusals(void)
{
    test_refusals(3000, "version 9 does not support a pass");
    test_refusals(4004, "version 9 lacks memory");
}

static void run_failure(void)
{
    test_failure(true);
}

/* The first GPU that is opened sets the number of blocks that keep it busy; that is changed here,
 * so that small convolutions are large. */
static void begin(void)
{
    struct error error = {0};
    cuda_use_module(tinca_cuda_module());
    emulator_hide_cudnn(true); /* it must not be loaded yet */
    device_close(device_open("cuda", 1, &error));
    emulator_hide_cudnn(false);
    emulated_set_busy_blocks(2);
}

static const struct named_test tests[] = {
    {"missing", test_missing},     {"version-8", test_in_child},  {"version-9", test_version_9},
    {"workspace", test_workspace}, {"refusals", run_refusals},    {"failure", run_failure},
    {"epilogue", test_epilogue},   {"precision", test_precision}, {"bits", test_bits},
};

TEST_CASE(cuda_cudnn_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
