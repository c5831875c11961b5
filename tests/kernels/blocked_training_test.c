/* Compares the kernels that train on channel-blocked arrays, and those that fuse a sum and a relu
 * on plain ones, with the reference kernels over the shared list of cases, on every instruction set
 * of this machine: outputs and all gradients, overwritten, added and in place, from a plain input,
 * with a fused sum and relu, and recomputed. Every array is next to a guard page, what a kernel
 * must not read is NaN, the unused channels of outputs and gradients must be zero, and any number
 * of threads must give the same bits. */
#include "amx_emulator.h"
#include "blocked_arrays.h"
#include "guarded_memory.h"
#include "instruction_sets.h"
#include "op_harness.h"
#include "random_fill.h"
#include "sample.h"
#include "tap.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t thread_counts[] = {1, 3, 2};
enum { POOLS = SANITIZED ? 2 : sizeof thread_counts / sizeof *thread_counts };
static struct pool *pools[POOLS];

static const double tolerance = 2e-5;

/* How a case is run. */
struct variant {
    const char *name;
    bool plain_input; /* which then has no gradient */
    bool accumulate;  /* gradients are added to those that are there */
    bool in_place;    /* the gradient of input 0 lies where that of the output does */
    bool recompute;   /* the output is computed a second time before backward */
    bool add, relu;
    bool not_finite; /* some inputs are NaN or infinite; only where each output copies an input */
    enum guarded_side side;
};

static const struct variant variants[] = {
    {.name = "overwriting"},
    {.name = "adding", .accumulate = true, .side = GUARDED_START},
    {.name = "in place", .in_place = true},
    {.name = "recomputed", .recompute = true},
    {.name = "a plain input", .plain_input = true, .side = GUARDED_START},
    {.name = "relu", .relu = true},
    {.name = "sum", .add = true, .accumulate = true},
    {.name = "sum, in place", .add = true, .in_place = true},
    {.name = "sum and relu", .add = true, .relu = true, .side = GUARDED_START},
    {.name = "sum and relu, in place", .add = true, .relu = true, .in_place = true},
    {.name = "not finite", .not_finite = true},
};
enum { VARIANTS = sizeof variants / sizeof *variants };
static size_t runs_of[VARIANTS]; /* with the kernels of one instruction set */

/* An array of a trial: in the layout that the kernel sees, and what is wanted, plain. */
struct array {
    struct tensor_layout layout;
    struct shape shape;
    void *values;
    float *wanted;
};

struct trial {
    const struct variant *variant;
    const struct kernel *kernel;
    struct op_harness *given; /* after a run: what the reference gives */
    struct node add, relu;
    struct kernel_site site;
    struct array inputs[NODE_MAX_INPUTS], gradients[NODE_MAX_INPUTS], output, output_gradient;
    size_t input_count;              /* the summand included */
    bool bf16;                       /* channel-blocked arrays hold bf16 */
    float *summand, *plain_gradient; /* [N, C, H, W] */
    float *parameters[NODE_MAX_PARAMETERS], *parameter_gradients[NODE_MAX_PARAMETERS];
};

/* --- what is wanted --- */

/* Runs the reference; with a relu, its output gradient is that of the relu. Sets the wanted
 * output, and the gradient of the summand. */
static bool compute_wanted(struct trial *t)
{
    struct op_harness *h = t->given;
    const struct kernel *reference = h->op_case->op->reference;
    const unsigned options = t->variant->accumulate ? HARNESS_ACCUMULATE : 0;
    bool good = op_harness_run(h, reference, options, NULL, NULL);
    for (size_t i = 0; i < h->output_values; i++) {
        t->plain_gradient[i] = h->output_gradient[i];
        t->output.wanted[i] = h->output[i] + (t->variant->add ? t->summand[i] : 0);
        if (t->variant->relu && t->output.wanted[i] <= 0)
            t->output.wanted[i] = h->output_gradient[i] = 0;
    }
    if (t->variant->add)
        for (size_t i = 0; i < h->output_values; i++)
            t->gradients[1].wanted[i] =
                h->output_gradient[i] + (t->variant->accumulate ? h->base[i] : 0);
    if (t->variant->relu)
        good = good && op_harness_run(h, reference, options, NULL, NULL);
    for (size_t k = 0; k < h->input_count; k++)
        memcpy(t->gradients[k].wanted, h->input_gradients[k], h->input_values[k] * sizeof(float));
    return good;
}

