/* Compares the kernels for channel-blocked layouts with the reference kernels over the shared list
 * of cases, on every instruction set of this machine: with several paddings, as a part of a larger
 * array, from a plain input, with every combination of fused norms, sums and activations, and
 * through fused channel moves, and with values that are not finite. Every array is next to a guard
 * page. The padding and the unused channels of the output must be zero, what surrounds a part must
 * stay as it is, and any number of threads must give the same bits. */
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

/* 33: more than an image can be divided into */
static const size_t thread_counts[] = {1, 3, 2, 33};
enum { POOLS = SANITIZED ? 2 : sizeof thread_counts / sizeof *thread_counts };
static struct pool *pools[POOLS];

static const double tolerance = 2e-5;

/* How a case is run. */
struct variant {
    const char *name;
    bool plain_input;
    size_t more_input_pad, output_pad;
    bool part; /* the output is a part of an array with a block before and one behind it */
    size_t norms;
    bool add, relu, relu_first;
    const struct op *move;
    bool not_finite; /* some inputs are NaN or infinite; only where each output copies an input */
    enum guarded_side side;
};

static const struct variant variants[] = {
    {.name = "no padding"},
    {.name = "padding", .more_input_pad = 1, .output_pad = 2, .side = GUARDED_START},
    {.name = "a part", .output_pad = 1, .part = true},
    {.name = "a plain input", .plain_input = true, .output_pad = 1},
    {.name = "relu", .relu = true, .side = GUARDED_START},
    {.name = "norm and relu", .norms = 1, .relu = true, .output_pad = 1},
    {.name = "two norms", .norms = 2},
    {.name = "sum and relu", .norms = 1, .add = true, .relu = true, .output_pad = 1},
    {.name = "relu and sum", .norms = 1, .add = true, .relu = true, .relu_first = true},
    {.name = "shift", .move = &op_channel_shift, .output_pad = 1},
    {.name = "shift of a plain input", .move = &op_channel_shift, .plain_input = true},
    {.name = "shuffle", .move = &op_channel_shuffle, .norms = 1, .more_input_pad = 2},
    {.name = "not finite", .not_finite = true, .output_pad = 1},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* One run: its site, its call and its arrays. */
struct trial {
    const struct variant *variant;
    const struct kernel *kernel;
    struct op_harness *given; /* inputs and parameters */
    struct node move, norms[KERNEL_MAX_NORMS], add, relu;
    struct kernel_site site;
    struct kernel_call call;
    const struct kernel_set *set;
    bool by_rows;                /* the layout of channel-blocked arrays; else by planes */
    size_t block, output_values; /* the padding included */
    void *blocked[NODE_MAX_INPUTS], *output;
    float *plain_sum, *norm_values;
    float *wanted; /* [N, C, H, W] */
};

/* --- arrays --- */

/* Returns a channel-blocked copy of a plain array; its padding and its unused channels are 0. */
static void *copy_blocked(const float *plain, struct tensor_layout layout, struct shape shape,
                          size_t batch, const struct variant *variant)
{
    return blocked_copy(plain, layout, shape, batch, variant->side, "an input");
}

/* --- the wanted values --- */

/* Computes the reference kernel of `node`. */
static void compute_reference(const struct node *node, const struct kernel_call *arguments,
                              const struct shape *inputs, size_t batch, float *output)
{
    struct kernel_site site = {.node = node, .batch = batch, .threads = 1};
    struct kernel_call call = *arguments;
    memcpy(site.inputs, inputs, sizeof site.inputs);
    call.site = &site;
    call.output = output;
    call.workspace = NULL;
    if (node->op->reference->workspace_bytes)
        call.workspace = memory_new(1, node->op->reference->workspace_bytes(&site), "", NULL);
    node->op->reference->forward(&call);
    free(call.workspace);
}

static float apply_norms(const struct trial *t, size_t channel, float value)
{
    for (size_t i = 0; i < t->variant->norms; i++) {
        const float *const *p = t->call.norm_parameters[i];
        value = (value - p[2][channel]) /
                    sqrtf(p[3][channel] + t->norms[i].attributes.batch_norm.epsilon) *
                    p[0][channel] +
                p[1][channel];
    }
    return value;
}

static void compute_wanted(struct trial *t)
{
    const struct op_harness *h = t->given;
    const struct shape out = h->node->output;
    struct kernel_call call = {0};
    float *moved = memory_new_aligned(h->input_values[0], sizeof(float), "", NULL);
    for (size_t k = 0; k < h->input_count; k++)
        call.inputs[k] = h->inputs[k];
    for (size_t p = 0; p < h->parameter_count; p++)
        call.parameters[p] = h->parameters[p];
    if (t->variant->move) {
        compute_reference(&t->move, &call, t->site.inputs, t->site.batch, moved);
        call.inputs[0] = moved;
    }
    compute_reference(h->node, &call, t->site.inputs, t->site.batch, t->wanted);
    for (size_t i = 0; i < h->output_values; i++) {
        float *value = &t->wanted[i];
        *value = apply_norms(t, i / shape_area(out) % out.channels, *value);
        if (t->variant->relu && t->variant->relu_first && *value < 0)
            *value = 0;
        if (t->variant->add)
            *value += t->plain_sum[i];
        if (t->variant->relu && !t->variant->relu_first && *value < 0)
            *value = 0;
    }
    free(moved);
}

/* --- the site --- */

static void set_fused(struct trial *t)
{
    const struct variant *v = t->variant;
    const struct shape out = t->given->node->output;
    struct kernel_site *site = &t->site;
    for (size_t i = 0; i < v->norms; i++) {
        t->norms[i] = (struct node){.op = &op_batch_norm, .output = out};
        t->norms[i].attributes.batch_norm.epsilon = 1e-3f;
        site->fused_norms[site->fused_norm_count++] = (struct fused_norm){&t->norms[i], 0};
        for (size_t p = 0; p < NORM_PARAMETERS; p++) {
            float *values = t->norm_values + (i * NORM_PARAMETERS + p) * out.channels;
            random_fill_uniform(3, RANDOM_TEST, (uint32_t)(i * NORM_PARAMETERS + p), 0.5f, 1.5f,
                                values, out.channels);
            t->call.norm_parameters[i][p] = values;
        }
    }
    t->add = (struct node){.op = &op_add, .output = out};
    t->relu = (struct node){.op = &op_relu, .output = out};
    site->fused_add = v->add ? &t->add : NULL;
    site->fused_activation = v->relu ? &t->relu : NULL;
    site->activation_first = v->relu_first;
    site->fused_move = v->move ? &t->move : NULL;
}

/* Returns whether kernel and case can be run as the variant says. */
static bool fits(const struct trial *t)
{
    const struct variant *v = t->variant;
    const struct kernel *kernel = t->kernel;
    const char *reason;
    const bool fuses = v->add || v->relu;
    const struct op *op = kernel->op;
    if (v->not_finite && op != &op_max_pool && op != &op_relu && op != &op_leaky_relu)
        return false;
    if (v->part && shape_area(t->given->node->output) == 1)
        return false;
    if ((fuses && !(kernel->traits & KERNEL_FUSES_EPILOGUE)) ||
        (v->norms && !(kernel->traits & KERNEL_FUSES_NORMS)) ||
        (v->move && !(kernel->traits & KERNEL_FUSES_CHANNEL_MOVES)))
        return false;
    if (v->move == &op_channel_shuffle && t->site.inputs[0].channels % 2 != 0)
        return false;
    struct kernel_site before = t->site;
    before.fused_move = NULL;
    if (v->move && !kernel->fuses_move(&before, &t->move))
        return false;
    return kernel->supports(&t->site, &reason);
}

static struct tensor_layout blocked_layout(const struct trial *t, size_t pad)
{
    return (struct tensor_layout){
        .block = t->block, .pad = pad, .by_rows = t->by_rows, .bf16 = t->set->bf16};
}

/* Sets the layouts. A vector is plain. */
static void set_layouts(struct trial *t)
{
    const struct variant *v = t->variant;
    const struct shape out = t->given->node->output;
    struct kernel_site *site = &t->site;
    for (size_t k = 0; k < t->given->input_count; k++)
        if (!v->plain_input && shape_area(site->inputs[k]) > 1)
            site->layouts[k] = blocked_layout(t, v->more_input_pad);
    if (t->kernel->input_pad && site->layouts[0].block)
        site->layouts[0].pad += t->kernel->input_pad(site);
    if (v->add) {
        site->inputs[1] = out;
        site->layouts[1] = blocked_layout(t, 3);
    }
    site->output_layout = blocked_layout(t, v->output_pad);
    if (v->part)
        site->output_layout.channels =
            (out.channels + t->block - 1) / t->block * t->block + 2 * t->block;
}

/* --- running --- */

/* Returns whether value number i of the output has been left as it was, all bits set. */
static bool is_untouched(const struct trial *t, size_t i)
{
    static const unsigned char all[sizeof(float)] = {0xff, 0xff, 0xff, 0xff};
    const size_t bytes = tensor_value_bytes(t->site.output_layout);
    return memcmp((const char *)t->output + i * bytes, all, bytes) == 0;
}

static size_t output_bytes(const struct trial *t)
{
    return t->output_values * tensor_value_bytes(t->site.output_layout);
}

static void run(struct trial *t, struct pool *pool)
{
    const struct kernel *kernel = t->kernel;
    struct kernel_call *call = &t->call;
    t->site.threads = pool_threads(pool);
    const size_t workspace = kernel->workspace_bytes ? kernel->workspace_bytes(&t->site) : 0;
    const size_t prepared = kernel->prepared_bytes ? kernel->prepared_bytes(&t->site) : 0;
    memset(t->output, 0xff, output_bytes(t)); /* NaN */
    call->site = &t->site;
    call->pool = pool;
    call->output = t->output;
    if (t->variant->part)
        call->output = (float *)((char *)t->output +
                                 tensor_value_bytes(t->site.output_layout) *
                                     tensor_plane(t->site.output_layout, t->given->node->output));
    call->workspace = guarded_new(workspace + 1, MEMORY_ALIGNMENT, t->variant->side, "workspace");
    call->prepared = guarded_new(prepared + 1, MEMORY_ALIGNMENT, t->variant->side, "prepared");
    memset(call->workspace, 0xff, workspace);
    memset(call->prepared, 0xff, prepared);
    if (kernel->prepare)
        kernel->prepare(call);
    kernel->forward(call);
    guarded_free(call->workspace);
    guarded_free(call->prepared);
}

/* Compares the output with the wanted values; a plain output is a vector. */
static double difference(const struct trial *t)
{
    const struct shape out = t->given->node->output;
    const struct tensor_layout layout = t->site.output_layout;
    float *got = memory_new_aligned(t->given->output_values, sizeof(float), "", NULL);
    blocked_to_plain(t->call.output, layout, out, t->site.batch, got);
    double worst = 0;
    for (size_t i = 0; t->variant->not_finite && i < t->given->output_values; i++) {
        const float wanted = layout.bf16 ? bf16_round(t->wanted[i]) : t->wanted[i];
        if (!(got[i] == wanted || (isnan(got[i]) && isnan(wanted))))
            worst = INFINITY;
    }
    if (!t->variant->not_finite)
        worst = layout.bf16 ? blocked_bf16_difference(got, t->wanted, t->given->output_values)
                            : harness_difference(got, t->wanted, t->given->output_values);
    free(got);
    return worst;
}

/* Returns whether a place of the output is a channel and position of the tensor. */
static bool is_value(const struct trial *t, size_t lane, size_t plane, size_t y, size_t x)
{
    const struct shape out = t->given->node->output;
    const size_t pad = t->site.output_layout.pad;
    return plane * t->block + lane < out.channels && y >= pad && y < pad + out.height && x >= pad &&
           x < pad + out.width;
}

/* Returns whether padding and unused channels are 0, and what surrounds a part is unchanged. */
static bool surroundings_good(const struct trial *t)
{
    const struct shape out = t->given->node->output;
    const struct tensor_layout layout = t->site.output_layout;
    if (!layout.block)
        return true;
    const size_t first = t->variant->part ? 1 : 0, planes = tensor_planes(layout, out);
    const size_t own = (out.channels + t->block - 1) / t->block;
    const size_t line = tensor_line(layout, out), rows = out.height + 2 * layout.pad;
    for (size_t i = 0; i < t->output_values; i++) {
        const size_t plane = layout.by_rows ? i / line % planes : i / (rows * line) % planes;
        const size_t y = layout.by_rows ? i / (planes * line) % rows : i / line % rows;
        if (plane < first || plane >= first + own) {
            if (!is_untouched(t, i))
                return false;
        } else if (!is_value(t, i % t->block, plane - first, y, i % line / t->block) &&
                   blocked_value(t->output, layout, i) != 0) {
            return false;
        }
    }
    return true;
}

/* The factor of a fused norm is in the weights before they are rounded. */
static double tolerance_of(const struct trial *t)
{
    return t->set->bf16 && t->variant->norms > 0 ? 1.0 / 256 : tolerance;
}

/* Runs with one thread and with each other number of threads; in `make check` with one other
 * number, the next time with another. */
static bool check_runs(struct trial *t, char *why, size_t size)
{
    static size_t number;
    void *first = memory_new_aligned(output_bytes(t), 1, "", NULL);
    bool good = true;
    number++;
    for (size_t i = 0; good && i < POOLS; i++) {
        if (i > 0 && !sample_has(number + i, POOLS - 1, 1))
            continue;
        run(t, pools[i]);
        if (i == 0) {
            const double worst = difference(t);
            const char *array = guarded_changed();
            memcpy(first, t->output, output_bytes(t));
            good = worst <= tolerance_of(t) && surroundings_good(t) && !array;
            snprintf(why, size, "differs by %g, surroundings %s, next to %s", worst,
                     surroundings_good(t) ? "good" : "bad", array ? array : "nothing");
        } else {
            good = memcmp(first, t->output, output_bytes(t)) == 0;
            snprintf(why, size, "%zu threads give different bits from 1", thread_counts[i]);
        }
    }
    free(first);
    return good;
}

static void trial_free(struct trial *t)
{
    for (size_t k = 0; k < NODE_MAX_INPUTS; k++)
        guarded_free(t->blocked[k]);
    guarded_free(t->output);
    free(t->plain_sum);
    free(t->norm_values);
    free(t->wanted);
}

static void allocate(struct trial *t)
{
    const struct op_harness *h = t->given;
    const struct shape out = h->node->output;
    struct kernel_site *site = &t->site;
    for (size_t k = 0; k < h->input_count; k++) {
        t->call.inputs[k] = h->inputs[k];
        if (site->layouts[k].block)
            t->call.inputs[k] = t->blocked[k] = copy_blocked(
                h->inputs[k], site->layouts[k], site->inputs[k], site->batch, t->variant);
    }
    for (size_t p = 0; p < h->parameter_count; p++)
        t->call.parameters[p] = h->parameters[p];
    if (t->variant->add)
        t->call.inputs[1] = t->blocked[1] =
            copy_blocked(t->plain_sum, site->layouts[1], out, site->batch, t->variant);
    t->output_values = site->batch * tensor_image(site->output_layout, out);
    t->output = guarded_new(output_bytes(t), MEMORY_ALIGNMENT, t->variant->side, "the output");
}

/* Makes some values NaN, infinite or minus infinity. Comes last for a case: its inputs are changed.
 */
static void fill_not_finite(float *values, size_t count)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 3; i < count; i += 7)
        values[i] = specials[i / 7 % 3];
}

