/* Operators: shapes, parameters, FLOPs, refusals, and values that were computed by hand. */
#include "op_harness.h"
#include "tap.h"

#include "base/random.h"
#include "engine/ops/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- shape rules --- */

static struct graph graph;
static struct error error;

static bool add(const struct op *op, struct shape input, union attributes attributes)
{
    graph_free(&graph);
    error = (struct error){0};
    size_t from = 0;
    return graph_create(&graph, input, &error) &&
           graph_add(&graph, op, "node", &from, 1, &attributes, NULL, &error) &&
           graph_finish(&graph, &error);
}

static void refuses(const struct op *op, struct shape input, union attributes attributes,
                    const char *expected)
{
    bool refused = !add(op, input, attributes) && error.kind == ERROR_INPUT &&
                   strcmp(error.what, "node") == 0 && strstr(error.why, expected);
    tap_ok(refused, "%s refuses: %s", op->name, expected);
    if (!refused)
        tap_note("%s: %s", error.what, error.why);
}

static bool output_is(size_t channels, size_t height, size_t width)
{
    return shape_equal(graph.nodes[1].output, (struct shape){channels, height, width});
}

static void test_window_output(void)
{
    static const struct {
        size_t size, kernel, stride, pad;
        bool ceil_mode;
        size_t output;
    } rows[] = {
        {227, 11, 4, 0, false, 55},   {55, 3, 2, 0, false, 27},  {224, 7, 2, 3, false, 112},
        {112, 3, 2, 0, true, 56},     {112, 3, 2, 0, false, 55}, {32, 3, 1, 1, false, 32},
        {1, 1, 1, 0, false, 1},       {2, 3, 1, 0, false, 0},    {2, 3, 1, 1, false, 2},
        {6, 2, 3, 0, true, 2},        {5, 2, 2, 0, true, 3},     {5, 1, 3, 1, true, 3},
        {4, 0, 1, 0, false, 0},       {4, 1, 0, 0, false, 0},    {4, 1, 1, SIZE_MAX / 2, false, 0},
        {3, 5, 1, SIZE_MAX, true, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t got = window_output(rows[i].size, rows[i].kernel, rows[i].stride, rows[i].pad,
                                   rows[i].ceil_mode);
        tap_ok(got == rows[i].output, "a window of %zu by %zu over %zu + 2 x %zu%s fits %zu times",
               rows[i].kernel, rows[i].stride, rows[i].size, rows[i].pad,
               rows[i].ceil_mode ? ", rounded up," : "", rows[i].output);
    }
}

static void test_conv_rule(void)
{
    const struct window window = {5, 5, 1, 1, 2, 2};
    union attributes conv2 = {
        .conv = {.outputs = 256, .groups = 2, .bias = true, .window = window}};
    tap_ok(add(&op_conv, (struct shape){96, 27, 27}, conv2) && output_is(256, 27, 27),
           "alexnet's conv2 keeps 27 x 27");
    tap_ok(graph_parameter_count(&graph) == 256 * 48 * 25 + 256, "its parameters: 307456");
    tap_ok(graph_flops(&graph) == (uint64_t)2 * 256 * 27 * 27 * 48 * 25, "its FLOPs");
    const struct parameter *weight = &graph.parameters[0], *bias = &graph.parameters[1];
    tap_ok(strcmp(weight->name, "node.weight") == 0 && weight->rank == 4 &&
               weight->dims[0] == 256 && weight->dims[1] == 48 && weight->dims[2] == 5 &&
               weight->fan_in == 48 * 25 && weight->learnable,
           "its weight is [256, 48, 5, 5]");
    tap_ok(strcmp(bias->name, "node.bias") == 0 && bias->rank == 1 && bias->count == 256,
           "its bias is [256]");
    conv2.conv.bias = false;
    tap_ok(add(&op_conv, (struct shape){96, 27, 27}, conv2) && graph.parameter_count == 1,
           "without bias there is none");

    refuses(&op_conv, (struct shape){95, 27, 27}, conv2, "2 groups do not divide 95 input");
    refuses(&op_conv, (struct shape){96, 27, 27},
            (union attributes){.conv = {.outputs = 5, .groups = 2, .window = window}},
            "and 5 output channels");
    refuses(&op_conv, (struct shape){3, 4, 4},
            (union attributes){.conv = {.outputs = 5, .groups = 1, .window = {5, 3, 1, 1, 0, 0}}},
            "a window of 5 x 3 does not fit an input of 4 x 4");
    refuses(&op_conv, (struct shape){3, 4, 4},
            (union attributes){.conv = {.outputs = 5, .groups = 1}}, "kernel or stride is zero");
    refuses(
        &op_conv, (struct shape){1, 60000, 60000},
        (union attributes){.conv = {.outputs = 1 << 20, .groups = 1, .window = {1, 1, 1, 1, 0, 0}}},
        "is too large");
}

static void test_dilation_rule(void)
{
    const struct window window = {3, 1, 1, 1, 2, 0};
    union attributes wide = {.conv = {.outputs = 6, .groups = 1, .window = window}};
    wide.conv.dilation_height = 3;
    wide.conv.dilation_width = 5;
    tap_ok(add(&op_conv, (struct shape){2, 9, 8}, wide) && output_is(6, 7, 8),
           "a kernel of 3 with a dilation of 3 covers 7 rows");
    tap_ok(graph.nodes[1].attributes.conv.dilation_height == 3 &&
               graph.nodes[1].attributes.conv.dilation_width == 1,
           "  and a kernel of 1 has no dilation");
    tap_ok(graph_flops(&graph) == (uint64_t)2 * 6 * 7 * 8 * 2 * 3 &&
               graph_parameter_count(&graph) == 6 * 2 * 3,
           "  it has as many weights and FLOPs as without");
    refuses(&op_conv, (struct shape){2, 2, 8}, wide, "a window of 7 x 1 does not fit");
    wide.conv.dilation_height = SIZE_MAX / 2;
    refuses(&op_conv, (struct shape){2, 9, 8}, wide, "is too large");
}

static void test_conv_transpose_rule(void)
{
    const struct window window = {4, 4, 2, 2, 1, 1};
    union attributes up = {.conv = {.outputs = 6, .groups = 2, .bias = true, .window = window}};
    tap_ok(add(&op_conv_transpose, (struct shape){10, 8, 7}, up) && output_is(6, 16, 14),
           "conv_transpose 4x4/2 doubles an image");
    const struct parameter *weight = &graph.parameters[0];
    tap_ok(weight->dims[0] == 10 && weight->dims[1] == 3 && graph.parameters[1].count == 6 &&
               weight->fan_in == 5 * 4,
           "its weight is [10, 3, 4, 4], its bias [6]");
    tap_ok(graph_flops(&graph) == (uint64_t)2 * 10 * 8 * 7 * 3 * 16, "its FLOPs");
    refuses(&op_conv_transpose, (struct shape){9, 8, 8}, up, "2 groups do not divide 9 input");
    up.conv.window.pad_height = 9;
    refuses(&op_conv_transpose, (struct shape){10, 8, 8}, up, "nothing is left");
    up.conv.window = (struct window){4, 4, SIZE_MAX / 2, 1, 0, 0};
    refuses(&op_conv_transpose, (struct shape){10, 8, 8}, up, "nothing is left");
}

static void test_other_rules(void)
{
    union attributes linear = {.linear = {.outputs = 500, .bias = true}};
    tap_ok(add(&op_linear, (struct shape){50, 4, 4}, linear) && output_is(500, 1, 1) &&
               graph_parameter_count(&graph) == 400500 && graph_flops(&graph) == 800000,
           "lenet's first linear layer: 400500 parameters, 800000 FLOPs");
    refuses(&op_linear, (struct shape){1, 1, 1}, (union attributes){.linear = {.outputs = 0}},
            "has no values");

    tap_ok(add(&op_average_pool, (struct shape){64, 8, 7},
               (union attributes){.pool = {.global = true}}) &&
               output_is(64, 1, 1) && graph.nodes[1].attributes.pool.window.kernel_width == 7,
           "global pooling's window is the image");
    tap_ok(graph_flops(&graph) == 0, "pooling counts no FLOPs");
    refuses(&op_max_pool, (struct shape){1, 8, 8},
            (union attributes){.pool = {.window = {2, 2, 2, 2, 2, 2}}},
            "more than half of the kernel");

    union attributes norm = {.batch_norm = {1e-5f, 0.1f}};
    tap_ok(add(&op_batch_norm, (struct shape){16, 8, 8}, norm) && output_is(16, 8, 8) &&
               graph_parameter_count(&graph) == 32 && graph.parameter_count == 4 &&
               strcmp(graph.parameters[2].name, "node.running_mean") == 0 &&
               strcmp(graph.parameters[3].name, "node.running_var") == 0 &&
               !graph.parameters[3].learnable && graph.parameters[3].init.value == 1,
           "batch norm learns 2 values per channel and stores 2 more");
    refuses(&op_batch_norm, (struct shape){16, 8, 8}, (union attributes){0}, "epsilon 0");

    refuses(&op_leaky_relu, (struct shape){1, 1, 1},
            (union attributes){.leaky_relu = {.slope = -1}}, "a slope of -1");
    refuses(&op_elu, (struct shape){1, 1, 1}, (union attributes){.elu = {.alpha = -1}},
            "an alpha of -1");
    refuses(&op_prelu, (struct shape){1, 1, 1}, (union attributes){.prelu = {.slope = NAN}},
            "a slope of nan");
    tap_ok(add(&op_prelu, (struct shape){7, 3, 2}, (union attributes){.prelu = {0.25f}}) &&
               output_is(7, 3, 2) && graph_parameter_count(&graph) == 7 &&
               graph.parameters[0].learnable && graph.parameters[0].init.value == 0.25f,
           "prelu learns one slope per channel, which begins at 0.25");
    refuses(&op_lrn, (struct shape){1, 1, 1}, (union attributes){.lrn = {4, 1, 1, 1}}, "size 4");
    refuses(&op_dropout, (struct shape){1, 1, 1}, (union attributes){.dropout = {1}},
            "a rate of 1");
    refuses(&op_channel_shuffle, (struct shape){10, 1, 1}, (union attributes){.shuffle = {3}},
            "3 groups do not divide 10");
    tap_ok(add(&op_flatten, (struct shape){50, 4, 3}, (union attributes){0}) &&
               output_is(600, 1, 1) && !op_flatten.reference,
           "flatten is a view of one column");
    refuses(&op_input, (struct shape){1, 1, 1}, (union attributes){0}, "takes 0 to 0 inputs");
}

static void test_loss_rules(void)
{
    union attributes loss = {.loss = {.weight = 1}};
    tap_ok(add(&op_softmax_cross_entropy, (struct shape){10, 1, 1}, loss) && output_is(1, 1, 1) &&
               graph.output == 0,
           "a loss is one value; its input is the network's output");
    refuses(&op_softmax_cross_entropy, (struct shape){10, 2, 1}, loss, "not 10 x 2 x 1");
    refuses(&op_softmax_cross_entropy, (struct shape){10, 1, 1}, (union attributes){0},
            "a weight of 0");
    refuses(&op_binary_cross_entropy, (struct shape){1, 1, 1}, loss, "it has neither");
    refuses(&op_binary_cross_entropy, (struct shape){1, 1, 1},
            (union attributes){.loss = {.weight = 1, .has_target = true, .target = 2}},
            "a target of 2");
    refuses(&op_l1_loss, (struct shape){1, 1, 1}, loss, "takes 2 to 2 inputs");
}

static void test_shapes_that_differ(void)
{
    size_t pair[2] = {0, 0};
    union attributes conv = {.conv = {.outputs = 3, .groups = 1, .window = {3, 3, 1, 1, 0, 0}}};
    union attributes loss = {.loss = {.weight = 1}};
    tap_ok(add(&op_conv, (struct shape){3, 5, 5}, conv), "a graph with two shapes");
    pair[1] = 1;
    tap_ok(!graph_add(&graph, &op_add, "sum", pair, 2, NULL, NULL, &error) &&
               strstr(error.why, "3 x 5 x 5 and 3 x 3 x 3"),
           "add refuses two shapes");
    tap_ok(!graph_add(&graph, &op_channel_scale, "gate", pair, 2, NULL, NULL, &error) &&
               strstr(error.why, "3 channels need 3 x 1 x 1 factors, not 3 x 3 x 3"),
           "channel_scale refuses factors with positions");
    tap_ok(!graph_add(&graph, &op_concat, "both", pair, 2, NULL, NULL, &error) &&
               strstr(error.why, "input 2 is 3 x 3, but input 1 is 5 x 5"),
           "concat refuses two sizes");
    tap_ok(!graph_add(&graph, &op_l2_loss, "loss", pair, 2, &loss, NULL, &error) &&
               strstr(error.why, "must have one shape"),
           "a loss refuses two shapes");
}

static void test_table(void)
{
    size_t count = 0;
    for (; op_table[count]; count++) {
        const struct op *op = op_table[count];
        bool complete = op_find(op->name) == op && op->description && op->infer &&
                        op->max_inputs >= op->min_inputs &&
                        !op->reference == !!(op->traits & OP_VIEW);
        if (op->reference)
            complete = complete && op->reference->op == op && op->reference->forward &&
                       op->reference->backward;
        tap_ok(complete, "%s is complete", op->name);
    }
    tap_ok(count > 0, "operators.inc names %zu operators", count);
    tap_ok(!op_find("conv2") && !op_find("") && !op_find("input"), "unknown names are not found");
}

static void test_cases(void)
{
    for (size_t k = 0; op_table[k]; k++) {
        size_t cases = 0;
        for (size_t i = 0; i < op_case_count; i++)
            cases += op_cases[i].op == op_table[k];
        tap_ok(cases > 0 || (op_table[k]->traits & OP_VIEW), "%s has %zu cases", op_table[k]->name,
               cases);
    }
    bool unique = true;
    for (size_t i = 0; i < op_case_count; i++)
        for (size_t j = 0; j < i; j++)
            unique &= strcmp(op_cases[i].name, op_cases[j].name) != 0;
    tap_ok(unique, "no two cases have the same name");
}

/* --- values --- */

/* Runs a case on given inputs; the output's gradient is all ones. */
static struct op_harness *run(const struct op_case *op_case, const float *input0,
                              const float *input1)
{
    const float *inputs[2] = {input0, input1};
    struct op_harness *h = op_harness_create(op_case, 1, &error);
    if (!h) {
        tap_note("%s", error.why);
        exit(1);
    }
    for (size_t k = 0; k < h->input_count; k++)
        memcpy(h->inputs[k], inputs[k], h->input_values[k] * sizeof(float));
    for (size_t i = 0; h->output_gradient && i < h->output_values; i++)
        h->output_gradient[i] = 1;
    return h;
}

static bool equal(const float *got, const float *wanted, size_t count)
{
    bool same = true;
    for (size_t i = 0; i < count; i++)
        same &= fabsf(got[i] - wanted[i]) <= 1e-6f * fmaxf(1, fabsf(wanted[i]));
    for (size_t i = 0; !same && i < count; i++)
        tap_note("[%zu] %.9g, expected %.9g", i, got[i], wanted[i]);
    return same;
}

static void check_values(const struct op_case *op_case, const float *input, const float *output,
                         const float *gradient)
{
    struct op_harness *h = run(op_case, input, NULL);
    op_harness_run(h, op_case->op->reference, 0, NULL, &error);
    tap_ok(equal(h->output, output, h->output_values), "%s: output", op_case->name);
    tap_ok(equal(h->input_gradients[0], gradient, h->input_values[0]), "%s: gradient",
           op_case->name);
    op_harness_free(h);
}

static void test_pool_values(void)
{
    const struct op_case ties = {.name = "the first of equal maxima wins",
                                 .op = &op_max_pool,
                                 .attributes.pool = {.window = {2, 2, 2, 2, 0, 0}},
                                 .inputs = {{1, 2, 4}},
                                 .input_count = 1,
                                 .batch = 1};
    check_values(&ties, (float[]){1, 3, -2, -2, 3, 3, -2, -2}, (float[]){3, -2},
                 (float[]){0, 1, 1, 0, 0, 0, 0, 0});
    struct op_case padded = ties;
    padded.name = "padding is no maximum";
    padded.attributes.pool = (struct pool_attributes){.window = {3, 3, 2, 2, 1, 1}};
    padded.inputs[0] = (struct shape){1, 1, 2};
    check_values(&padded, (float[]){-5, -7}, (float[]){-5}, (float[]){1, 0});
    struct op_case average = padded;
    average.name = "padding counts in a mean, positions beyond it do not";
    average.op = &op_average_pool;
    average.attributes.pool =
        (struct pool_attributes){.window = {1, 3, 1, 3, 0, 1}, .ceil_mode = true};
    average.inputs[0] = (struct shape){1, 1, 3};
    /* windows: [pad 1 2] of 3; [3 pad, and one beyond] of 2 */
    check_values(&average, (float[]){1, 2, 3}, (float[]){1, 1.5f},
                 (float[]){1 / 3.0f, 1 / 3.0f, 0.5f});
}

static void test_channel_moves(void)
{
    const struct op_case shuffle = {.name = "channel shuffle of 6 in 2 groups",
                                    .op = &op_channel_shuffle,
                                    .attributes.shuffle = {2},
                                    .inputs = {{6, 1, 1}},
                                    .input_count = 1,
                                    .batch = 1};
    check_values(&shuffle, (float[]){0, 1, 2, 3, 4, 5}, (float[]){0, 3, 1, 4, 2, 5},
                 (float[]){1, 1, 1, 1, 1, 1});

    /* ten channels of 3 x 3, each with a 1 in the middle, which moves by the channel's offset */
    const struct op_case shift = {.name = "channel shift",
                                  .op = &op_channel_shift,
                                  .inputs = {{10, 3, 3}},
                                  .input_count = 1,
                                  .batch = 1};
    float input[90] = {0}, output[90] = {0}, gradient[90];
    for (size_t c = 0; c < 10; c++) {
        int dy = c == 9 ? 0 : (int)c / 3 - 1, dx = c == 9 ? 0 : (int)c % 3 - 1;
        input[c * 9 + 4] = 1;
        output[(int)c * 9 + (1 + dy) * 3 + 1 + dx] = 1;
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 3; x++) /* values that leave the image have no gradient */
                gradient[(int)c * 9 + y * 3 + x] =
                    y + dy >= 0 && y + dy < 3 && x + dx >= 0 && x + dx < 3;
    }
    check_values(&shift, input, output, gradient);
}