/* --- the arrays --- */

static void new_array(struct array *array, struct tensor_layout layout, struct shape shape,
                      size_t batch)
{
    *array = (struct array){.layout = layout, .shape = shape};
    array->wanted = memory_new_aligned(batch * shape_count(shape), sizeof(float), "", NULL);
}

static void fill_array(struct trial *t, struct array *array, const float *plain, const char *name)
{
    array->values =
        blocked_copy(plain, array->layout, array->shape, t->site.batch, t->variant->side, name);
}

static void poison(struct trial *t, struct array *array)
{
    memset(array->values, 0xff, blocked_bytes(array->layout, array->shape, t->site.batch));
}

static struct tensor_layout layout_of(const struct trial *t, struct shape shape, size_t block)
{
    if (shape_area(shape) == 1)
        return (struct tensor_layout){0};
    return (struct tensor_layout){.block = block, .bf16 = t->bf16};
}

/* Rounds what is given to the trial, as far as the kernel may round it too. */
static void round_given(struct trial *t)
{
    const struct op_harness *h = t->given;
    for (size_t k = 0; k < h->input_count; k++)
        blocked_round(h->inputs[k], h->input_values[k]);
    for (size_t k = 0; k < h->input_count; k++)
        blocked_round(h->base, h->input_values[k]);
    blocked_round(h->output_gradient, h->output_values);
    if (h->op_case->op->flops)
        blocked_round(h->parameters[0], h->parameter_values[0]);
    blocked_round(t->summand, h->output_values);
}

static void make_arrays(struct trial *t, size_t block)
{
    struct op_harness *h = t->given;
    const struct shape out = h->node->output;
    struct kernel_site *site = &t->site;
    t->input_count = h->input_count + t->variant->add;
    if (t->variant->add) {
        site->inputs[1] = out;
        site->input_gradient[1] = true;
    }
    for (size_t k = 0; k < t->input_count; k++) {
        site->layouts[k] = layout_of(t, site->inputs[k], block);
        if (t->variant->plain_input) {
            site->layouts[k] = (struct tensor_layout){0};
            site->input_gradient[k] = false;
        }
        new_array(&t->inputs[k], site->layouts[k], site->inputs[k], site->batch);
        new_array(&t->gradients[k], site->layouts[k], site->inputs[k], site->batch);
    }
    site->output_layout = layout_of(t, out, block);
    new_array(&t->output, site->output_layout, out, site->batch);
    new_array(&t->output_gradient, site->output_layout, out, site->batch);
    t->summand = memory_new_aligned(h->output_values, sizeof(float), "", NULL);
    t->plain_gradient = memory_new_aligned(h->output_values, sizeof(float), "", NULL);
    random_fill_uniform(4, RANDOM_TEST, 0, -1, 1, t->summand, h->output_values);
    if (t->bf16)
        round_given(t);
    t->add = (struct node){.op = &op_add, .output = out};
    t->relu = (struct node){.op = &op_relu, .output = out};
    site->fused_add = t->variant->add ? &t->add : NULL;
    site->fused_activation = t->variant->relu ? &t->relu : NULL;
    for (size_t p = 0; p < h->parameter_count; p++) {
        t->parameters[p] = guarded_new(h->parameter_values[p] * sizeof(float), sizeof(float),
                                       t->variant->side, "a parameter");
        t->parameter_gradients[p] =
            guarded_new(h->parameter_values[p] * sizeof(float), sizeof(float), t->variant->side,
                        "a parameter's gradient");
    }
}

static void release_array(struct array *array)
{
    guarded_free(array->values);
    free(array->wanted);
}

static void trial_free(struct trial *t)
{
    for (size_t k = 0; k < NODE_MAX_INPUTS; k++) {
        release_array(&t->inputs[k]);
        release_array(&t->gradients[k]);
    }
    release_array(&t->output);
    release_array(&t->output_gradient);
    for (size_t p = 0; p < NODE_MAX_PARAMETERS; p++) {
        guarded_free(t->parameters[p]);
        guarded_free(t->parameter_gradients[p]);
    }
    free(t->summand);
    free(t->plain_gradient);
}

/* --- running --- */

