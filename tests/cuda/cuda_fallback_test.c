/* Tests nodes that the emulated device cuda has no kernel for: the reference kernel computes them
 * on the host with the reference's bits; the plan reports them and forecasts the bytes that are
 * copied; with strict_device the network is refused. */
#include "choose_tests.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"
#include "cuda/lacking.h"
#include "sample.h"

#include "engine/devices/choice.h"
#include "engine/execution/gan.h"

#include <math.h>
#include <string.h>

enum { BATCH = 6, ITERATIONS = 5 };

/* Branches, so that gradients are added up; each operator that networks are made of. */
static const char branches[] =
    "{\"name\": \"branches\", \"input\": [3, 12, 12], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"name\": \"a\", \"output\": 8, \"kernel\": 3, \"pad\": 1},\n"
    "  {\"op\": \"batch_norm\", \"name\": \"b\"}, {\"op\": \"lrn\", \"size\": 3, \"name\": "
    "\"d\"},\n"
    "  {\"op\": \"relu\", \"name\": \"c\"}, {\"op\": \"sigmoid\", \"name\": \"e\"},\n"
    "  {\"op\": \"add\", \"name\": \"f\", \"from\": [\"c\", \"e\"]},\n"
    "  {\"op\": \"add\", \"name\": \"g\", \"from\": [\"f\", \"f\"]},\n"
    "  {\"op\": \"tanh\", \"name\": \"h\"}, {\"op\": \"leaky_relu\", \"name\": \"i\"},\n"
    "  {\"op\": \"concat\", \"name\": \"j\", \"from\": [\"i\", \"c\"]},\n"
    "  {\"op\": \"channel_shuffle\", \"groups\": 2}, {\"op\": \"channel_shift\"},\n"
    "  {\"op\": \"max_pool\", \"kernel\": 2, \"stride\": 2},\n"
    "  {\"op\": \"conv_transpose\", \"output\": 4, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "  {\"op\": \"average_pool\", \"kernel\": 2, \"stride\": 2},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"dropout\", \"rate\": 0.3},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

static const char *const operators[] = {"conv",
                                        "batch_norm",
                                        "relu",
                                        "lrn",
                                        "sigmoid",
                                        "add",
                                        "tanh",
                                        "leaky_relu",
                                        "concat",
                                        "max_pool",
                                        "dropout",
                                        "channel_shuffle",
                                        "average_pool",
                                        "linear",
                                        "channel_shift",
                                        "conv_transpose",
                                        "softmax_cross_entropy"};

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

static struct plan_settings training(const char *device, uint64_t memory_limit, bool strict)
{
    return (struct plan_settings){.mode = PLAN_TRAINING,
                                  .batch = BATCH,
                                  .ranks = device_ranks(device),
                                  .threads = 1,
                                  .solver = sgd,
                                  .memory_limit = memory_limit,
                                  .strict_device = strict};
}

/* `lacks` names the operator that the device has no kernel for; NULL: it has all kernels. */
static bool lab_open(struct lab *lab, const char *device, const char *lacks, uint64_t memory_limit)
{
    struct error error = {0};
    const struct network_request request = {.network = "branches", .text = branches};
    const struct plan_settings settings = training(device, memory_limit, false);
    struct device *opened =
        lacks ? lacking_open(device, lacks, &error) : device_open(device, 1, &error);
    if (lab_make_on(lab, &request, opened, &settings, &error))
        return true;
    tap_ok(false, "%s without %s: %s: %s", device, lacks ? lacks : "nothing", error.what,
           error.why);
    lab_close(lab);
    return false;
}

/* --- values --- */

static bool same_floats(const float *a, const float *b, size_t count)
{
    return a && b && memcmp(a, b, count * sizeof *a) == 0;
}

/* Runs both executions forward and backward on the same batch, with the same weights. */
static bool same_passes(struct lab *a, struct lab *b, size_t iteration, size_t count)
{
    const struct graph *graph = &a->network->graph;
    const size_t output = count * shape_count(graph->nodes[graph->output].output);
    lab_bind(a, count);
    lab_bind(b, count);
    execution_forward(a->execution, iteration);
    execution_forward(b->execution, iteration);
    bool same = execution_loss(a->execution) == execution_loss(b->execution) &&
                same_floats(execution_output(a->execution), execution_output(b->execution), output);
    execution_backward(a->execution);
    execution_backward(b->execution);
    return same &&
           same_floats(execution_parameter_gradients(a->execution),
                       execution_parameter_gradients(b->execution), graph->learnable_floats);
}

/* With every node on the host, the bits are those of the device reference, also those of batch
 * norm's statistics. */
static void test_all(uint64_t memory_limit)
{
    struct lab gpu, plain;
    bool same = true;
    if (!lab_open(&gpu, "cuda", "all", memory_limit) || !lab_open(&plain, "reference", NULL, 0))
        return;
    for (size_t i = 0; i < ITERATIONS; i++)
        same = same && same_passes(&gpu, &plain, i, i == 2 ? 2 : BATCH);
    tap_ok(same && is_well(&gpu), "all nodes on the host: the reference's bits%s",
           memory_limit ? ", recomputed too" : "");
    tap_ok(same_weights(&gpu, &plain), "  and the running statistics are stored");
    size_t kernels = 0;
    for (size_t s = 0; s < gpu.plan->step_count; s++)
        kernels += gpu.plan->steps[s].kernel != NULL;
    tap_ok(gpu.plan->forecast.fallback_nodes == kernels, "  %zu nodes fall back", kernels);
    lab_close(&gpu);
    lab_close(&plain);
}

static const struct plan_step *step_of(const struct lab *lab, const char *op)
{
    for (size_t s = 0; s < lab->plan->step_count; s++)
        if (strcmp(lab->plan->steps[s].site.node->op->name, op) == 0)
            return &lab->plan->steps[s];
    return NULL;
}

/* Runs one operator on the host, the others on the device. */
static void test_operator(const char *op)
{
    struct lab gpu, whole;
    double worst = 0;
    char name[64], words[512];
    if (!lab_open(&gpu, "cuda", op, 0) || !lab_open(&whole, "cuda", NULL, 0))
        return;
    for (size_t i = 0; i < ITERATIONS; i++) {
        const double wanted = (double)lab_iterate(&whole, i, BATCH);
        worst = fmax(worst, fabs((double)lab_iterate(&gpu, i, BATCH) - wanted) / fabs(wanted));
    }
    const struct plan_step *step = step_of(&gpu, op);
    snprintf(name, sizeof name, "%s reference", op);
    tap_ok(is_well(&gpu) && worst < 1e-3 && step && step->falls_back &&
               strcmp(step->kernel->name, name) == 0,
           "%s on the host, the rest on the device: the same losses (%.1e)", op, worst);
    choice_translate(step->choice, words, sizeof words);
    tap_ok(strstr(words, "device cuda has no kernel that computes it") &&
               strstr(words, "runs on the host"),
           "  %s", words);
    lab_close(&gpu);
    lab_close(&whole);
}

/* --- the forecast --- */

/* Counts the blocking copies of the second iteration, which are those of the fallback: the weights
 * stay in device memory, and the losses arrive by an asynchronous copy. */
static void test_bytes(const char *op)
{
    struct lab gpu;
    if (!lab_open(&gpu, "cuda", op, 0))
        return;
    lab_iterate(&gpu, 0, BATCH);
    lacking_copied = 0;
    lab_iterate(&gpu, 1, BATCH);
    tap_ok(lacking_copied > 0 && lacking_copied == gpu.plan->forecast.fallback_bytes,
           "without %s an iteration copies %llu bytes, as forecast", op,
           (unsigned long long)lacking_copied);
    lab_close(&gpu);
}

/* Forward: the input comes and the output goes. Backward: the output and its gradient come, the
 * input's gradient goes. 8 x 12 x 12 values an image. */
static void test_relu_bytes(void)
{
    struct lab gpu;
    if (!lab_open(&gpu, "cuda", "relu", 0))
        return;
    tap_ok(gpu.plan->forecast.fallback_nodes == 1 &&
               gpu.plan->forecast.fallback_bytes == 5 * sizeof(float) * BATCH * 8 * 12 * 12,
           "one ReLU copies its values five times: %llu bytes",
           (unsigned long long)gpu.plan->forecast.fallback_bytes);
    lab_close(&gpu);
}

/* --- refusals --- */

static void test_strict(const char *device, const char *op, bool strict, const char *node,
                        const char *advice)
{
    struct lab lab;
    struct error error = {0};
    const struct network_request request = {.network = "branches", .text = branches};
    const struct plan_settings settings = training(device, 0, strict);
    struct device *opened = lacking_open(device, op, &error);
    tap_ok(opened && !lab_make_on(&lab, &request, opened, &settings, &error) &&
               error.kind == ERROR_UNSUPPORTED && strcmp(error.what, node) == 0 &&
               strstr(error.why, "device cuda cannot compute") && strstr(error.why, op) &&
               strstr(error.advice, advice),
           "%s: %s: %s", error.what, error.why, error.advice);
    lab_close(&lab);
}

/* --- several GPUs --- */

static void test_group(void)
{
    struct lab group, one;
    double worst = 0;
    if (!lab_open(&group, "cuda:0,1", "relu", 0) || !lab_open(&one, "cuda", NULL, 0))
        return;
    for (size_t i = 0; i < ITERATIONS; i++) {
        const double wanted = (double)lab_iterate(&one, i, BATCH);
        worst = fmax(worst, fabs((double)lab_iterate(&group, i, BATCH) - wanted) / fabs(wanted));
    }
    tap_ok(is_well(&group) && worst < 1e-3, "on two GPUs too: as on one (%.1e)", worst);
    lab_close(&group);
    lab_close(&one);
    test_strict("cuda:0,1", "batch_norm", false, "b", "one GPU");
}

/* --- what fails --- */

static void test_breakdown(void)
{
    size_t reported = 0;
    enum { TRIES = 8 };
    for (size_t n = 0; n < TRIES; n++) {
        struct lab lab;
        struct error error = {0};
        if (!lab_open(&lab, "cuda", "softmax_cross_entropy", 0))
            return;
        emulator_fail_launch(1 + 5 * n, 700);
        for (size_t i = 0; i < 3; i++)
            lab_iterate(&lab, i, BATCH);
        reported += !device_check(lab.device, &error) && error.why[0];
        emulator_fail_launch(0, 0);
        lab_close(&lab);
    }
    tap_ok(reported == TRIES, "a GPU that fails is reported; the host computes nothing then");
}

static void run_all(void)
{
    test_all(0);
    test_all(PLAN_LEAST_MEMORY);
}

static void run_operators(void)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (sample_has(i, 2, 3)) /* their kernels on the host are tested by themselves */
            test_operator(operators[i]);
}

static void run_bytes(void)
{
    test_bytes("all");
    test_bytes("add");
    test_bytes("batch_norm");
    test_relu_bytes();
}

static void run_strict(void)
{
    test_strict("cuda", "lrn", true, "d", "--strict-device");
}

static void begin(void)
{
    emulator_set_gpus(2);
    cuda_use_module(tinca_cuda_module());
}

static const struct named_test tests[] = {
    {"all", run_all},       {"operators", run_operators}, {"bytes", run_bytes},
    {"strict", run_strict}, {"group", test_group},        {"failures", test_breakdown},
};

TEST_CASE(cuda_fallback_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
