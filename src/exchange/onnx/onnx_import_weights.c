/* Layers with weights. An array that has been dequantized keeps its scales, if they are those of
 * the outputs: then the layer's weights are integers in tinca, too. A convolution of each channel
 * by itself whose kernels are those of a channel shift is one. */
#include "exchange/onnx/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <math.h>
#include <string.h>

/* Returns input `k` if it is a constant of real numbers. */
static struct onnx_value *floats_input(struct onnx_importer *im, const Onnx__Node *node, size_t k,
                                       size_t rank)
{
    struct onnx_value *value = onnx_input(im, node, k);
    return value && value->kind == ONNX_FLOATS && value->rank == rank ? value : NULL;
}

/* Counts the formats in which weights are stored. */
static void count_format(struct onnx_importer *im, const struct onnx_value *weight)
{
    if (weight)
        im->half[weight->type == ONNX_BF16 ? 1 : weight->type == ONNX_FLOAT16 ? 2 : 0]++;
}

/* Returns the scales of `outputs` outputs along an axis, or NULL if the weights have others. */
static const float *scales_of(struct onnx_importer *im, const struct onnx_value *weight,
                              size_t axis, size_t outputs)
{
    if (!weight->scales ||
        (weight->scale_count > 1 && (weight->scale_axis != axis || weight->scale_count != outputs)))
        return NULL;
    if (weight->scale_count == outputs)
        return weight->scales;
    float *all = onnx_import_memory(im, outputs, sizeof *all);
    for (size_t i = 0; all && i < outputs; i++)
        all[i] = weight->scales[0];
    return all;
}

/* Adds a layer like onnx_add_layer, whose first parameter may be an array that is in its file. */
static bool add_weighted(struct onnx_importer *im, const Onnx__Node *node,
                         const struct onnx_value *weight, const struct op *op,
                         const struct onnx_value *input, const union attributes *attributes,
                         const float *const *data, const struct onnx_source *source)
{
    if (!onnx_add_layer(im, node, weight->name, op, &input, 1, attributes, data))
        return false;
    const struct node *made = &im->graph.nodes[im->graph.node_count - 1];
    if (weight->stored)
        im->sources[made->parameters[0]] = *source;
    return true;
}

/* Reads an optional bias. Returns false if the input is something else. */
static bool read_bias(struct onnx_importer *im, const Onnx__Node *node, size_t outputs,
                      const struct onnx_value **bias)
{
    const struct onnx_value *value = onnx_input(im, node, 2);
    *bias = value;
    return !value || (value->kind == ONNX_FLOATS && value->count == outputs);
}

/* --- convolutions --- */

static bool is_shift(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *weight,
                     const struct conv_attributes *conv, size_t channels)
{
    const struct window *w = &conv->window;
    float *kernels = NULL;
    if (strcmp(node->op_type, "Conv") != 0 || channels < 9 || conv->groups != channels ||
        conv->bias || weight->dims[0] != channels || weight->dims[2] != 3 || weight->dims[3] != 3 ||
        w->stride_height != 1 || w->stride_width != 1 || w->pad_height != 1 || w->pad_width != 1 ||
        conv->dilation_height > 1 || conv->dilation_width > 1 ||
        !(kernels = onnx_import_memory(im, channels * 9, sizeof *kernels)) ||
        !onnx_load(im, weight))
        return false;
    onnx_shift_kernels(channels, kernels);
    return memcmp(kernels, weight->floats, channels * 9 * sizeof *kernels) == 0;
}

/* Reads the attributes of a convolution. Returns false with a reason. */
static bool read_conv(struct onnx_importer *im, const Onnx__Node *node,
                      const struct onnx_value *weight, struct shape shape, bool transposed,
                      struct conv_attributes *conv, const char **why)
{
    size_t count, dilation[2] = {1, 1};
    const int64_t groups = onnx_get_int(node, "group", 1);
    const int64_t *given = onnx_get_list(im, node, "dilations", SIZE_MAX, &count);
    *why = N_("it is no convolution of images");
    if (groups < 1 || groups > 1 << 24 || (given && count != 2))
        return false;
    for (size_t i = 0; i < 2 && given; i++) {
        if (given[i] < 1 || given[i] > 65536)
            return false;
        dilation[i] = (size_t)given[i];
    }
    conv->groups = (size_t)groups;
    conv->weight_init = (struct initialiser){INITIALISE_HE, 0};
    conv->outputs = transposed ? weight->dims[1] * conv->groups : weight->dims[0];
    conv->dilation_height = dilation[0];
    conv->dilation_width = dilation[1];
    const Onnx__Attribute *more = onnx_attribute(node, "output_padding");
    for (size_t i = 0; more && i < more->n_ints; i++)
        if (more->ints[i] != 0) {
            *why = N_("tinca has no output_padding");
            return false;
        }
    if (transposed &&
        (dilation[0] > 1 || dilation[1] > 1 || onnx_attribute(node, "output_shape"))) {
        *why = N_("tinca's transposed convolution has neither dilation nor output_shape");
        return false;
    }
    return onnx_read_window(node, &weight->dims[2], shape, transposed ? NULL : dilation,
                            &conv->window, NULL, why);
}