/* Rounds what is given to the trial, as far as the kernel may round it too. */
static void round_given(struct trial *t)
{
    const struct op_harness *h = t->given;
    for (size_t k = 0; k < h->input_count; k++)
        blocked_round(h->inputs[k], h->input_values[k]);
    if (h->op_case->op->flops)
        blocked_round(h->parameters[0], h->parameter_values[0]);
    blocked_round(t->plain_sum, h->output_values);
}

/* Runs one case with one kernel as one variant. Returns 1 if it failed; counts the runs. */
static size_t check_variant(struct op_harness *given, const struct kernel *kernel,
                            const struct variant *variant, bool by_rows,
                            const struct kernel_set *set, size_t *runs)
{
    const struct shape out = given->node->output;
    char why[256] = "";
    struct trial t = {.variant = variant,
                      .kernel = kernel,
                      .given = given,
                      .set = set,
                      .by_rows = by_rows,
                      .block = set->channel_block};
    t.site = op_harness_site(given, 3);
    t.site.training = false;
    memset(t.site.input_gradient, 0, sizeof t.site.input_gradient);
    t.move = (struct node){.op = variant->move, .output = t.site.inputs[0]};
    t.move.attributes.shuffle.groups = 2;
    t.norm_values =
        memory_new(KERNEL_MAX_NORMS * NORM_PARAMETERS * out.channels, sizeof(float), "", NULL);
    t.plain_sum = memory_new_aligned(given->output_values, sizeof(float), "", NULL);
    t.wanted = memory_new_aligned(given->output_values, sizeof(float), "", NULL);
    random_fill_uniform(4, RANDOM_TEST, 0, -1, 1, t.plain_sum, given->output_values);
    if (set->bf16)
        round_given(&t);
    set_fused(&t);
    set_layouts(&t);
    const bool runs_here = fits(&t);
    bool good = true;
    if (runs_here && variant->not_finite)
        fill_not_finite(given->inputs[0], given->input_values[0]);
    if (runs_here) {
        if (shape_area(out) == 1)
            t.site.output_layout = (struct tensor_layout){0};
        allocate(&t);
        compute_wanted(&t);
        good = check_runs(&t, why, sizeof why);
        ++*runs;
    }
    if (!good)
        tap_note("%s by %s (%s), %s, by %s: %s", given->op_case->name, kernel->name,
                 kernel->instruction_set, variant->name, by_rows ? "rows" : "planes", why);
    trial_free(&t);
    return !good;
}

