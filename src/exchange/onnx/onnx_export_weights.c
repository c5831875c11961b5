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
#include "exchange/onnx/internal.h"

#include "base/float16.h"

#include <string.h>

static size_t type_size(enum onnx_type type)
{
    return type == ONNX_FLOAT                        ? sizeof(float)
           : type == ONNX_INT8 || type == ONNX_UINT8 ? 1
                                                     : sizeof(uint16_t);
}

static enum onnx_type stored_type(const struct onnx_exporter *exporter,
                                  const struct parameter *parameter)
{
    switch (weights_stored_type(exporter->weights, parameter, exporter->format)) {
    case SAFETENSORS_BF16:
        return ONNX_BF16;
    case SAFETENSORS_F16:
        return ONNX_FLOAT16;
    case SAFETENSORS_I8:
        return exporter->signed_weights ? ONNX_INT8 : ONNX_UINT8;
    default:
        return ONNX_FLOAT;
    }
}

/* Returns the values in 8 or 16 bits, or NULL. */
static void *round_values(struct onnx_exporter *exporter, const struct parameter *parameter,
                          enum onnx_type type)
{
    const float *values = exporter->weights->values + parameter->offset;
    const struct parameter *scale = graph_weight_scale(exporter->graph, parameter);
    const float *scales = scale ? exporter->weights->values + scale->offset : NULL;
    const size_t row = parameter->count / parameter->dims[0];
    void *rounded = onnx_memory(&exporter->out, parameter->count * type_size(type));
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
static void dequantize_weights(struct onnx_exporter *exporter, const struct parameter *parameter,
                               const char *integers, enum onnx_type type)
{
    struct onnx_builder *out = &exporter->out;
    const struct parameter *scale = graph_weight_scale(exporter->graph, parameter);
    const char *zero_point = onnx_text(out, "%s/zero_point", parameter->name);
    uint8_t *zeros = onnx_memory(out, scale->count);
    if (zeros && type == ONNX_UINT8)
        memset(zeros, ONNX_OFFSET, scale->count);
    onnx_add_tensor(out, scale->name, ONNX_FLOAT, scale->dims, 1,
                    exporter->weights->values + scale->offset, scale->count * sizeof(float));
    onnx_add_tensor(out, zero_point, type, scale->dims, 1, zeros, scale->count);
    Onnx__Node *node =
        onnx_add_node(out, "DequantizeLinear", onnx_text(out, "%s/dequantize", parameter->name),
                      parameter->name, 3, integers, scale->name, zero_point);
    onnx_set_int(out, node, "axis", 0);
}

const char *onnx_export_parameter(struct onnx_exporter *exporter, const struct node *node, size_t p)
{
    struct onnx_builder *out = &exporter->out;
    const struct parameter *parameter = &exporter->graph->parameters[node->parameters[p]];
    const enum onnx_type type = stored_type(exporter, parameter);
    const size_t bytes = parameter->count * type_size(type);
    if (type == ONNX_FLOAT)
        return onnx_add_tensor(out, parameter->name, type, parameter->dims, parameter->rank,
                               exporter->weights->values + parameter->offset, bytes);
    const char *stored = onnx_text(out, "%s/stored", parameter->name);
    onnx_add_tensor(out, stored, type, parameter->dims, parameter->rank,
                    round_values(exporter, parameter, type), bytes);
    if (type == ONNX_INT8 || type == ONNX_UINT8)
        dequantize_weights(exporter, parameter, stored, type);
    else
        onnx_set_int(out,
                     onnx_add_node(out, "Cast", onnx_text(out, "%s/cast", parameter->name),
                                   parameter->name, 1, stored),
                     "to", ONNX_FLOAT);
    return parameter->name;
}

void onnx_export_rounding(struct onnx_exporter *exporter, const char *name, const char *from,
                          const char *to, struct quantization quantization, const char *kind)
{
    struct onnx_builder *out = &exporter->out;
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
