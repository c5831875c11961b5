/* Tests the kernels of precision int8, on every instruction set that can run here: they give the
 * same bits as the reference kernels, for sizes around those of tiles and blocks, with everything
 * that can be fused, for any number of threads, and read and write nothing outside of their arrays.
 * Also the fixed-point arithmetic itself (ops/int8.h), against arithmetic in floating point. */
#include "config.h"

#include "amx_emulator.h"
#include "base/random.h"
#include "base/threads/pool.h"
#include "engine/ops/int8.h"
#include "engine/ops/op.h"
#include "guarded_memory.h"
#include "instruction_sets.h"
#include "sample.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 };

static size_t batch = 2;

static uint64_t random_state;

/* Returns an integer of 0..limit - 1. */
static uint32_t pick(uint32_t limit)
{
    const struct random_block block = random_philox(7, RANDOM_TEST, 0, random_state++);
    return block.word[0] % limit;
}

/* --- arithmetic --- */

static void test_requantize(void)
{
    bool nearest = true, clamped = true;
    for (size_t i = 0; i < (sample_is_whole() && !SANITIZED ? 200000 : 20000); i++) {
        const double real = ldexp(1 + pick(1 << 30) * 0x1p-30, (int)pick(34) - 30);
        const int32_t sum = (int32_t)(pick(UINT32_MAX) >> pick(31)) * (pick(2) ? 1 : -1);
        const struct requantizer by = requantizer_make(real);
        const double exact = sum * real;
        const int32_t got = requantize(sum, by);
        if (fabs(exact) < 0x1p29)
            nearest &= fabs(got - exact) <= 0.5 + fabs(exact) * 0x1p-28 + 0x1p-20;
        else
            clamped &= got > 0x1p27 || got < -0x1p27;
    }
    double bias = 0;
    for (int i = 0; i < 31; i++) {
        const double real = ldexp(1, -6) * (1 + i); /* 2^-6 to almost 1/2 */
        double error = 0;
        for (int sum = -5000; sum < 5000; sum++)
            error += requantize(sum, requantizer_make(real + 1e-3)) - sum * (real + 1e-3);
        bias = fmax(bias, fabs(error) / 10000);
    }
    tap_ok(bias < 0.02, "requantize: factors up to 1/2 have no bias (%.2g)", bias);
    tap_ok(nearest, "requantize: the nearest integer to the product");
    tap_ok(clamped, "requantize: what is too large is far beyond 0..255");
    const struct requantizer half = requantizer_make(0.5), four = requantizer_make(4);
    tap_ok(requantize(3, half) == 2 && requantize(-3, half) == -1 && requantize(5, four) == 20,
           "requantize: halves are rounded up, and factors above 1 are exact");
    tap_ok(requantize(INT32_MAX, requantizer_make(0)) == 0 &&
               requantize(-1000000, requantizer_make(0x1p-40)) == 0,
           "requantize: a factor of 0, or one that is too small");
}

static void test_add_factors(void)
{
    double worst = 0;
    for (size_t i = 0; i < 20000; i++) {
        const struct quantization in[2] = {
            {ldexpf(1 + (float)pick(1000) / 1000, (int)pick(8) - 4), (int)pick(256)},
            {ldexpf(1 + (float)pick(1000) / 1000, (int)pick(8) - 4), (int)pick(256)}};
        const struct quantization out = {ldexpf(1 + (float)pick(1000) / 1000, (int)pick(8) - 2),
                                         (int)pick(256)};
        const struct add_factors factors = add_factors_make(in, 2, out);
        const int a = (int)pick(256), b = (int)pick(256);
        const double exact = ((double)in[0].scale * (a - in[0].zero_point) +
                              (double)in[1].scale * (b - in[1].zero_point)) /
                             out.scale;
        const int32_t sum =
            (add_offset(&factors, in, 2) + factors.factor[0] * a + factors.factor[1] * b) >>
            factors.right;
        const double relative = 1 + ((double)in[0].scale + (double)in[1].scale) / out.scale;
        worst = fmax(worst, (fabs(sum - exact) - 0.5) / relative);
    }
    tap_ok(worst < 0.02, "sums: within half an integer and %.4f of the exact sum", worst);
}

/* --- one kernel --- */

/* A node with its parameters, and what a kernel is called with. */
struct bench {
    struct graph graph;
    struct node add; /* may be fused */
    struct kernel_site site;
    float *parameters[NODE_MAX_PARAMETERS];
    uint8_t *inputs[2];
    size_t input_bytes[2];
};

static struct quantization random_quantization(float scale)
{
    return (struct quantization){scale * (1 + (float)pick(100) / 100), (int)pick(200)};
}

static const struct node *node_of(const struct bench *bench)
{
    return &bench->graph.nodes[bench->graph.node_count - 1];
}

