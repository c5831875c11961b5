/* The graph becomes nodes of ONNX in the same order. The value of a layer has its name; if it lies
 * on a grid, the layer computes LAYER/value, which is rounded to LAYER. */
#include "exchange/onnx/internal.h"

#include "base/files/output_file.h"
#include "base/float16.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "config.h"
#include "engine/graph/name_index.h"
#include "engine/network/network_write.h"
#include "engine/ops/op.h"
#include "engine/quantize/fold_batch_norm.h"
#include "exchange/frame/exporter.h"
#include "models/saved/model_file.h"

#include <stdlib.h>
#include <string.h>

/* Returns the name of a node's value. */
static const char *value_of(struct onnx_exporter *ex, size_t number)
{
    const struct node *node = &ex->graph->nodes[number];
    return number == 0 && quantization_is_set(node->quantization) ? "input/rounded" : node->name;
}

/* --- the inputs of a layer --- */

/* One function for each operator, in a table. A value of a network is always an image, which can
 * have one position; ONNX distinguishes [batch, channels] from [batch, channels, 1, 1]. A layer
 * that needs the other one gets it by a Flatten or Reshape of its own, called LAYER/... */

/* Returns the node's input `k` as an image. */
static const char *image_of(struct onnx_exporter *ex, const struct node *node, size_t k)
{
    struct onnx_builder *out = &ex->out;
    const size_t input = node->inputs[k];
    const char *value = value_of(ex, input);
    const int64_t dims[4] = {0, (int64_t)ex->graph->nodes[input].output.channels, 1, 1};
    if (!ex->flat[input])
        return value;
    const char *name = onnx_text(out, "%s/image%zu", node->name, k);
    const char *shape = onnx_add_integers(out, onnx_text(out, "%s/shape", name), dims, 4);
    onnx_add_node(out, "Reshape", name, name, 2, value, shape);
    return name;
}

/* Returns the node's input as a vector. */
static const char *vector_of(struct onnx_exporter *ex, const struct node *node)
{
    struct onnx_builder *out = &ex->out;
    const char *value = value_of(ex, node->inputs[0]);
    if (ex->flat[node->inputs[0]])
        return value;
    const char *name = onnx_text(out, "%s/flatten", node->name);
    onnx_set_int(out, onnx_add_node(out, "Flatten", name, name, 1, value), "axis", 1);
    return name;
}

/* Writes the values of all inputs into names[]; images unless all are vectors. */
static void inputs_of(struct onnx_exporter *ex, const struct node *node, const char **names)
{
    bool flat = true;
    for (size_t k = 0; k < node->input_count; k++)
        flat &= ex->flat[node->inputs[k]];
    for (size_t k = 0; k < node->input_count; k++)
        names[k] = flat ? value_of(ex, node->inputs[k]) : image_of(ex, node, k);
}

/* --- weights --- */

/* Arrays of float32 lie in the file as they lie in memory. An array of 16 bits is followed by a
 * Cast, one of 8 bits by a DequantizeLinear: the layer reads float32 in either case, and a runtime
 * that has kernels for less fuses the conversion into them. The bias of a quantized layer stays
 * float32: its integers follow from the scales, and runtimes that want them compute them.
 *
 * Weights of 8 bits are symmetric integers q in -127..127. They are stored as q + 128 with the zero
 * point 128, if the request does not ask for signed ones: on x86 processors without VNNI, runtimes
 * multiply unsigned activations with signed weights by VPMADDUBSW, whose sum of two products
 * saturates at 16 bits. ONNX Runtime and OpenVINO then lose several points of accuracy; with two
 * unsigned operands they widen first. */

static size_t type_size(enum onnx_type type)
{
    return type == ONNX_FLOAT                        ? sizeof(float)
           : type == ONNX_INT8 || type == ONNX_UINT8 ? 1
                                                     : sizeof(uint16_t);
}

static enum onnx_type stored_type(const struct onnx_exporter *ex, const struct parameter *parameter)
{
    switch (weights_stored_type(ex->weights, parameter, ex->format)) {
    case SAFETENSORS_BF16:
        return ONNX_BF16;
    case SAFETENSORS_F16:
        return ONNX_FLOAT16;
    case SAFETENSORS_I8:
        return ex->signed_weights ? ONNX_INT8 : ONNX_UINT8;
    default:
        return ONNX_FLOAT;
    }
}

