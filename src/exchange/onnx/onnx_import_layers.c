/* Operators that compute become layers of one node. Two are spelled out in files: a SiLU is x times
 * its sigmoid, and PyTorch writes a local response normalisation as x / (mean of squares * alpha +
 * k)^beta; the values on the way carry what they mean (struct onnx_value). */
#include "exchange/onnx/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- nodes --- */

/* Adds a layer of one input without parameters. */
static bool add_simple(struct onnx_importer *im, const Onnx__Node *node, const struct op *op,
                       const union attributes *attributes)
{
    const struct onnx_value *input = onnx_layer_input(im, node, 0, false);
    return input && onnx_add_layer(im, node, NULL, op, &input, 1, attributes, NULL);
}

/* --- layers that are rows --- */

#define FLOAT(name, member, usual)                                                                 \
    {                                                                                              \
        name, MAPPING_FLOAT, offsetof(union attributes, member), usual, 0                          \
    }

const struct mapping onnx_rows[] = {
    {"Relu", NULL, &op_relu, {{0}}},
    {"Sigmoid", NULL, &op_sigmoid, {{0}}},
    {"Tanh", NULL, &op_tanh, {{0}}},
    {"HardSwish", NULL, &op_hardswish, {{0}}},
    {"Gelu", NULL, &op_gelu, {{0}}},
    {"LeakyRelu", NULL, &op_leaky_relu, {FLOAT("alpha", leaky_relu.slope, 0.01f)}},
    {"Elu", NULL, &op_elu, {FLOAT("alpha", elu.alpha, 1)}},
    {"HardSigmoid",
     NULL,
     &op_hardsigmoid,
     {{"alpha", MAPPING_FIXED, 0, 0.2f, 1.0f / 6}, {"beta", MAPPING_FIXED, 0, 0.5f, 0.5f}}},
    {"LRN",
     NULL,
     &op_lrn,
     {FLOAT("alpha", lrn.alpha, 1e-4f),
      FLOAT("beta", lrn.beta, 0.75f),
      FLOAT("bias", lrn.k, 1),
      {"size", MAPPING_COUNT, offsetof(union attributes, lrn.size), 0, 1023}}},
    {0}};

/* Reads an attribute into those of an operator. Returns false if it is none that tinca has. */
static bool read_value(const Onnx__Node *node, const struct mapping_value *value,
                       union attributes *attributes)
{
    void *to = (char *)attributes + value->offset;
    const int64_t count = onnx_get_int(node, value->name, 0);
    const float number = onnx_get_float(node, value->name, value->usual);
    if (value->kind == MAPPING_FIXED)
        return fabsf(number - value->limit) <= 1e-6f;
    if (value->kind == MAPPING_COUNT)
        *(size_t *)to = count > 0 && (float)count <= value->limit ? (size_t)count : 0;
    else
        *(float *)to = number;
    return true;
}

static bool import_row(struct onnx_importer *im, const Onnx__Node *node, const struct mapping *row)
{
    union attributes attributes = {0};
    if (onnx_get_is(node, "approximate", "tanh"))
        return onnx_lacks(im, node, N_("tinca has the exact GELU, not the approximation by tanh"));
    for (const struct mapping_value *value = row->values; value->name; value++)
        if (!read_value(node, value, &attributes))
            return onnx_lacks(im, node, N_("tinca's hardsigmoid has alpha 1/6 and beta 0.5"));
    return add_simple(im, node, row->op, &attributes);
}

/* --- softmax, dropout, flatten --- */

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

/* A Flatten that an export has put before a layer, LAYER/flatten, is no layer. */
static bool import_flatten(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *input = onnx_layer_input(im, node, 0, false), *out = onnx_output(im, node);
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
        if (!(inputs[k] = onnx_layer_input(im, node, k, false)))
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
    const struct node *node = &im->base.graph.nodes[gate->node];
    return node->op == &op_sigmoid && node->inputs[0] == of->node && !gate->integers &&
           !quantization_is_set(node->quantization);
}