/* Convolutions that the shared list has no size for: several columns and strips, pairs of blocks,
 * groups that share a block, several output channels for each input channel, and Winograd's tiles:
 * numbers of them around chunks (16), columns of one small image that threads share, and weights
 * that are read by columns. */
#define CONV(outputs_, kernel_, stride_, pad_, groups_)                                            \
    .op = &op_conv,                                                                                \
    .attributes.conv = {.window = {kernel_, kernel_, stride_, stride_, pad_, pad_},                \
                        .outputs = outputs_,                                                       \
                        .groups = groups_,                                                         \
                        .bias = true}
static const struct op_case wide_cases[] = {
    {"two columns", CONV(72, 3, 1, 1, 1), {{40, 9, 33}}, 1, 2, 0},
    {"an odd block", CONV(48, 1, 1, 0, 1), {{32, 8, 8}}, 1, 3, 0},
    {"few lanes", CONV(10, 1, 1, 0, 1), {{70, 4, 4}}, 1, 2, 0},
    {"stride 2", CONV(32, 3, 2, 1, 1), {{16, 17, 19}}, 1, 2, 0},
    {"shortcut", CONV(64, 1, 2, 0, 1), {{32, 16, 16}}, 1, 1, 0},
    {"first layer", CONV(64, 7, 2, 3, 1), {{3, 65, 63}}, 1, 2, 0},
    {"large stride", CONV(24, 11, 4, 0, 1), {{3, 67, 67}}, 1, 1, 0},
    {"groups of a block", CONV(64, 3, 1, 1, 2), {{32, 7, 15}}, 1, 2, 0},
    {"groups that share a block", CONV(16, 1, 1, 0, 2), {{16, 9, 17}}, 1, 2, 0},
    {"groups of a block and a half", CONV(48, 3, 1, 1, 2), {{20, 5, 14}}, 1, 2, 0},
    {"depthwise", CONV(48, 3, 1, 1, 48), {{48, 9, 21}}, 1, 2, 0},
    /* one block of input channels with 4, 8 and 16 lanes: a fused shuffle stays within it */
    {"depthwise, 4 channels", CONV(4, 3, 1, 1, 4), {{4, 7, 11}}, 1, 2, 0},
    {"depthwise, 8 channels", CONV(8, 3, 1, 1, 8), {{8, 7, 11}}, 1, 2, 0},
    {"depthwise, 16 channels", CONV(16, 3, 1, 1, 16), {{16, 7, 11}}, 1, 2, 0},
    {"depthwise stride 2", CONV(40, 3, 2, 1, 40), {{40, 16, 15}}, 1, 2, 0},
    {"depthwise with two outputs", CONV(64, 3, 1, 1, 32), {{32, 8, 9}}, 1, 2, 0},
    {"depthwise with four outputs", CONV(64, 3, 1, 1, 16), {{16, 8, 12}}, 1, 2, 0},
    {"tiles at odd edges", CONV(16, 3, 1, 1, 1), {{16, 13, 15}}, 1, 2, 0},
    {"tiles of one chunk", CONV(80, 3, 1, 1, 1), {{48, 8, 8}}, 1, 3, 0},
    {"some tiles more than a chunk", CONV(33, 3, 1, 1, 1), {{17, 8, 10}}, 1, 2, 0},
    {"15 tiles", CONV(33, 3, 1, 1, 1), {{16, 5, 10}}, 1, 1, 0},
    {"16 tiles", CONV(15, 3, 1, 1, 1), {{17, 7, 8}}, 1, 1, 0},
    {"16 tiles of few channels", CONV(16, 3, 1, 1, 1), {{15, 8, 7}}, 1, 1, 0},
    {"17 tiles", CONV(17, 3, 1, 1, 1), {{16, 2, 33}}, 1, 1, 0},
    {"17 tiles of one row", CONV(33, 3, 1, 1, 1), {{33, 1, 34}}, 1, 2, 0},
    {"31 tiles", CONV(16, 3, 1, 1, 1), {{33, 2, 62}}, 1, 1, 0},
    {"32 tiles", CONV(31, 3, 1, 1, 1), {{17, 8, 16}}, 1, 1, 0},
    {"33 tiles", CONV(33, 3, 1, 1, 1), {{15, 6, 22}}, 1, 2, 0},
    {"33 tiles at odd edges", CONV(17, 3, 1, 1, 1), {{17, 5, 21}}, 1, 1, 0},
    {"columns of one chunk, shared", CONV(80, 3, 1, 1, 1), {{16, 8, 8}}, 1, 1, 0},
    {"columns of 17 tiles, shared", CONV(145, 3, 1, 1, 1), {{17, 2, 34}}, 1, 1, 0},
    {"many columns of one chunk", CONV(520, 3, 1, 1, 1), {{16, 8, 8}}, 1, 1, 0},
    {"large weights for 17 tiles", CONV(96, 3, 1, 1, 1), {{96, 2, 34}}, 1, 1, 0},
    {"large weights for 33 tiles", CONV(113, 3, 1, 1, 1), {{80, 6, 22}}, 1, 1, 0},
    {"many terms", CONV(32, 3, 1, 1, 1), {{130, 6, 29}}, 1, 1, 0},
    {"rows of 33", CONV(33, 3, 1, 1, 1), {{17, 5, 33}}, 1, 2, 0},
    {"rows of 48, window 5", CONV(16, 5, 1, 2, 1), {{31, 4, 48}}, 1, 2, 0},
    {"window 2, stride 1", CONV(64, 2, 1, 0, 1), {{16, 9, 17}}, 1, 2, 0},
};