/* Returns the values in 8 or 16 bits, or NULL. */
static void *round_values(struct onnx_exporter *ex, const struct parameter *parameter,
                          enum onnx_type type)
{
    const float *values = ex->weights->values + parameter->offset;
    const struct parameter *scale = graph_weight_scale(ex->graph, parameter);
    const float *scales = scale ? ex->weights->values + scale->offset : NULL;
    const size_t row = parameter->count / parameter->dims[0];
    void *rounded = onnx_memory(&ex->out, parameter->count * type_size(type));
    for (size_t i = 0; rounded && i < parameter->count; i++)
        if (type == ONNX_INT8)
            ((int8_t *)rounded)[i] = quantization_round_weight(scales[i / row], values[i]);
        else if (type == ONNX_UINT8)
            ((uint8_t *)rounded)[i] =
                (uint8_t)(quantization_round_weight(scales[i / row], values[i]) + ONNX_OFFSET);
        else
            ((uint16_t *)rounded)[i] =
                type == ONNX_BF16 ? bf16_from_float(values[i]) : float16_from_float(values[i]);
    return rounded;
}

/* Appends the scales of a layer's weights, and their zero points. */
static void dequantize_weights(struct onnx_exporter *ex, const struct parameter *parameter,
                               const char *integers, enum onnx_type type)
{
    struct onnx_builder *out = &ex->out;
    const struct parameter *scale = graph_weight_scale(ex->graph, parameter);
    const char *zero_point = onnx_text(out, "%s/zero_point", parameter->name);
    uint8_t *zeros = onnx_memory(out, scale->count);
    if (zeros && type == ONNX_UINT8)
        memset(zeros, ONNX_OFFSET, scale->count);
    onnx_add_tensor(out, scale->name, ONNX_FLOAT, scale->dims, 1,
                    ex->weights->values + scale->offset, scale->count * sizeof(float));
    onnx_add_tensor(out, zero_point, type, scale->dims, 1, zeros, scale->count);
    Onnx__Node *node =
        onnx_add_node(out, "DequantizeLinear", onnx_text(out, "%s/dequantize", parameter->name),
                      parameter->name, 3, integers, scale->name, zero_point);
    onnx_set_int(out, node, "axis", 0);
}

/* Appends the values of parameter `p` of a node and returns the name of the float32 array. Weights
 * of 16 bits are followed by a conversion, those of 8 bits by their scales. */
static const char *parameter_of(struct onnx_exporter *ex, const struct node *node, size_t p)
{
    struct onnx_builder *out = &ex->out;
    const struct parameter *parameter = &ex->graph->parameters[node->parameters[p]];
    const enum onnx_type type = stored_type(ex, parameter);
    const size_t bytes = parameter->count * type_size(type);
    if (type == ONNX_FLOAT)
        return onnx_add_tensor(out, parameter->name, type, parameter->dims, parameter->rank,
                               ex->weights->values + parameter->offset, bytes);
    const char *stored = onnx_text(out, "%s/stored", parameter->name);
    onnx_add_tensor(out, stored, type, parameter->dims, parameter->rank,
                    round_values(ex, parameter, type), bytes);
    if (type == ONNX_INT8 || type == ONNX_UINT8)
        dequantize_weights(ex, parameter, stored, type);
    else
        onnx_set_int(out,
                     onnx_add_node(out, "Cast", onnx_text(out, "%s/cast", parameter->name),
                                   parameter->name, 1, stored),
                     "to", ONNX_FLOAT);
    return parameter->name;
}

/* Appends the rounding of `from` to a grid, as an integer and back, to the value `to`. `name` is
 * the layer's. */
static void export_rounding(struct onnx_exporter *ex, const char *name, const char *from,
                            const char *to, struct quantization quantization, const char *kind)
{
    struct onnx_builder *out = &ex->out;
    const char *scale = onnx_add_number(out, onnx_text(out, "%s/scale", name), quantization.scale);
    const char *zero_point = onnx_text(out, "%s/zero_point", name);
    const char *integers = onnx_text(out, "%s/integers", name);
    uint8_t *byte = onnx_memory(out, 1);
    if (byte)
        *byte = (uint8_t)quantization.zero_point;
    onnx_add_tensor(out, zero_point, ONNX_UINT8, NULL, 0, byte, 1);
    onnx_add_node(out, "QuantizeLinear", onnx_text(out, "%s/%s", name, kind), integers, 3, from,
                  scale, zero_point);
    onnx_add_node(out, "DequantizeLinear", onnx_text(out, "%s/dequantize", name), to, 3, integers,
                  scale, zero_point);
}

