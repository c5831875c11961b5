/* Compares every kernel of the emulated device cuda with the reference, over the shared list of
 * cases, and checks that the order of blocks and threads does not change its bits and that it keeps
 * the promises of kernel.h. Each case runs twice: with the launch sizes of a large GPU, and of a
 * GPU with few blocks, on which small cases use the code for large ones. Then the solver's step,
 * and the division by multiplication. */
#include "choose_tests.h"
#include "cuda/emulated_device.h"
#include "op_harness.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* The tolerance for float sums; the longest in these cases have a few thousand terms. */
static const double tolerance = 2e-5;

/* `make check` tests some of the sizes, and fewer with a sanitizer, which is slow. */
enum { EDGE_STEP = 7, SANITIZED_EDGE_STEP = 31, LARGER_STEP = 5, SANITIZED_LARGER_STEP = 7 };

/* --- the kernels' memory --- */

static void *allocate(size_t bytes)
{
    return emulated_driver.allocate(NULL, bytes, "a test", NULL);
}

static void release(void *memory)
{
    emulated_driver.release(NULL, memory);
}

static void finish(void *context)
{
    (void)context;
}

/* --- one case, one kernel --- */

static struct op_harness *run_in_order(const struct op_case *op_case, const struct kernel *kernel,
                                       uint64_t order)
{
    struct op_harness *harness = op_harness_create(op_case, HARNESS_SEED, NULL);
    emulator_set_order(order);
    if (harness && !op_harness_run(harness, kernel, 0, NULL, NULL)) {
        op_harness_free(harness);
        harness = NULL;
    }
    return harness;
}

/* Runs a case in two orders of threads if `reorders`, and checks the promises of kernel.h if
 * `promises`. Under a sanitizer, which would see the same, it runs in one order. */
static bool check_against(const struct op_harness *wanted, const struct kernel *kernel,
                          bool reorders, bool promises, char *why, size_t size)
{
    const char *where = "", *failure;
    const bool again = reorders && !SANITIZED;
    struct op_harness *natural = run_in_order(wanted->op_case, kernel, 0);
    struct op_harness *drawn = again ? run_in_order(wanted->op_case, kernel, 77) : NULL;
    bool good = natural && (drawn || !again);
    if (good) {
        const double difference = op_harness_compare(natural, wanted, &where);
        good = difference <= tolerance;
        snprintf(why, size, "%s differs by %g", where, difference);
    }
    if (good && drawn && !op_harness_same(natural, drawn)) {
        good = false;
        snprintf(why, size, "another order of threads gives other bits");
    }
    op_harness_free(natural);
    op_harness_free(drawn);
    if (promises)
        good = good && op_harness_check_contract(wanted->op_case, kernel, NULL, why, size);
    failure = emulated_failure();
    if (*failure)
        snprintf(why, size, "%s", failure);
    return good && !*failure;
}

/* Checks a kernel with both numbers of busy blocks; of a sample, it has another order of threads
 * with one of them and checks the promises with the other, in turn. */
static void check_kernel(const struct op_harness *wanted, const struct kernel *kernel,
                         size_t *failures)
{
    static const unsigned busy[] = {EMULATED_BUSY_BLOCKS, 2};
    char why[256] = "";
    const size_t number = (size_t)(wanted->op_case - op_cases);
    for (size_t i = 0; i < 2; i++) {
        if (SANITIZED && number % 2 != i)
            continue; /* a sanitizer sees each case with one number of busy blocks, in turn */
        if (wanted->op_case->flags & CASE_WITHOUT_GOLDEN && !sample_has(number / 2 + i, 2, 1))
            continue; /* so does `make check`, but for the cases of the goldens */
        emulated_set_busy_blocks(busy[i]);
        const struct kernel_site site = op_harness_site(wanted, 1);
        const char *reason;
        if (kernel->supports && !kernel->supports(&site, &reason))
            continue;
        if (!check_against(wanted, kernel, sample_has(number + i, 2, 1),
                           sample_has(number + i + 1, 2, 1), why, sizeof why)) {
            ++*failures;
            tap_note("%s by %s, %u blocks busy: %s", wanted->op_case->name, kernel->name, busy[i],
                     why);
        }
    }
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
}