static void release_values(struct trial *t)
{
    struct array *const all[] = {
        &t->inputs[0],    &t->inputs[1],    &t->inputs[2],    &t->inputs[3], &t->gradients[0],
        &t->gradients[1], &t->gradients[2], &t->gradients[3], &t->output,    &t->output_gradient};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        guarded_free(all[i]->values);
        all[i]->values = NULL;
    }
}

static void fill_arrays(struct trial *t)
{
    const struct op_harness *h = t->given;
    release_values(t);
    for (size_t k = 0; k < t->input_count; k++) {
        fill_array(t, &t->inputs[k], k < h->input_count ? h->inputs[k] : t->summand, "an input");
        fill_array(t, &t->gradients[k], h->base, "an input's gradient");
        if (!t->variant->accumulate)
            poison(t, &t->gradients[k]);
    }
    fill_array(t, &t->output, h->output, "the output");
    poison(t, &t->output);
    fill_array(t, &t->output_gradient, t->plain_gradient, "the output's gradient");
    for (size_t p = 0; p < h->parameter_count; p++) {
        memcpy(t->parameters[p], h->parameters[p], h->parameter_values[p] * sizeof(float));
        memset(t->parameter_gradients[p], 0xff, h->parameter_values[p] * sizeof(float));
    }
}

static void set_call(struct trial *t, struct kernel_call *call, struct pool *pool)
{
    const struct op_harness *h = t->given;
    *call = (struct kernel_call){.site = &t->site,
                                 .output = t->output.values,
                                 .output_gradient = t->output_gradient.values,
                                 .seed = HARNESS_SEED,
                                 .iteration = HARNESS_ITERATION,
                                 .node_number = (size_t)(h->node - h->graph.nodes),
                                 .pool = pool};
    for (size_t k = 0; k < t->input_count; k++) {
        call->inputs[k] = t->inputs[k].values;
        call->accumulate[k] = t->variant->accumulate;
        if (t->site.input_gradient[k])
            call->input_gradients[k] = t->gradients[k].values;
    }
    if (t->variant->in_place)
        call->input_gradients[0] = t->output_gradient.values;
    for (size_t p = 0; p < h->parameter_count; p++) {
        call->parameters[p] = t->parameters[p];
        call->parameter_gradients[p] = h->learnable[p] ? t->parameter_gradients[p] : NULL;
    }
}

/* Makes what backward must not read NaN. */
static void hide(struct trial *t)
{
    const bool both = t->variant->add && t->variant->relu;
    for (size_t k = 0; k < t->input_count; k++)
        if (k >= t->given->input_count || !(t->kernel->traits & KERNEL_BACKWARD_READS_INPUT))
            poison(t, &t->inputs[k]);
    if (!both && !(t->kernel->traits & KERNEL_BACKWARD_READS_OUTPUT))
        poison(t, &t->output);
}

/* Runs forward and backward; the output is copied to `output` before backward. */
static void run(struct trial *t, struct pool *pool, float *output)
{
    const struct kernel *kernel = t->kernel;
    const size_t workspace = kernel->workspace_bytes ? kernel->workspace_bytes(&t->site) : 0;
    const size_t saved = kernel->saved_bytes ? kernel->saved_bytes(&t->site) : 0;
    struct kernel_call call;
    fill_arrays(t);
    set_call(t, &call, pool);
    call.workspace = guarded_new(workspace + 1, MEMORY_ALIGNMENT, t->variant->side, "workspace");
    call.saved = guarded_new(saved + 1, MEMORY_ALIGNMENT, t->variant->side, "saved data");
    memset(call.workspace, 0xff, workspace);
    memset(call.saved, 0xff, saved);
    kernel->forward(&call);
    if (t->variant->recompute) {
        poison(t, &t->output);
        call.recomputing = true;
        kernel->forward(&call);
        call.recomputing = false;
    }
    blocked_to_plain(t->output.values, t->output.layout, t->output.shape, t->site.batch, output);
    hide(t);
    memset(call.workspace, 0xff, workspace);
    kernel->backward(&call);
    guarded_free(call.workspace);
    guarded_free(call.saved);
}

/* --- the checks --- */

/* Returns whether the unused channels of an array are 0. */
static bool unused_are_zero(const struct trial *t, const struct array *array)
{
    const struct tensor_layout layout = array->layout;
    const size_t block = layout.block, image = tensor_image(layout, array->shape);
    for (size_t i = 0; block && i < t->site.batch * image; i++) {
        const size_t plane = i % image / tensor_plane(layout, array->shape);
        if (plane * block + i % block >= array->shape.channels &&
            blocked_value(array->values, layout, i) != 0)
            return false;
    }
    return true;
}