static void fill_parameters(struct bench *bench)
{
    const struct node *node = node_of(bench);
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter = &bench->graph.parameters[node->parameters[p]];
        float *values = calloc(parameter->count, sizeof *values);
        for (size_t i = 0; i < parameter->count; i++)
            values[i] = p + 1 == node->parameter_count ? 0.01f * (float)(1 + i % 7)
                                                       : ((float)pick(2001) - 1000) / 400;
        bench->parameters[p] = values;
    }
    /* the weights of one channel are all 0, those of another the largest ones */
    const struct parameter *weight = &bench->graph.parameters[node->parameters[0]];
    for (size_t i = 0; i < weight->count / weight->dims[0]; i++) {
        bench->parameters[0][i] = 100;
        bench->parameters[0][weight->count - 1 - i] = 0;
    }
}

static size_t array_bytes(struct tensor_layout layout, struct shape shape)
{
    return batch * tensor_image(layout, shape) * tensor_value_bytes(layout);
}

static uint8_t *random_input(size_t bytes)
{
    uint8_t *values = guarded_new(bytes, 1, GUARDED_END, "an input");
    for (size_t i = 0; i < bytes; i += sizeof(struct random_block)) {
        const struct random_block block = random_philox(7, RANDOM_TEST, 0, random_state++);
        const size_t rest = bytes - i;
        memcpy(values + i, &block, rest < sizeof block ? rest : sizeof block);
    }
    return values;
}

/* Makes a node with the first `inputs` inputs of shape `in`, and its arrays. */
static void bench_open(struct bench *bench, const struct op *op, struct shape in, size_t inputs,
                       const union attributes *attributes, bool integers)
{
    const struct tensor_layout layout = {.block = BLOCK, .u8 = true};
    struct error error;
    size_t from[2] = {0, 0};
    *bench = (struct bench){0};
    if (!graph_create(&bench->graph, in, &error) ||
        !graph_add(&bench->graph, op, "layer", from, inputs, attributes, NULL, &error) ||
        !graph_finish(&bench->graph, &error)) {
        fprintf(stderr, "%s: %s\n", op->name, error.why);
        exit(99);
    }
    const struct node *node = node_of(bench);
    bench->site = (struct kernel_site){
        .node = node,
        .inputs = {in, inputs == 2 ? in : node->output},
        .batch = batch,
        .threads = 3,
        .int8 = true,
        .quantizations = {random_quantization(0.02f), random_quantization(0.02f)},
        .layouts = {layout, layout}};
    if (integers)
        bench->site.output_layout = layout;
    bench->site.output_quantization =
        int8_keeps_values(op) ? bench->site.quantizations[0] : random_quantization(0.5f);
    for (size_t k = 0; k < 2; k++) {
        bench->input_bytes[k] = array_bytes(layout, k ? node->output : in);
        bench->inputs[k] = random_input(bench->input_bytes[k]);
    }
    if (inputs == 2) {
        guarded_free(bench->inputs[1]);
        bench->inputs[1] = random_input(bench->input_bytes[1] = bench->input_bytes[0]);
    }
    if (node->parameter_count > 0)
        fill_parameters(bench);
}

static void bench_close(struct bench *bench)
{
    for (size_t p = 0; p < NODE_MAX_PARAMETERS; p++)
        free(bench->parameters[p]);
    for (size_t k = 0; k < 2; k++)
        guarded_free(bench->inputs[k]);
    graph_free(&bench->graph);
}

/* The pools of all runs: to begin threads takes longer than most of what they compute here. */
static struct pool *pools[4];

static struct pool *pool_of(size_t threads)
{
    if (!pools[threads])
        pools[threads] = pool_create(threads, NULL);
    return pools[threads];
}

/* Runs a kernel at a site; returns its output, which the caller frees with guarded_free. */
static void *run_kernel(const struct bench *bench, const struct kernel_site *site,
                        const struct kernel *kernel, const void *input, const void *other,
                        size_t threads)
{
    const size_t prepared = kernel->prepared_bytes ? kernel->prepared_bytes(site) : 0;
    const size_t workspace = kernel->workspace_bytes ? kernel->workspace_bytes(site) : 0;
    const size_t bytes = array_bytes(site->output_layout, site->node->output);
    struct kernel_call call = {.site = site,
                               .inputs = {input, other},
                               .output = guarded_new(bytes, 4, GUARDED_END, "the output"),
                               .prepared = guarded_new(prepared + 1, 64, GUARDED_END, "prepared"),
                               .workspace =
                                   guarded_new(workspace + 1, 64, GUARDED_END, "the workspace"),
                               .workspace_bytes = workspace,
                               .pool = pool_of(threads)};
    memcpy(call.parameters, bench->parameters, sizeof call.parameters);
    memset(call.output, 0xA5, bytes);
    if (kernel->prepare)
        kernel->prepare(&call);
    kernel->forward(&call);
    guarded_free(call.prepared);
    guarded_free(call.workspace);
    return call.output;
}

