/* Every kernel of the device cpu, for every instruction set that this machine can run: against the
 * reference kernel over the shared list of cases and some larger ones, with the same bits for any
 * number of threads, and true to what kernel.h promises. And the solver's step, by the same rules.
 */
#include "instruction_sets.h"
#include "op_harness.h"
#include "tap.h"

#include "base/memory.h"
#include "base/pool.h"
#include "base/random.h"
#include "engine/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The list's batches are small; these reach what many images, many channels and strides need. */
#define CONV(outputs_, groups_, kernel, stride, pad)                                               \
    .op = &op_conv, .attributes.conv = {.window = {kernel, kernel, stride, stride, pad, pad},      \
                                        .outputs = outputs_,                                       \
                                        .groups = groups_,                                         \
                                        .bias = true}
#define TRANSPOSE(outputs_, groups_, kernel, stride, pad)                                          \
    .op = &op_conv_transpose,                                                                      \
    .attributes.conv = {.window = {kernel, kernel, stride, stride, pad, pad},                      \
                        .outputs = outputs_,                                                       \
                        .groups = groups_,                                                         \
                        .bias = true}
#define ONE(c, h, w) .inputs = {{c, h, w}}, .input_count = 1

static const struct op_case larger_cases[] = {
    {.name = "conv of 17 images", CONV(16, 1, 3, 1, 1), ONE(16, 8, 8), .batch = 17},
    {.name = "conv of 37 images, stride 2", CONV(33, 1, 3, 2, 1), ONE(15, 7, 9), .batch = 37},
    {.name = "conv of 16 images, 5x5", CONV(50, 1, 5, 1, 0), ONE(20, 12, 12), .batch = 16},
    {.name = "conv of 9 images, 2 groups", CONV(34, 2, 5, 1, 2), ONE(14, 13, 13), .batch = 9},
    {.name = "conv 11x11 stride 4", CONV(17, 1, 11, 4, 0), ONE(3, 47, 47), .batch = 2},
    {.name = "conv 1x1 stride 2 of 19 images", CONV(32, 1, 1, 2, 0), ONE(16, 9, 9), .batch = 19},
    {.name = "conv 3x3 stride 5", CONV(7, 1, 3, 5, 2), ONE(5, 17, 13), .batch = 3},
    {.name = "conv 4x4 stride 3 pad 3", CONV(9, 1, 4, 3, 3), ONE(3, 10, 11), .batch = 4},
    {.name = "conv 1x1 pad 2", CONV(5, 1, 1, 1, 2), ONE(3, 4, 5), .batch = 2},
    {.name = "conv stride 17", CONV(5, 1, 3, 17, 1), ONE(4, 40, 37), .batch = 3},
    {.name = "conv stride 17 of 21 images", CONV(4, 2, 2, 17, 0), ONE(4, 19, 36), .batch = 21},
    {.name = "conv depthwise of 23 images", CONV(19, 19, 3, 1, 1), ONE(19, 11, 11), .batch = 23},
    {.name = "conv depthwise 8x8 stride 2", CONV(32, 32, 3, 2, 1), ONE(32, 8, 8), .batch = 16},
    {.name = "conv of 3 channels in a group", CONV(12, 4, 3, 1, 1), ONE(8, 16, 16), .batch = 5},
    {.name = "conv of 67 channels", CONV(67, 1, 3, 1, 1), ONE(65, 5, 5), .batch = 2},
    {.name = "conv_transpose 4x4 stride 2", TRANSPOSE(33, 1, 4, 2, 1), ONE(65, 8, 8), .batch = 1},
    {.name = "conv_transpose of 19 images", TRANSPOSE(12, 2, 4, 2, 1), ONE(16, 6, 5), .batch = 19},
    {.name = "conv_transpose to a large image",
     TRANSPOSE(3, 1, 4, 2, 1),
     ONE(7, 61, 37),
     .batch = 1},
    {.name = "linear of 4 images",
     .op = &op_linear,
     .attributes.linear = {.outputs = 131, .bias = true},
     ONE(1031, 1, 1),
     .batch = 4},
    {.name = "linear of 67 images",
     .op = &op_linear,
     .attributes.linear = {.outputs = 1009, .bias = true},
     ONE(257, 1, 1),
     .batch = 67},
    {.name = "relu of many values", .op = &op_relu, ONE(3, 97, 101), .batch = 3},
    {.name = "batch_norm 32x32",
     .op = &op_batch_norm,
     .attributes.batch_norm = {1e-5f, 0.1f},
     ONE(5, 32, 32),
     .batch = 19},
    {.name = "batch_norm of 131 channels",
     .op = &op_batch_norm,
     .attributes.batch_norm = {1e-5f, 0.1f},
     ONE(131, 1, 1),
     .batch = 33},
    {.name = "lrn of pieces",
     .op = &op_lrn,
     .attributes.lrn = {5, 1e-2f, 0.75f, 1},
     ONE(96, 13, 13),
     .batch = 2},
    {.name = "dropout of many values",
     .op = &op_dropout,
     .attributes.dropout = {0.5f},
     ONE(7, 61, 67),
     .batch = 3},
    {.name = "softmax of wide images", .op = &op_softmax, ONE(5, 23, 29), .batch = 3},
    {.name = "l1_loss of large images",
     .op = &op_l1_loss,
     .attributes.loss = {1, false, 0},
     .inputs = {{3, 61, 67}, {3, 61, 67}},
     .input_count = 2,
     .batch = 3},
};