/* Tests all kernels of the operator; a kernel that refuses the case must give a reason. */
static size_t check_case(const struct op_case *op_case)
{
    enum { CAPACITY = 8 };
    const struct kernel *kernels[CAPACITY];
    struct op_harness *wanted = run_in_order(op_case, op_case->op->reference, 0);
    size_t failures = !wanted;
    const size_t count = emulated_driver.kernels(op_case->op, kernels, CAPACITY);
    for (size_t k = 0; wanted && k < count; k++)
        check_kernel(wanted, kernels[k], &failures);
    op_harness_free(wanted);
    return failures;
}

/* Returns whether the device has a kernel of the operator; without one the reference computes it.
 */
static bool has_kernel(const struct op *op)
{
    const struct kernel *kernel;
    return emulated_driver.kernels(op, &kernel, 1) > 0;
}

/* Tests every `step`-th case whose flag of CASE_WITHOUT_GOLDEN is `of`, with a sanitizer every
 * `sanitized_step`-th. */
static void check_cases(const char *what, unsigned of, size_t step, size_t sanitized_step)
{
    size_t failures = 0, count = 0, seen = 0;
    for (size_t i = 0; i < op_case_count; i++) {
        if ((op_cases[i].flags & CASE_WITHOUT_GOLDEN) != of || !has_kernel(op_cases[i].op) ||
            !sample_has(seen++, step, sanitized_step))
            continue;
        failures += check_case(&op_cases[i]) > 0;
        count++;
    }
    tap_ok(failures == 0 && count > 0, "%s: all but %zu of %zu agree with the reference", what,
           failures, count);
}

/* Tests the cases whose names begin with `name`. */
static void check_named(const char *name)
{
    size_t failures = 0, count = 0;
    for (size_t i = 0; i < op_case_count; i++)
        if (strncmp(op_cases[i].name, name, strlen(name)) == 0) {
            failures += check_case(&op_cases[i]) > 0;
            count++;
        }
    tap_ok(failures == 0 && count > 0, "%s: all but %zu of %zu agree with the reference", name,
           failures, count);
}

/* --- other kinds of values --- */

static struct op_harness *run_values(const struct op_case *op_case, const struct kernel *kernel,
                                     enum op_values values)
{
    const struct op_harness_setup setup = {.seed = HARNESS_SEED, .values = values};
    struct op_harness *harness = op_harness_create_as(op_case, &setup, NULL);
    if (harness && op_harness_run(harness, kernel, 0, NULL, NULL))
        return harness;
    op_harness_free(harness);
    return NULL;
}

static bool values_agree(const struct op_harness *wanted, const struct kernel *kernel,
                         enum op_values values)
{
    const char *where = "", *reason;
    const struct kernel_site site = op_harness_site(wanted, 1);
    if (kernel->supports && !kernel->supports(&site, &reason))
        return true;
    struct op_harness *got = run_values(wanted->op_case, kernel, values);
    const double difference = got ? op_harness_compare(got, wanted, &where) : 1;
    op_harness_free(got);
    if (difference <= tolerance && !*emulated_failure())
        return true;
    tap_note("%s by %s: %s differs by %g", wanted->op_case->name, kernel->name, where, difference);
    return false;
}

/* Tests all cases that have a golden. */
static void check_values(enum op_values values)
{
    size_t good = 0, count = 0;
    emulator_set_order(0);
    for (size_t i = 0; i < op_case_count; i++) {
        const struct kernel *kernels[8];
        const struct op *op = op_cases[i].op;
        if (op_cases[i].flags & CASE_WITHOUT_GOLDEN || op->traits & OP_VIEW)
            continue;
        struct op_harness *wanted = run_values(&op_cases[i], op->reference, values);
        const size_t offered = emulated_driver.kernels(op, kernels, 8);
        for (size_t k = 0; wanted && k < offered; k++, count++)
            good += values_agree(wanted, kernels[k], values);
        op_harness_free(wanted);
    }
    tap_ok(good == count && count > 0, "%zu of %zu with %s values agree with the reference", good,
           count, op_values_name(values));
}

/* --- channels-last arrays --- */