/* Returns what the site's kernel gives with all that is fused, computed by reference kernels one
 * after the other. */
static void *wanted_of(const struct bench *bench)
{
    static const struct node relu = {.name = "relu", .op = &op_relu, .input_count = 1};
    const struct kernel_site *whole = &bench->site;
    struct kernel_site site = *whole;
    site.fused_add = site.fused_activation = NULL;
    void *values = run_kernel(bench, &site, int8_reference_kernel(site.node->op), bench->inputs[0],
                              bench->inputs[1], 1);
    struct node node = relu;
    node.output = site.node->output;
    struct kernel_site after = site;
    after.node = &node;
    after.inputs[0] = after.inputs[1] = node.output;
    after.quantizations[0] = site.output_quantization;
    for (int step = 0; step < 3; step++) {
        const bool adds = step == 1;
        if (adds ? !whole->fused_add
                 : !whole->fused_activation || whole->activation_first != (step == 0))
            continue;
        node.op = adds ? &op_add : &op_relu;
        node.input_count = adds ? 2 : 1;
        if (adds)
            after.output_quantization = whole->fused_add->quantization;
        void *next =
            run_kernel(bench, &after, int8_reference_kernel(node.op), values, bench->inputs[1], 1);
        guarded_free(values);
        values = next;
        after.quantizations[0] = after.output_quantization;
    }
    return values;
}

/* Returns whether two outputs are equal, apart from lanes behind the last channel. */
static bool same_output(const struct kernel_site *site, const void *a, const void *b)
{
    const struct shape shape = site->node->output;
    const size_t bytes = tensor_value_bytes(site->output_layout);
    for (size_t n = 0; n < site->batch; n++)
        for (size_t i = 0; i < shape_count(shape); i++) {
            const size_t at = int8_at_index(site->output_layout, shape, n, i) * bytes;
            if (memcmp((const char *)a + at, (const char *)b + at, bytes) != 0)
                return false;
        }
    return true;
}

static bool supports(const struct kernel *kernel, const struct kernel_site *site)
{
    const char *reason;
    return kernel->op == site->node->op && (kernel->traits & KERNEL_INT8) &&
           (!kernel->supports || kernel->supports(site, &reason));
}

/* How many comparisons there were. */
static size_t compared;

static bool compare_kernel(const struct bench *bench, const struct kernel *kernel,
                           const void *wanted, const char *what)
{
    bool same = true;
    compared++;
    for (size_t threads = 1; threads <= 3; threads += 2) {
        void *got =
            run_kernel(bench, &bench->site, kernel, bench->inputs[0], bench->inputs[1], threads);
        if (!same_output(&bench->site, got, wanted)) {
            tap_note("%s: %s differs, %zu threads", what, kernel->name, threads);
            same = false;
        }
        guarded_free(got);
    }
    return same;
}

/* Returns whether all kernels of a list that support the site give what the reference gives. */
static bool compare(const struct bench *bench, const struct kernel *const *kernels,
                    const char *what)
{
    guarded_describe(what);
    void *wanted = wanted_of(bench);
    bool same = true;
    for (; *kernels; kernels++)
        if (supports(*kernels, &bench->site))
            same &= compare_kernel(bench, *kernels, wanted, what);
    guarded_free(wanted);
    const char *changed = guarded_changed();
    if (changed)
        tap_note("%s: something wrote beside %s", what, changed);
    return same && !changed;
}

/* --- convolutions --- */

struct conv_case {
    struct shape in;
    size_t outputs, kernel_height, kernel_width, stride, pad, dilation, groups;
};