/* A gradient that is computed from an output of bf16 differs by more than one of float32. */
static double tolerance_of(const struct trial *t)
{
    return t->bf16 && (t->kernel->traits & KERNEL_BACKWARD_READS_OUTPUT) ? 1.0 / 128 : tolerance;
}

static double difference_in(struct tensor_layout layout, const float *got, const float *wanted,
                            size_t count)
{
    return layout.bf16 ? blocked_bf16_difference(got, wanted, count)
                       : harness_difference(got, wanted, count);
}

static double array_difference(const struct trial *t, const struct array *array, const void *values)
{
    const size_t count = t->site.batch * shape_count(array->shape);
    float *got = memory_new_aligned(count, sizeof(float), "", NULL);
    blocked_to_plain(values, array->layout, array->shape, t->site.batch, got);
    const double difference = difference_in(array->layout, got, array->wanted, count);
    free(got);
    return difference;
}

/* Returns the largest difference of the output; two NaN are the same. */
static double output_difference(const struct trial *t, const float *output)
{
    const float *wanted = t->output.wanted;
    const size_t count = t->given->output_values;
    for (size_t i = 0; t->variant->not_finite && i < count; i++)
        if (!(output[i] == wanted[i] || (isnan(output[i]) && isnan(wanted[i]))))
            return INFINITY;
    return t->variant->not_finite ? 0 : difference_in(t->output.layout, output, wanted, count);
}

/* Returns the largest difference of a run's results; writes the worst array to *where. */
static double difference(struct trial *t, const float *output, const char **where)
{
    const struct op_harness *h = t->given;
    double worst = output_difference(t, output);
    *where = "the output";
    for (size_t k = 0; k < t->input_count; k++) {
        struct array *gradient = &t->gradients[k];
        if (!t->site.input_gradient[k])
            continue;
        const bool moved = k == 0 && t->variant->in_place;
        const double now =
            array_difference(t, gradient, moved ? t->output_gradient.values : gradient->values);
        const bool zero = moved || unused_are_zero(t, gradient);
        if (now > worst || !zero)
            *where = zero ? "an input's gradient" : "an unused channel of a gradient";
        worst = zero ? fmax(worst, now) : INFINITY;
    }
    for (size_t p = 0; p < h->parameter_count; p++) {
        const float *got = h->learnable[p] ? t->parameter_gradients[p] : t->parameters[p];
        const float *wanted = h->learnable[p] ? h->parameter_gradients[p] : h->updated[p];
        const double now = harness_difference(got, wanted, h->parameter_values[p]);
        if (now > worst)
            *where = h->learnable[p] ? "a parameter's gradient" : "a statistic";
        worst = fmax(worst, now);
    }
    return worst;
}