/* Returns the place of a case in its list. */
static size_t number_of(const struct op_case *op_case)
{
    const bool listed = op_case >= op_cases && op_case < op_cases + op_case_count;
    return listed ? (size_t)(op_case - op_cases) : (size_t)(op_case - wide_cases);
}

/* Returns whether a case is run as variant `v`: each of the many sizes as one or two variants, and
 * each variant with sizes of every operator; each small case as a third of the variants, each
 * larger one as a sixth, with each instruction set other ones. Of what is emulated half of that.
 * Sanitizers see fewer. */
static bool is_tried(const struct op_case *op_case, size_t v, const struct kernel_set *set)
{
    const size_t i = number_of(op_case), rarer = strstr(set->name, "emulated") ? 2 : 1;
    const size_t first =
        i + v + set->channel_block + 3 * set->bf16; /* other variants in each set */
    if (op_case->flags & CASE_EDGE)
        return sample_has(i + v, 9 * rarer, 48);
    const bool listed = op_case >= op_cases && op_case < op_cases + op_case_count;
    const bool is_small = listed && !(op_case->flags & CASE_LARGER);
    return sample_has(is_small ? i + v : first, (is_small ? 3 : 6) * rarer, 12);
}

/* Returns whether the arrays of a case that is run as variant `v` are by rows: those of about half
 * of the runs that is_tried chooses are, of each case and of each variant, with sanitizers too. */
