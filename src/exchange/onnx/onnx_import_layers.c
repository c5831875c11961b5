/* Operators that compute become layers of one node. Two are spelled out in files: a SiLU is x times
 * its sigmoid, and PyTorch writes a local response normalisation as x / (mean of squares * alpha +
 * k)^beta; the values on the way carry what they mean (struct onnx_value). */
#include "exchange/onnx/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- nodes --- */

/* Settles input `k`; notes that the node is missing if that fails. */
static struct onnx_value *layer_input(struct onnx_importer *im, const Onnx__Node *node, size_t k)
{
    const char *why = N_("an input is missing");
    struct onnx_value *value = onnx_input(im, node, k);
    if (value && onnx_settle(im, value, false, &why))
        return value;
    if (!im->failed)
        onnx_lacks(im, node, why);
    return NULL;
}

/* Adds a layer of one input without parameters. */
static bool add_simple(struct onnx_importer *im, const Onnx__Node *node, const struct op *op,
                       const union attributes *attributes)
{
    const struct onnx_value *input = layer_input(im, node, 0);
    return input && onnx_add_layer(im, node, NULL, op, &input, 1, attributes, NULL);
}

/* --- activations --- */

static bool import_plain(struct onnx_importer *im, const Onnx__Node *node)
{
    static const struct {
        const char *type;
        const struct op *op;
    } types[] = {{"Relu", &op_relu},
                 {"Sigmoid", &op_sigmoid},
                 {"Tanh", &op_tanh},
                 {"HardSwish", &op_hardswish},
                 {"Gelu", &op_gelu}};
    if (onnx_get_is(node, "approximate", "tanh"))
        return onnx_lacks(im, node, N_("tinca has the exact GELU, not the approximation by tanh"));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, node->op_type) == 0)
            return add_simple(im, node, types[i].op, NULL);
    return false;
}

static bool import_leaky(struct onnx_importer *im, const Onnx__Node *node)
{
    const bool elu = strcmp(node->op_type, "Elu") == 0;
    const float alpha = onnx_get_float(node, "alpha", elu ? 1 : 0.01f);
    const union attributes attributes = {.elu = {.alpha = alpha}}, leaky = {.leaky_relu = {alpha}};
    return add_simple(im, node, elu ? &op_elu : &op_leaky_relu, elu ? &attributes : &leaky);
}

static bool import_hardsigmoid(struct onnx_importer *im, const Onnx__Node *node)
{
    const float alpha = onnx_get_float(node, "alpha", 0.2f);
    if (fabsf(alpha - 1.0f / 6) > 1e-6f || onnx_get_float(node, "beta", 0.5f) != 0.5f)
        return onnx_lacks(im, node, N_("tinca's hardsigmoid has alpha 1/6 and beta 0.5"));
    return add_simple(im, node, &op_hardsigmoid, NULL);
}

/* Returns the product of dimensions `from` up to and without `to`. */
static size_t count_between(const struct onnx_value *value, int64_t from, int64_t to)
{
    size_t count = 1;
    for (int64_t i = from; i < to; i++)
        count *= value->dims[i];
    return count;
}

/* Adds one softmax over all values of an image, whatever axes they are on. */
static bool add_image_softmax(struct onnx_importer *im, const Onnx__Node *node,
                              const struct onnx_value *input)
{
    const union attributes attributes = {.softmax = {.image = true}};
    const char *why;
    struct onnx_value vector = *input, *out;
    const struct onnx_value *reads = &vector;
    vector.rank = 2;
    vector.dims[0] = input->dims[0];
    vector.dims[1] = count_between(input, 1, (int64_t)input->rank);
    if (!onnx_settle(im, &vector, true, &why))
        return onnx_lacks(im, node, why);
    out = onnx_add_layer(im, node, NULL, &op_softmax, &reads, 1, &attributes, NULL)
              ? onnx_output(im, node)
              : NULL;
    return out && onnx_set_shape(im, out, input->dims, input->rank);
}