/* Brings an array [N, C, H, W] into the order [N, H, W, C], or back. */
static void reorder(float *values, size_t batch, struct shape shape, bool back)
{
    const size_t count = shape_count(shape), area = shape_area(shape);
    float *old = malloc(count * sizeof *old);
    for (size_t n = 0; old && n < batch; n++, values += count) {
        memcpy(old, values, count * sizeof *old);
        for (size_t c = 0; c < shape.channels; c++)
            for (size_t i = 0; i < area; i++)
                if (back)
                    values[c * area + i] = old[i * shape.channels + c];
                else
                    values[i * shape.channels + c] = old[c * area + i];
    }
    free(old);
}

/* Runs a case whose inputs or output are channels-last, and returns plain results. */
static struct op_harness *run_layouts(const struct op_case *op_case, const struct kernel *kernel,
                                      bool inputs_last, bool output_last, unsigned options)
{
    struct op_harness *h = op_harness_create(op_case, HARNESS_SEED, NULL);
    const struct shape out = h->node->output;
    h->inputs_last = inputs_last;
    h->output_last = output_last;
    for (size_t k = 0; inputs_last && k < h->input_count; k++)
        reorder(h->inputs[k], op_case->batch, op_case->inputs[k], false);
    if (inputs_last)
        reorder(h->base, op_case->batch, op_case->inputs[0], false);
    if (output_last)
        reorder(h->output_gradient, op_case->batch, out, false);
    if (!op_harness_run(h, kernel, options, NULL, NULL))
        tap_note("%s: no memory", op_case->name);
    for (size_t k = 0; inputs_last && k < h->input_count; k++)
        reorder(h->input_gradients[k], op_case->batch, op_case->inputs[k], true);
    if (output_last)
        reorder(h->output, op_case->batch, out, true);
    return h;
}

static bool layouts_agree(const struct op_case *op_case, const struct kernel *kernel,
                          bool inputs_last, bool output_last)
{
    double worst = 0;
    const char *where = "";
    const unsigned options[] = {0, op_case->input_count == 1 ? HARNESS_ACCUMULATE : 0};
    for (size_t i = 0; i < 2; i++) {
        struct op_harness *wanted = op_harness_create(op_case, HARNESS_SEED, NULL);
        op_harness_run(wanted, op_case->op->reference, options[i], NULL, NULL);
        emulator_set_order(i);
        struct op_harness *got = run_layouts(op_case, kernel, inputs_last, output_last, options[i]);
        const double difference = op_harness_compare(got, wanted, &where);
        worst = difference > worst ? difference : worst;
        op_harness_free(got);
        op_harness_free(wanted);
    }
    if (worst > tolerance || *emulated_failure())
        tap_note("%s by %s, %s to %s: %s differs by %g %s", op_case->name, kernel->name,
                 inputs_last ? "NHWC" : "NCHW", output_last ? "NHWC" : "NCHW", where, worst,
                 emulated_failure());
    return worst <= tolerance && !*emulated_failure();
}

/* Tests operators in float32, in which plans have no channels-last values. */
static void check_layouts(const struct op *op, size_t step, size_t sanitized_step)
{
    size_t good = 0, count = 0, seen = 0;
    const struct kernel *kernels[8];
    const size_t offered = emulated_driver.kernels(op, kernels, 8);
    for (size_t i = 0; i < op_case_count; i++) {
        const struct op_case *c = &op_cases[i];
        if (c->op != op || c->flags & CASE_TIMED ||
            (c->flags & CASE_EDGE && !sample_has(seen++, step, sanitized_step)))
            continue;
        for (size_t k = 0; k < offered; k++) {
            if (kernels[k]->traits & (KERNEL_CHANNELS_LAST | KERNEL_CONVERTS_LAYOUT)) {
                good += layouts_agree(c, kernels[k], true, true);
                count++;
            }
            for (int last = 0; kernels[k]->traits & KERNEL_CONVERTS_LAYOUT && last < 2; last++) {
                good += layouts_agree(c, kernels[k], last, !last);
                count++;
            }
        }
    }
    tap_ok(good == count && count > 0, "%s: %zu of %zu channels-last cases agree with plain ones",
           op->name, good, count);
}