static bool is_by_rows(const struct op_case *op_case, size_t v)
{
    return (number_of(op_case) / 4 + v / 2) % 2 == 0;
}

static size_t check_case(const struct op_case *op_case, const struct kernel_set *set, size_t *runs)
{
    size_t failures = 0;
    for (const struct kernel *const *k = set->kernels; *k; k++) {
        if ((*k)->op != op_case->op || !((*k)->traits & KERNEL_BLOCKED) ||
            ((*k)->traits & (KERNEL_TRAINS_ONLY | KERNEL_INT8))) /* int8_kernels_test.c */
            continue;
        struct op_harness *given = op_harness_create(op_case, HARNESS_SEED, NULL);
        for (size_t v = 0; given && v < VARIANTS; v++)
            if (is_tried(op_case, v, set))
                failures +=
                    check_variant(given, *k, &variants[v], is_by_rows(op_case, v), set, runs);
        failures += !given;
        op_harness_free(given);
    }
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

static void check_wide(const struct kernel_set *set, size_t least_runs)
{
    size_t failures = 0, runs = 0;
    for (size_t i = 0; i < sizeof wide_cases / sizeof *wide_cases; i++)
        failures += check_case(&wide_cases[i], set, &runs);
    const size_t least = sample_is_whole() ? least_runs : least_runs / 6; /* of the variants */
    tap_ok(failures == 0 && runs >= (SANITIZED ? 1 : least),
           "%s: larger convolutions: %zu runs agree", set->name, runs);
}

static void check_set(const struct kernel_set *set)
{
    check_cases("cases of the goldens", 0, set);
    check_cases("sizes around vectors and tiles", CASE_EDGE, set);
    check_cases("larger cases", CASE_LARGER, set);
    check_wide(set, sizeof wide_cases / sizeof *wide_cases);
}

/* AMX multiplies in convolutions alone, and not where groups share a block. */
static void check_amx(const struct kernel_set *set)
{
    check_cases("cases of the goldens", 0, set);
    check_cases("sizes around vectors and tiles", CASE_EDGE, set);
    check_cases("larger cases", CASE_LARGER, set);
    check_wide(set, sizeof wide_cases / sizeof *wide_cases);
}

TEST_CASE(blocked_kernels_test)
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
