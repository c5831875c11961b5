/* Compares every kernel of the device cpu, for every instruction set of this machine, with the
 * reference kernel over the shared list of cases, and checks that any number of threads gives the
 * same bits and that it keeps the promises of kernel.h. The same for the solver's step. --long
 * (make check-long) adds the layers of the studied networks, for which the reference needs minutes.
 */
#include "instruction_sets.h"
#include "op_harness.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads/pool.h"
#include "engine/devices/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- one case, one kernel --- */

static const size_t thread_counts[] = {1, 3, 2, 5};
enum { POOLS = SANITIZED ? 2 : sizeof thread_counts / sizeof *thread_counts };

static struct pool *pools[POOLS];

/* The tolerance for float sums; the longest in these cases have a few thousand terms. */
static const double tolerance = 2e-5;

static bool same_bits(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

/* Returns whether every kernel must give the reference's bits: pooling copies values, and adds the
 * gradients of overlapping windows in the order of the outputs. */
static bool has_exact_bits(const struct op *op)
{
    return op == &op_max_pool;
}

static bool check_against(const struct op_harness *wanted, const struct kernel *kernel, char *why,
                          size_t size)
{
    struct op_harness *got[2] = {NULL, NULL};
    const char *where = "";
    bool good = true;
    for (size_t i = 0; good && i < POOLS; i++) {
        struct op_harness **now = &got[i > 0];
        op_harness_free(*now);
        *now = op_harness_create(wanted->op_case, HARNESS_SEED, NULL);
        good = *now && op_harness_run(*now, kernel, 0, pools[i], NULL);
        if (good && i == 0) {
            const double difference = op_harness_compare(got[0], wanted, &where);
            good = difference <= tolerance &&
                   (!has_exact_bits(wanted->op_case->op) || op_harness_same(got[0], wanted));
            snprintf(why, size, "%s differs by %g", where, difference);
        } else if (good) {
            good = op_harness_same(got[0], got[1]);
            snprintf(why, size, "%zu threads give different bits from 1", thread_counts[i]);
        }
    }
    op_harness_free(got[0]);
    op_harness_free(got[1]);
    return good && op_harness_check_contract(wanted->op_case, kernel, pools[1], why, size);
}

/* Tests all kernels of a table that accept the case. Returns how many failed, and prints the
 * reasons. */
static size_t check_case(const struct op_case *op_case, const struct cpu_table *table, size_t *runs)
{
    struct op_harness *wanted = op_harness_create(op_case, HARNESS_SEED, NULL);
    size_t failures = 0;
    if (!wanted || !op_harness_run(wanted, op_case->op->reference, 0, NULL, NULL)) {
        op_harness_free(wanted);
        return 1;
    }
    const struct kernel_site site = op_harness_site(wanted, 1);
    for (const struct kernel *const *k = table->kernels; *k; k++) {
        const char *reason;
        char why[256] = "";
        if ((*k)->op != op_case->op || ((*k)->supports && !(*k)->supports(&site, &reason)))
            continue;
        ++*runs;
        if (!check_against(wanted, *k, why, sizeof why)) {
            failures++;
            tap_note("%s by %s (%s): %s", op_case->name, (*k)->name, (*k)->instruction_set, why);
        }
    }
    op_harness_free(wanted);
    return failures;
}

/* Returns whether the device has a kernel of the operator; without one the reference computes it.
 */
static bool has_kernel(const struct cpu_table *table, const struct op *op)
{
    for (const struct kernel *const *k = table->kernels; *k; k++)
        if ((*k)->op == op && !((*k)->traits & KERNEL_INT8))
            return true;
    return false;
}

/* Tests the cases whose flag of CASE_WITHOUT_GOLDEN is `of`; 0: those that have a golden.
 * `make check` sees every fourth of the many sizes, sanitizers every 16th, with each instruction
 * set others. */
static void check_cases(const char *what, unsigned of, enum instruction_set set)
{
    size_t failures = 0, runs = 0, without = 0, count = 0;
    for (size_t i = 0; i < op_case_count; i++) {
        const size_t before = runs;
        if ((op_cases[i].flags & CASE_WITHOUT_GOLDEN) != of ||
            !has_kernel(cpu_table_for(set), op_cases[i].op))
            continue;
        if (of & CASE_EDGE && !sample_has(i + (size_t)set, 4, 16))
            continue;
        if (of & CASE_LARGER && !sample_has(i + (size_t)set, 2, 1))
            continue;
        failures += check_case(&op_cases[i], cpu_table_for(set), &runs);
        without += runs == before;
        count++;
    }
    tap_ok(failures == 0 && without == 0 && count > 0,
           "%s: %s: %zu runs of %zu cases agree with the reference, for any number of threads",
           instruction_set_name(set), what, runs, count);
}

static void check_every_day(enum instruction_set set)
{
    check_cases("cases of the goldens", 0, set);
    check_cases("sizes around vectors and tiles", CASE_EDGE, set);
    check_cases("larger cases", CASE_LARGER, set);
}

/* --- the solver's step --- */

/* Lengths around vectors and tasks, and primes. */
static const size_t weight_counts[] = {1,  2,  3,  4,  5,     7,     8,     9,     15,   16,
                                       17, 31, 32, 33, 16383, 16384, 16385, 32771, 40009};
enum { COUNTS = sizeof weight_counts / sizeof *weight_counts };

static bool fill_weights(float *arrays[4], size_t count)
{
    for (size_t i = 0; i < 4; i++) {
        arrays[i] = memory_new_aligned(count, sizeof(float), "a test", NULL);
        if (!arrays[i])
            return false;
        random_fill_uniform(1, RANDOM_TEST, (uint32_t)i, i >= 2 ? 0 : -1, 1, arrays[i], count);
    }
    return true;
}

/* Computes three steps on `pool` with the kernels of the table, or with the formula if it is NULL.
 */
static void take_steps(const struct solver_settings *settings, float *arrays[4], size_t count,
                       const struct cpu_table *table, struct pool *pool)
{
    for (uint64_t step = 1; step <= 3; step++) {
        struct solver_update update = {.settings = *settings,
                                       .learning_rate = 0.01f,
                                       .step = step,
                                       .count = count,
                                       .weights = arrays[0],
                                       .gradients = arrays[1],
                                       .state = {arrays[2], arrays[3]}};
        if (table)
            table->update(&update, pool);
        else
            solver_update_range(&update, 0, count);
    }
}

static void free_weights(float *arrays[4])
{
    for (size_t i = 0; i < 4; i++)
        free(arrays[i]);
}

static bool check_solver(const struct solver_settings *settings, size_t count,
                         enum instruction_set set)
{
    float *wanted[4], *first[4], *got[4];
    bool good = fill_weights(wanted, count) && fill_weights(first, count);
    take_steps(settings, wanted, count, NULL, NULL);
    take_steps(settings, first, count, cpu_table_for(set), pools[0]);
    good = good && harness_difference(first[0], wanted[0], count) <= 1e-6;
    for (size_t i = 1; good && i < POOLS; i++) {
        good = fill_weights(got, count);
        take_steps(settings, got, count, cpu_table_for(set), pools[i]);
        good = good && same_bits(first[0], got[0], count) && same_bits(first[2], got[2], count);
        free_weights(got);
    }
    free_weights(wanted);
    free_weights(first);
    return good;
}

static void check_solvers(enum instruction_set set)
{
    const struct solver_settings settings[] = {
        {SOLVER_SGD, 0, 0, 0, 5e-4f, MOMENTUM_CAFFE},
        {SOLVER_SGD, 0.9f, 0, 0, 5e-4f, MOMENTUM_CAFFE},
        {SOLVER_NESTEROV, 0.9f, 0, 0, 5e-4f, MOMENTUM_CAFFE},
        {SOLVER_SGD, 0.9f, 0, 0, 5e-4f, MOMENTUM_TORCH},
        {SOLVER_NESTEROV, 0.9f, 0, 0, 5e-4f, MOMENTUM_TORCH},
        {SOLVER_ADAM, 0.5f, 0.999f, 1e-8f, 1e-3f, MOMENTUM_CAFFE},
        {SOLVER_ADAMW, 0.9f, 0.98f, 1e-8f, 1e-2f, MOMENTUM_CAFFE},
        {SOLVER_RMSPROP, 0, 0.99f, 1e-8f, 1e-3f, MOMENTUM_CAFFE},
        {SOLVER_RMSPROP, 0.9f, 0.9f, 1e-8f, 0, MOMENTUM_CAFFE},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        size_t good = 0;
        for (size_t k = 0; k < COUNTS; k++)
            good += check_solver(&settings[i], weight_counts[k], set);
        tap_ok(good == COUNTS, "%s: %s with momentum %g follows the rule for %zu of %d sizes",
               instruction_set_name(set), solver_names[settings[i].kind],
               (double)settings[i].momentum, good, COUNTS);
    }
}

/* --- the choice at start-up --- */

/* Returns the instruction set of the first kernel for relu that works on float32. */
static const char *chosen_set(const struct device *device)
{
    enum { MOST = 24 };
    const struct kernel *list[MOST];
    const size_t count = device->driver->kernels(&op_relu, list, MOST);
    for (size_t i = 0; i < count; i++)
        if (!(list[i]->traits & (KERNEL_BF16 | KERNEL_INT8)))
            return list[i]->instruction_set;
    return "none";
}

static void check_choice(enum instruction_set set)
{
    struct device *device = device_open("cpu", 2, NULL);
    tap_ok(device && device->state == cpu_table_for(set) &&
               strcmp(chosen_set(device), set == ISA_GENERIC ? "any" : instruction_set_name(set)) ==
                   0,
           "TINCA_CPU=%s chooses its kernels", instruction_set_name(set));
    device_close(device);
}

static void check_names(void)
{
    const struct {
        const char *name;
        enum error_kind kind;
    } names[] = {{"cuda", ERROR_UNSUPPORTED},
                 {"cuda:9", ERROR_UNSUPPORTED},
                 {"cuda:", ERROR_USAGE},
                 {"cuda:x", ERROR_USAGE},
                 {"cpu:1", ERROR_USAGE},
                 {"gpu", ERROR_USAGE},
                 {"", ERROR_USAGE}};
    struct error error = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tap_ok(!device_open(names[i].name, 1, &error) && error.kind == names[i].kind,
               "device \"%s\" is refused: %s", names[i].name, error.why);
    struct device *device = device_open("reference", 4, NULL);
    tap_ok(device && device->threads == 1, "the reference has one thread");
    device_close(device);
}

static void check_refusals(void)
{
    char why[160];
    struct error error = {0};
    const struct op_case wide = {
        .name = "stride 17",
        .op = &op_conv,
        .attributes.conv = {.window = {3, 3, 17, 17, 0, 0}, .outputs = 2, .groups = 1},
        .inputs = {{1, 40, 40}},
        .input_count = 1,
        .batch = 1};
    struct op_harness *harness = op_harness_create(&wide, 1, NULL);
    if (!harness)
        return;
    struct kernel_site site = op_harness_site(harness, 1);
    const struct kernel *kernel =
        device_choose_kernel(device_drivers[1], &site, why, sizeof why, NULL);
    tap_ok(kernel && strcmp(kernel->name, "conv im2col+sgemm") == 0 && strstr(why, "refused"),
           "a kernel that refuses gives a reason: %s", why);
    tap_ok(!device_choose_kernel(device_drivers[2], &site, NULL, 0, &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "a device without kernels: %s", error.why);
    op_harness_free(harness);
}

TEST_CASE(cpu_kernels_test)
{
    const bool is_long = argc > 1 && strcmp(argv[1], "--long") == 0;
    for (size_t i = 0; i < POOLS; i++)
        pools[i] = pool_create(thread_counts[i], NULL);
    for (int set = 0; set < INSTRUCTION_SETS; set++) {
        if (!instruction_set_force((enum instruction_set)set))
            continue;
        check_choice((enum instruction_set)set);
        check_solvers((enum instruction_set)set);
        if (is_long)
            check_cases("layers of the studied networks", CASE_TIMED, (enum instruction_set)set);
        else
            check_every_day((enum instruction_set)set);
    }
    instruction_set_release();
    check_names();
    check_refusals();
    for (size_t i = 0; i < POOLS; i++)
        pool_free(pools[i]);
    return tap_done();
}