static void run_layout_cases(void)
{
    static const struct op *const ops[] = {&op_lrn,           &op_max_pool,   &op_average_pool,
                                           &op_concat,        &op_batch_norm, &op_channel_shift,
                                           &op_conv_transpose};
    for (size_t busy = 0; busy < 2; busy++) {
        emulated_set_busy_blocks(busy ? 2 : EMULATED_BUSY_BLOCKS);
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
            check_layouts(ops[i], busy ? 13 : 8, busy ? 31 : 8);
    }
    emulator_set_order(0);
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
}

/* --- memory of smaller batches --- */

/* A plan has workspace for its batch, but the last batch of an epoch may be smaller. */
static bool smaller_batches_fit(const struct op_harness *harness, const struct kernel *kernel)
{
    struct kernel_site site = op_harness_site(harness, 1);
    size_t before = 0;
    size_t smaller = 0;
    for (site.batch = 1; kernel->workspace_bytes && site.batch <= 300; site.batch++) {
        if (site.batch > 20 && !sample_has(site.batch, 7, 7))
            continue;
        const size_t bytes = kernel->workspace_bytes(&site);
        if (bytes < before) {
            tap_note("%s by %s: %zu images need %zu bytes, %zu need %zu", harness->op_case->name,
                     kernel->name, smaller, before, site.batch, bytes);
            return false;
        }
        before = bytes;
        smaller = site.batch;
    }
    return true;
}

static const unsigned multiprocessor_counts[] = {4, 46, 108, 132};
enum {
    ALL_COUNTS = sizeof multiprocessor_counts / sizeof *multiprocessor_counts,
    MULTIPROCESSOR_COUNTS = SANITIZED ? 1 : ALL_COUNTS
};

/* Adds how many times there were, and how many of them were good, for every `step`-th number of
 * multiprocessors from `first` on. The arrays of a case, which may be large, are made once. */
static void check_workspace_of(const struct op_case *op_case, size_t first, size_t step,
                               size_t *good, size_t *count)
{
    const struct kernel *kernels[8];
    struct op_harness *harness = op_harness_create(op_case, HARNESS_SEED, NULL);
    for (size_t m = first; harness && m < MULTIPROCESSOR_COUNTS; m += step) {
        emulated_set_busy_blocks(2 * multiprocessor_counts[m]);
        const size_t offered = emulated_driver.kernels(op_case->op, kernels, 8);
        for (size_t k = 0; k < offered; k++, count[m]++)
            good[m] += smaller_batches_fit(harness, kernels[k]);
    }
    op_harness_free(harness);
}

static void check_workspace(void)
{
    size_t good[MULTIPROCESSOR_COUNTS] = {0}, count[MULTIPROCESSOR_COUNTS] = {0};
    const size_t step = sample_is_whole() ? 1 : MULTIPROCESSOR_COUNTS;
    for (size_t i = 0; i < op_case_count; i++) {
        const struct op_case *c = &op_cases[i];
        if (!(c->op->traits & OP_VIEW || c->flags & CASE_EDGE) && sample_has(i, 3, 4))
            check_workspace_of(c, i % step, step, good, count);
    }
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
    for (size_t m = 0; m < MULTIPROCESSOR_COUNTS; m++)
        tap_ok(good[m] == count[m] && count[m] > 0,
               "%u multiprocessors: %zu of %zu times smaller batches fit the workspace",
               multiprocessor_counts[m], good[m], count[m]);
}

/* --- fully connected layers of a few images --- */

static struct op_case linear_case(size_t images, size_t inputs, size_t outputs)
{
    return (struct op_case){.name = "linear of a few images",
                            .op = &op_linear,
                            .attributes.linear = {.outputs = outputs, .bias = true},
                            .inputs = {{inputs, 1, 1}},
                            .input_count = 1,
                            .batch = images,
                            .flags = CASE_INFERENCE};
}

static const struct kernel *linear_kernel(void)
{
    const struct kernel *kernel = NULL;
    emulated_driver.kernels(&op_linear, &kernel, 1);
    return kernel;
}

/* Checks up to nine images, one more than the kernel for a few takes. Among others an image gives
 * the bits that it gives alone, in all of them. */