/* --- convolutions and pooling --- */

/* A window that reaches beyond the far padding, in ceil mode, becomes padding of that side: then
 * every runtime computes the same, whatever it makes of ONNX's ceil_mode. The maximum ignores
 * padding. A mean divides by the elements inside the image and its padding, not by those beyond
 * (average_pool.c): there the padding proper is a Pad of zeros before. */

static void set_window(struct onnx_exporter *ex, Onnx__Node *to, const struct window *w,
                       const int64_t *pads)
{
    struct onnx_builder *out = &ex->out;
    const int64_t kernel[2] = {(int64_t)w->kernel_height, (int64_t)w->kernel_width};
    const int64_t strides[2] = {(int64_t)w->stride_height, (int64_t)w->stride_width};
    onnx_set_ints(out, to, "kernel_shape", kernel, 2);
    onnx_set_ints(out, to, "pads", pads, 4);
    onnx_set_ints(out, to, "strides", strides, 2);
}

static void export_conv(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    struct onnx_builder *out = &ex->out;
    const struct conv_attributes *conv = &node->attributes.conv;
    const int64_t high = (int64_t)conv->window.pad_height, wide = (int64_t)conv->window.pad_width;
    const int64_t dilations[2] = {(int64_t)conv->dilation_height, (int64_t)conv->dilation_width};
    const char *inputs[3] = {image_of(ex, node, 0), parameter_of(ex, node, 0),
                             conv->bias ? parameter_of(ex, node, 1) : NULL};
    Onnx__Node *to = onnx_add_node_of(out, node->op == &op_conv ? "Conv" : "ConvTranspose",
                                      node->name, output, inputs, conv->bias ? 3 : 2);
    onnx_set_ints(out, to, "dilations", dilations, 2);
    onnx_set_int(out, to, "group", (int64_t)conv->groups);
    set_window(ex, to, &conv->window, (const int64_t[]){high, wide, high, wide});
}

/* Returns by how much the last window reaches beyond the far padding. */
static size_t overhang(size_t size, size_t kernel, size_t stride, size_t pad, size_t outputs)
{
    const size_t end = (outputs - 1) * stride + kernel;
    return end > size + 2 * pad ? end - size - 2 * pad : 0;
}

/* Appends the padding of an average pooling as a node of its own; returns its value. */
static const char *pad_image(struct onnx_exporter *ex, const struct node *node, const char *input)
{
    struct onnx_builder *out = &ex->out;
    const struct window *w = &node->attributes.pool.window;
    const int64_t high = (int64_t)w->pad_height, wide = (int64_t)w->pad_width;
    const int64_t pads[8] = {0, 0, high, wide, 0, 0, high, wide};
    const char *name = onnx_text(out, "%s/pad", node->name);
    const char *sides = onnx_add_integers(out, onnx_text(out, "%s/pads", node->name), pads, 8);
    onnx_add_node(out, "Pad", name, name, 2, input, sides);
    return name;
}

static void export_pool(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    const struct shape shape = ex->graph->nodes[node->inputs[0]].output;
    const char *input = image_of(ex, node, 0);
    struct onnx_builder *out = &ex->out;
    const struct pool_attributes *pool = &node->attributes.pool;
    const struct window *w = &pool->window;
    const bool mean = node->op == &op_average_pool;
    if (pool->global) {
        onnx_add_node(out, mean ? "GlobalAveragePool" : "GlobalMaxPool", node->name, output, 1,
                      input);
        return;
    }
    const size_t below = overhang(shape.height, w->kernel_height, w->stride_height, w->pad_height,
                                  node->output.height);
    const size_t right =
        overhang(shape.width, w->kernel_width, w->stride_width, w->pad_width, node->output.width);
    const bool padded = w->pad_height > 0 || w->pad_width > 0;
    int64_t pads[4] = {(int64_t)w->pad_height, (int64_t)w->pad_width,
                       (int64_t)(w->pad_height + below), (int64_t)(w->pad_width + right)};
    const bool apart = mean && padded && (below > 0 || right > 0);
    if (apart) {
        input = pad_image(ex, node, input);
        pads[0] = pads[1] = 0;
        pads[2] = (int64_t)below;
        pads[3] = (int64_t)right;
    }
    Onnx__Node *to =
        onnx_add_node(out, mean ? "AveragePool" : "MaxPool", node->name, output, 1, input);
    if (mean)
        onnx_set_int(out, to, "count_include_pad", padded && !apart);
    set_window(ex, to, w, pads);
}