/* Returns a checksum of all results. */
static uint64_t checksum(const struct trial *t, const float *output)
{
    uint64_t sum = 14695981039346656037u;
    const struct op_harness *h = t->given;
    const struct {
        const void *values;
        size_t bytes;
    } arrays[] = {
        {output, h->output_values * sizeof(float)},
        {t->variant->in_place ? t->output_gradient.values : t->gradients[0].values,
         blocked_bytes(t->gradients[0].layout, t->gradients[0].shape, t->site.batch)},
        {t->parameter_gradients[0],
         h->parameter_count > 0 ? h->parameter_values[0] * sizeof(float) : 0},
        {t->parameter_gradients[1],
         h->parameter_count > 1 ? h->parameter_values[1] * sizeof(float) : 0},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        for (size_t k = 0; k < arrays[i].bytes; k += sizeof(uint16_t)) { /* of bf16 or more */
            uint16_t value;
            memcpy(&value, (const char *)arrays[i].values + k, sizeof value);
            sum = (sum ^ value) * 1099511628211u;
        }
    return sum;
}

/* Runs with one thread and with each other number of threads; in `make check` with one other
 * number, the next time with another. */
static bool check_runs(struct trial *t, char *why, size_t size)
{
    static size_t number;
    float *output = memory_new_aligned(t->given->output_values, sizeof(float), "", NULL);
    uint64_t first = 0;
    bool good = true;
    number++;
    for (size_t i = 0; good && i < POOLS; i++) {
        const char *where;
        if (i > 0 && !sample_has(number + i, POOLS - 1, 1))
            continue;
        run(t, pools[i], output);
        const double worst = difference(t, output, &where);
        const char *array = guarded_changed();
        const uint64_t sum = checksum(t, output);
        good = worst <= tolerance_of(t) && !array && (i == 0 || sum == first);
        first = i == 0 ? sum : first;
        snprintf(why, size, "%zu threads: %s differs by %g, bits %s, next to %s", thread_counts[i],
                 where, worst, sum == first ? "the same" : "different", array ? array : "nothing");
    }
    free(output);
    return good;
}

/* Returns whether a kernel trains on channel-blocked arrays. */
static bool trains_blocked(const struct kernel *kernel)
{
    return kernel->backward &&
           (kernel->traits & (KERNEL_BLOCKED | KERNEL_ANY_LAYOUT | KERNEL_BF16));
}

/* Returns whether a kernel fuses a sum and a relu on plain arrays, in float32. */
static bool fuses_plain(const struct kernel *kernel)
{
    return kernel->backward && !trains_blocked(kernel) && (kernel->traits & KERNEL_FUSES_EPILOGUE);
}

/* Returns whether kernel and case can be run as the variant says. */
static bool fits(const struct trial *t)
{
    const struct variant *v = t->variant;
    const struct kernel *kernel = t->kernel;
    const char *reason;
    if ((v->add || v->relu) && !(kernel->traits & KERNEL_FUSES_EPILOGUE))
        return false;
    if (v->in_place && !(kernel->traits & KERNEL_GRADIENT_IN_PLACE))
        return false;
    if (v->plain_input && kernel->op != &op_conv && kernel->op != &op_linear)
        return false;
    if (v->not_finite && kernel->op != &op_max_pool)
        return false;
    if ((kernel->traits & KERNEL_ANY_LAYOUT) && shape_area(t->site.inputs[0]) == 1)
        return false;
    return !kernel->supports || kernel->supports(&t->site, &reason);
}

static void fill_not_finite(float *values, size_t count)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 3; i < count; i += 7)
        values[i] = specials[i / 7 % 3];
}

/* Runs one case with one kernel as one variant. Returns 1 if it failed; counts the runs. */
static size_t check_variant(const struct op_case *op_case, const struct kernel *kernel,
                            const struct variant *variant, const struct kernel_set *set,
                            size_t *runs)
{
    char why[256] = "";
    struct trial t = {.variant = variant,
                      .kernel = kernel,
                      .bf16 = set->bf16,
                      .given = op_harness_create(op_case, HARNESS_SEED, NULL)};
    bool good = t.given;
    if (good) {
        t.site = op_harness_site(t.given, 3);
        make_arrays(&t, trains_blocked(kernel) ? set->channel_block : 0);
        if (fits(&t)) {
            guarded_describe(op_case->name);
            if (variant->not_finite)
                fill_not_finite(t.given->inputs[0], t.given->input_values[0]);
            good = compute_wanted(&t) && check_runs(&t, why, sizeof why);
            ++*runs;
            runs_of[variant - variants]++;
        }
    }
    if (!good)
        tap_note("%s by %s (%s), %s: %s", op_case->name, kernel->name, kernel->instruction_set,
                 variant->name, why);
    trial_free(&t);
    op_harness_free(t.given);
    return !good;
}

/* Sizes that the shared list does not have: several columns, strips and partial results, groups
 * that share a block, strides whose residues differ, and windows that leave positions unread. */
#define CONV(outputs_, kernel_, stride_, pad_, groups_)                                            \
    .op = &op_conv,                                                                                \
    .attributes.conv = {.window = {kernel_, kernel_, stride_, stride_, pad_, pad_},                \
                        .outputs = outputs_,                                                       \
                        .groups = groups_,                                                         \
                        .bias = true}
#define POOL(op_, kernel_, stride_, pad_)                                                          \
    .op = op_, .attributes.pool = {.window = {kernel_, kernel_, stride_, stride_, pad_, pad_}}
