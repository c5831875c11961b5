/* Compares every kernel of the device cuda on a real GPU with the reference, over the shared list
 * of cases, and checks that it gives the same bits each time and keeps the promises of kernel.h.
 * Skipped, with the reason, without a GPU. Compiled with -DEMULATED it uses the emulated module and
 * some of the cases, so that the test itself is tested on every machine. `--list` prints the names
 * of the tests; arguments are the names, or patterns, of those to run. The layers of the studied
 * networks are only run if they are named. CASES=2/16 in the environment runs every 16th case from
 * the third on: memcheck and racecheck are slow, and many of these processes can run at once. After
 * two minutes no further case begins (budget.h); the tests that are left share the time that is.
 *
 * The kernels' arrays are in pinned host memory, which a GPU reaches at the same addresses. It is
 * slow to allocate, so one block is divided.
 */
#include "choose_tests.h"
#include "cuda/budget.h"
#include "op_harness.h"

#include "engine/devices/device.h"
#include "engine/devices/device_backend.h"

#ifdef EMULATED
#include "cuda/emulated_device.h"
#include "cuda/emulated_module.h"
#include "sample.h"
enum { STEP = 19, WHOLE_STEP = 9 };
#else
enum { STEP = 1 };
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The relative tolerance for float32 sums in a different order; the longest sums of all layers have
 * millions of terms. */
static const double tolerance = 1e-3, usual = 2e-5;
/* What rounding the operands of products adds, by precision. */
static const double rounding[PRECISIONS] = {0, 5e-3, 4e-2, 5e-3};

static struct device *device;

/* --- memory --- */

enum { PIECES = 256 };
static struct {
    char *begin;
    size_t bytes, count;
    size_t ends[PIECES]; /* the part of the block that is in use */
    bool given[PIECES];  /* freed; its memory is reused once all later allocations are freed */
} pinned;

static size_t pinned_used(void)
{
    return pinned.count ? pinned.ends[pinned.count - 1] : 0;
}

static void *allocate(size_t bytes)
{
    const size_t begin = pinned_used(), end = begin + (bytes / 256 + 1) * 256;
    if (end > pinned.bytes || pinned.count == PIECES)
        return NULL;
    pinned.given[pinned.count] = false;
    pinned.ends[pinned.count++] = end;
    return pinned.begin + begin;
}

static void release(void *memory)
{
    for (size_t i = 0; memory && i < pinned.count; i++)
        if ((char *)memory == pinned.begin + (i ? pinned.ends[i - 1] : 0))
            pinned.given[i] = true;
    while (pinned.count && pinned.given[pinned.count - 1])
        pinned.count--;
}

static void finish(void *context)
{
    (void)context;
    device->driver->backend->wait(device);
}

static bool take_memory(size_t bytes)
{
    struct error error = {0};
    pinned.bytes = bytes;
    pinned.begin = device->driver->backend->allocate_pinned(device, bytes, "a test", &error);
    return pinned.begin;
}

/* --- cases --- */

static struct op_harness *run(const struct op_case *op_case, const struct kernel *kernel)
{
    struct op_harness *harness = op_harness_create(op_case, HARNESS_SEED, NULL);
    if (!harness || op_harness_run(harness, kernel, 0, NULL, NULL))
        return harness;
    op_harness_free(harness);
    return NULL;
}

static bool check_kernel(const struct op_harness *wanted, const struct kernel *kernel, char *why,
                         size_t size, double *worst)
{
    const char *where = "";
    struct error error = {0};
    struct op_harness *first = run(wanted->op_case, kernel);
    struct op_harness *second = run(wanted->op_case, kernel);
    const double difference = first && second ? op_harness_compare(first, wanted, &where) : 1;
    const double allowed =
        (wanted->op_case->flags & CASE_TIMED ? tolerance : usual) + rounding[device->precision];
    bool good = difference <= allowed;
    *worst = difference > *worst ? difference : *worst;
    snprintf(why, size, "%s differs by %g", where, difference);
    if (good && !op_harness_same(first, second)) {
        good = false;
        snprintf(why, size, "a second run gives other bits");
    }
    op_harness_free(first);
    op_harness_free(second);
    good = good && op_harness_check_contract(wanted->op_case, kernel, NULL, why, size);
    if (device_check(device, &error))
        return good;
    snprintf(why, size, "%s", error.why);
    return false;
}

static bool check_case(const struct op_case *op_case, size_t *runs, double *worst)
{
    const struct kernel *kernels[8];
    const char *reason;
    char why[512] = "no memory";
    struct op_harness *wanted = run(op_case, op_case->op->reference);
    bool good = wanted;
    const size_t count = wanted ? device->driver->kernels(op_case->op, kernels, 8) : 0;
    for (size_t k = 0; k < count; k++) {
        const struct kernel_site site = op_harness_site(wanted, 1);
        if (kernels[k]->supports && !kernels[k]->supports(&site, &reason))
            continue;
        ++*runs;
        if (!check_kernel(wanted, kernels[k], why, sizeof why, worst)) {
            good = false;
            tap_note("%s by %s: %s", op_case->name, kernels[k]->name, why);
        }
    }
    op_harness_free(wanted);
    return good && count > 0;
}

/* Returns whether the device has a kernel of the operator; without one the reference computes it.
 */
static bool has_kernel(const struct op *op)
{
    const struct kernel *kernel;
    return device->driver->kernels(op, &kernel, 1) > 0;
}

/* The reference has one thread and plain loops, so the layers of large networks take it minutes:
 * once a test's share of the time is over, no further case begins. They are taken in turns of
 * TURNS, so that those that are left out lie in all networks. */
enum { TURNS = 5 };
static size_t shares_left; /* calls of run_cases to come, which share the rest of the time */