/* The kernels are integers if what they read are: then a runtime moves integers. */
static void export_shift(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    const char *input = image_of(ex, node, 0);
    static const struct window window = {3, 3, 1, 1, 1, 1};
    struct onnx_builder *out = &ex->out;
    const size_t channels = node->output.channels, dims[4] = {channels, 1, 3, 3};
    float *kernels = onnx_memory(out, channels * 9 * sizeof *kernels);
    int8_t *integers = onnx_memory(out, channels * 9);
    const char *name = onnx_text(out, "%s/kernels", node->name);
    if (!kernels || !integers)
        return;
    onnx_shift_kernels(channels, kernels);
    if (quantization_is_set(node->quantization)) {
        for (size_t i = 0; i < channels * 9; i++)
            integers[i] = (int8_t)kernels[i];
        const char *scale = onnx_add_number(out, onnx_text(out, "%s/kernel_scale", node->name), 1);
        const char *stored = onnx_add_tensor(out, onnx_text(out, "%s/kernels/stored", node->name),
                                             ONNX_INT8, dims, 4, integers, channels * 9);
        onnx_add_node(out, "DequantizeLinear", onnx_text(out, "%s/dequantize_kernels", node->name),
                      name, 2, stored, scale);
    } else {
        onnx_add_tensor(out, name, ONNX_FLOAT, dims, 4, kernels, channels * 9 * sizeof *kernels);
    }
    Onnx__Node *to = onnx_add_node(out, "Conv", node->name, output, 2, input, name);
    onnx_set_int(out, to, "group", (int64_t)channels);
    set_window(ex, to, &window, (const int64_t[]){1, 1, 1, 1});
}

/* --- layers with weights --- */

static void export_linear(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    const bool bias = node->attributes.linear.bias;
    const char *inputs[3] = {vector_of(ex, node), parameter_of(ex, node, 0),
                             bias ? parameter_of(ex, node, 1) : NULL};
    Onnx__Node *to = onnx_add_node_of(&ex->out, "Gemm", node->name, output, inputs, bias ? 3 : 2);
    onnx_set_int(&ex->out, to, "transB", 1);
}

static void export_batch_norm(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    const struct batch_norm_attributes *norm = &node->attributes.batch_norm;
    const char *inputs[5] = {norm->instance ? image_of(ex, node, 0)
                                            : value_of(ex, node->inputs[0])};
    const size_t parameters = norm->instance ? 2 : 4;
    for (size_t p = 0; p < parameters; p++)
        inputs[p + 1] = parameter_of(ex, node, p);
    Onnx__Node *to =
        onnx_add_node_of(&ex->out, norm->instance ? "InstanceNormalization" : "BatchNormalization",
                         node->name, output, inputs, parameters + 1);
    onnx_set_float(&ex->out, to, "epsilon", norm->epsilon);
    if (!norm->instance) /* of ONNX it is the share of the running statistics that stays */
        onnx_set_float(&ex->out, to, "momentum", 1 - norm->momentum);
}

static void export_prelu(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    struct onnx_builder *out = &ex->out;
    const char *slope = parameter_of(ex, node, 0);
    if (!ex->flat[node->inputs[0]]) {
        const int64_t dims[3] = {-1, 1, 1};
        const char *name = onnx_text(out, "%s/slope", node->name);
        const char *shape = onnx_add_integers(out, onnx_text(out, "%s/shape", name), dims, 3);
        onnx_add_node(out, "Reshape", name, name, 2, slope, shape);
        slope = name;
    }
    onnx_add_node(out, "PRelu", node->name, output, 2, value_of(ex, node->inputs[0]), slope);
}

/* --- activations --- */