static void test_batch_norm_values(void)
{
    const struct op_case norm = {.name = "batch norm",
                                 .op = &op_batch_norm,
                                 .attributes.batch_norm = {1e-5f, 0.1f},
                                 .inputs = {{1, 1, 2}},
                                 .input_count = 1,
                                 .batch = 2};
    struct op_harness *h = run(&norm, (float[]){1, 2, 3, 6}, NULL);
    const float wanted_parameters[4] = {2, 1, 10, 4}; /* weight, bias, running mean and variance */
    for (size_t p = 0; p < 4; p++)
        h->parameters[p][0] = wanted_parameters[p];
    op_harness_run(h, op_batch_norm.reference, 0, NULL, &error);
    float invstd = 1 / sqrtf(3.5f + 1e-5f); /* mean 3, variance 14 / 4, unbiased 14 / 3 */
    tap_ok(equal(h->output, (float[]){1 - 4 * invstd, 1 - 2 * invstd, 1, 1 + 6 * invstd}, 4),
           "batch norm divides by the biased deviation");
    tap_ok(equal(h->updated[2], (float[]){9.3f}, 1) &&
               equal(h->updated[3], (float[]){0.9f * 4 + 0.1f * 14 / 3}, 1),
           "and moves the running mean and the unbiased running variance by a tenth");
    op_harness_free(h);

    struct op_case one = norm;
    one.inputs[0] = (struct shape){1, 1, 1};
    one.batch = 1;
    h = run(&one, (float[]){5}, NULL);
    op_harness_run(h, op_batch_norm.reference, 0, NULL, &error);
    tap_ok(isfinite(h->updated[3][0]) && h->output[0] == h->parameters[1][0],
           "a single value leaves the running variance finite");
    op_harness_free(h);
}