/* Up to version 12 a softmax is over everything from its axis on; from 13 on over its axis. */
static bool import_softmax(struct onnx_importer *im, const Onnx__Node *node)
{
    const bool rest = im->opset < 13;
    const struct onnx_value *input = onnx_input(im, node, 0);
    int64_t axis = onnx_get_int(node, "axis", rest ? 1 : -1);
    if (!input || input->kind != ONNX_LAYER || input->rank < 2)
        return add_simple(im, node, &op_softmax, NULL); /* says why there is none */
    const int64_t rank = (int64_t)input->rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 1 || axis >= rank)
        return onnx_lacks(im, node, N_("a softmax along another axis than the channels"));
    const size_t all = count_between(input, 1, rank);
    const size_t span = rest ? count_between(input, axis, rank) : input->dims[axis];
    if (span == all && rank > 2 && input->dims[1] != all)
        return add_image_softmax(im, node, input);
    if (span != all && (rest || axis != 1))
        return onnx_lacks(im, node, N_("a softmax along another axis than the channels"));
    return add_simple(im, node, &op_softmax, NULL);
}

static bool passes_values(const char *type)
{
    return onnx_is_move(type) || strcmp(type, "Flatten") == 0 || strcmp(type, "Dropout") == 0;
}

/* Returns the node that reads the value and only passes its values on; NULL if there is none. */
static const Onnx__Node *find_passing_reader(const Onnx__Graph *graph,
                                             const struct onnx_value *value)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__Node *node = graph->node[i];
        if (node->op_type && node->n_input > 0 && strcmp(node->input[0], value->name) == 0)
            return passes_values(node->op_type) ? node : NULL;
    }
    return NULL;
}

/* Returns whether the node computes one value for each class, which is the model's first output or
 * becomes it without a change, and nothing else reads that. */
static bool is_class_output(struct onnx_importer *im, const Onnx__Node *node)
{
    const Onnx__Graph *graph = onnx_model_message(im->model)->graph;
    const struct onnx_value *input = onnx_input(im, node, 0), *out = onnx_output(im, node);
    const char *wanted = graph->n_output > 0 ? graph->output[0]->name : NULL;
    if (!input || !wanted || input->kind != ONNX_LAYER || input->rank < 2 ||
        count_between(input, 2, (int64_t)input->rank) != 1)
        return false;
    for (size_t steps = 0; out && out->readers == 1 && steps <= graph->n_node; steps++) {
        if (strcmp(wanted, out->name) == 0)
            return true;
        node = find_passing_reader(graph, out);
        out = node ? onnx_output(im, node) : NULL;
    }
    return false;
}

/* A LogSoftmax at the end becomes a softmax, which an import leaves out: the loss has both. */
static bool import_log_softmax(struct onnx_importer *im, const Onnx__Node *node)
{
    if (!is_class_output(im, node))
        return onnx_lacks(im, node, N_("a LogSoftmax that is not the end of a classifier"));
    im->log_softmax = true;
    return import_softmax(im, node);
}

static bool import_dropout(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *ratio = onnx_input(im, node, 1), *active = onnx_input(im, node, 2);
    float rate = onnx_get_float(node, "ratio", 0.5f);
    if (ratio && ratio->kind == ONNX_FLOATS && ratio->count == 1)
        rate = ratio->floats[0];
    if (active && (active->kind != ONNX_INTEGERS || active->count != 1 || active->integers[0]))
        return onnx_lacks(im, node, N_("a dropout that is active in inference"));
    const union attributes attributes = {.dropout = {.rate = rate}};
    return add_simple(im, node, &op_dropout, &attributes);
}

static bool import_lrn(struct onnx_importer *im, const Onnx__Node *node)
{
    const int64_t size = onnx_get_int(node, "size", 0);
    const union attributes attributes = {.lrn = {.size = size > 0 && size < 1024 ? (size_t)size : 0,
                                                 .alpha = onnx_get_float(node, "alpha", 1e-4f),
                                                 .beta = onnx_get_float(node, "beta", 0.75f),
                                                 .k = onnx_get_float(node, "bias", 1)}};
    return add_simple(im, node, &op_lrn, &attributes);
}

