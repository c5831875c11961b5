/* Compares every kernel of the device cpu, for every instruction set of this machine, with the
 * reference kernel for inputs of each kind (op_values.h), forward and backward. Max pooling also
 * for NaN and infinity. And a test of the harness: it detects kernels that leave their arrays.
 *
 * Ties show in gradients: which of several equal values gets the gradient. The sizes are those of
 * the goldens, the larger cases, and some of each sweep; fewer for sums of products, which do not
 * depend on the kind of value.
 */
#include "instruction_sets.h"
#include "op_harness.h"
#include "tap.h"

#include "base/threads/pool.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SWEEP_STEP = 3, PRODUCTS_STEP = 10, SETS = INSTRUCTION_SETS };

/* The tolerance of cpu_kernels_test. */
static const double tolerance = 2e-5;

static struct pool *pool;
static bool available[SETS]; /* instruction sets */

/* --- against the reference --- */

static struct op_harness *run_kernel(const struct op_case *op_case, const struct kernel *kernel,
                                     enum op_values values, enum guarded_side side,
                                     struct error *error)
{
    const struct op_harness_setup setup = {HARNESS_SEED, values, side};
    struct op_harness *h = op_harness_create_as(op_case, &setup, error);
    if (h && !op_harness_run(h, kernel, 0, pool, error)) {
        op_harness_free(h);
        return NULL;
    }
    return h;
}

static bool agrees(const struct op_harness *wanted, const struct kernel *kernel,
                   enum op_values values)
{
    const char *where = "";
    struct error error = {0};
    struct op_harness *got = run_kernel(wanted->op_case, kernel, values, GUARDED_END, &error);
    const double difference = got ? op_harness_compare(got, wanted, &where) : 0;
    if (!got)
        tap_note("%s by %s (%s): %s", wanted->op_case->name, kernel->name, kernel->instruction_set,
                 error.why);
    else if (!(difference <= tolerance))
        tap_note("%s by %s (%s): %s differs by %g", wanted->op_case->name, kernel->name,
                 kernel->instruction_set, where, difference);
    op_harness_free(got);
    return got && difference <= tolerance;
}

/* The tests of one kind of values, by instruction set. */
struct tally {
    size_t runs[SETS], failures[SETS];
};

/* Tests all kernels of an instruction set that accept the case. */
static void check_set(const struct op_harness *wanted, enum op_values values,
                      enum instruction_set set, struct tally *tally)
{
    const struct kernel_site site = op_harness_site(wanted, 1);
    for (const struct kernel *const *k = cpu_table_for(set)->kernels; *k; k++) {
        const char *reason;
        if ((*k)->op != wanted->op_case->op || ((*k)->supports && !(*k)->supports(&site, &reason)))
            continue;
        tally->runs[set]++;
        tally->failures[set] += !agrees(wanted, *k, values);
    }
}

static void check_case(const struct op_case *op_case, enum op_values values, struct tally *tally)
{
    struct error error = {0};
    struct op_harness *wanted =
        run_kernel(op_case, op_case->op->reference, values, GUARDED_START, &error);
    if (!wanted)
        tap_note("%s by the reference: %s", op_case->name, error.why);
    for (int set = 0; set < SETS; set++)
        if (available[set] && wanted)
            check_set(wanted, values, (enum instruction_set)set, tally);
        else
            tally->failures[set] += !wanted;
    op_harness_free(wanted);
}

static bool is_wanted(size_t i)
{
    const struct op *op = op_cases[i].op;
    const unsigned flags = op_cases[i].flags;
    const bool products = op == &op_conv || op == &op_conv_transpose || op == &op_linear;
    if (op->traits & OP_VIEW || flags & CASE_TIMED)
        return false;
    if (flags & CASE_EDGE)
        return i % (products ? PRODUCTS_STEP : SWEEP_STEP) == 0;
    return !(flags & CASE_LARGER) || !products;
}

static void check_values(enum op_values values)
{
    struct tally tally = {0};
    for (size_t i = 0; i < op_case_count; i++)
        if (is_wanted(i))
            check_case(&op_cases[i], values, &tally);
    for (int set = 0; set < SETS; set++)
        if (available[set])
            tap_ok(tally.failures[set] == 0 && tally.runs[set] > 0,
                   "%s: %zu runs with %s values agree with the reference",
                   instruction_set_name((enum instruction_set)set), tally.runs[set],
                   op_values_name(values));
}

/* --- values that are not finite --- */

static bool same_values(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))))
            return false;
    return true;
}

/* Every third value NaN, infinite, or minus infinity; or all of them minus infinity. */
static struct op_harness *run_not_finite(const struct op_case *op_case, const struct kernel *kernel,
                                         bool all)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    const struct op_harness_setup setup = {HARNESS_SEED, VALUES_TIES, GUARDED_END};
    struct op_harness *h = op_harness_create_as(op_case, &setup, NULL);
    for (size_t i = 0; h && i < h->input_values[0]; i++)
        if (all)
            h->inputs[0][i] = -INFINITY;
        else if (i % 7 == 3)
            h->inputs[0][i] = specials[i / 7 % 3];
    if (h && op_harness_run(h, kernel, 0, pool, NULL))
        return h;
    op_harness_free(h);
    return NULL;
}