static const struct conv_case conv_cases[] = {
    {{1, 1, 1}, 1, 1, 1, 1, 0, 1, 1},
    {{3, 9, 7}, 16, 3, 3, 1, 1, 1, 1},
    {{3, 23, 23}, 17, 11, 11, 4, 2, 1, 1},
    {{16, 8, 8}, 16, 3, 3, 1, 1, 1, 1},
    {{17, 5, 6}, 33, 3, 3, 2, 1, 1, 1},
    {{32, 4, 4}, 48, 1, 1, 1, 0, 1, 1},
    {{64, 1, 5}, 31, 1, 5, 1, 2, 1, 1},
    {{20, 7, 3}, 15, 3, 1, 2, 1, 1, 1},
    {{5, 12, 11}, 6, 3, 3, 1, 2, 2, 1},
    {{8, 9, 9}, 24, 5, 5, 1, 4, 2, 1},
    {{16, 9, 10}, 16, 3, 3, 1, 1, 1, 16},
    {{40, 6, 7}, 40, 3, 3, 2, 1, 1, 40},
    {{12, 7, 7}, 24, 3, 3, 1, 1, 1, 12},
    {{12, 7, 7}, 20, 3, 3, 1, 1, 1, 4},
    {{64, 5, 5}, 64, 3, 3, 1, 1, 1, 2},
    {{96, 3, 3}, 48, 1, 1, 1, 0, 1, 3},
    {{9, 6, 5}, 30, 3, 3, 1, 1, 2, 3},
    {{70, 40, 3}, 18, 3, 3, 1, 1, 1, 1},
    {{6, 3, 200}, 5, 3, 3, 1, 1, 1, 1},
    {{33, 5, 5}, 33, 5, 5, 1, 2, 1, 33},
    {{16, 1, 1}, 16, 3, 3, 1, 1, 1, 1},
    {{48, 21, 13}, 33, 3, 3, 1, 0, 1, 1},
    {{19, 6, 9}, 64, 3, 3, 1, 2, 1, 1},
    {{160, 3, 4}, 16, 3, 3, 1, 1, 1, 1},
    {{2, 4, 4}, 3, 2, 2, 3, 0, 1, 1},
    {{4, 2, 2}, 70, 2, 2, 2, 1, 1, 1},
    /* windows of one element with strides, groups of few outputs */
    {{32, 9, 8}, 20, 1, 1, 2, 0, 1, 1},
    {{19, 7, 10}, 16, 1, 1, 3, 0, 1, 1},
    {{32, 6, 7}, 16, 1, 1, 1, 0, 1, 2},
    {{24, 5, 5}, 32, 1, 1, 2, 0, 1, 4},
    {{24, 5, 5}, 32, 3, 3, 1, 1, 1, 8},
    {{6, 5, 4}, 3, 3, 3, 1, 1, 1, 3},
    {{12, 6, 5}, 24, 3, 3, 1, 1, 1, 6},
    {{128, 3, 3}, 8, 1, 1, 1, 0, 1, 2},
};

static union attributes conv_attributes_of(const struct conv_case *c)
{
    return (union attributes){
        .conv = {.window = {c->kernel_height, c->kernel_width, c->stride, c->stride,
                            c->kernel_height > 1 ? c->pad : 0, c->kernel_width > 1 ? c->pad : 0},
                 .outputs = c->outputs,
                 .groups = c->groups,
                 .bias = c->outputs % 2,
                 .dilation_height = c->dilation,
                 .dilation_width = c->dilation,
                 .int8_weights = true}};
}

/* What is fused, in the order of the calls. */
enum { NOTHING, RELU, ADD, ADD_RELU, RELU_ADD, LARGE_FACTORS, FLOATS, FUSIONS };

/* `make check` tries a case with every STEP-th of them; large ones whose tiles are emulated, which
 * takes a thousand times as long, with every LARGE_STEP-th. */
enum { STEP = 3, LARGE_STEP = FUSIONS };

static void set_fusion(struct bench *bench, int fusion)
{
    static const struct node relu = {.op = &op_relu};
    bench->add = (struct node){.op = &op_add, .quantization = random_quantization(0.7f)};
    bench->site.fused_add =
        fusion == ADD || fusion == ADD_RELU || fusion == RELU_ADD ? &bench->add : NULL;
    bench->site.fused_activation =
        fusion == RELU || fusion == ADD_RELU || fusion == RELU_ADD ? &relu : NULL;
    bench->site.activation_first = fusion == RELU_ADD;
}

/* How many fusions a case of test_conv_case has had. */
static size_t fused;

/* Tests a case with every `step`-th of all that may be fused, the next case with others; under a
 * sanitizer with two of them. */
static bool test_conv_case(const struct conv_case *c, const struct kernel *const *kernels,
                           size_t step)
{
    static size_t number;
    const union attributes attributes = conv_attributes_of(c);
    bool same = true;
    number++;
    fused = 0;
    for (int fusion = 0; fusion < FUSIONS; fusion++) {
        if (!sample_has((size_t)fusion + number, step, step > 4 ? step : 4))
            continue;
        fused++;
        struct bench bench;
        char what[120];
        bench_open(&bench, &op_conv, c->in, 1, &attributes, fusion != FLOATS);
        set_fusion(&bench, fusion);
        if (fusion == LARGE_FACTORS) /* around 1/2, where requantizers shift left or not at all */
            bench.site.output_quantization.scale *= 0x1p-9f;
        snprintf(what, sizeof what,
                 "conv %zu x %zu x %zu to %zu, %zu x %zu, stride %zu, dilation %zu, groups %zu, "
                 "fusion %d",
                 c->in.channels, c->in.height, c->in.width, c->outputs, c->kernel_height,
                 c->kernel_width, c->stride, c->dilation, c->groups, fusion);
        same &= compare(&bench, kernels, what);
        bench_close(&bench);
    }
    return same;
}