/* A Flatten that an export has put before a layer, LAYER/flatten, is no layer. */
static bool import_flatten(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *input = layer_input(im, node, 0), *out = onnx_output(im, node);
    const char *slash = node->name ? strrchr(node->name, '/') : NULL;
    if (!input || !out)
        return false;
    if (onnx_get_int(node, "axis", 1) != 1)
        return onnx_lacks(im, node, N_("a Flatten along another axis"));
    if (!slash || slash == node->name || strcmp(slash, "/flatten") != 0)
        return add_simple(im, node, &op_flatten, NULL);
    const size_t dims[2] = {im->batch, input->count / im->batch};
    onnx_set_alias(out, input);
    return onnx_set_shape(im, out, dims, 2);
}

/* --- sums, products, and what they are parts of --- */

static bool join(struct onnx_importer *im, const Onnx__Node *node, const struct op *op)
{
    const struct onnx_value *inputs[NODE_MAX_INPUTS] = {NULL};
    if (node->n_input < 2 || node->n_input > NODE_MAX_INPUTS)
        return onnx_lacks(im, node, N_("it has fewer than 2 inputs, or more than 8"));
    for (size_t k = 0; k < node->n_input; k++)
        if (!(inputs[k] = layer_input(im, node, k)))
            return false;
    for (size_t k = 1; k < node->n_input; k++)
        if (inputs[k]->rank != inputs[0]->rank)
            return onnx_lacks(im, node, N_("its inputs have different shapes"));
    return onnx_add_layer(im, node, NULL, op, inputs, node->n_input, NULL, NULL);
}

static bool import_concat(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *input = onnx_input(im, node, 0);
    const int64_t axis = onnx_get_int(node, "axis", 1);
    if (input && axis != 1 && axis != 1 - (int64_t)input->rank)
        return onnx_lacks(im, node, N_("a concatenation along another axis than the channels"));
    return join(im, node, &op_concat);
}

static bool is_constant(const struct onnx_value *value)
{
    return value && value->kind == ONNX_FLOATS;
}

/* Sets the output to values on the way to a local response normalisation. */
static bool go_on(struct onnx_value *out, const struct onnx_value *from, enum onnx_meaning meaning,
                  struct lrn_attributes lrn)
{
    onnx_set_alias(out, from);
    out->meaning = meaning;
    out->lrn = lrn;
    return true;
}

static bool import_add(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *a = onnx_input(im, node, 0), *b = onnx_input(im, node, 1);
    if (node->n_input == 2 && is_constant(a) && !is_constant(b)) {
        struct onnx_value *swapped = a;
        a = b;
        b = swapped;
    }
    if (node->n_input != 2 || !is_constant(b) || !a || a->kind != ONNX_LAYER)
        return join(im, node, &op_add);
    if (a->meaning == ONNX_MEANS && b->count == 1) {
        struct lrn_attributes lrn = a->lrn;
        lrn.k += b->floats[0];
        return go_on(onnx_output(im, node), a, ONNX_MEANS, lrn);
    }
    return onnx_import_line(im, node, a, NULL, b);
}

static bool is_sigmoid_of(const struct onnx_importer *im, const struct onnx_value *gate,
                          const struct onnx_value *of)
{
    const struct node *node = &im->graph.nodes[gate->node];
    return node->op == &op_sigmoid && node->inputs[0] == of->node && !gate->integers &&
           !quantization_is_set(node->quantization);
}

/* A product of two layers: squares, a SiLU, or a gate of each channel. */
static bool import_product(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *a = layer_input(im, node, 0), *b = a ? layer_input(im, node, 1) : NULL;
    const struct onnx_value *inputs[2] = {a, b};
    if (!b)
        return false;
    if (a == b)
        return go_on(onnx_output(im, node), a, ONNX_SQUARES, (struct lrn_attributes){0});
    if (is_sigmoid_of(im, b, a))
        return onnx_add_layer(im, node, NULL, &op_silu, inputs, 1, NULL, NULL);
    if (is_sigmoid_of(im, a, b))
        return onnx_add_layer(im, node, NULL, &op_silu, &inputs[1], 1, NULL, NULL);
    if (shape_area(im->graph.nodes[a->node].output) == 1 && a->rank == b->rank &&
        shape_area(im->graph.nodes[b->node].output) > 1) {
        inputs[0] = b;
        inputs[1] = a;
    }
    if (a->rank != b->rank)
        return onnx_lacks(im, node, N_("its inputs have different shapes"));
    return onnx_add_layer(im, node, NULL, &op_channel_scale, inputs, 2, NULL, NULL);
}