/* Counts and reports the cases that a test leaves out. */
static void note_left(const char *what, size_t left, double seconds)
{
    budget.left += left;
    if (left > 0)
        tap_note("%s: %zu cases are left out, because %.0f s are over", what, left, seconds);
}

/* The cases that this process runs: those whose number is `first` modulo `step`. */
static size_t share_first = 0, share_step = STEP;

/* Reads CASES=FIRST/STEP. Returns false if it is something else. */
static bool read_share(void)
{
    const char *text = getenv("CASES");
    return !text ||
           (sscanf(text, "%zu/%zu", &share_first, &share_step) == 2 && share_first < share_step);
}

static void check_cases(const char *what, unsigned of, double seconds)
{
    size_t good = 0, count = 0, runs = 0, left = 0;
    double worst = 0;
    const uint64_t began = clock_nanoseconds();
    for (size_t turn = 0; turn < TURNS; turn++) {
        size_t seen = 0;
        for (size_t i = 0; i < op_case_count; i++) {
            if ((op_cases[i].flags & CASE_WITHOUT_GOLDEN) != of || !has_kernel(op_cases[i].op) ||
                seen++ % share_step != share_first || seen / share_step % TURNS != turn)
                continue;
            if (clock_seconds(began, clock_nanoseconds()) >= seconds) {
                left++;
                continue;
            }
            count++;
            good += check_case(&op_cases[i], &runs, &worst);
        }
    }
    note_left(what, left, seconds);
    if (count == 0 && left > 0) {
        tap_skip("%s: the time (BUDGET) was over before its first case", what);
        return;
    }
    tap_ok(good == count && count > 0,
           "%s: %zu of %zu agree with the reference in %zu runs, at worst within %.1g", what, good,
           count, runs, worst);
}

/* --- tests --- */

static const struct iteration_values moment = {.iteration = HARNESS_ITERATION};

/* Runs the cases with these flags in a precision, on memory of so many MiB. */
static void run_cases(const char *what, unsigned flags, enum device_precision precision,
                      size_t mebibytes)
{
    struct error error = {0};
    const double seconds = budget_rest() / (double)(shares_left > 0 ? shares_left-- : 1);
    device = device_open("cuda", 1, &error);
    if (!tap_ok(device && device_set_precision(device, precision, &error) &&
                    take_memory(mebibytes << 20),
                "the GPU opens, and the host's memory is pinned: %s", error.why)) {
        device_close(device);
        return;
    }
    const struct op_harness_device pinned_device = {device->state, allocate, release, finish};
    op_harness_device = &pinned_device;
    device->driver->backend->set_iteration_values(device, &moment);
    check_cases(what, flags, seconds);
    op_harness_device = NULL;
    device->driver->backend->release_pinned(device, pinned.begin);
    device_close(device);
}

static void test_goldens(void)
{
    run_cases("cases of the goldens", 0, PRECISION_FLOAT32, 256);
}

static void test_edges(void)
{
    run_cases("sizes around vectors and tiles", CASE_EDGE, PRECISION_FLOAT32, 256);
}

static void test_larger(void)
{
    run_cases("larger cases", CASE_LARGER, PRECISION_FLOAT32, 256);
}

static void test_layers(void)
{
    run_cases("layers of the studied networks", CASE_TIMED, PRECISION_FLOAT32, 4096);
}

static void test_tf32(void)
{
    run_cases("tf32, sizes around vectors and tiles", CASE_EDGE, PRECISION_TF32, 256);
    run_cases("tf32, larger cases", CASE_LARGER, PRECISION_TF32, 256);
}

static void test_bf16(void)
{
    run_cases("bf16, sizes around vectors and tiles", CASE_EDGE, PRECISION_BF16, 256);
    run_cases("bf16, larger cases", CASE_LARGER, PRECISION_BF16, 256);
}

static void test_fp16(void)
{
    run_cases("fp16, sizes around vectors and tiles", CASE_EDGE, PRECISION_FP16, 256);
    run_cases("fp16, larger cases", CASE_LARGER, PRECISION_FP16, 256);
}

static const struct named_test tests[] = {
    {"kernels", test_goldens},   {"kernels-edges", test_edges}, {"kernels-larger", test_larger},
    {"kernels-tf32", test_tf32}, {"kernels-bf16", test_bf16},   {"kernels-fp16", test_fp16},
    {"layers", test_layers}, /* the last: only if it is named */
};
enum { TESTS = sizeof tests / sizeof *tests };
static const unsigned char shares[TESTS] = {1, 1, 1, 2, 2, 2, 1}; /* calls of run_cases */

TEST_CASE(cuda_device_test)
{
    int status;
    struct error error = {0};
    if (tests_listed(tests, TESTS, argc, argv, &status))
        return status;
#ifdef EMULATED
    share_step = sample_is_whole() ? WHOLE_STEP : STEP;
#endif
    if (!read_share()) {
        fprintf(stderr, "%s: CASES is FIRST/STEP, such as 2/16\n", argv[0]);
        return 2;
    }
    if (!budget_begin()) {
        fprintf(stderr, "%s: BUDGET is a number of seconds\n", argv[0]);
        return 2;
    }
    const size_t count = argc > 1 ? TESTS : TESTS - 1;
    for (size_t i = 0; i < count; i++)
        shares_left += test_is_chosen(tests[i].name, argc - 1, argv + 1) ? shares[i] : 0;
#ifdef EMULATED
    cuda_use_module(tinca_cuda_module());
#endif
    const bool found = device_find("cuda", NULL, &error);
    status = tests_run(tests, count, argc, argv, found ? NULL : error.why, NULL);
    budget_report("cases");
    return status;
}