static void test_cross_entropy_values(void)
{
    struct op_case loss = {.name = "cross-entropy",
                           .op = &op_softmax_cross_entropy,
                           .attributes.loss = {.weight = 2},
                           .inputs = {{3, 1, 1}},
                           .input_count = 1,
                           .batch = 2};
    struct op_harness *h = run(&loss, (float[]){3e38f, -3e38f, 0, 0, 0, 0}, NULL);
    h->labels[0] = 0;
    h->labels[1] = 2;
    op_harness_run(h, op_softmax_cross_entropy.reference, 0, NULL, &error);
    tap_ok(equal(h->output, (float[]){0, logf(3)}, 2), "cross-entropy of certainty is 0, of "
                                                       "equal logits log(classes)");
    const float third = 1 / 3.0f; /* weight / N = 1 */
    tap_ok(equal(h->input_gradients[0], (float[]){0, 0, 0, third, third, third - 1}, 6),
           "its gradient is weight / N (p - onehot)");
    h->labels[0] = 1;
    op_harness_run(h, op_softmax_cross_entropy.reference, 0, NULL, &error);
    tap_ok(h->output[0] > 1e38f, "the worst answer has a loss as large as the logits");
    op_harness_free(h);

    bool never_negative = true;
    for (uint64_t seed = 0; seed < 50; seed++) {
        loss.batch = 32;
        loss.flags = seed % 2 ? CASE_LARGE : 0;
        h = op_harness_create(&loss, seed, &error);
        op_harness_forward(h, op_softmax_cross_entropy.reference, NULL, &error);
        for (size_t n = 0; n < 32; n++)
            never_negative &= h->output[n] >= 0;
        op_harness_free(h);
    }
    tap_ok(never_negative, "it is never negative");
}

