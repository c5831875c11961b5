/* Tests nodes that the device cpu has no kernel for: the reference kernel computes them in the
 * arena, with the reference's bits; the plan reports which and why; strict_device refuses them; a
 * batch that is too large for a kernel of the device is not offered. */
#include "cuda/lab.h"
#include "cuda/lacking.h"
#include "sanitized.h"

#include "training/prepare/forecast.h"

#include <math.h>
#include <string.h>

/* No update comes between the iterations: a second one shows that nothing is left of the first. */
enum { BATCH = 2, ITERATIONS = SANITIZED ? 1 : 2 };

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

static struct plan_settings training(bool strict)
{
    return (struct plan_settings){.mode = PLAN_TRAINING,
                                  .batch = BATCH,
                                  .threads = 1,
                                  .solver = sgd,
                                  .strict_device = strict};
}

static bool lab_open(struct lab *lab, const char *network, struct device *device, bool strict,
                     struct error *error)
{
    const struct network_request request = {.network = network};
    const struct plan_settings settings = training(strict);
    return lab_make_on(lab, &request, device, &settings, error);
}

static void test_all(const char *network)
{
    struct lab cpu, plain;
    struct error error = {0};
    bool same = true;
    if (!lab_open(&cpu, network, lacking_open("cpu", "all", &error), false, &error) ||
        !lab_open(&plain, network, device_open("reference", 1, &error), false, &error)) {
        tap_ok(false, "%s: %s: %s", network, error.what, error.why);
        return;
    }
    const size_t count = cpu.network->graph.learnable_floats;
    for (size_t i = 0; i < ITERATIONS; i++) {
        lab_bind(&cpu, BATCH);
        lab_bind(&plain, BATCH);
        execution_forward(cpu.execution, i);
        execution_forward(plain.execution, i);
        execution_backward(cpu.execution);
        execution_backward(plain.execution);
        same = same && execution_loss(cpu.execution) == execution_loss(plain.execution) &&
               memcmp(execution_parameter_gradients(cpu.execution),
                      execution_parameter_gradients(plain.execution), count * sizeof(float)) == 0;
    }
    tap_ok(same, "%s without any kernel of the device: the reference's bits", network);
    tap_ok(cpu.plan->forecast.fallback_nodes > 5 && cpu.plan->forecast.fallback_bytes == 0,
           "  %zu nodes fall back, and nothing is copied",
           (size_t)cpu.plan->forecast.fallback_nodes);
    lab_close(&cpu);
    lab_close(&plain);
}

static void test_words(void)
{
    struct lab cpu;
    struct error error = {0};
    char words[320];
    size_t falls = 0, relus = 0;
    if (!lab_open(&cpu, "lenet", lacking_open("cpu", "relu", &error), false, &error))
        return;
    for (size_t s = 0; s < cpu.plan->step_count; s++) {
        const struct plan_step *step = &cpu.plan->steps[s];
        falls += step->falls_back;
        relus += step->falls_back && strcmp(step->kernel->name, "relu reference") == 0 &&
                 strcmp(step->choice, "relu reference chosen; device cpu has no kernel that "
                                      "computes it") == 0;
    }
    tap_ok(falls == 1 && relus == 1, "only the node without a kernel falls back");
    forecast_fallback_text(&cpu.plan->forecast, words, sizeof words);
    tap_ok(strstr(words, "no kernel for 1 layer"), "%s", words);
    struct memory_forecast copied = {.fallback_nodes = 2, .fallback_bytes = 3 << 20};
    forecast_fallback_text(&copied, words, sizeof words);
    tap_ok(strstr(words, "2 layers") && strstr(words, "3.00 MiB"), "%s", words);
    copied.fallback_nodes = 0;
    tap_ok(!forecast_fallback_text(&copied, words, sizeof words)[0],
           "and the text is empty without a fallback");
    lab_close(&cpu);
}

static void test_strict(void)
{
    struct lab cpu;
    struct error error = {0};
    tap_ok(!lab_open(&cpu, "lenet", lacking_open("cpu", "relu", &error), true, &error) &&
               error.kind == ERROR_UNSUPPORTED && strcmp(error.what, "relu1") == 0 &&
               strstr(error.why, "device cpu cannot compute relu") &&
               strstr(error.advice, "--strict-device"),
           "strict: %s: %s: %s", error.what, error.why, error.advice);
    lab_close(&cpu);
    tap_ok(lab_open(&cpu, "lenet", device_open("cpu", 1, &error), true, &error),
           "a device with all kernels may be strict");
    lab_close(&cpu);
}

/* A kernel that is missing in the device's list would otherwise only make training slower. */
static void test_built_in_networks(void)
{
    const struct plan_settings strict = training(true);
    struct error error = {0};
    struct device *device = device_open("cpu", 1, &error);
    for (size_t n = 0; n < network_builtin_count; n++) {
        const struct network_request request = {.network = network_builtins[n].name};
        struct network *network = network_build(&request, &error);
        struct plan *plan =
            network ? plan_build(&network->graph, device->driver, &strict, &error) : NULL;
        tap_ok(plan, "%s: the device cpu has a kernel for every layer", request.network);
        plan_free(plan);
        network_free(network);
    }
    device_close(device);
}

/* --- a kernel that refuses large batches --- */

enum { LARGEST = 8 };
static struct kernel small_relu;

static bool is_small(const struct kernel_site *site, const char **reason)
{
    *reason = "the batch is too large";
    return site->batch <= LARGEST;
}

static size_t small_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    const size_t count = lacking_whole->kernels(op, list, capacity);
    if (count > 0 && strcmp(op->name, "relu") == 0) {
        small_relu = *list[count - 1]; /* the kernel for plain layouts */
        small_relu.supports = is_small;
        list[0] = &small_relu;
        return 1;
    }
    return count;
}

static void test_large_batch(void)
{
    struct error error = {0};
    const struct network_request request = {.network = "lenet"};
    struct plan_settings settings = training(false);
    struct network *network = network_build(&request, &error);
    struct device *device = lacking_open("cpu", "", &error);
    struct device_driver driver = *device->driver;
    driver.kernels = small_kernels;
    tap_ok(plan_largest_batch(&network->graph, &driver, &settings, 64, UINT64_MAX) == LARGEST,
           "the largest batch is one that the device computes itself");
    settings.batch = LARGEST + 1;
    struct plan *plan = plan_build(&network->graph, &driver, &settings, &error);
    tap_ok(plan && plan->forecast.fallback_nodes == 1, "a larger one falls back");
    for (size_t s = 0; plan && s < plan->step_count; s++)
        if (plan->steps[s].falls_back)
            tap_ok(strstr(plan->steps[s].choice, "refused: the batch is too large; device cpu"),
                   "  %s", plan->steps[s].choice);
    plan_free(plan);
    device_close(device);
    network_free(network);
}

TEST_CASE(fallback_test)
{
    test_all("lenet");
    test_all("resnet20");
    test_words();
    test_strict();
    test_built_in_networks();
    test_large_batch();
    return tap_done();
}