static bool few_images_agree(size_t inputs, size_t outputs)
{
    const struct op_case first = linear_case(1, inputs, outputs);
    struct op_harness *alone = run_in_order(&first, linear_kernel(), 0);
    bool good = alone;
    for (size_t images = 1; good && images <= 9; images++) {
        const char *where = "";
        const struct op_case op_case = linear_case(images, inputs, outputs);
        struct op_harness *wanted = run_in_order(&op_case, op_linear.reference, 0);
        struct op_harness *got = run_in_order(&op_case, linear_kernel(), images);
        good = wanted && got && op_harness_compare(got, wanted, &where) <= tolerance &&
               (images > 8 ||
                memcmp(got->output, alone->output, outputs * sizeof *alone->output) == 0);
        op_harness_free(wanted);
        op_harness_free(got);
        if (!good)
            tap_note("%zu images, %zu inputs, %zu outputs %s", images, inputs, outputs, where);
    }
    op_harness_free(alone);
    return good && !*emulated_failure();
}

static bool linear_runs_as(size_t images, bool training, const char *name)
{
    const struct op_case op_case = linear_case(images, 8, 8);
    struct op_harness *harness = op_harness_create(&op_case, HARNESS_SEED, NULL);
    bool good = harness;
    if (good) {
        struct kernel_site site = op_harness_site(harness, 1);
        site.context = emulated_device()->state;
        site.training = training;
        good = strcmp(linear_kernel()->runs_as(&site), name) == 0;
    }
    op_harness_free(harness);
    return good;
}

static void check_few_images(void)
{
    static const size_t inputs[] = {1, 3, 4, 5, 130, 1020, 1024, 1025, 2048, 2052, 3076, 5121};
    static const size_t outputs[] = {1, 3, 4, 5, 8, 9, 31};
    enum { INPUTS = sizeof inputs / sizeof *inputs, OUTPUTS = sizeof outputs / sizeof *outputs };
    size_t good = 0, tried = 0;
    for (size_t i = 0; i < INPUTS; i++)
        for (size_t o = 0; o < OUTPUTS; o++)
            if (sample_has(i + o, 2, 3)) {
                good += few_images_agree(inputs[i], outputs[o]);
                tried++;
            }
    tap_ok(good == tried && tried > 0,
           "1 to 9 images: %zu of %zu linear layers agree, with the bits of each image alone", good,
           tried);
    tap_ok(linear_runs_as(8, false, "linear gemv") && linear_runs_as(9, false, "linear cuBLAS") &&
               linear_runs_as(1, true, "linear gemv + cuBLAS"),
           "up to 8 images a layer runs as linear gemv");
}

/* --- parts of a sum --- */

/* Sums of so many blocks are divided so that they keep the GPU busy: ResNet's first stage, whose
 * gradient is two tiles, and products with as many blocks as a GPU runs at once, or a few more. */
static void check_parts(unsigned multiprocessors)
{
    const size_t resident = 3 * (size_t)multiprocessors;
    const size_t blocks[] = {1, 2, resident / 3 + 1, resident - 1, resident, resident + 1};
    bool good = true;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const size_t parts = emulated_split_count(blocks[i], 131072, resident);
        const size_t waves = (blocks[i] * parts + resident - 1) / resident;
        const size_t alone = (blocks[i] + resident - 1) / resident;
        good = good && parts >= 1 && waves <= 2 && waves <= alone * parts;
        if (blocks[i] <= 2) /* all blocks at once, and no place is left for another part */
            good = good && waves == 1 && (parts + 1) * blocks[i] > resident;
    }
    for (size_t positions = 1, before = 1; positions < 20000; positions += 37) {
        const size_t parts = emulated_split_count(5, positions, resident);
        good = good && parts >= before && parts <= (positions + 127) / 128;
        before = parts;
    }
    tap_ok(good, "%u multiprocessors: sums have the parts that fill them", multiprocessors);
}

static void check_multiprocessors(void)
{
    for (size_t i = 0; i < sizeof multiprocessor_counts / sizeof *multiprocessor_counts; i++)
        check_parts(multiprocessor_counts[i]);
    check_workspace();
}

/* Products with few tiles, whose sums are divided among blocks on a GPU with many multiprocessors:
 * the cases that say so. */