/* Sizes around those of tiles, strips and blocks; windows of even and odd height; input channels
 * with several outputs. */
static void test_depthwise(const char *set, const struct kernel *const *kernels)
{
    static const struct conv_case cases[] = {
        {{16, 32, 32}, 16, 3, 3, 1, 1, 1, 16}, {{5, 60, 61}, 5, 3, 3, 2, 1, 1, 5},
        {{17, 6, 9}, 34, 3, 3, 1, 1, 1, 17},   {{16, 5, 8}, 64, 3, 3, 1, 1, 1, 16},
        {{33, 9, 5}, 99, 3, 3, 2, 1, 1, 33},   {{1, 20, 19}, 20, 5, 5, 1, 0, 1, 1},
        {{18, 11, 12}, 18, 2, 4, 3, 1, 1, 18}, {{16, 12, 13}, 16, 4, 2, 2, 1, 3, 16},
        {{40, 14, 9}, 40, 5, 3, 3, 2, 2, 40},  {{24, 1, 30}, 24, 1, 7, 1, 3, 1, 24},
        {{24, 30, 1}, 24, 7, 1, 4, 3, 1, 24},  {{3, 10, 10}, 21, 3, 3, 1, 2, 2, 3},
        {{20, 6, 500}, 20, 3, 3, 1, 1, 1, 20},
    };
    bool same = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        same &= test_conv_case(&cases[i], kernels, STEP);
    for (size_t width = 1; width <= 14; width += SANITIZED ? 3 : 1)
        for (size_t stride = 1; stride <= 2; stride++) {
            const struct conv_case c = {{17, 3, width}, 17, 3, 3, stride, 1, 1, 17};
            same &= test_conv_case(&c, kernels, STEP);
        }
    tap_ok(same, "%s: depthwise convolutions have the bits of the reference", set);
}

static void test_convs(const char *set, const struct kernel *const *kernels)
{
    bool same = true;
    for (size_t i = 0; i < sizeof conv_cases / sizeof *conv_cases; i++)
        same &= test_conv_case(&conv_cases[i], kernels, STEP);
    /* around the sizes of tiles: positions and blocks of channels */
    for (size_t size = 1; size <= 10; size += SANITIZED ? 3 : 1)
        for (size_t outputs = 15; outputs <= 49; outputs += 17) {
            const struct conv_case c = {{5 + size, 1, size}, outputs, 1, 1, 1, 0, 1, 1};
            same &= test_conv_case(&c, kernels, STEP);
        }
    tap_ok(same, "%s: convolutions have the bits of the reference", set);
}

/* Tests Winograd's kernel for 15 to 33 tiles of an image, around those of a register tile and a
 * chunk (24), with channels around the blocks, and for more columns than tiles, which threads
 * share. */
static void test_winograd(const char *set, const struct kernel *const *kernels)
{
    static const struct conv_case cases[] = {
        {{16, 5, 10}, 33, 3, 3, 1, 1, 1, 1}, {{17, 7, 8}, 15, 3, 3, 1, 1, 1, 1},
        {{33, 2, 33}, 16, 3, 3, 1, 1, 1, 1}, {{16, 2, 46}, 17, 3, 3, 1, 1, 1, 1},
        {{17, 6, 16}, 33, 3, 3, 1, 1, 1, 1}, {{16, 9, 10}, 16, 3, 3, 1, 1, 1, 1},
        {{32, 1, 62}, 31, 3, 3, 1, 1, 1, 1}, {{31, 6, 22}, 48, 3, 3, 1, 1, 1, 1},
        {{17, 5, 6}, 321, 3, 3, 1, 1, 1, 1},
    };
    bool same = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t before = compared;
        same &= test_conv_case(&cases[i], kernels, STEP);
        if (compared != before + 2 * fused) {
            tap_note("case %zu: not Winograd and the direct convolution", i);
            same = false;
        }
    }
    tap_ok(same, "%s: Winograd's tiles have the bits of the reference", set);
}

/* --- the others --- */

static void test_linear(const char *set, const struct kernel *const *kernels)
{
    static const struct shape inputs[] = {
        {1, 1, 1}, {65, 1, 1}, {127, 1, 1}, {20, 3, 2}, {512, 1, 1}};
    bool same = true;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        for (size_t outputs = 1; outputs <= 50; outputs += 7)
            for (int fusion = 0; fusion < FUSIONS; fusion++) {
                if (!sample_has((size_t)fusion + i + outputs, STEP, 4))
                    continue;
                const union attributes attributes = {
                    .linear = {.outputs = outputs, .bias = outputs % 2, .int8_weights = true}};
                struct bench bench;
                bench_open(&bench, &op_linear, inputs[i], 1, &attributes, fusion != FLOATS);
                set_fusion(&bench, fusion);
                same &= compare(&bench, kernels, "linear");
                bench_close(&bench);
            }
    tap_ok(same, "%s: linear layers have the bits of the reference", set);
}