/* --- one case, one kernel --- */

static const size_t thread_counts[] = {1, 2, 3, 5};
enum { POOLS = sizeof thread_counts / sizeof *thread_counts };

static struct pool *pools[POOLS];

/* Float sums of so many terms: the longest in these cases have a few thousand. */
static const double tolerance = 2e-5;

static bool same_bits(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

static bool same_results(const struct op_harness *a, const struct op_harness *b)
{
    bool training = !(a->op_case->flags & CASE_INFERENCE);
    bool same = same_bits(a->output, b->output, a->output_values);
    for (size_t k = 0; training && k < a->input_count; k++)
        same &= same_bits(a->input_gradients[k], b->input_gradients[k], a->input_values[k]);
    for (size_t p = 0; p < a->parameter_count; p++) {
        same &= same_bits(a->updated[p], b->updated[p], a->parameter_values[p]);
        if (training && a->learnable[p])
            same &= same_bits(a->parameter_gradients[p], b->parameter_gradients[p],
                              a->parameter_values[p]);
    }
    return same;
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
            good = difference <= tolerance;
            snprintf(why, size, "%s differs by %g", where, difference);
        } else if (good) {
            good = same_results(got[0], got[1]);
            snprintf(why, size, "%zu threads give other bits than 1", thread_counts[i]);
        }
    }
    op_harness_free(got[0]);
    op_harness_free(got[1]);
    return good && op_harness_check_contract(wanted->op_case, kernel, pools[1], why, size);
}

/* All kernels of a table that accept the case. Returns how many failed; notes why. */
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

static void check_cases(const char *what, const struct op_case *cases, size_t count,
                        enum instruction_set set)
{
    size_t failures = 0, runs = 0, without = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t before = runs;
        if (cases[i].op->traits & OP_VIEW)
            continue;
        failures += check_case(&cases[i], cpu_table_for(set), &runs);
        without += runs == before;
    }
    tap_ok(failures == 0 && without == 0,
           "%s: %s: %zu runs of %zu cases agree with the reference, for any number of threads",
           instruction_set_name(set), what, runs, count);
}

/* --- the solver's step --- */

enum { WEIGHTS = 40009 };

static bool fill_weights(float *arrays[4])
{
    for (size_t i = 0; i < 4; i++) {
        arrays[i] = memory_new_aligned(WEIGHTS, sizeof(float), "a test", NULL);
        if (!arrays[i])
            return false;
        random_fill_uniform(1, RANDOM_TEST, (uint32_t)i, i == 3 ? 0 : -1, 1, arrays[i], WEIGHTS);
    }
    return true;
}