static void check_split(void)
{
    size_t good = 0, count = 0, split = 0, failures = 0;
    for (size_t i = 0; i < op_case_count; i++) {
        const struct op_case *c = &op_cases[i];
        if (strncmp(c->name, "split ", 6) != 0)
            continue;
        struct op_harness *harness = op_harness_create(c, HARNESS_SEED, NULL);
        for (int precision = 0; harness && precision <= 1; precision++, count++)
            split += emulated_gemm_parts(&c->inputs[0], &harness->node->output, &c->attributes.conv,
                                         c->batch, precision) > 1;
        op_harness_free(harness);
        good += check_case(c) == 0;
        failures += *emulated_failure() != 0;
    }
    tap_ok(count > 0 && split == count && good == count / 2 && failures == 0,
           "sums of few tiles: %zu of %zu times in parts, %zu cases agree", split, count, good);
}

/* --- rounded products --- */

/* Sums of float32 values are not rounded in any precision. */
static bool bias_is_exact(const struct op_harness *got, const struct op_harness *wanted)
{
    const double difference =
        wanted->op_case->attributes.conv.bias && wanted->parameter_gradients[1]
            ? harness_difference(got->parameter_gradients[1], wanted->parameter_gradients[1],
                                 got->parameter_values[1])
            : 0;
    if (difference > tolerance)
        tap_note("%s: the bias's gradient differs by %g", wanted->op_case->name, difference);
    return difference <= tolerance;
}

/* The largest difference that rounding both factors to this many bits makes in these sums, and the
 * least difference that proves rounding. */
static bool is_rounded(const struct op_case *op_case, const struct kernel *kernel, double most)
{
    const char *where = "";
    struct op_harness *wanted = run_in_order(op_case, op_case->op->reference, 0);
    struct op_harness *got = run_in_order(op_case, kernel, 5);
    const double difference = wanted && got ? op_harness_compare(got, wanted, &where) : 1;
    const bool exact = wanted && got && bias_is_exact(got, wanted);
    op_harness_free(wanted);
    op_harness_free(got);
    if (exact && difference > tolerance && difference <= most)
        return true;
    tap_note("%s by %s: %s differs by %g", op_case->name, kernel->name, where, difference);
    return false;
}

/* Convolutions with enough channels for tensor cores. */
static void check_precision(int precision, const char *name, double most)
{
    size_t good = 0, count = 0;
    emulated_set_precision(precision);
    emulated_set_busy_blocks(2);
    for (size_t i = 0; i < op_case_count; i++) {
        const struct kernel *kernels[8];
        const struct op_case *c = &op_cases[i];
        const bool convolves = c->op == &op_conv || c->op == &op_conv_transpose;
        if (!convolves || c->attributes.conv.outputs <= 32 || c->attributes.conv.groups > 1 ||
            conv_is_dilated(&c->attributes.conv) || /* which the kernels refuse */
            c->flags & (CASE_TIMED | CASE_INFERENCE) ||
            !(c->flags & CASE_EDGE ? sample_has(i, 5, 15)
                                   : sample_has(i + (size_t)precision, 2, 1)))
            continue;
        count++;
        good += is_rounded(c, kernels[emulated_driver.kernels(c->op, kernels, 8) - 1], most);
    }
    emulated_set_precision(0);
    emulated_set_busy_blocks(EMULATED_BUSY_BLOCKS);
    tap_ok(good == count && count > 5 && !*emulated_failure(),
           "%s: %zu of %zu convolutions are as close as its bits allow", name, good, count);
}

/* --- the solver's step --- */

static const size_t weight_counts[] = {1, 3, 4, 5, 255, 256, 257, 4099};
enum { COUNTS = sizeof weight_counts / sizeof *weight_counts };

static bool fill_weights(float *arrays[4], size_t count)
{
    for (size_t i = 0; i < 4; i++) {
        arrays[i] = allocate(count * sizeof(float));
        if (!arrays[i])
            return false;
        random_fill_uniform(1, RANDOM_TEST, (uint32_t)i, i >= 2 ? 0 : -1, 1, arrays[i], count);
    }
    return true;
}