/* Appends the operator of a row with its attributes. */
static void export_row(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    const struct mapping *row = onnx_rows;
    while (row->op != node->op)
        row++;
    const char *input = row->op == &op_lrn ? image_of(ex, node, 0) : value_of(ex, node->inputs[0]);
    Onnx__Node *to = onnx_add_node(&ex->out, row->type, node->name, output, 1, input);
    for (const struct mapping_value *value = row->values; value->name; value++) {
        const void *from = (const char *)&node->attributes + value->offset;
        if (value->kind == MAPPING_COUNT)
            onnx_set_int(&ex->out, to, value->name, (int64_t) * (const size_t *)from);
        else
            onnx_set_float(&ex->out, to, value->name,
                           value->kind == MAPPING_FIXED ? value->limit : *(const float *)from);
    }
    if (node->op == &op_gelu)
        ex->opset = ONNX_OPSET_GELU;
}

/* One softmax over an image: its values are moved to one axis and back. */
static void export_image_softmax(struct onnx_exporter *ex, const struct node *node,
                                 const char *output)
{
    struct onnx_builder *out = &ex->out;
    const struct shape shape = node->output;
    const int64_t row[4] = {0, 1, 1, (int64_t)shape_count(shape)};
    const int64_t image[4] = {0, (int64_t)shape.channels, (int64_t)shape.height,
                              (int64_t)shape.width};
    const char *moved = onnx_text(out, "%s/row", node->name);
    const char *made = onnx_text(out, "%s/softmax", node->name);
    onnx_add_node(out, "Reshape", moved, moved, 2, value_of(ex, node->inputs[0]),
                  onnx_add_integers(out, onnx_text(out, "%s/shape", moved), row, 4));
    onnx_set_int(out, onnx_add_node(out, "Softmax", node->name, made, 1, moved), "axis", 3);
    onnx_add_node(out, "Reshape", output, output, 2, made,
                  onnx_add_integers(out, onnx_text(out, "%s/shape", made), image, 4));
}

static void export_softmax(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    if (node->attributes.softmax.image && shape_area(node->output) > 1) {
        export_image_softmax(ex, node, output);
        return;
    }
    onnx_set_int(
        &ex->out,
        onnx_add_node(&ex->out, "Softmax", node->name, output, 1, value_of(ex, node->inputs[0])),
        "axis", 1);
}

static void export_silu(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    struct onnx_builder *out = &ex->out;
    const char *input = value_of(ex, node->inputs[0]);
    const char *gate = onnx_text(out, "%s/sigmoid", node->name);
    onnx_add_node(out, "Sigmoid", gate, gate, 1, input);
    onnx_add_node(out, "Mul", node->name, output, 2, input, gate);
}

/* --- pooling, moves, sums --- */

static void export_dropout(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    struct onnx_builder *out = &ex->out;
    const char *ratio =
        onnx_add_number(out, onnx_text(out, "%s/ratio", node->name), node->attributes.dropout.rate);
    onnx_add_node(out, "Dropout", node->name, output, 2, value_of(ex, node->inputs[0]), ratio);
    ex->noise_left_out |= node->attributes.dropout.always;
}

static void export_concat(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    const char *names[NODE_MAX_INPUTS];
    inputs_of(ex, node, names);
    onnx_set_int(&ex->out,
                 onnx_add_node_of(&ex->out, "Concat", node->name, output, names, node->input_count),
                 "axis", 1);
}

static void export_add(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    const char *names[NODE_MAX_INPUTS];
    inputs_of(ex, node, names);
    onnx_add_node_of(&ex->out, node->input_count == 2 ? "Add" : "Sum", node->name, output, names,
                     node->input_count);
}

static void export_channel_scale(struct onnx_exporter *ex, const struct node *node,
                                 const char *output)
{
    const char *names[NODE_MAX_INPUTS];
    inputs_of(ex, node, names);
    onnx_add_node_of(&ex->out, "Mul", node->name, output, names, 2);
}

static void export_flatten(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    onnx_set_int(
        &ex->out,
        onnx_add_node(&ex->out, "Flatten", node->name, output, 1, value_of(ex, node->inputs[0])),
        "axis", 1);
}

