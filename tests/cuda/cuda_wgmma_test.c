/* Products of Hopper's warpgroups on the emulated GPU (gemm_wgmma.cu): where operands and sums lie;
 * products of all layouts and precisions against sums of the rounded operands in double, in orders
 * of threads in which products and copies are done as early or as late as possible; and which
 * products can be computed. The emulator reads shared memory through the descriptors as NVIDIA's
 * manual specifies. cuda_autotune_test has the convolutions that use these products. */
#include "cuda/emulated_device.h"
#include "cuda/emulated_module.h"
#include "cuda/wgmma_products.h"
#include "random_fill.h"
#include "sample.h"
#include "sanitized.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void emulator_set_wgmma(bool has);
void emulator_refuse_tensor_maps(bool refuse);

/* Sizes around tiles of 128 x 128, chunks of 4 and 8 terms, steps of 32 and 64, and three stages.
 */
static const struct wide_case cases[] = {
    {"the least", 64, 4, 128, 1, false, true, false},
    {"x W^T", 130, 260, 132, 1, false, true, true},
    {"g W", 70, 136, 130, 1, false, false, false},
    {"g^T x", 200, 132, 129, 1, true, false, true},
    {"many steps", 66, 128, 515, 1, false, false, true},
    {"many steps, by columns", 129, 68, 516, 1, false, true, false},
    {"images that end within a tile", 72, 36, 131, 5, false, false, true},
    {"images, transposed weights", 136, 100, 140, 3, true, false, false},
};
enum { CASES = sizeof cases / sizeof *cases, GUARD = 64 };

/* --- products --- */

static float *filled(size_t count, uint64_t seed)
{
    float *values = aligned_alloc(64, (count * sizeof *values + 63) / 64 * 64);
    if (values)
        random_fill_uniform(seed, RANDOM_TEST, 0, -1, 1, values, count);
    return values;
}

/* Returns the largest difference of the sums from those in double, relative to sqrt(k). */
static double difference(const struct wide_case *c, const float *a, const float *b,
                         const float *before, const float *got)
{
    double worst = 0;
    for (size_t image = 0; image < c->count; image++)
        for (size_t row = 0; row < c->m; row++)
            for (size_t column = 0; column < c->n; column++) {
                const size_t at = (image * c->m + row) * c->n + column;
                const float *right = b + image * c->n * c->k;
                double sum = c->add ? (double)before[at] : 0;
                for (size_t k = 0; k < c->k; k++)
                    sum += (double)a[c->a_transposed ? k * c->m + row : row * c->k + k] *
                           (double)right[c->b_transposed ? column * c->k + k : k * c->n + column];
                const double apart = fabs((double)got[at] - sum) / sqrt((double)c->k);
                worst = apart <= worst ? worst : apart; /* NaN is the worst */
            }
    return worst;
}

struct arrays {
    size_t left, right, sums;
    float *a, *b, *before, *got, *other;
};

static bool make_arrays(struct arrays *x, const struct wide_case *c)
{
    x->left = c->m * c->k;
    x->right = c->n * c->k * c->count;
    x->sums = c->m * c->n * c->count;
    x->a = filled(x->left, 1);
    x->b = filled(x->right, 2);
    x->before = filled(x->sums + GUARD, 3);
    x->got = filled(x->sums + GUARD, 4);
    x->other = filled(x->sums + GUARD, 5);
    return x->a && x->b && x->before && x->got && x->other;
}

static void free_arrays(struct arrays *x)
{
    free(x->a);
    free(x->b);
    free(x->before);
    free(x->got);
    free(x->other);
}

/* Computes the sums in an order of threads; returns false if the kernels did not run. */
static bool compute(const struct wide_case *c, const struct arrays *x, uint64_t order, float *to)
{
    const size_t kernels = emulator_kernels_run();
    memcpy(to, x->before, (x->sums + GUARD) * sizeof *to);
    emulator_set_order(order);
    return wide_run(c, x->a, x->b, to, true) &&
           emulator_kernels_run() == kernels + 2; /* rounding and products */
}

/* float16 takes the path of bfloat16: sanitizers see nothing new in it. */
enum { MOST_PRECISION = SANITIZED ? 2 : 3 };

/* Returns whether what takes long is tried with case i: `make check` divides the cases between
 * bfloat16 and float16. */
static bool is_tried(size_t i, int precision)
{
    return precision == 1 || sample_has(i + (size_t)precision, 2, 1);
}

static bool check_product(const struct wide_case *c, int precision)
{
    static const uint64_t orders[] = {77, 5};
    const size_t number = (size_t)(c - cases) + (size_t)precision;
    struct arrays x;
    bool good = make_arrays(&x, c) && compute(c, &x, 0, x.got);
    for (size_t i = 0; good && i < 2; i++)
        good = !sample_has(number + i, 2, 2) ||
               (compute(c, &x, orders[i], x.other) &&
                memcmp(x.got, x.other, (x.sums + GUARD) * sizeof *x.got) == 0);
    const bool kept = memcmp(x.got + x.sums, x.before + x.sums, GUARD * sizeof *x.got) == 0;
    const double unrounded = difference(c, x.a, x.b, x.before, x.got);
    wide_round(precision, x.a, x.left);
    wide_round(precision, x.b, x.right);
    const double apart = difference(c, x.a, x.b, x.before, x.got);
    const char *failure = emulated_failure();
    free_arrays(&x);
    if (good && kept && apart < 3e-6 && unrounded > 10 * apart && !*failure)
        return true;
    tap_note("%s: %s, %g from rounded, %g from exact operands %s", c->name,
             good ? "same bits" : "other bits, or no kernel", apart, unrounded, failure);
    return false;
}

