/* Convolutions of the emulated GPU in float32 and, on tensor cores, below it: every way to load
 * operands (16 bytes at a time or value by value), both tiles, several parts of a sum over
 * positions, tables that are filled more than once, groups, strides, and windows with too many
 * taps. Each case is compared with the reference, must differ from it as rounding to the precision
 * does, and must give the same bits in any order of threads. */
#include "cuda/emulated_device.h"
#include "op_harness.h"
#include "sample.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW(kernel, stride, pad)                                                                \
    {                                                                                              \
        kernel, kernel, stride, stride, pad, pad                                                   \
    }
#define CONV(op_, window_, outputs_, groups_, bias_)                                               \
    .op = &op_,                                                                                    \
    .attributes.conv = {.window = window_, .outputs = outputs_, .groups = groups_, .bias = bias_}
#define ONE(c, h, w) .inputs = {{c, h, w}}, .input_count = 1

static const struct op_case cases[] = {
    {.name = "weights and values by 16 bytes",
     CONV(op_conv, WINDOW(1, 1, 0), 130, 1, true),
     ONE(36, 4, 4),
     .batch = 9},
    {.name = "weights and values one by one",
     CONV(op_conv, WINDOW(1, 1, 0), 70, 1, true),
     ONE(37, 3, 5),
     .batch = 9},
    {.name = "values by 16 bytes",
     CONV(op_conv, WINDOW(1, 1, 0), 45, 1, false),
     ONE(19, 6, 6),
     .batch = 3},
    {.name = "more terms than a table has",
     CONV(op_conv, WINDOW(3, 1, 1), 70, 1, false),
     ONE(40, 6, 6),
     .batch = 3},
    {.name = "stride 2", CONV(op_conv, WINDOW(3, 2, 1), 66, 1, true), ONE(33, 7, 9), .batch = 4},
    {.name = "two groups", CONV(op_conv, WINDOW(5, 1, 2), 90, 2, true), ONE(14, 7, 6), .batch = 3},
    {.name = "11 x 11, stride 4",
     CONV(op_conv, WINDOW(11, 4, 2), 65, 1, true),
     ONE(3, 31, 31),
     .batch = 2},
    {.name = "transposed",
     CONV(op_conv_transpose, WINDOW(4, 2, 1), 48, 1, true),
     ONE(50, 5, 4),
     .batch = 3},
    {.name = "many positions",
     CONV(op_conv, WINDOW(3, 1, 1), 66, 1, true),
     ONE(16, 8, 8),
     .batch = 33},
    {.name = "many positions by 16 bytes",
     CONV(op_conv, WINDOW(1, 1, 0), 66, 1, true),
     ONE(132, 8, 8),
     .batch = 33},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Such a window is computed in float32. */
static const struct op_case wide_window = {
    .name = "15 x 15", CONV(op_conv, WINDOW(15, 1, 7), 40, 1, true), ONE(1, 9, 8), .batch = 2};

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

/* Returns the most general kernel of an operator. */
static const struct kernel *last_kernel(const struct op *op)
{
    const struct kernel *kernels[8];
    return kernels[emulated_driver.kernels(op, kernels, 8) - 1];
}

static struct op_harness *run(const struct op_case *c, const struct kernel *kernel, uint64_t order)
{
    struct op_harness *harness = op_harness_create(c, HARNESS_SEED, NULL);
    emulator_set_order(order);
    if (harness && op_harness_run(harness, kernel, 0, NULL, NULL))
        return harness;
    op_harness_free(harness);
    return NULL;
}

enum { ORDER = 1, CONTRACT = 2 };

/* Runs a case; the largest difference from the reference must lie in [least, most]. With ORDER it
 * runs in another order of threads, too, and must give the same bits (not under a sanitizer, which
 * would see the same); with CONTRACT the promises of kernel.h are checked. */
static bool agrees(const struct op_case *c, const struct op_harness *wanted, double least,
                   double most, unsigned checks)
{
    const struct kernel *kernel = last_kernel(c->op);
    struct op_harness *natural = run(c, kernel, 0);
    const bool reorders = !SANITIZED && (checks & ORDER);
    struct op_harness *drawn = reorders ? run(c, kernel, 77) : NULL;
    const char *where = "";
    char why[256] = "";
    const double difference = natural ? op_harness_compare(natural, wanted, &where) : 1;
    const bool same = natural && (!reorders || (drawn && op_harness_same(natural, drawn)));
    const bool kept =
        !(checks & CONTRACT) || op_harness_check_contract(c, kernel, NULL, why, sizeof why);
    const char *failure = emulated_failure();
    op_harness_free(natural);
    op_harness_free(drawn);
    if (difference >= least && difference <= most && same && kept && !*failure)
        return true;
    tap_note("%s: %s differs by %g%s %s%s", c->name, where, difference,
             same ? "" : ", and other orders give other bits", why, failure);
    return false;
}

/* `make check` tries case i in each precision with one number of busy blocks, and with each number
 * in a precision below float32. With many busy blocks, k = 0, a small product is in float32 in
 * every precision, and the paths of bfloat16 and float16 are one: sanitizers see each path once. */
static bool is_tried(size_t i, int precision, size_t k)
{
    if (!SANITIZED)
        return sample_has(i + k + (size_t)precision, 3, 1);
    return (precision == 0 && k != 1) || (precision == 1 && k > 0) || (precision == 2 && k == 2);
}

static void check_precision(int precision, const char *name, double most)
{
    static const unsigned busy[] = {EMULATED_BUSY_BLOCKS, 16, 2};
    enum { TIMES = sizeof busy / sizeof *busy };
    size_t good = 0, tries = 0;
    for (size_t i = 0; i < CASES; i++) {
        struct op_harness *wanted = run(&cases[i], cases[i].op->reference, 0);
        emulated_set_precision(precision);
        for (size_t k = 0; k < TIMES; k++) {
            tries += is_tried(i, precision, k);
            if (!wanted || !is_tried(i, precision, k))
                continue;
            /* with many busy blocks a small product is divided among the warps, in float32 */
            const double least = k == 0 || precision == 0 ? 0 : most / 100;
            emulated_set_busy_blocks(busy[k]);
            const bool promises = k == 2 && precision == 1 && cases[i].batch < 10;
            /* each case has another order with two of the three numbers of busy blocks */
            good += agrees(&cases[i], wanted, least, most,
                           (i % TIMES != k ? ORDER : 0) | (promises ? CONTRACT : 0));
        }
        emulated_set_precision(0);
        op_harness_free(wanted);
    }
    tap_ok(good == tries && tries > 0, "%s: %zu of %zu times as close as its bits allow", name,
           good, tries);
}

static void check_wide_window(void)
{
    size_t good = 0;
    struct op_harness *wanted = run(&wide_window, wide_window.op->reference, 0);
    emulated_set_busy_blocks(2);
    for (int precision = 1; wanted && precision <= 3; precision++) {
        emulated_set_precision(precision);
        good += agrees(&wide_window, wanted, 0, 2e-5, ORDER);
    }
    emulated_set_precision(0);
    op_harness_free(wanted);
    tap_ok(good == 3, "a window of 15 x 15 is computed in float32 in %zu of 3 precisions", good);
}

TEST_CASE(cuda_tensor_test)
{
    const struct op_harness_device device = {emulated_device()->state, allocate, release, finish};
    op_harness_device = &device;
    emulated_set_iteration(HARNESS_ITERATION);
    check_precision(0, "float32", 2e-5);
    check_precision(1, "TF32", 2e-3);
    check_precision(2, "bfloat16", 2e-2);
    if (!SANITIZED)
        check_precision(3, "float16", 2e-3);
    check_wide_window();
    return tap_done();
}