/* A table [groups, channels / groups] is transposed. */
static void export_shuffle(struct onnx_exporter *ex, const struct node *node, const char *output)
{
    struct onnx_builder *out = &ex->out;
    const int64_t groups = (int64_t)node->attributes.shuffle.groups;
    const int64_t channels = (int64_t)node->output.channels;
    const int64_t high = (int64_t)node->output.height, wide = (int64_t)node->output.width;
    const char *table = onnx_text(out, "%s/table", node->name);
    const char *turned = onnx_text(out, "%s/transpose", node->name);
    const char *shape =
        onnx_add_integers(out, onnx_text(out, "%s/table_shape", node->name),
                          (const int64_t[]){0, groups, channels / groups, high, wide}, 5);
    const char *last = onnx_add_integers(out, onnx_text(out, "%s/shape", node->name),
                                         (const int64_t[]){0, channels, high, wide}, 4);
    onnx_add_node(out, "Reshape", table, table, 2, image_of(ex, node, 0), shape);
    onnx_set_ints(out, onnx_add_node(out, "Transpose", turned, turned, 1, table), "perm",
                  (const int64_t[]){0, 2, 1, 3, 4}, 5);
    onnx_add_node(out, "Reshape", node->name, output, 2, turned, last);
}

static void export_fake_quantize(struct onnx_exporter *ex, const struct node *node,
                                 const char *output)
{
    export_rounding(ex, node->name, value_of(ex, node->inputs[0]), output,
                    node->attributes.fake_quantize, "fake_quantize");
}

/* --- the table --- */

enum form { FORM_AS_INPUTS, FORM_VECTOR, FORM_IMAGE };

static const struct {
    const struct op *op;
    enum form form; /* of the output; as inputs: a vector if all of them are */
    void (*export)(struct onnx_exporter *ex, const struct node *node, const char *output);
} layers[] = {
    {&op_conv, FORM_IMAGE, export_conv},
    {&op_conv_transpose, FORM_IMAGE, export_conv},
    {&op_linear, FORM_VECTOR, export_linear},
    {&op_max_pool, FORM_IMAGE, export_pool},
    {&op_average_pool, FORM_IMAGE, export_pool},
    {&op_relu, FORM_AS_INPUTS, export_row},
    {&op_leaky_relu, FORM_AS_INPUTS, export_row},
    {&op_prelu, FORM_AS_INPUTS, export_prelu},
    {&op_elu, FORM_AS_INPUTS, export_row},
    {&op_gelu, FORM_AS_INPUTS, export_row},
    {&op_silu, FORM_AS_INPUTS, export_silu},
    {&op_hardswish, FORM_AS_INPUTS, export_row},
    {&op_sigmoid, FORM_AS_INPUTS, export_row},
    {&op_hardsigmoid, FORM_AS_INPUTS, export_row},
    {&op_tanh, FORM_AS_INPUTS, export_row},
    {&op_softmax, FORM_AS_INPUTS, export_softmax},
    {&op_batch_norm, FORM_AS_INPUTS, export_batch_norm},
    {&op_lrn, FORM_IMAGE, export_row},
    {&op_dropout, FORM_AS_INPUTS, export_dropout},
    {&op_concat, FORM_AS_INPUTS, export_concat},
    {&op_add, FORM_AS_INPUTS, export_add},
    {&op_flatten, FORM_VECTOR, export_flatten},
    {&op_channel_shuffle, FORM_IMAGE, export_shuffle},
    {&op_channel_shift, FORM_IMAGE, export_shift},
    {&op_channel_scale, FORM_AS_INPUTS, export_channel_scale},
    {&op_fake_quantize, FORM_AS_INPUTS, export_fake_quantize},
};

static bool is_flat(const struct onnx_exporter *ex, const struct node *node, enum form form)
{
    bool flat = form != FORM_IMAGE;
    if (node->op == &op_batch_norm && node->attributes.batch_norm.instance)
        return false; /* it reads an image */
    for (size_t k = 0; form == FORM_AS_INPUTS && k < node->input_count; k++)
        flat &= ex->flat[node->inputs[k]];
    return flat;
}

/* Appends what computes a node, whose inputs have been appended, as the value `output`. */
static void export_layer(struct onnx_exporter *ex, size_t number, const char *output)
{
    const struct node *node = &ex->graph->nodes[number];
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (layers[i].op == node->op) {
            ex->flat[number] = is_flat(ex, node, layers[i].form);
            layers[i].export(ex, node, output);
        }
}

/* --- the graph --- */

static void export_node(struct onnx_exporter *ex, size_t number)
{
    const struct node *node = &ex->graph->nodes[number];
    const bool rounded = quantization_is_set(node->quantization);
    const char *value = node->name;
    if (rounded && number > 0)
        value = onnx_text(&ex->out, "%s/value", node->name);
    if (number > 0)
        export_layer(ex, number, value);
    if (rounded)
        export_rounding(ex, node->name, value, value_of(ex, number), node->quantization,
                        "quantize");
}