static bool import_mul(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *a = onnx_input(im, node, 0), *b = onnx_input(im, node, 1);
    if (is_constant(a) && !is_constant(b)) {
        struct onnx_value *swapped = a;
        a = b;
        b = swapped;
    }
    if (!a || !is_constant(b) || a->kind != ONNX_LAYER)
        return import_product(im, node);
    if (a->meaning == ONNX_MEANS && b->count == 1 && a->lrn.k == 0) {
        struct lrn_attributes lrn = a->lrn;
        lrn.alpha *= b->floats[0];
        return go_on(onnx_output(im, node), a, ONNX_MEANS, lrn);
    }
    return onnx_import_line(im, node, a, b, NULL);
}

static bool import_pow(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *a = onnx_input(im, node, 0), *b = onnx_input(im, node, 1);
    if (a && a->kind == ONNX_LAYER && b && b->count == 1 && is_constant(b)) {
        struct lrn_attributes lrn = a->lrn;
        lrn.beta = b->floats[0];
        if (a->meaning == ONNX_PLAIN && lrn.beta == 2)
            return go_on(onnx_output(im, node), a, ONNX_SQUARES, (struct lrn_attributes){0});
        if (a->meaning == ONNX_MEANS)
            return go_on(onnx_output(im, node), a, ONNX_POWERS, lrn);
    }
    return onnx_lacks(im, node, N_("a power that is no part of a local response normalisation"));
}

static bool import_div(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *a = onnx_input(im, node, 0), *b = onnx_input(im, node, 1);
    if (!a || !b || a->kind != ONNX_LAYER || b->kind != ONNX_LAYER || b->meaning != ONNX_POWERS ||
        a->meaning != ONNX_PLAIN || a->node != b->node || a->integers || b->integers ||
        a->rank != 4 || b->rank != 4)
        return onnx_lacks(im, node,
                          N_("a division that is no part of a local response normalisation"));
    const union attributes attributes = {.lrn = b->lrn};
    return add_simple(im, node, &op_lrn, &attributes);
}

/* --- the table --- */

static const struct {
    const char *type;
    bool (*import)(struct onnx_importer *im, const Onnx__Node *node);
} layers[] = {
    {"Conv", onnx_import_conv},
    {"ConvTranspose", onnx_import_conv},
    {"Gemm", onnx_import_gemm},
    {"MatMul", onnx_import_gemm},
    {"BatchNormalization", onnx_import_norm},
    {"InstanceNormalization", onnx_import_norm},
    {"PRelu", onnx_import_prelu},
    {"MaxPool", onnx_import_pool},
    {"AveragePool", onnx_import_pool},
    {"GlobalMaxPool", onnx_import_pool},
    {"GlobalAveragePool", onnx_import_pool},
    {"ReduceMean", onnx_import_mean},
    {"Relu", import_plain},
    {"Sigmoid", import_plain},
    {"Tanh", import_plain},
    {"HardSwish", import_plain},
    {"Gelu", import_plain},
    {"LeakyRelu", import_leaky},
    {"Elu", import_leaky},
    {"HardSigmoid", import_hardsigmoid},
    {"Softmax", import_softmax},
    {"LogSoftmax", import_log_softmax},
    {"Dropout", import_dropout},
    {"LRN", import_lrn},
    {"Flatten", import_flatten},
    {"Concat", import_concat},
    {"Add", import_add},
    {"Sum", import_add},
    {"Mul", import_mul},
    {"Pow", import_pow},
    {"Div", import_div},
    {"QuantizeLinear", onnx_import_quantize},
    {"DequantizeLinear", onnx_import_dequantize},
};

bool onnx_import_layer(struct onnx_importer *im, const Onnx__Node *node)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strcmp(layers[i].type, node->op_type) == 0) {
            layers[i].import(im, node);
            return true;
        }
    return false;
}

bool onnx_is_layer(const char *type)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strcmp(layers[i].type, type) == 0)
            return true;
    return false;
}