static void test_regression_values(void)
{
    struct op_case pair = {.name = "loss",
                           .op = &op_l2_loss,
                           .attributes.loss = {.weight = 3},
                           .inputs = {{2, 1, 1}, {2, 1, 1}},
                           .input_count = 2,
                           .batch = 1};
    struct op_harness *h = run(&pair, (float[]){1, 5}, (float[]){3, 4});
    op_harness_run(h, op_l2_loss.reference, 0, NULL, &error);
    tap_ok(equal(h->output, (float[]){2.5f}, 1) &&
               equal(h->input_gradients[0], (float[]){-6, 3}, 2) &&
               equal(h->input_gradients[1], (float[]){6, -3}, 2),
           "l2: the mean of squares");
    op_harness_run(h, op_l1_loss.reference, 0, NULL, &error);
    tap_ok(equal(h->output, (float[]){1.5f}, 1) &&
               equal(h->input_gradients[0], (float[]){-1.5f, 1.5f}, 2),
           "l1: the mean of distances");
    op_harness_free(h);
    pair.op = &op_binary_cross_entropy;
    pair.attributes.loss = (struct loss_attributes){.weight = 1, .has_target = true, .target = 1};
    pair.input_count = 1;
    h = run(&pair, (float[]){0, -1e30f}, NULL);
    op_harness_run(h, op_binary_cross_entropy.reference, 0, NULL, &error);
    tap_ok(equal(h->output, (float[]){(logf(2) + 1e30f) / 2}, 1) &&
               equal(h->input_gradients[0], (float[]){-0.25f, -0.5f}, 2),
           "binary cross-entropy of the worst logit is finite");
    op_harness_free(h);
}