/* Three steps on `pool` by the table, or by the rule itself when it is NULL. */
static void take_steps(const struct solver_settings *settings, float *arrays[4],
                       const struct cpu_table *table, struct pool *pool)
{
    for (uint64_t step = 1; step <= 3; step++) {
        struct solver_update update = {.settings = *settings,
                                       .learning_rate = 0.01f,
                                       .step = step,
                                       .count = WEIGHTS,
                                       .weights = arrays[0],
                                       .gradients = arrays[1],
                                       .state = {arrays[2], arrays[3]}};
        if (table)
            table->update(&update, pool);
        else
            solver_update_range(&update, 0, WEIGHTS);
    }
}

static void free_weights(float *arrays[4])
{
    for (size_t i = 0; i < 4; i++)
        free(arrays[i]);
}

static bool check_solver(const struct solver_settings *settings, enum instruction_set set)
{
    float *wanted[4], *first[4], *got[4];
    bool good = fill_weights(wanted) && fill_weights(first);
    take_steps(settings, wanted, NULL, NULL);
    take_steps(settings, first, cpu_table_for(set), pools[0]);
    good = good && harness_difference(first[0], wanted[0], WEIGHTS) <= 1e-6;
    for (size_t i = 1; good && i < POOLS; i++) {
        good = fill_weights(got);
        take_steps(settings, got, cpu_table_for(set), pools[i]);
        good = good && same_bits(first[0], got[0], WEIGHTS) && same_bits(first[2], got[2], WEIGHTS);
        free_weights(got);
    }
    free_weights(wanted);
    free_weights(first);
    return good;
}

static void check_solvers(enum instruction_set set)
{
    const struct solver_settings settings[] = {
        {SOLVER_SGD, 0, 0, 0, 5e-4f},
        {SOLVER_SGD, 0.9f, 0, 0, 5e-4f},
        {SOLVER_NESTEROV, 0.9f, 0, 0, 5e-4f},
        {SOLVER_ADAM, 0.5f, 0.999f, 1e-8f, 1e-3f},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        tap_ok(check_solver(&settings[i], set), "%s: %s with momentum %g follows the rule",
               instruction_set_name(set), solver_name(settings[i].kind), settings[i].momentum);
}

/* --- the choice at start-up --- */

static void check_choice(enum instruction_set set)
{
    const struct kernel *kernel;
    struct device *device;
    device = device_open("cpu", 2, NULL);
    tap_ok(device && device->state == cpu_table_for(set) &&
               device->driver->kernels(&op_relu, &kernel, 1) == 1 &&
               strcmp(kernel->instruction_set,
                      set == ISA_GENERIC ? "any" : instruction_set_name(set)) == 0,
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
    struct op_case wide = {.name = "stride 17", CONV(2, 1, 3, 17, 0), ONE(1, 40, 40), .batch = 1};
    struct op_harness *harness = op_harness_create(&wide, 1, NULL);
    if (!harness)
        return;
    struct kernel_site site = op_harness_site(harness, 1);
    const struct kernel *kernel =
        device_choose_kernel(device_drivers[1], &site, why, sizeof why, NULL);
    tap_ok(kernel && strcmp(kernel->name, "conv im2col+sgemm") == 0 && strstr(why, "refused"),
           "a kernel that refuses says why: %s", why);
    tap_ok(!device_choose_kernel(device_drivers[2], &site, NULL, 0, &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "a device without kernels: %s", error.why);
    op_harness_free(harness);
}

int main(void)
{
    for (size_t i = 0; i < POOLS; i++)
        pools[i] = pool_create(thread_counts[i], NULL);
    for (int set = ISA_GENERIC; set <= ISA_AVX512; set++) {
        if (!instruction_set_force((enum instruction_set)set))
            continue;
        check_choice((enum instruction_set)set);
        check_cases("listed cases", op_cases, op_case_count, (enum instruction_set)set);
        check_cases("larger cases", larger_cases, sizeof larger_cases / sizeof *larger_cases,
                    (enum instruction_set)set);
        check_solvers((enum instruction_set)set);
    }
    instruction_set_release();
    check_names();
    check_refusals();
    for (size_t i = 0; i < POOLS; i++)
        pool_free(pools[i]);
    return tap_done();
}