static const struct shape shapes[] = {{1, 1, 1},  {15, 4, 5}, {16, 3, 3},   {17, 6, 4},
                                      {40, 5, 7}, {64, 8, 2}, {100, 4, 11}, {150, 1, 6}};

static bool compare_shapes(const struct kernel *const *kernels, const struct op *op, size_t inputs,
                           const union attributes *attributes, bool integers)
{
    bool same = true;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct bench bench;
        bench_open(&bench, op, shapes[i], inputs, attributes, integers);
        same &= compare(&bench, kernels, op->name);
        bench_close(&bench);
    }
    return same;
}

static void test_values(const char *set, const struct kernel *const *kernels)
{
    bool same = true;
    const union attributes shuffle = {.shuffle = {.groups = 1}};
    for (int integers = 0; integers < 2; integers++)
        same &= compare_shapes(kernels, &op_flatten, 1, NULL, integers);
    same &= compare_shapes(kernels, &op_relu, 1, NULL, true);
    same &= compare_shapes(kernels, &op_add, 2, NULL, true);
    same &= compare_shapes(kernels, &op_concat, 2, NULL, true);
    same &= compare_shapes(kernels, &op_channel_shift, 1, NULL, true);
    same &= compare_shapes(kernels, &op_channel_shuffle, 1, &shuffle, true);
    for (size_t groups = 2; groups <= 10; groups += 2) {
        const union attributes several = {.shuffle = {.groups = groups}};
        struct bench bench;
        bench_open(&bench, &op_channel_shuffle, (struct shape){groups * 5, 3, 4}, 1, &several,
                   true);
        same &= compare(&bench, kernels, "channel_shuffle");
        bench_close(&bench);
    }
    tap_ok(same, "%s: relu, add, concat, flatten and moves have the bits of the reference", set);
}

static void test_pools(const char *set, const struct kernel *const *kernels)
{
    static const struct window windows[] = {
        {2, 2, 2, 2, 0, 0}, {3, 3, 2, 2, 1, 1}, {3, 2, 1, 2, 0, 1}, {1, 1, 1, 1, 0, 0}};
    static const struct op *const ops[] = {&op_max_pool, &op_average_pool};
    bool same = true;
    for (size_t i = 0; i < 5; i++)
        for (int ceil_mode = 0; ceil_mode < 2; ceil_mode++)
            for (size_t o = 0; o < 2; o++)
                for (int integers = o == 0; integers < 2; integers++) {
                    union attributes attributes = {
                        .pool = {.ceil_mode = ceil_mode, .global = i == 4}};
                    if (i < 4)
                        attributes.pool.window = windows[i];
                    struct bench bench;
                    bench_open(&bench, ops[o], (struct shape){19 + i, 9, 7}, 1, &attributes,
                               integers);
                    same &= compare(&bench, kernels, ops[o]->name);
                    bench_close(&bench);
                }
    tap_ok(same, "%s: pooling has the bits of the reference", set);
}

/* --- conversions --- */

/* Returns whether the device converts as the plain loops do, values at the borders included. */
static bool test_conversions(struct device *device)
{
    const struct tensor_layout layout = {.block = BLOCK, .u8 = true};
    const struct shape shape = {19, 3, 300};
    const struct quantization quantization = {0.03f, 77};
    const size_t count = batch * shape_count(shape), bytes = array_bytes(layout, shape);
    float *values = calloc(count, sizeof *values), *back[2];
    uint8_t *integers[2];
    for (size_t i = 0; i < count; i++)
        values[i] = quantization.scale * ((float)pick(3000) / 4 - 200);
    values[0] = NAN;
    values[1] = INFINITY;
    values[2] = -INFINITY;
    values[3] = 1e30f;
    for (size_t i = 0; i < 2; i++) {
        integers[i] = calloc(bytes, 1);
        back[i] = calloc(count, sizeof *back[i]);
    }
    int8_quantize(quantization, layout, shape, batch, values, integers[0]);
    device->driver->quantize(device, quantization, layout, shape, batch, values, integers[1]);
    int8_dequantize(quantization, layout, shape, batch, integers[0], back[0]);
    device->driver->dequantize(device, quantization, layout, shape, batch, integers[0], back[1]);
    bool same = memcmp(back[0], back[1], count * sizeof **back) == 0;
    for (size_t n = 0; n < batch; n++)
        for (size_t i = 0; i < shape_count(shape); i++) {
            const size_t at = int8_at_index(layout, shape, n, i);
            same &= integers[0][at] == integers[1][at];
        }
    free(values);
    for (size_t i = 0; i < 2; i++) {
        free(integers[i]);
        free(back[i]);
    }
    return same;
}