static bool check_solver(const struct solver_settings *settings, size_t count)
{
    float *wanted[4], *got[4];
    bool good = fill_weights(wanted, count) && fill_weights(got, count);
    for (uint64_t step = 1; good && step <= 3; step++) {
        struct solver_update update = {.settings = *settings,
                                       .learning_rate = 0.01f,
                                       .step = step,
                                       .count = count,
                                       .weights = wanted[0],
                                       .gradients = wanted[1],
                                       .state = {wanted[2], wanted[3]}};
        solver_update_range(&update, 0, count);
        update.weights = got[0];
        update.gradients = got[1];
        memcpy(update.state, (float *[]){got[2], got[3]}, sizeof update.state);
        emulated_driver.update(emulated_device(), &update);
    }
    for (size_t i = 0; i < 4; i++) {
        good = good && harness_difference(got[i], wanted[i], count) <= 1e-6;
        release(wanted[i]);
        release(got[i]);
    }
    return good && !*emulated_failure();
}

static void check_solvers(void)
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
            good += check_solver(&settings[i], weight_counts[k]);
        tap_ok(good == COUNTS, "%s with momentum %g follows the rule for %zu of %d sizes",
               solver_names[settings[i].kind], (double)settings[i].momentum, good, COUNTS);
    }
}

/* --- division --- */

/* Tests around the multiples of every divisor, where a wrong multiplier shows first. */
static bool divides_well(uint32_t by)
{
    const uint32_t limit = 0x7fffffff, step = limit / by / 50 + 1;
    for (uint32_t times = 0; times < limit / by; times += step)
        for (uint32_t n = times * by; n < times * by + 2; n++) {
            uint32_t rest, before = n ? n - 1 : 0;
            if (emulated_divide(n, by, &rest) != n / by || rest != n % by ||
                emulated_divide(before, by, &rest) != before / by || rest != before % by)
                return false;
        }
    uint32_t rest;
    return emulated_divide(limit, by, &rest) == limit / by && rest == limit % by;
}

static void check_division(void)
{
    uint32_t wrong = 0;
    for (uint32_t by = 1; !wrong && by < 3000; by++)
        wrong = divides_well(by) ? 0 : by;
    for (uint32_t bit = 12; !wrong && bit < 31; bit++)
        for (uint32_t by = (1u << bit) - 2; !wrong && by <= (1u << bit) + 2; by++)
            wrong = divides_well(by) ? 0 : by;
    tap_ok(!wrong, "dividing by multiplying is exact below 2^31%s",
           wrong ? ", but not always" : "");
    if (wrong)
        tap_note("not by %u", wrong);
}

/* --- tests --- */

static void run_cases(void)
{
    check_cases("cases of the goldens", 0, 1, 1);
    check_cases("sizes around vectors and tiles", CASE_EDGE, EDGE_STEP, SANITIZED_EDGE_STEP);
    check_cases("larger cases", CASE_LARGER, LARGER_STEP, SANITIZED_LARGER_STEP);
    check_named("conv of few channels");
    tap_ok(emulator_kernels_run() > 1000, "%zu kernels were run", emulator_kernels_run());
}

static void run_values_of_each_kind(void)
{
    for (int values = VALUES_NEGATIVE; values < OP_VALUES; values++)
        check_values((enum op_values)values);
}

static void run_precisions(void)
{
    check_precision(1, "TF32", 2e-3);
    check_precision(2, "bfloat16", 2e-2);
    if (!SANITIZED) /* it takes the path of bfloat16 */
        check_precision(3, "float16", 2e-3);
}

static const struct named_test tests[] = {
    {"division", check_division},   {"solvers", check_solvers},
    {"cases", run_cases},           {"few-images", check_few_images},
    {"split", check_split},         {"values", run_values_of_each_kind},
    {"layouts", run_layout_cases},  {"multiprocessors", check_multiprocessors},
    {"precisions", run_precisions},
};
enum { TESTS = sizeof tests / sizeof *tests };

TEST_CASE(cuda_kernels_test)
{
    int status;
    if (tests_listed(tests, TESTS, argc, argv, &status))
        return status;
    const struct op_harness_device device = {emulated_device()->state, allocate, release, finish};
    op_harness_device = &device;
    emulated_set_iteration(HARNESS_ITERATION);
    return tests_run(tests, TESTS, argc, argv, NULL, NULL);
}