static void test_dropout_values(void)
{
    const struct op_case dropout = {.name = "dropout",
                                    .op = &op_dropout,
                                    .attributes.dropout = {0.3f},
                                    .inputs = {{100, 10, 10}},
                                    .input_count = 1,
                                    .batch = 2};
    struct op_harness *h = op_harness_create(&dropout, 1, &error);
    op_harness_run(h, op_dropout.reference, 0, NULL, &error);
    size_t zeros = 0;
    bool right = true;
    for (size_t i = 0; i < h->output_values; i++) {
        bool dropped = h->output[i] == 0 && h->inputs[0][i] != 0;
        float factor = dropped ? 0 : 1 / (1 - 0.3f);
        zeros += dropped;
        right &= h->output[i] == h->inputs[0][i] * factor;
        right &= h->input_gradients[0][i] == h->output_gradient[i] * factor;
    }
    tap_ok(right, "dropout keeps or clears values, and its gradient uses the same mask");
    tap_ok(zeros > 5800 && zeros < 6200, "%zu of 20000 values are dropped at a rate of 0.3", zeros);
    op_harness_free(h);
}

static void test_channel_dropout(void)
{
    const struct op_case dropout = {.name = "dropout",
                                    .op = &op_dropout,
                                    .attributes.dropout = {.rate = 0.3f, .channels = true},
                                    .inputs = {{1000, 2, 3}},
                                    .input_count = 1,
                                    .batch = 4};
    struct op_harness *h = op_harness_create(&dropout, 1, &error);
    op_harness_run(h, op_dropout.reference, 0, NULL, &error);
    size_t zeros = 0;
    bool right = true;
    for (size_t channel = 0; channel < 4000; channel++) {
        const bool dropped = h->output[6 * channel] == 0;
        zeros += dropped;
        for (size_t i = 6 * channel; i < 6 * channel + 6; i++)
            right &= h->output[i] == h->inputs[0][i] * (dropped ? 0 : 1 / (1 - 0.3f));
    }
    tap_ok(right, "dropout of channels keeps or clears all values of a channel");
    tap_ok(zeros > 1100 && zeros < 1300, "%zu of 4000 channels are dropped at a rate of 0.3",
           zeros);
    op_harness_free(h);
}