static void test_kernels(const char *set, const struct kernel *const *kernels)
{
    test_convs(set, kernels);
    test_winograd(set, kernels);
    test_depthwise(set, kernels);
    test_linear(set, kernels);
    test_values(set, kernels);
    test_pools(set, kernels);
}

/* Tests the code for VNNI, whose products are computed by other instructions (int8.h), and where
 * the processor has VNNI, the instructions. */
static void test_vnni(void)
{
#if defined(HAVE_X86_KERNELS)
    extern const struct cpu_int8_table cpu_int8_table_vnni_emulated;
    const struct cpu_int8_table *here = cpu_int8_table_here();
    struct host host;
    host_describe(&host);
    if (host.instruction_set >= ISA_AVX2) {
        test_convs("emulated VNNI", cpu_int8_table_vnni_emulated.kernels);
        test_linear("emulated VNNI", cpu_int8_table_vnni_emulated.kernels);
    } else {
        tap_skip("emulated VNNI: this processor has no AVX2");
    }
    if (here) {
        test_convs(here->name, here->kernels);
        test_linear(here->name, here->kernels);
    } else {
        tap_skip("VNNI: this processor has none");
    }
#else
    tap_skip("VNNI: not in this build");
#endif
}

/* --- AMX --- */

/* Returns whether each of `count` cases has an AMX kernel and every `step`-th fusion of it the
 * right bits. */
static bool test_amx_cases(const struct conv_case *cases, size_t count,
                           const struct kernel *const *kernels, size_t step)
{
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        const size_t before = compared;
        same &= test_conv_case(&cases[i], kernels, step);
        if (compared != before + fused) {
            tap_note("case %zu: no kernel for AMX took it", i);
            same = false;
        }
    }
    return same;
}

/* Sizes around those of tiles: 16 positions, 64 input channels, 16 output channels. */
static bool test_amx_sizes(const struct kernel *const *kernels)
{
    static const size_t channels[] = {60, 61, 64, 65, 127, 129},
                        outputs[] = {1, 16, 17, 33, 49, 65};
    static const size_t widths[] = {8, 15, 16, 17, 31, 33, 64, 65};
    bool same = true;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            const struct conv_case c = {
                {channels[i], 1, widths[k]}, outputs[(i + k) % 6], 1, 1, 1, 0, 1, 1};
            same &= test_amx_cases(&c, 1, kernels, STEP);
        }
    return same;
}

static void test_amx_convs(const char *set, const struct kernel *const *kernels)
{
    static const struct conv_case cases[] = {
        {{16, 16, 16}, 16, 3, 3, 1, 1, 1, 1},  {{64, 7, 7}, 80, 3, 3, 1, 1, 1, 1},
        {{64, 14, 9}, 128, 3, 3, 2, 1, 1, 1},  {{33, 14, 28}, 31, 1, 1, 2, 0, 1, 1},
        {{3, 37, 40}, 24, 7, 7, 2, 3, 1, 1},   {{20, 9, 19}, 33, 5, 3, 1, 1, 1, 1},
        {{32, 9, 18}, 32, 3, 3, 1, 2, 2, 1},   {{64, 8, 17}, 96, 3, 3, 1, 1, 1, 2},
        {{64, 12, 16}, 64, 3, 3, 2, 2, 2, 2},  {{128, 40, 20}, 17, 3, 3, 1, 1, 1, 1},
        {{192, 4, 4}, 130, 1, 1, 1, 0, 1, 1},  {{70, 90, 30}, 18, 3, 3, 1, 1, 1, 1},
        {{48, 5, 64}, 33, 1, 5, 1, 2, 1, 1},   {{48, 64, 5}, 33, 5, 1, 1, 2, 1, 1},
        {{32, 11, 12}, 16, 2, 2, 2, 0, 1, 1},  {{16, 20, 33}, 48, 3, 3, 3, 0, 1, 1},
        {{128, 30, 31}, 16, 1, 1, 3, 0, 1, 1},
    };
    const unsigned long before = amx_emulator_products();
    tap_ok(test_amx_cases(cases, sizeof cases / sizeof *cases, kernels, LARGE_STEP),
           "%s: convolutions have the bits of the reference", set);
    tap_ok(test_amx_sizes(kernels), "%s: so they have around the sizes of tiles", set);
    tap_note("%lu products of emulated tiles in one thread", amx_emulator_products() - before);
}