bool onnx_import_conv(struct onnx_importer *im, const Onnx__Node *node)
{
    const bool transposed = strcmp(node->op_type, "ConvTranspose") == 0;
    const char *why = N_("an input is missing");
    struct onnx_value *input = onnx_input(im, node, 0);
    struct onnx_value *weight = floats_input(im, node, 1, 4);
    const struct onnx_value *bias;
    union attributes attributes = {0};
    struct conv_attributes *conv = &attributes.conv;
    if (!input || !onnx_settle(im, input, false, &why))
        return !im->failed && onnx_lacks(im, node, why);
    if (!weight || input->rank != 4)
        return !im->failed &&
               onnx_lacks(im, node,
                          N_("weights that are not constant, or no convolution of images"));
    const struct shape shape = im->graph.nodes[input->node].output;
    if (!read_conv(im, node, weight, shape, transposed, conv, &why))
        return onnx_lacks(im, node, why);
    if (weight->dims[transposed ? 0 : 1] !=
        (transposed ? shape.channels : shape.channels / conv->groups))
        return onnx_damaged(im, weight->name, N_("the weights do not fit the input's channels"));
    if (!read_bias(im, node, conv->outputs, &bias))
        return onnx_damaged(im, weight->name, N_("the bias does not fit the weights"));
    conv->bias = bias;
    if (is_shift(im, node, weight, conv, shape.channels))
        return onnx_add_layer(im, node, NULL, &op_channel_shift,
                              (const struct onnx_value *const[]){input}, 1, NULL, NULL);
    const float *scales = transposed ? NULL : scales_of(im, weight, 0, conv->outputs);
    const float *data[4] = {weight->floats, bias ? bias->floats : scales, scales, NULL};
    conv->int8_weights = scales;
    if (!scales) {
        count_format(im, weight);
        count_format(im, bias);
    }
    return add_weighted(im, node, weight, transposed ? &op_conv_transpose : &op_conv, input,
                        &attributes, data, &(struct onnx_source){.stored = weight, .factor = 1});
}

/* --- linear layers --- */

/* Returns the weights with the outputs as rows: transposed, if they are not. */
static const float *rows_of(struct onnx_importer *im, const struct onnx_value *weight,
                            bool transposed, float factor)
{
    const size_t outputs = weight->dims[transposed ? 0 : 1], inputs = weight->dims[transposed];
    if (transposed && factor == 1)
        return weight->floats;
    float *rows = onnx_import_memory(im, weight->count, sizeof *rows);
    for (size_t o = 0; rows && o < outputs; o++)
        for (size_t i = 0; i < inputs; i++)
            rows[o * inputs + i] =
                factor * weight->floats[transposed ? o * inputs + i : i * outputs + o];
    return rows;
}

bool onnx_import_gemm(struct onnx_importer *im, const Onnx__Node *node)
{
    const bool gemm = strcmp(node->op_type, "Gemm") == 0;
    const bool transposed = gemm && onnx_get_int(node, "transB", 0);
    const float alpha = gemm ? onnx_get_float(node, "alpha", 1) : 1;
    const char *why = N_("an input is missing");
    struct onnx_value *input = onnx_input(im, node, 0);
    const struct onnx_value *weight = floats_input(im, node, 1, 2), *bias = NULL;
    if (!input || !onnx_settle(im, input, true, &why))
        return !im->failed && onnx_lacks(im, node, why);
    if (!weight || input->rank != 2 || onnx_get_int(node, "transA", 0) ||
        (gemm && onnx_input(im, node, 2) && onnx_get_float(node, "beta", 1) != 1))
        return !im->failed &&
               onnx_lacks(im, node, N_("a product that is no linear layer with constant weights"));
    const size_t outputs = weight->dims[!transposed], inputs = weight->dims[transposed];
    if (inputs != input->dims[1])
        return onnx_damaged(im, weight->name, N_("the weights do not fit the input's channels"));
    if (gemm && !read_bias(im, node, outputs, &bias))
        return onnx_lacks(im, node, N_("a bias that is not constant, or not one for each output"));
    const float *rows = weight->stored ? NULL : rows_of(im, weight, transposed, alpha);
    const float *scales = alpha == 1 ? scales_of(im, weight, !transposed, outputs) : NULL;
    const float *data[4] = {rows, bias ? bias->floats : scales, scales, NULL};
    const union attributes attributes = {.linear = {.outputs = outputs,
                                                    .bias = bias,
                                                    .weight_init = {INITIALISE_HE, 0},
                                                    .int8_weights = scales}};
    const struct onnx_source source = {
        .stored = weight, .transposed = !transposed, .factor = alpha};
    if (!rows && !weight->stored)
        return false;
    if (!scales) {
        count_format(im, weight);
        count_format(im, bias);
    }
    return add_weighted(im, node, weight, &op_linear, input, &attributes, data, &source);
}

