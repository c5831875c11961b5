/* A window that reaches beyond the far padding, in ceil mode, becomes padding of that side: then
 * every runtime computes the same, whatever it makes of ONNX's ceil_mode. The maximum ignores
 * padding. A mean divides by the elements inside the image and its padding, not by those beyond
 * (average_pool.c): there the padding proper is a Pad of zeros before. */
#include "exchange/onnx/internal.h"

#include "engine/ops/op.h"

static void set_window(struct onnx_exporter *exporter, Onnx__Node *to, const struct window *w,
                       const int64_t *pads)
{
    struct onnx_builder *out = &exporter->out;
    const int64_t kernel[2] = {(int64_t)w->kernel_height, (int64_t)w->kernel_width};
    const int64_t strides[2] = {(int64_t)w->stride_height, (int64_t)w->stride_width};
    onnx_set_ints(out, to, "kernel_shape", kernel, 2);
    onnx_set_ints(out, to, "pads", pads, 4);
    onnx_set_ints(out, to, "strides", strides, 2);
}

void onnx_export_conv(struct onnx_exporter *exporter, const struct node *node, const char *input,
                      const char *output)
{
    struct onnx_builder *out = &exporter->out;
    const struct conv_attributes *conv = &node->attributes.conv;
    const int64_t high = (int64_t)conv->window.pad_height, wide = (int64_t)conv->window.pad_width;
    const int64_t dilations[2] = {(int64_t)conv->dilation_height, (int64_t)conv->dilation_width};
    const char *inputs[3] = {input, onnx_export_parameter(exporter, node, 0),
                             conv->bias ? onnx_export_parameter(exporter, node, 1) : NULL};
    Onnx__Node *to = onnx_add_node_of(out, node->op == &op_conv ? "Conv" : "ConvTranspose",
                                      node->name, output, inputs, conv->bias ? 3 : 2);
    onnx_set_ints(out, to, "dilations", dilations, 2);
    onnx_set_int(out, to, "group", (int64_t)conv->groups);
    set_window(exporter, to, &conv->window, (const int64_t[]){high, wide, high, wide});
}

/* Returns by how much the last window reaches beyond the far padding. */
static size_t overhang(size_t size, size_t kernel, size_t stride, size_t pad, size_t outputs)
{
    const size_t end = (outputs - 1) * stride + kernel;
    return end > size + 2 * pad ? end - size - 2 * pad : 0;
}

/* Appends the padding of an average pooling as a node of its own; returns its value. */
static const char *pad_image(struct onnx_exporter *exporter, const struct node *node,
                             const char *input)
{
    struct onnx_builder *out = &exporter->out;
    const struct window *w = &node->attributes.pool.window;
    const int64_t high = (int64_t)w->pad_height, wide = (int64_t)w->pad_width;
    const int64_t pads[8] = {0, 0, high, wide, 0, 0, high, wide};
    const char *name = onnx_text(out, "%s/pad", node->name);
    const char *sides = onnx_add_integers(out, onnx_text(out, "%s/pads", node->name), pads, 8);
    onnx_add_node(out, "Pad", name, name, 2, input, sides);
    return name;
}

void onnx_export_pool(struct onnx_exporter *exporter, const struct node *node, struct shape shape,
                      const char *input, const char *output)
{
    struct onnx_builder *out = &exporter->out;
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
        input = pad_image(exporter, node, input);
        pads[0] = pads[1] = 0;
        pads[2] = (int64_t)below;
        pads[3] = (int64_t)right;
    }
    Onnx__Node *to =
        onnx_add_node(out, mean ? "AveragePool" : "MaxPool", node->name, output, 1, input);
    if (mean)
        onnx_set_int(out, to, "count_include_pad", padded && !apart);
    set_window(exporter, to, w, pads);
}

/* The kernels are integers if what they read are: then a runtime moves integers. */
void onnx_export_shift(struct onnx_exporter *exporter, const struct node *node, const char *input,
                       const char *output)
{
    static const struct window window = {3, 3, 1, 1, 1, 1};
    struct onnx_builder *out = &exporter->out;
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
    set_window(exporter, to, &window, (const int64_t[]){1, 1, 1, 1});
}