static void test_amx_linear(const char *set, const struct kernel *const *kernels)
{
    static const size_t images[] = {4, 15, 16, 17, 32, 33, 70};
    static const struct shape inputs[] = {{64, 1, 1}, {61, 1, 1}, {20, 4, 3}, {129, 1, 1}};
    static const size_t outputs[] = {1, 16, 17, 40, 65, 130};
    const size_t kept = batch, before = compared;
    bool same = true;
    size_t cases = 0;
    for (size_t k = 0; k < sizeof images / sizeof *images; k++)
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
            for (int fusion = 0; fusion < FUSIONS; fusion++) {
                if (!sample_has((size_t)fusion + i + k, STEP, 4))
                    continue;
                cases++;
                const size_t count = outputs[(k + i + (size_t)fusion) % 6];
                const union attributes attributes = {
                    .linear = {.outputs = count, .bias = count % 2, .int8_weights = true}};
                struct bench bench;
                batch = images[k] + (i == 1 && k == 0); /* 5 images of 16 terms fill enough */
                bench_open(&bench, &op_linear, inputs[i], 1, &attributes, fusion != FLOATS);
                set_fusion(&bench, fusion);
                same &= compare(&bench, kernels, "linear");
                bench_close(&bench);
            }
    batch = kept;
    tap_ok(same, "%s: linear layers of batches have the bits of the reference", set);
    tap_ok(compared - before > cases * 3 / 4, "%s: %zu of %zu of them have a kernel", set,
           compared - before, cases);
}

/* Tests that VNNI keeps what is too small for tiles. */
static void test_amx_refuses(const struct kernel *const *kernels)
{
    static const struct conv_case small[] = {{{512, 1, 1}, 64, 1, 1, 1, 0, 1, 1},
                                             {{3, 32, 32}, 16, 3, 3, 1, 1, 1, 1},
                                             {{48, 9, 9}, 48, 3, 3, 1, 1, 1, 48},
                                             {{40, 20, 20}, 40, 3, 3, 1, 1, 1, 5}};
    bool refused = true;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        const union attributes attributes = conv_attributes_of(&small[i]);
        struct bench bench;
        bench_open(&bench, &op_conv, small[i].in, 1, &attributes, true);
        for (const struct kernel *const *kernel = kernels; *kernel; kernel++)
            refused &= !supports(*kernel, &bench.site);
        bench_close(&bench);
    }
    const union attributes attributes = {.linear = {.outputs = 64, .int8_weights = true}};
    struct bench bench;
    bench_open(&bench, &op_linear, (struct shape){512, 1, 1}, 1, &attributes, true);
    for (const struct kernel *const *kernel = kernels; *kernel; kernel++)
        refused &= !supports(*kernel, &bench.site);
    bench_close(&bench);
    tap_ok(refused, "AMX leaves to VNNI what would fill a small part of its tiles");
}

static void test_amx_kernels(const char *set, const struct kernel *const *kernels)
{
    test_amx_convs(set, kernels);
    test_amx_linear(set, kernels);
    test_convs(set, kernels);
    test_amx_refuses(kernels);
}

/* Tests the code for AMX, whose tiles are emulated, with AVX2 around them; and where the processor
 * has AMX-INT8 or, but for AMX, all that the code needs, what it runs there. */
static void test_amx(void)
{
#if defined(HAVE_AMX_INT8_KERNELS)
    extern const struct cpu_int8_table cpu_int8_table_amx_int8_emulated,
        cpu_int8_table_avx512_amx_int8;
    const bool native = host_has_amx_int8();
    struct host host;
    host_describe(&host);
    if (native)
        test_amx_kernels("AMX", cpu_int8_table_avx512_amx_int8.kernels);
    else if (host.instruction_set < ISA_AVX2 || !amx_emulator_install())
        tap_skip("emulated AMX: this processor has no AVX2");
    else
        test_amx_kernels("emulated AMX", cpu_int8_table_amx_int8_emulated.kernels);
    if (!native && host_vnni() == VNNI_AVX512)
        test_amx_kernels("emulated AMX with AVX-512", cpu_int8_table_avx512_amx_int8.kernels);
    else if (!native)
        tap_skip("emulated AMX with AVX-512: this processor has no AVX512-VNNI");
#else
    tap_skip("AMX: not in this build");
#endif
}

TEST_CASE(int8_kernels_test)
{
    test_requantize();
    test_add_factors();
    for (int set = 0; set < INSTRUCTION_SETS; set++) {
        if (!instruction_set_force((enum instruction_set)set))
            continue;
        const char *name = instruction_set_name((enum instruction_set)set);
        struct device *device = device_open("cpu", 2, NULL);
        test_kernels(name, cpu_table_for((enum instruction_set)set)->kernels);
        tap_ok(test_conversions(device), "%s: values are converted as the reference does", name);
        device_close(device);
    }
    instruction_set_release();
    test_vnni();
    test_amx();
    for (size_t threads = 0; threads < sizeof pools / sizeof *pools; threads++)
        pool_free(pools[threads]);
    return tap_done();
}