/* --- one value for each channel --- */

bool onnx_import_norm(struct onnx_importer *im, const Onnx__Node *node)
{
    const bool instance = strcmp(node->op_type, "InstanceNormalization") == 0;
    const char *why = N_("an input is missing");
    struct onnx_value *input = onnx_input(im, node, 0);
    const float *data[4] = {NULL};
    const char *name = NULL;
    if (!input || !onnx_settle(im, input, false, &why))
        return !im->failed && onnx_lacks(im, node, why);
    if (onnx_get_int(node, "training_mode", 0))
        return onnx_lacks(im, node, N_("a batch norm that is in training"));
    for (size_t p = 0; p < (instance ? 2 : 4); p++) {
        const struct onnx_value *value = floats_input(im, node, p + 1, 1);
        if (!value || value->count != input->dims[1])
            return !im->failed &&
                   onnx_lacks(im, node, N_("it needs constants, one for each channel"));
        data[p] = value->floats;
        name = p == 0 ? value->name : name;
        if (p < 2)
            count_format(im, value);
    }
    /* 0.9f stands for 0.1, not for 1 - 0.9f */
    const double share = 1 - (double)onnx_get_float(node, "momentum", 0.9f);
    const union attributes attributes = {
        .batch_norm = {.epsilon = onnx_get_float(node, "epsilon", 1e-5f),
                       .momentum = (float)(round(share * 1e6) / 1e6),
                       .instance = instance}};
    return onnx_add_layer(im, node, name, &op_batch_norm, (const struct onnx_value *const[]){input},
                          1, &attributes, data);
}

/* Returns whether a constant has one value for each channel of a value of this rank, or one for
 * all. */
static bool fits_channels(const struct onnx_value *constant, const struct onnx_value *value)
{
    const size_t channels = value->dims[1];
    const size_t place = constant->rank + 1 > value->rank ? constant->rank + 1 - value->rank : 0;
    if (constant->count == 1)
        return true;
    return constant->count == channels && constant->rank + 1 >= value->rank &&
           constant->rank <= value->rank && constant->dims[place] == channels;
}

/* Returns one value for each channel. */
static const float *spread(struct onnx_importer *im, const struct onnx_value *constant,
                           size_t channels, float otherwise)
{
    float *values = onnx_import_memory(im, channels, sizeof *values);
    for (size_t c = 0; values && c < channels; c++)
        values[c] = constant ? constant->floats[constant->count == 1 ? 0 : c] : otherwise;
    return values;
}

bool onnx_import_prelu(struct onnx_importer *im, const Onnx__Node *node)
{
    const char *why = N_("an input is missing");
    struct onnx_value *input = onnx_input(im, node, 0);
    const struct onnx_value *slope = onnx_input(im, node, 1);
    if (!input || !onnx_settle(im, input, false, &why))
        return !im->failed && onnx_lacks(im, node, why);
    if (!slope || slope->kind != ONNX_FLOATS || !fits_channels(slope, input))
        return !im->failed && onnx_lacks(im, node, N_("it needs constants, one for each channel"));
    const float *data[4] = {spread(im, slope, input->dims[1], 0)};
    const union attributes attributes = {.prelu = {.slope = 0.25f}};
    if (!data[0])
        return false;
    count_format(im, slope);
    return onnx_add_layer(im, node, NULL, &op_prelu, (const struct onnx_value *const[]){input}, 1,
                          &attributes, data);
}

bool onnx_import_line(struct onnx_importer *im, const Onnx__Node *node, struct onnx_value *input,
                      const struct onnx_value *factor, const struct onnx_value *term)
{
    const char *why;
    if (!onnx_settle(im, input, false, &why))
        return !im->failed && onnx_lacks(im, node, why);
    const size_t channels = input->dims[1];
    if ((factor && !fits_channels(factor, input)) || (term && !fits_channels(term, input)))
        return onnx_lacks(im, node, N_("it needs constants, one for each channel"));
    const float *data[4] = {spread(im, factor, channels, 1), spread(im, term, channels, 0)};
    const union attributes attributes = {.conv = {.window = {1, 1, 1, 1, 0, 0},
                                                  .outputs = channels,
                                                  .groups = channels,
                                                  .dilation_height = 1,
                                                  .dilation_width = 1,
                                                  .bias = true}};
    if (!data[0] || !data[1])
        return false;
    return onnx_add_layer(im, node, NULL, &op_conv, (const struct onnx_value *const[]){input}, 1,
                          &attributes, data);
}