#define NORM .op = &op_batch_norm, .attributes.batch_norm = {1e-5f, 0.1f}
#define LINEAR(inputs_, outputs_, batch_)                                                          \
    .op = &op_linear, .attributes.linear = {.outputs = outputs_, .bias = true},                    \
    .inputs = {{inputs_, 1, 1}}, .input_count = 1, .batch = batch_
static const struct op_case larger_cases[] = {
    {"two columns", CONV(72, 3, 1, 1, 1), {{40, 9, 33}}, 1, 2, 0},
    {"an odd block", CONV(48, 1, 1, 0, 1), {{32, 8, 8}}, 1, 18, 0},
    {"few lanes", CONV(10, 1, 1, 0, 1), {{70, 4, 4}}, 1, 2, 0},
    {"stride 2", CONV(32, 3, 2, 1, 1), {{16, 17, 19}}, 1, 2, 0},
    {"stride 3, window 2", CONV(32, 2, 3, 0, 1), {{16, 13, 12}}, 1, 2, 0},
    {"shortcut", CONV(64, 1, 2, 0, 1), {{32, 16, 16}}, 1, 1, 0},
    {"first layer", CONV(64, 7, 2, 3, 1), {{3, 65, 63}}, 1, 2, 0},
    {"large stride", CONV(24, 11, 4, 0, 1), {{3, 67, 67}}, 1, 1, 0},
    {"a narrow window",
     .op = &op_conv,
     .attributes.conv = {.window = {1, 5, 1, 1, 0, 2}, .outputs = 24, .groups = 1},
     {{20, 7, 9}},
     1,
     2,
     0},
    {"groups of a block", CONV(64, 3, 1, 1, 2), {{32, 7, 15}}, 1, 2, 0},
    {"groups that share a block", CONV(16, 1, 1, 0, 2), {{16, 9, 17}}, 1, 2, 0},
    {"groups of a block and a half", CONV(48, 3, 1, 1, 2), {{48, 5, 14}}, 1, 2, 0},
    {"depthwise", CONV(48, 3, 1, 1, 48), {{48, 9, 21}}, 1, 17, 0},
    {"depthwise stride 2", CONV(40, 3, 2, 1, 40), {{40, 16, 15}}, 1, 2, 0},
    {"depthwise window 5", CONV(20, 5, 1, 2, 20), {{20, 8, 9}}, 1, 2, 0},
    {"depthwise stride 3", CONV(20, 2, 3, 0, 20), {{20, 11, 12}}, 1, 2, 0},
    {"many terms", CONV(32, 3, 1, 1, 1), {{130, 6, 29}}, 1, 1, 0},
    {"rows of 33", CONV(33, 3, 1, 1, 1), {{17, 5, 33}}, 1, 2, 0},
    {"rows of 48, window 5", CONV(16, 5, 1, 2, 1), {{31, 4, 48}}, 1, 2, 0},
    {"window 5, stride 2", CONV(64, 5, 2, 2, 1), {{32, 16, 18}}, 1, 2, 0},
    {"many images", CONV(32, 3, 1, 1, 1), {{24, 4, 5}}, 1, 37, 0},
    {"max_pool overlapping", POOL(&op_max_pool, 3, 2, 1), {{24, 13, 11}}, 1, 3, 0},
    {"max_pool with ties", POOL(&op_max_pool, 3, 2, 0), {{24, 13, 11}}, 1, 2, CASE_TIES},
    {"average_pool overlapping", POOL(&op_average_pool, 3, 2, 1), {{24, 13, 11}}, 1, 3, 0},
    {"batch_norm, large planes", NORM, {{3, 65, 67}}, 1, 2, 0},
    {"batch_norm, small planes", NORM, {{130, 3, 3}}, 1, 5, 0},
    {"batch_norm, vectors", NORM, {{130, 1, 1}}, 1, 9, 0},
    {"linear, pieces of 512 and 64", LINEAR(513, 65, 2)},
    {"linear, one of each", LINEAR(1, 1, 1)},
    {"linear, pieces of 256 and 128", LINEAR(257, 129, 13)},
    {"linear, many images", LINEAR(31, 33, 65)},
};

/* Returns whether a case is run as variant `v`: each of the many sizes as one or two variants, and
 * each variant with sizes of every operator; each small case as a third of the variants, each
 * larger one as a sixth, with each instruction set other ones. Of what is emulated half of that.
 * Sanitizers see fewer. */
