/* Every operator case against central differences, on the reference kernels and on the device cpu's
 * of each instruction set.
 *
 * The function that is differentiated is F = sum of output * r with r the output's gradient, or for
 * a loss its weighted mean over the batch. Outputs are float32, so the sum is taken in double of
 * differences, and steps are large (2^-5) with the five-point rule, whose error falls with h^4:
 *
 *   F'(x) = (8 (F(x + h) - F(x - h)) - (F(x + 2h) - F(x - 2h))) / 12h
 *
 * Piecewise linear operators have kinks (relu at 0, ties of max pooling). Where the five points do
 * not lie on one line the element is passed over; some must remain.
 */
#include "instruction_sets.h"
#include "op_harness.h"
#include "sample.h"
#include "tap.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads/pool.h"

#include <math.h>
#include <stdlib.h>

/* Elements tested in each array, and in that of a sweep. */
enum { ELEMENTS = 40, SAMPLED_ELEMENTS = SANITIZED ? 6 : 13, FEW_ELEMENTS = SANITIZED ? 2 : 3 };
static const float step = 0x1p-5f;

/* The tolerance for float32 outputs: differences of large values have fewer digits. */
static double tolerance_of(const struct op_case *op_case, enum op_values values)
{
    return op_case->flags & CASE_LARGE || values == VALUES_LARGE ? 1e-2 : 2e-3;
}

static struct pool *pool; /* a pool of one thread, for the kernels of the device cpu */

struct probe {
    struct op_harness *harness;
    const struct kernel *kernel;
    double *centre; /* the output at the unchanged point */
    size_t tried, passed_over;
    double worst;
    char where[64];
};

static bool is_piecewise_linear(const struct op *op)
{
    return op == &op_relu || op == &op_leaky_relu || op == &op_max_pool || op == &op_l1_loss ||
           op == &op_perceptron || op == &op_prelu || op == &op_hardsigmoid;
}

/* Returns whether the five points lie on both sides of a kink of a function that is curved
 * elsewhere. */
static bool is_at_kink(const struct op *op, float input)
{
    const float reach = 2 * step;
    return (op == &op_elu && fabsf(input) <= reach) ||
           (op == &op_hardswish && fabsf(fabsf(input) - 3) <= reach);
}

/* Returns F with `value` moved by `steps` steps, minus F at the centre. */
static double function_at(struct probe *probe, float *value, int steps)
{
    struct op_harness *h = probe->harness;
    const float kept = *value;
    double sum = 0, loss_weight = h->op_case->attributes.loss.weight / (double)h->op_case->batch;
    *value = kept + (float)steps * step;
    if (!op_harness_forward(h, probe->kernel, pool, NULL))
        return NAN;
    *value = kept;
    for (size_t i = 0; i < h->output_values; i++)
        sum += (h->output[i] - probe->centre[i]) *
               (h->output_gradient ? h->output_gradient[i] : loss_weight);
    return sum;
}

static void check_element(struct probe *probe, float *value, float gradient, double scale,
                          const char *array, size_t i)
{
    const struct op *op = probe->harness->op_case->op;
    double f[5]; /* at -2h, -h, 0, h, 2h */
    for (int k = -2; k <= 2; k++)
        f[k + 2] = function_at(probe, value, k);
    double bend = fmax(fabs(f[0] + f[4]), fabs(f[1] + f[3]));
    probe->tried++;
    if ((is_piecewise_linear(op) && bend > 1e-4 * step) || is_at_kink(op, *value)) {
        probe->passed_over++;
        return;
    }
    double numeric = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12.0 * step);
    double difference = fabs(numeric - gradient) / scale;
    if (!(difference <= probe->worst)) {
        probe->worst = difference;
        snprintf(probe->where, sizeof probe->where, "%s[%zu]: %g, not %g", array, i, gradient,
                 numeric);
    }
}

static void check_array(struct probe *probe, float *values, const float *gradients, size_t count,
                        const char *array)
{
    const bool sweep = probe->harness->op_case->flags & CASE_EDGE;
    const size_t wanted = sweep ? FEW_ELEMENTS : sample_is_whole() ? ELEMENTS : SAMPLED_ELEMENTS;
    double scale = 1e-2;
    for (size_t i = 0; i < count; i++)
        scale = fmax(scale, fabs(gradients[i]));
    for (size_t k = 0; k < wanted && k < count; k++) {
        size_t i =
            count <= wanted ? k : random_philox(1, RANDOM_TEST, 300, k).word[0] % (uint32_t)count;
        check_element(probe, &values[i], gradients[i], scale, array, i);
    }
}

static void check_arrays(struct probe *probe)
{
    struct op_harness *h = probe->harness;
    for (size_t k = 0; k < h->input_count; k++)
        check_array(probe, h->inputs[k], h->input_gradients[k], h->input_values[k], "input");
    for (size_t p = 0; p < h->parameter_count; p++)
        if (h->learnable[p])
            check_array(probe, h->parameters[p], h->parameter_gradients[p], h->parameter_values[p],
                        "parameter");
}