static void test_products(void)
{
    static const char *const names[] = {"float32", "TF32", "bfloat16", "float16"};
    emulated_set_busy_blocks(2);
    for (int precision = 1; precision <= MOST_PRECISION; precision++) {
        size_t good = 0, tried = 0;
        emulated_set_precision(precision);
        for (size_t i = 0; i < CASES; i++)
            if (is_tried(i, precision)) {
                good += check_product(&cases[i], precision);
                tried++;
            }
        tap_ok(good == tried && tried > 0,
               "%s: %zu of %zu products are the sums of the rounded operands", names[precision],
               good, tried);
    }
    emulator_set_order(0);
}

/* --- places --- */

static void test_places(void)
{
    tap_ok(wide_misplaced_sums() == 0, "each sum of 64 x 128 belongs to one thread");
    tap_ok(wide_misplaced_tiles() == 0, "each tile belongs to one block");
    for (int by_terms = 0; by_terms < 2; by_terms++)
        tap_ok(wide_misplaced_chunks(by_terms) == 0 && wide_bank_conflicts(by_terms) == 0,
               "each chunk is stored once, without bank conflicts, from %s",
               by_terms ? "terms" : "columns");
    tap_ok(wide_descriptor_is_right(), "a descriptor has the fields of the manual");
    tap_ok(wide_ring_is_right(), "stages begin at multiples of 1024, and change parity");
}

/* --- the choice --- */

static void test_choice(void)
{
    static const struct wide_case taken = {"", 128, 256, 128, 1, false, true, false};
    struct wide_case c = taken;
    emulated_set_precision(2);
    emulated_set_busy_blocks(4); /* two multiprocessors */
    tap_ok(wide_takes(&c, 0, true), "two tiles on two multiprocessors are taken");
    emulated_set_busy_blocks(6);
    tap_ok(!wide_takes(&c, 0, true), "two tiles on three are refused");
    emulated_set_busy_blocks(2);
    tap_ok(!wide_takes(&c, 1, true), "so is an operand that is not aligned");
    emulated_set_precision(0);
    tap_ok(!wide_takes(&c, 0, true), "so is float32");
    emulated_set_precision(1);
    c.k = 124;
    const bool few_terms = wide_takes(&c, 0, true);
    c.k = 129;
    const bool odd_terms = wide_takes(&c, 0, true);
    c = taken;
    c.m = 63;
    const bool few_rows = wide_takes(&c, 0, true);
    c = taken;
    c.n = 254;
    const bool odd_columns = wide_takes(&c, 0, true);
    tap_ok(!few_terms && !odd_terms && !few_rows && !odd_columns,
           "so are few terms or rows, and lines that are no multiple of 16 bytes");
    c = taken;
    c.count = 2;
    c.b_transposed = false;
    tap_ok(wide_takes(&c, 0, true) && !wide_takes(&c, 0, false),
           "several products must share the left operand");
}

/* Returns whether a product is refused, and nothing is changed. */
static bool is_refused(bool with_workspace)
{
    struct arrays x;
    const size_t kernels = emulator_kernels_run();
    bool good = make_arrays(&x, &cases[1]);
    if (good) {
        memcpy(x.got, x.before, x.sums * sizeof *x.got);
        good = !wide_run(&cases[1], x.a, x.b, x.got, with_workspace) &&
               emulator_kernels_run() == kernels &&
               memcmp(x.got, x.before, x.sums * sizeof *x.got) == 0;
    }
    free_arrays(&x);
    return good;
}

static void test_without(void)
{
    emulated_set_precision(1);
    emulated_set_busy_blocks(2);
    tap_ok(is_refused(false), "without workspace the product is refused");
    emulator_set_wgmma(false);
    wide_open_again();
    tap_ok(!wide_takes(&cases[1], 0, true) && is_refused(true),
           "a module without code for sm_90a refuses it");
    emulator_set_wgmma(true);
    emulator_set_code(80);
    wide_open_again();
    tap_ok(!wide_takes(&cases[1], 0, true), "so does older code");
    emulator_set_code(90);
    wide_open_again();
    tap_ok(wide_takes(&cases[1], 0, true), "the code for sm_90a takes it");
}

/* The driver may refuse a map that the manual allows. */
static void test_refused_map(void)
{
    emulated_set_precision(1);
    emulated_set_busy_blocks(2);
    emulator_refuse_tensor_maps(true);
    const bool refused = is_refused(true);
    emulator_refuse_tensor_maps(false);
    tap_ok(refused && !*emulated_failure(), "so is an operand that the driver does not map");
    tap_ok(!wide_takes(&cases[1], 0, true) && is_refused(true) && wide_takes(&cases[6], 0, true),
           "  from then on, and no other one");
    wide_open_again();
}

TEST_CASE(cuda_wgmma_test)
{
    emulated_device();
    test_places();
    test_products();
    test_choice();
    test_without();
    test_refused_map();
    return tap_done();
}