static bool is_tried(const struct op_case *op_case, size_t v, const struct kernel_set *set)
{
    const bool listed = op_case >= op_cases && op_case < op_cases + op_case_count;
    const size_t i = listed ? (size_t)(op_case - op_cases) : (size_t)(op_case - larger_cases);
    const size_t step = op_case->op->flops ? 12 : 4; /* products take the reference longest */
    const size_t rarer = strstr(set->name, "emulated") ? 2 : 1;
    const size_t first =
        i + v + set->channel_block + 3 * set->bf16; /* other variants in each set */
    if (op_case->flags & CASE_EDGE)
        return sample_has(i + v, 9 * rarer, 48);
    const bool is_small = listed && !(op_case->flags & CASE_LARGER);
    return sample_has(is_small ? i + v : first, (is_small ? 3 : 6) * rarer, step);
}

static bool is_tested(const struct kernel *kernel, const struct kernel_set *set)
{
    return trains_blocked(kernel) || (fuses_plain(kernel) && !set->bf16);
}

static size_t check_case(const struct op_case *op_case, const struct kernel_set *set, size_t *runs)
{
    size_t failures = 0;
    if (op_case->flags & CASE_INFERENCE)
        return 0;
    for (const struct kernel *const *k = set->kernels; *k; k++)
        for (size_t v = 0; (*k)->op == op_case->op && is_tested(*k, set) && v < VARIANTS; v++)
            if (is_tried(op_case, v, set))
                failures += check_variant(op_case, *k, &variants[v], set, runs);
    return failures;
}

static void check_cases(const char *what, unsigned of, const struct kernel_set *set)
{
    size_t failures = 0, runs = 0;
    for (size_t i = 0; i < op_case_count; i++)
        if ((op_cases[i].flags & CASE_WITHOUT_GOLDEN) == of)
            failures += check_case(&op_cases[i], set, &runs);
    tap_ok(failures == 0 && runs > 0, "%s: %s: %zu runs agree with the reference", set->name, what,
           runs);
}

static void check_larger(const struct kernel_set *set, size_t least_runs)
{
    size_t failures = 0, runs = 0;
    const size_t cases = sizeof larger_cases / sizeof *larger_cases;
    for (size_t i = 0; i < cases; i++)
        failures += check_case(&larger_cases[i], set, &runs);
    const size_t least = sample_is_whole() ? least_runs : least_runs / 6; /* of the variants */
    tap_ok(failures == 0 && runs >= (SANITIZED ? 1 : least), "%s: larger cases: %zu runs agree",
           set->name, runs);
}

/* Checks that every variant fitted some kernel, and begins to count anew. */
static void check_variants(const struct kernel_set *set)
{
    size_t tried = 0;
    for (size_t v = 0; v < VARIANTS; v++) {
        if (runs_of[v] == 0)
            tap_note("no kernel was run: %s", variants[v].name);
        tried += runs_of[v] > 0;
        runs_of[v] = 0;
    }
    tap_ok(tried == VARIANTS, "%s: all %d variants were tried", set->name, VARIANTS);
}

static void check_set(const struct kernel_set *set)
{
    check_cases("cases of the goldens", 0, set);
    check_cases("sizes around vectors and tiles", CASE_EDGE, set);
    check_cases("larger cases of the list", CASE_LARGER, set);
    check_larger(set, 2 * sizeof larger_cases / sizeof *larger_cases);
    check_variants(set);
}

/* AMX multiplies in convolutions and linear layers alone. */
static void check_amx(const struct kernel_set *set)
{
    check_cases("cases of the goldens", 0, set);
    check_cases("sizes around vectors and tiles", CASE_EDGE, set);
    check_cases("larger cases of the list", CASE_LARGER, set);
    check_larger(set, sizeof larger_cases / sizeof *larger_cases);
}

TEST_CASE(blocked_training_test)
{
    struct kernel_set bf16, amx;
    for (size_t i = 0; i < POOLS; i++)
        pools[i] = pool_create(thread_counts[i], NULL);
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set)) {
            const struct kernel_set kernels = kernel_set_of((enum instruction_set)set);
            check_set(&kernels);
        }
    instruction_set_release();
    if (kernel_set_bf16(&bf16))
        check_set(&bf16);
    if (kernel_set_amx(&amx))
        check_amx(&amx);
    for (size_t i = 0; i < POOLS; i++)
        pool_free(pools[i]);
    return tap_done();
}