/* A product of two layers: squares, a SiLU, or a gate of each channel. */
static bool import_product(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *a = onnx_layer_input(im, node, 0, false),
                      *b = a ? onnx_layer_input(im, node, 1, false) : NULL;
    const struct onnx_value *inputs[2] = {a, b};
    if (!b)
        return false;
    if (a == b)
        return go_on(onnx_output(im, node), a, ONNX_SQUARES, (struct lrn_attributes){0});
    if (is_sigmoid_of(im, b, a))
        return onnx_add_layer(im, node, NULL, &op_silu, inputs, 1, NULL, NULL);
    if (is_sigmoid_of(im, a, b))
        return onnx_add_layer(im, node, NULL, &op_silu, &inputs[1], 1, NULL, NULL);
    if (shape_area(im->base.graph.nodes[a->node].output) == 1 && a->rank == b->rank &&
        shape_area(im->base.graph.nodes[b->node].output) > 1) {
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

/* --- rounding --- */

/* QuantizeLinear and DequantizeLinear. A pair behind a layer that nothing else reads says that the
 * layer's values lie on that grid; any other pair is a fake_quantize. A DequantizeLinear of a
 * constant gives weights that keep their scales, or a bias. Signed integers become unsigned ones:
 * q + 128 with the zero point + 128 is the same grid. */

/* Reads scale and zero point of a node, for values of a layer. */
static bool read_grid(struct onnx_importer *im, const Onnx__Node *node, struct quantization *grid)
{
    const struct onnx_value *scale = onnx_input(im, node, 1), *zero = onnx_input(im, node, 2);
    if (!scale || scale->kind != ONNX_FLOATS || scale->count != 1 ||
        !(scale->floats[0] >= FLT_MIN) || !(scale->floats[0] <= FLT_MAX))
        return false;
    grid->scale = scale->floats[0];
    grid->zero_point = 0;
    if (!zero)
        return true;
    if (zero->kind != ONNX_INTEGERS || zero->count != 1 ||
        (zero->type != ONNX_UINT8 && zero->type != ONNX_INT8))
        return false;
    grid->zero_point = (int)zero->integers[0] + (zero->type == ONNX_INT8 ? ONNX_OFFSET : 0);
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = text ? strlen(text) : 0, size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

static bool onnx_import_quantize(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *input = onnx_layer_input(im, node, 0, false), *out = onnx_output(im, node);
    struct quantization grid;
    if (!input || !out)
        return false;
    if (!read_grid(im, node, &grid))
        return onnx_lacks(im, node, N_("tinca rounds to integers of 8 bits, with one scale"));
    struct quantization *own = &im->base.graph.nodes[input->node].quantization;
    const bool whole =
        input->direct && input->readers == 1 && !ends_with(node->name, "/fake_quantize");
    if (whole && !quantization_is_set(*own))
        *own = grid;
    if (!whole || !quantization_equal(*own, grid)) {
        const union attributes attributes = {.fake_quantize = grid};
        if (!onnx_add_layer(im, node, NULL, &op_fake_quantize,
                            (const struct onnx_value *const[]){input}, 1, &attributes, NULL))
            return false;
        input = out;
    }
    if (input != out)
        onnx_set_alias(out, input);
    out->meaning = ONNX_ROUNDED;
    out->grid = grid;
    return true;
}

/* Returns whether integers and zero points are those of tinca's weights: symmetric, of 8 bits,
 * signed or with 128 added. */
static bool is_symmetric(struct onnx_importer *im, const struct onnx_value *in,
                         const struct onnx_value *zero)
{
    const int64_t middle = in->type == ONNX_UINT8 ? ONNX_OFFSET : 0;
    int64_t smallest = middle;
    bool symmetric = in->type == ONNX_INT8 || (in->type == ONNX_UINT8 && zero);
    for (size_t i = 0; symmetric && zero && i < zero->count; i++)
        symmetric = zero->integers[i] == middle;
    if (symmetric && in->stored && !onnx_find_smallest(im, in, &smallest))
        return false;
    for (size_t i = 0; symmetric && !in->stored && i < in->count; i++)
        smallest = in->integers[i] < smallest ? in->integers[i] : smallest;
    return symmetric && smallest >= middle - QUANTIZED_WEIGHT_MAX;
}

/* Computes (q - zero point) * scale, with one scale or one along an axis. */
static bool dequantize_constant(struct onnx_importer *im, const Onnx__Node *node,
                                const struct onnx_value *in, struct onnx_value *out)
{
    const struct onnx_value *scale = onnx_input(im, node, 1), *zero = onnx_input(im, node, 2);
    int64_t axis = onnx_get_int(node, "axis", 1);
    size_t inner = 1;
    axis = axis < 0 ? axis + (int64_t)in->rank : axis;
    if (!scale || scale->kind != ONNX_FLOATS || onnx_get_int(node, "block_size", 0) ||
        (zero && (zero->kind != ONNX_INTEGERS || zero->count != scale->count)) ||
        (scale->count != 1 &&
         (axis < 0 || axis >= (int64_t)in->rank || in->dims[axis] != scale->count)))
        return onnx_lacks(im, node, N_("scales that are not one for each output"));
    for (size_t i = (size_t)axis + 1; scale->count > 1 && i < in->rank; i++)
        inner *= in->dims[i];
    float *floats = in->stored ? NULL : onnx_import_memory(im, in->count, sizeof *floats);
    bool positive = true;
    for (size_t i = 0; floats && i < in->count; i++) {
        const size_t k = scale->count == 1 ? 0 : i / inner % scale->count;
        floats[i] = scale->floats[k] * (float)(in->integers[i] - (zero ? zero->integers[k] : 0));
    }
    for (size_t k = 0; k < scale->count; k++)
        positive &= scale->floats[k] > 0 && isfinite(scale->floats[k]);
    onnx_set_alias(out, in);
    out->kind = ONNX_FLOATS;
    out->integers = NULL;
    out->floats = floats;
    out->type = ONNX_FLOAT;
    out->scales = positive && is_symmetric(im, in, zero) ? scale->floats : NULL;
    out->scale_axis = (size_t)axis;
    out->scale_count = scale->count;
    out->step = scale;
    out->zero = zero;
    out->inner = inner;
    return !im->base.failed && (floats || in->stored);
}

static bool onnx_import_dequantize(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *input = onnx_input(im, node, 0);
    struct onnx_value *out = onnx_output(im, node);
    struct quantization grid;
    if (!input || !out)
        return !im->base.failed && onnx_lacks(im, node, N_("an input is missing"));
    if (input->kind == ONNX_INTEGERS)
        return dequantize_constant(im, node, input, out);
    if (input->kind != ONNX_LAYER || input->meaning != ONNX_ROUNDED ||
        !read_grid(im, node, &grid) || !quantization_equal(grid, input->grid))
        return onnx_lacks(im, node, N_("it does not undo a QuantizeLinear before it"));
    const bool direct = input->direct;
    onnx_set_alias(out, input);
    out->meaning = ONNX_PLAIN;
    out->direct = direct;
    return true;
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
    {"Softmax", import_softmax},
    {"LogSoftmax", import_log_softmax},
    {"Dropout", import_dropout},
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

/* Adds the layer that computes a node, unless `im` is NULL; returns whether it knows the operator.
 */
static bool find_layer(struct onnx_importer *im, const Onnx__Node *node, const char *type)
{
    for (const struct mapping *row = onnx_rows; row->type; row++)
        if (strcmp(row->type, type) == 0)
            return !im || import_row(im, node, row) || true;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strcmp(layers[i].type, type) == 0)
            return !im || layers[i].import(im, node) || true;
    return false;
}

bool onnx_import_layer(struct onnx_importer *im, const Onnx__Node *node)
{
    return find_layer(im, node, node->op_type);
}

bool onnx_is_layer(const char *type)
{
    return find_layer(NULL, NULL, type);
}