/* A value is kept if its random number equals the rate: changing "at least" would change the
 * results of a seed. */
static void test_dropout_edge(void)
{
    struct op_case dropout = {
        .name = "dropout", .op = &op_dropout, .inputs = {{1, 1, 1}}, .input_count = 1, .batch = 1};
    const uint64_t index = (uint64_t)HARNESS_ITERATION << 32;
    struct random_block block = random_philox(HARNESS_SEED, RANDOM_DROPOUT, 1, index);
    float number = random_to_unit(block.word[0]);
    for (int above = 0; above < 2; above++) {
        dropout.attributes.dropout.rate = above ? nextafterf(number, 1) : number;
        struct op_harness *h = op_harness_create(&dropout, 1, &error);
        op_harness_run(h, op_dropout.reference, 0, NULL, &error);
        tap_ok((h->output[0] == 0) == above, "a number %s the rate %s",
               above ? "below" : "equal to", above ? "drops" : "keeps");
        op_harness_free(h);
    }
}

static void test_not_a_number(void)
{
    const struct op *const ops[] = {&op_relu, &op_max_pool};
    for (size_t i = 0; i < 2; i++) {
        const struct op_case op_case = {.name = "nan",
                                        .op = ops[i],
                                        .attributes.pool = {.window = {1, 2, 1, 2, 0, 0}},
                                        .inputs = {{1, 1, 2}},
                                        .input_count = 1,
                                        .batch = 1};
        struct op_harness *h = run(&op_case, (float[]){NAN, 1}, NULL);
        op_harness_forward(h, ops[i]->reference, NULL, &error);
        tap_ok(isnan(h->output[0]), "%s does not hide a NaN", ops[i]->name);
        op_harness_free(h);
    }
}

TEST_CASE(ops_test)
{
    test_window_output();
    test_conv_rule();
    test_dilation_rule();
    test_conv_transpose_rule();
    test_other_rules();
    test_loss_rules();
    test_shapes_that_differ();
    test_table();
    test_cases();
    test_pool_values();
    test_channel_moves();
    test_batch_norm_values();
    test_cross_entropy_values();
    test_regression_values();
    test_dropout_values();
    test_channel_dropout();
    test_dropout_edge();
    test_not_a_number();
    graph_free(&graph);
    return tap_done();
}