/* Returns false when memory is short. */
static bool probe_case(struct probe *probe, const struct op_case *op_case,
                       const struct kernel *kernel, enum op_values values)
{
    const struct op_harness_setup setup = {.seed = 1, .values = values};
    *probe =
        (struct probe){.harness = op_harness_create_as(op_case, &setup, NULL), .kernel = kernel};
    if (probe->harness && op_harness_run(probe->harness, kernel, 0, pool, NULL))
        probe->centre = memory_new(probe->harness->output_values, sizeof(double), "a test", NULL);
    const bool ran = probe->centre;
    for (size_t i = 0; ran && i < probe->harness->output_values; i++)
        probe->centre[i] = probe->harness->output[i];
    if (ran)
        check_arrays(probe);
    free(probe->centre);
    op_harness_free(probe->harness);
    return ran;
}

/* The few elements of one size may all be at kinks, but not those of its neighbours. Rounding of
 * large outputs looks like kinks. */
static size_t most_kinks(const struct probe *probe, const struct op_case *op_case,
                         enum op_values values)
{
    return op_case->flags & CASE_EDGE || values != VALUES_MIXED ? probe->tried : probe->tried / 2;
}

static bool check_slopes(struct probe *probe, const struct op_case *op_case,
                         const struct kernel *kernel, enum op_values values)
{
    const bool good = probe_case(probe, op_case, kernel, values) &&
                      probe->worst <= tolerance_of(op_case, values) &&
                      probe->passed_over <= most_kinks(probe, op_case, values);
    if (!good)
        tap_note("%s by %s (%s), %s values: %zu of %zu elements at kinks; %s", op_case->name,
                 kernel->name, kernel->instruction_set, op_values_name(values), probe->passed_over,
                 probe->tried, probe->where);
    return good;
}

/* `make check` sees every third of the many sizes around vectors and tiles, sanitizers every
 * twelfth. */
static bool has_slopes(const struct op_case *op_case)
{
    if (op_case->flags & CASE_EDGE && !sample_has((size_t)(op_case - op_cases), 3, 12))
        return false;
    return !(op_case->flags & (CASE_INFERENCE | CASE_TIES | CASE_LARGER | CASE_TIMED));
}

static void check_reference(const struct op_case *op_case)
{
    char why[128] = "";
    struct probe probe;
    const struct kernel *kernel = op_case->op->reference;
    bool kept = op_harness_check_contract(op_case, kernel, NULL, why, sizeof why);
    tap_ok(kept, "%s: the reference kernel keeps its promises%s%s", op_case->name, kept ? "" : ": ",
           why);
    if (!has_slopes(op_case))
        return;
    const bool good = check_slopes(&probe, op_case, kernel, VALUES_MIXED);
    tap_ok(good, "%s: gradients are the slopes (%zu elements, %zu at kinks, worst %.1e)",
           op_case->name, probe.tried, probe.passed_over, probe.worst);
}

/* Tests every kernel of the table that accepts the case. Returns how many failed. */
static size_t check_table(const struct op_case *op_case, const struct cpu_table *table,
                          size_t *runs)
{
    size_t failures = 0;
    struct probe probe;
    struct op_harness *harness = op_harness_create(op_case, 1, NULL);
    for (const struct kernel *const *k = table->kernels; harness && *k; k++) {
        const char *reason;
        const struct kernel_site site = op_harness_site(harness, 1);
        if ((*k)->op != op_case->op || ((*k)->supports && !(*k)->supports(&site, &reason)))
            continue;
        ++*runs;
        failures += !check_slopes(&probe, op_case, *k, VALUES_MIXED);
    }
    op_harness_free(harness);
    return failures;
}

static void check_set(enum instruction_set set)
{
    size_t failures = 0, runs = 0;
    for (size_t i = 0; i < op_case_count; i++)
        if (has_slopes(&op_cases[i]))
            failures += check_table(&op_cases[i], cpu_table_for(set), &runs);
    tap_ok(failures == 0 && runs > 0,
           "%s: the gradients of %zu runs of cpu's kernels are the slopes",
           instruction_set_name(set), runs);
}

static void check_reference_sizes(void)
{
    struct probe probe;
    size_t failures = 0, cases = 0;
    for (size_t i = 0; i < op_case_count; i++)
        if (op_cases[i].flags & CASE_EDGE && has_slopes(&op_cases[i])) {
            failures +=
                !check_slopes(&probe, &op_cases[i], op_cases[i].op->reference, VALUES_MIXED);
            cases++;
        }
    tap_ok(failures == 0 && cases > 0, "the reference's gradients of %zu sizes are the slopes",
           cases);
}

/* Other kinds of values that have slopes. */
static void check_reference_values(enum op_values values)
{
    struct probe probe;
    size_t failures = 0, cases = 0;
    for (size_t i = 0; i < op_case_count; i++)
        if (!(op_cases[i].flags & CASE_WITHOUT_GOLDEN) && has_slopes(&op_cases[i])) {
            failures += !check_slopes(&probe, &op_cases[i], op_cases[i].op->reference, values);
            cases++;
        }
    tap_ok(failures == 0 && cases > 0,
           "the reference's gradients of %zu cases with %s values are the slopes", cases,
           op_values_name(values));
}

TEST_CASE(gradient_test)
{
    pool = pool_create(1, NULL);
    for (size_t i = 0; i < op_case_count; i++)
        if (!(op_cases[i].flags & CASE_WITHOUT_GOLDEN))
            check_reference(&op_cases[i]);
    check_reference_sizes();
    if (!SANITIZED) {
        check_reference_values(VALUES_NEGATIVE);
        check_reference_values(VALUES_LARGE);
    }
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set))
            check_set((enum instruction_set)set);
    instruction_set_release();
    pool_free(pool);
    return tap_done();
}