static const char *name_at(const void *names, size_t number)
{
    return ((const char *const *)names)[number];
}

/* Checks that no two values have one name: layers may be called like the values that are added to
 * them. */
static bool check_names(const struct onnx_builder *out, struct error *error)
{
    const size_t most = out->node_count + out->initializer_count + 1;
    const char **names = memory_new(most, sizeof *names, "the ONNX model", error);
    struct name_index index = {0};
    bool checked = names;
    for (size_t i = 0, other; checked && i + 1 < most; i++) {
        names[i] = i < out->node_count ? out->nodes[i]->output[0]
                                       : out->initializers[i - out->node_count]->name;
        if (name_index_find(&index, names, name_at, names[i], &other))
            checked = error_set(error, ERROR_INPUT, names[i],
                                "give the layer another name in the network file",
                                "two values of the ONNX model would have this name");
        checked = checked && name_index_add(&index, names[i], i, error);
    }
    name_index_free(&index);
    free(names);
    return checked;
}

/* Returns the name of the output. Classes are a vector, also of a network that ends with a pooling.
 */
static const char *export_output(struct onnx_exporter *ex)
{
    struct onnx_builder *out = &ex->out;
    const size_t last = ex->graph->output;
    const char *value = value_of(ex, last);
    if (ex->flat[last] || shape_area(ex->graph->nodes[last].output) > 1)
        return value;
    const char *name = onnx_text(out, "%s/flatten", ex->graph->nodes[last].name);
    onnx_set_int(out, onnx_add_node(out, "Flatten", name, name, 1, value), "axis", 1);
    ex->flat[last] = true;
    return name;
}

static Onnx__ValueInfo *describe(struct onnx_exporter *ex, size_t number, const char *name)
{
    const struct shape shape = ex->graph->nodes[number].output;
    const size_t dims[3] = {shape.channels, shape.height, shape.width};
    return onnx_describe_value(&ex->out, name, dims, ex->flat[number] ? 1 : 3);
}

/* --- the model --- */

/* Adds the head of the network file. */
static bool add_head(struct onnx_exporter *ex, const struct network *network, struct error *error)
{
    struct json *root = network_to_json(network);
    char *text = NULL;
    if (!root)
        return error_set_memory(error, "the network file", 0);
    json_remove(root, "layers");
    json_remove(root, "discriminator");
    json_remove(root, "input");
    json_remove(root, "input_quantized");
    text = json_print(root, false, error);
    json_free(root);
    if (text)
        onnx_add_metadata(&ex->out, ONNX_NETWORK_KEY, onnx_text(&ex->out, "%s", text));
    free(text);
    return text;
}

static bool add_metadata(struct onnx_exporter *ex, const struct network *network,
                         const struct safetensors *file, const char *record, struct error *error)
{
    static const char *const keys[] = {
        MODEL_PREPROCESSING_KEY, "tinca.normalisation", "tinca.mean",         "tinca.deviation",
        "tinca.stored",          "tinca.class_names",   "tinca.quantization", "tinca.parent"};
    if (!add_head(ex, network, error))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        onnx_add_metadata(&ex->out, keys[i], safetensors_metadata(file, keys[i]));
    onnx_add_metadata(&ex->out, MODEL_RECORD_KEY,
                      record ? record : safetensors_metadata(file, MODEL_RECORD_KEY));
    return true;
}

static bool write_model(const Onnx__Model *model, const char *path, struct error *error)
{
    struct output_file output;
    struct message_stream buffer = {.base = {.append = message_stream_append}};
    if (onnx__model__get_packed_size(model) > INT32_MAX)
        return error_set(error, ERROR_UNSUPPORTED, path, "add --save-precision bf16",
                         "the model has more than 2 GiB, which an ONNX file cannot have");
    if (!output_file_open(&output, path, OUTPUT_BINARY, error))
        return false;
    buffer.stream = output.stream;
    onnx__model__pack_to_buffer(model, &buffer.base);
    return output_file_commit(&output, error);
}