static bool agrees_not_finite(const struct op_case *op_case, const struct kernel *kernel, bool all)
{
    struct op_harness *wanted = run_not_finite(op_case, op_case->op->reference, all);
    struct op_harness *got = run_not_finite(op_case, kernel, all);
    bool good = wanted && got && same_values(got->output, wanted->output, got->output_values);
    if (good &&
        !(op_case->flags & CASE_INFERENCE)) /* NaN at the same places, in any order of adding */
        good = harness_difference(got->input_gradients[0], wanted->input_gradients[0],
                                  got->input_values[0]) <= 1e-6;
    if (!good)
        tap_note("%s by %s (%s): differs from the reference", op_case->name, kernel->name,
                 kernel->instruction_set);
    op_harness_free(wanted);
    op_harness_free(got);
    return good;
}

static void check_not_finite(enum instruction_set set)
{
    size_t failures = 0, runs = 0;
    for (const struct kernel *const *k = cpu_table_for(set)->kernels; *k; k++)
        for (size_t i = 0; (*k)->op == &op_max_pool && i < op_case_count; i++) {
            if (op_cases[i].op != &op_max_pool || op_cases[i].flags & CASE_TIMED ||
                (*k)->traits & KERNEL_BLOCKED) /* blocked_kernels_test.c, int8_kernels_test.c */
                continue;
            failures += !agrees_not_finite(&op_cases[i], *k, false);
            failures += !agrees_not_finite(&op_cases[i], *k, true);
            runs += 2;
        }
    tap_ok(failures == 0 && runs > 0, "%s: max_pool of %zu inputs that are not finite",
           instruction_set_name(set), runs);
}

/* --- the harness --- */

static int reach; /* how far the kernel below leaves its arrays, in floats; negative: before their
                     beginning */
static bool writes;

static void forward_outside(const struct kernel_call *call)
{
    const size_t count = shape_count(call->site->node->output);
    const float *from = reach < 0 ? call->inputs[0] + reach : call->inputs[0] + count - 1 + reach;
    float *to = reach < 0 ? call->output + reach : call->output + count - 1 + reach;
    memcpy(call->output, call->inputs[0], count * sizeof(float));
    if (writes)
        *to = 1;
    else
        call->output[0] += 0 * *from; /* without NaN around the array this would have no effect */
}

static const struct kernel outside = {
    .name = "outside", .instruction_set = "any", .op = &op_relu, .forward = forward_outside};
static const struct op_case outside_case = {.name = "case",
                                            .op = &op_relu,
                                            .inputs = {{1, 1, 10}},
                                            .input_count = 1,
                                            .batch = 1,
                                            .flags = CASE_INFERENCE};

/* Returns the exit status of a child that runs the kernel with arrays at `side`: 0 if nothing was
 * detected, 1 if a guard page was accessed, 3 if the results or the surrounding bytes revealed it.
 */
static int run_outside(enum guarded_side side)
{
    const char *where;
    const pid_t child = fork();
    int status = -1;
    if (child == 0) {
        struct op_harness *h = NULL;
        if (!freopen("/dev/null", "w", stdout) ||
            !(h = run_kernel(&outside_case, &outside, VALUES_MIXED, side, NULL)))
            _exit(3);
        _exit(op_harness_compare(h, h, &where) == 0 ? 0 : 3);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static void check_harness(void)
{
    static const int reaches[] = {0, -1, -3, 1, 5};
    for (int write = 0; write < 2; write++)
        for (size_t i = 0; i < sizeof reaches / sizeof *reaches; i++) {
            reach = reaches[i];
            writes = write;
            const int at_end = run_outside(GUARDED_END), at_start = run_outside(GUARDED_START);
            tap_ok(at_end == (reach > 0   ? 1
                              : reach < 0 ? 3
                                          : 0) &&
                       at_start == (reach < 0   ? 1
                                    : reach > 0 ? 3
                                                : 0),
                   "a kernel that %s %d floats %s is%s noticed", write ? "writes" : "reads",
                   reach < 0 ? -reach : reach, reach < 0 ? "before its array" : "behind its array",
                   reach ? "" : " not");
        }
}

TEST_CASE(kernel_values_test)
{
    pool = pool_create(2, NULL);
    check_harness();
    for (int set = 0; set < SETS; set++)
        available[set] = instruction_set_force((enum instruction_set)set);
    instruction_set_release();
    for (int values = VALUES_NEGATIVE; values < OP_VALUES; values++)
        check_values((enum op_values)values);
    for (int set = 0; set < SETS; set++)
        if (available[set])
            check_not_finite((enum instruction_set)set);
    pool_free(pool);
    return tap_done();
}