/* Packs the nodes as a model and writes it. */
static bool write_graph(struct onnx_exporter *ex, const char *name, const char *path,
                        struct error *error)
{
    struct onnx_builder *out = &ex->out;
    Onnx__Graph graph = ONNX__GRAPH__INIT;
    Onnx__Model model = ONNX__MODEL__INIT;
    Onnx__OperatorSet set = ONNX__OPERATOR_SET__INIT, *sets[] = {&set};
    const char *last = export_output(ex);
    Onnx__ValueInfo *input = describe(ex, 0, ex->graph->nodes[0].name);
    Onnx__ValueInfo *output = describe(ex, ex->graph->output, last);
    if (out->failed)
        return error_set_memory(error, "the ONNX model", 0);
    graph.name = (char *)name;
    graph.node = out->nodes;
    graph.n_node = out->node_count;
    graph.initializer = out->initializers;
    graph.n_initializer = out->initializer_count;
    graph.input = &input;
    graph.n_input = 1;
    graph.output = &output;
    graph.n_output = 1;
    set.domain = "";
    set.has_version = true;
    set.version = ex->opset;
    model.has_ir_version = true;
    model.ir_version = ex->opset == ONNX_OPSET ? 8 : 9;
    model.producer_name = "tinca";
    model.producer_version = PACKAGE_VERSION;
    model.graph = &graph;
    model.opset_import = sets;
    model.n_opset_import = 1;
    model.metadata_props = out->metadata;
    model.n_metadata_props = out->metadata_count;
    return check_names(out, error) && write_model(&model, path, error);
}

/* --- the export --- */

static bool export_graph(struct onnx_exporter *ex, const struct network *network,
                         struct error *error)
{
    const size_t nodes = network->graph.node_count;
    ex->graph = &network->graph;
    ex->opset = ONNX_OPSET;
    ex->wanted = memory_new(nodes, sizeof *ex->wanted, "the network", error);
    ex->flat = memory_new(nodes, sizeof *ex->flat, "the network", error);
    if (!ex->wanted || !ex->flat)
        return false;
    graph_mark_ancestors(ex->graph, ex->graph->output, ex->wanted);
    for (size_t i = 0; i < nodes; i++)
        if (ex->wanted[i])
            export_node(ex, i);
    return true;
}

/* Makes batch norms part of other layers, in place. */
static bool fold(struct model *model, struct error *error)
{
    struct weights folded;
    struct network *network = fold_batch_norm(model->network, &model->weights, &folded, error);
    if (!network)
        return false;
    weights_free(&model->weights);
    network_free(model->network);
    model->network = network;
    model->weights = folded;
    model->weights.graph = &network->graph;
    return true;
}

static bool export_model(const struct model_export *export, struct exporter_model *exported,
                         const char *path, struct exchange_report *report, struct error *error)
{
    struct model *model = &exported->model;
    struct onnx_exporter ex = {.weights = &model->weights,
                               .format = exported->format,
                               .signed_weights = export->signed_weights};
    char name[NETWORK_SHORT_NAME + 64];
    network_full_name(model->network, name, sizeof name);
    const bool done = export_graph(&ex, model->network, error) &&
                      add_metadata(&ex, model->network, &exported->file, export->record, error) &&
                      write_graph(&ex, name, path, error);
    exchange_tell(&report->result, _("%s: %zu nodes, operator set %lld\n"), path, ex.out.node_count,
                  (long long)ex.opset);
    if (ex.noise_left_out)
        exchange_tell(&report->notes,
                      _("tinca: %s: the noise that the network adds in inference (dropout) is left "
                        "out\n"),
                      path);
    onnx_builder_free(&ex.out);
    free(ex.wanted);
    free(ex.flat);
    return done;
}

/* Returns the bytes of weights that are written in fewer bits than 32. */
static uint64_t bytes_of_rounded(const struct network *network, const void *context)
{
    const struct exporter_model *exported = context;
    return exported->format != WEIGHTS_FLOAT32 || graph_is_quantized(&network->graph)
               ? network->graph.total_floats * sizeof(uint16_t)
               : 0;
}

bool onnx_export(const struct model_export *export, const char *path,
                 struct exchange_report *report, struct error *error)
{
    struct exporter_model exported;
    /* output_file.h collects what goes to a stream */
    const struct model_use use = {.copies = (size_t) export->fold + output_file_is_stream(path),
                                  .more = bytes_of_rounded,
                                  .context = &exported};
    if (!output_file_check(path, OUTPUT_BINARY, error))
        return false;
    const bool done = exporter_open(&exported, export, &use, error) &&
                      (!export->fold || fold(&exported.model, error)) &&
                      export_model(export, &exported, path, report, error);
    exporter_close(&exported);
    return done;
}
