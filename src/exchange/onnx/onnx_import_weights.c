/* Layers with weights. An array that has been dequantized keeps its scales, if they are those of
 * the outputs: then the layer's weights are integers in tinca, too. A convolution of each channel
 * by itself whose kernels are those of a channel shift is one. */
#include "exchange/onnx/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"
#include "engine/ops/rules.h"

#include <math.h>
#include <string.h>

/* --- windows and pooling --- */

/* Windows. tinca pads both sides of an image alike. Padding of the far side that differs is the
 * same if as many windows fit, or if it is what ceil mode adds. */

/* The window along one axis. */
struct side {
    size_t size, kernel, stride, before, after; /* kernel: with dilation */
    bool ceil;
};

/* Reads number `i` of a list of `count` values of 0 to 65536. */
static bool read_side(const Onnx__Attribute *list, size_t count, size_t i, size_t *value)
{
    if (!list)
        return true;
    if (list->n_ints != count || list->ints[i] < 0 || list->ints[i] > 65536)
        return false;
    *value = (size_t)list->ints[i];
    return true;
}

/* Sets the padding that keeps size / stride outputs. */
static void pad_same(struct side *side, bool upper)
{
    const size_t outputs = (side->size + side->stride - 1) / side->stride;
    const size_t covered = (outputs - 1) * side->stride + side->kernel;
    const size_t pads = covered > side->size ? covered - side->size : 0;
    side->before = upper ? pads / 2 : pads - pads / 2;
    side->after = pads - side->before;
}

/* Sets what tinca needs in place of two paddings: ceil mode or not. Returns false if nothing does.
 */
static bool make_even(struct side *side, bool pool)
{
    const size_t reach = side->size + side->before + side->after;
    const size_t outputs = reach < side->kernel ? 0 : (reach - side->kernel) / side->stride + 1;
    const size_t same = window_output(side->size, side->kernel, side->stride, side->before, false);
    const size_t more = window_output(side->size, side->kernel, side->stride, side->before, true);
    if (side->before == side->after)
        return true;
    if (side->ceil)
        return false;
    side->ceil = same != outputs && more == outputs;
    return outputs > 0 && (same == outputs || (pool && side->ceil));
}

/* Reads kernel, strides and padding, for an image of this size. Returns false with a reason if
 * tinca has no such window; *ceil is NULL for convolutions. */
static bool onnx_read_window(const Onnx__Node *node, const size_t *kernel, struct shape shape,
                             const size_t *dilation, struct window *window, bool *ceil,
                             const char **why)
{
    const Onnx__Attribute *strides = onnx_attribute(node, "strides");
    const Onnx__Attribute *pads = onnx_attribute(node, "pads");
    const bool upper = onnx_get_is(node, "auto_pad", "SAME_UPPER");
    const bool same = upper || onnx_get_is(node, "auto_pad", "SAME_LOWER");
    const bool transposed = !dilation && !ceil;
    struct side sides[2];
    *why = N_("a window that tinca does not know");
    for (size_t i = 0; i < 2; i++) {
        struct side *side = &sides[i];
        *side = (struct side){.size = i == 0 ? shape.height : shape.width,
                              .kernel = kernel[i],
                              .stride = 1,
                              .ceil = ceil && *ceil};
        if (kernel[i] < 1 || kernel[i] > 65536 || !read_side(strides, 2, i, &side->stride) ||
            side->stride < 1 || !read_side(pads, 4, i, &side->before) ||
            !read_side(pads, 4, i + 2, &side->after) || (same && (pads || transposed)))
            return false;
        side->kernel = dilated_size(side->kernel, dilation ? dilation[i] : 1);
        if (same)
            pad_same(side, upper);
        *why = N_("its padding is not the same on both sides");
        if (transposed ? side->before != side->after : !make_even(side, ceil))
            return false;
    }
    if (ceil && sides[0].ceil != sides[1].ceil) { /* ceil mode adds nothing along one axis */
        const struct side *one = &sides[sides[0].ceil ? 1 : 0];
        if (window_output(one->size, one->kernel, one->stride, one->before, false) !=
            window_output(one->size, one->kernel, one->stride, one->before, true))
            return false;
    }
    if (ceil)
        *ceil = sides[0].ceil || sides[1].ceil;
    *window = (struct window){kernel[0],       kernel[1],       sides[0].stride,
                              sides[1].stride, sides[0].before, sides[1].before};
    return true;
}

/* --- the mean of squares of a local response normalisation --- */

/* Takes the means over windows of channels of values [batch, 1, channels + size - 1, ...]. */
static bool import_squares(struct onnx_importer *im, const Onnx__Node *node,
                           const struct onnx_value *in)
{
    const Onnx__Attribute *kernel = onnx_attribute(node, "kernel_shape");
    const struct shape shape = im->base.graph.nodes[in->node].output;
    const size_t size =
        kernel && kernel->n_ints > 0 && kernel->ints[0] > 0 && kernel->ints[0] < 1024
            ? (size_t)kernel->ints[0]
            : 0;
    const size_t area = shape_area(shape), padded = shape.channels + size - 1;
    const size_t dims[5] = {im->batch, 1, shape.channels, shape.height, shape.width};
    bool fits = in->integers && in->rank == 5 && in->dims[1] == 1 && size % 2 == 1 &&
                in->count == im->batch * padded * area && in->dims[2] == padded &&
                in->dims[0] == im->batch;
    for (size_t i = 1; kernel && i < kernel->n_ints; i++)
        fits &= kernel->ints[i] == 1;
    const Onnx__Attribute *pads = onnx_attribute(node, "pads");
    const Onnx__Attribute *strides = onnx_attribute(node, "strides");
    for (size_t i = 0; pads && i < pads->n_ints; i++)
        fits &= pads->ints[i] == 0;
    for (size_t i = 0; strides && i < strides->n_ints; i++)
        fits &= strides->ints[i] == 1;
    for (size_t at = 0; fits && at < in->count; at++) {
        const size_t c = at / area % padded, image = at / area / padded;
        const bool inside = c >= size / 2 && c - size / 2 < shape.channels;
        fits =
            in->integers[at] ==
            (inside ? (int64_t)((image * shape.channels + c - size / 2) * area + at % area) : -1);
    }
    if (!fits)
        return onnx_lacks(im, node, N_("means that are no part of a local response normalisation"));
    struct onnx_value *out = onnx_output(im, node);
    onnx_set_alias(out, in);
    out->integers = NULL;
    out->meaning = ONNX_MEANS;
    out->lrn = (struct lrn_attributes){.size = size, .alpha = 1};
    return onnx_set_shape(im, out, dims, 5);
}

/* --- pooling --- */

static bool add_pool(struct onnx_importer *im, const Onnx__Node *node,
                     const struct onnx_value *input, bool mean, const union attributes *attributes)
{
    return onnx_add_layer(im, node, NULL, mean ? &op_average_pool : &op_max_pool,
                          (const struct onnx_value *const[]){input}, 1, attributes, NULL);
}

/* Takes the padding that stands before an average pooling back: returns whether the value is an
 * image of a node with zeros around it, alike on both sides. */
static bool unpad(const struct onnx_importer *im, struct onnx_value *value, size_t *high,
                  size_t *wide)
{
    const struct shape shape = im->base.graph.nodes[value->node].output;
    if (value->rank != 4 || !value->integers || value->dims[1] != shape.channels ||
        value->dims[2] < shape.height || value->dims[3] < shape.width)
        return false;
    *high = (value->dims[2] - shape.height) / 2;
    *wide = (value->dims[3] - shape.width) / 2;
    if (shape.height + 2 * *high != value->dims[2] || shape.width + 2 * *wide != value->dims[3])
        return false;
    for (size_t at = 0; at < value->count; at++) {
        const size_t x = at % value->dims[3], y = at / value->dims[3] % value->dims[2];
        const size_t plane = at / value->dims[3] / value->dims[2];
        const bool inside =
            y >= *high && y - *high < shape.height && x >= *wide && x - *wide < shape.width;
        const int64_t from =
            inside ? (int64_t)((plane * shape.height + y - *high) * shape.width + x - *wide) : -1;
        if (value->integers[at] != from)
            return false;
    }
    return true;
}

/* Returns whether a mean counts padding as tinca does: that of the window, but not what ceil mode
 * adds. */
static bool counts_alike(const Onnx__Node *node, const struct pool_attributes *pool)
{
    const bool padded = pool->window.pad_height > 0 || pool->window.pad_width > 0;
    const bool counts = onnx_get_int(node, "count_include_pad", 0);
    const bool explicit_ceil = pool->ceil_mode && !onnx_get_int(node, "ceil_mode", 0);
    return explicit_ceil ? !counts && !padded : counts || !padded;
}

bool onnx_import_pool(struct onnx_importer *im, const Onnx__Node *node)
{
    const bool global = strncmp(node->op_type, "Global", 6) == 0;
    const bool mean = strstr(node->op_type, "Average") != NULL;
    const char *why;
    struct onnx_value *input = onnx_input(im, node, 0);
    union attributes attributes = {.pool = {.global = global}};
    struct pool_attributes *pool = &attributes.pool;
    size_t high = 0, wide = 0;
    if (input && input->kind == ONNX_LAYER && input->meaning == ONNX_SQUARES && mean && !global)
        return import_squares(im, node, input);
    const bool apart = input && input->kind == ONNX_LAYER && input->meaning == ONNX_PLAIN && mean &&
                       !global && unpad(im, input, &high, &wide);
    if (!apart && !onnx_layer_input(im, node, 0, false))
        return false;
    const Onnx__Attribute *kernel = onnx_attribute(node, "kernel_shape");
    const Onnx__Attribute *dilations = onnx_attribute(node, "dilations");
    if (input->rank != 4 || (!global && (!kernel || kernel->n_ints != 2)) || node->n_output > 1)
        return onnx_lacks(im, node, N_("it is no pooling of images"));
    for (size_t i = 0; dilations && i < dilations->n_ints; i++)
        if (dilations->ints[i] != 1)
            return onnx_lacks(im, node, N_("tinca's pooling has no dilation"));
    if (global)
        return add_pool(im, node, input, mean, &attributes);
    const size_t sizes[2] = {(size_t)kernel->ints[0], (size_t)kernel->ints[1]};
    struct shape shape = im->base.graph.nodes[input->node].output;
    shape.height += 2 * high;
    shape.width += 2 * wide;
    pool->ceil_mode = onnx_get_int(node, "ceil_mode", 0);
    if (kernel->ints[0] < 1 || kernel->ints[1] < 1 ||
        !onnx_read_window(node, sizes, shape, NULL, &pool->window, &pool->ceil_mode, &why))
        return onnx_lacks(im, node, why);
    if (mean && !counts_alike(node, pool))
        return onnx_lacks(im, node, N_("a mean that does not count padding"));
    pool->window.pad_height += high;
    pool->window.pad_width += wide;
    return add_pool(im, node, input, mean, &attributes);
}

bool onnx_import_mean(struct onnx_importer *im, const Onnx__Node *node)
{
    struct onnx_value *input = onnx_layer_input(im, node, 0, false), *out = onnx_output(im, node);
    const union attributes attributes = {.pool = {.global = true}};
    size_t count;
    bool seen[4] = {false};
    if (!input || !out)
        return false;
    const int64_t *axes = onnx_get_list(im, node, "axes", 1, &count);
    for (size_t i = 0; axes && i < count && input->rank == 4; i++)
        if (axes[i] >= -4 && axes[i] < 4)
            seen[(axes[i] + 4) % 4] = true;
    if (count != 2 || !seen[2] || !seen[3])
        return onnx_lacks(im, node, N_("a mean of something else than the positions of an image"));
    if (!add_pool(im, node, input, true, &attributes) || onnx_get_int(node, "keepdims", 1))
        return true;
    return onnx_set_shape(im, out, (const size_t[]){im->batch, out->dims[1]}, 2);
}

/* --- layers with weights --- */

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
    const struct node *made = &im->base.graph.nodes[im->base.graph.node_count - 1];
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
    const char *why;
    struct onnx_value *input = onnx_layer_input(im, node, 0, false);
    struct onnx_value *weight = floats_input(im, node, 1, 4);
    const struct onnx_value *bias;
    union attributes attributes = {0};
    struct conv_attributes *conv = &attributes.conv;
    if (!input)
        return false;
    if (!weight || input->rank != 4)
        return !im->base.failed &&
               onnx_lacks(im, node,
                          N_("weights that are not constant, or no convolution of images"));
    const struct shape shape = im->base.graph.nodes[input->node].output;
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
    struct onnx_value *input = onnx_layer_input(im, node, 0, true);
    const struct onnx_value *weight = floats_input(im, node, 1, 2), *bias = NULL;
    if (!input)
        return false;
    if (!weight || input->rank != 2 || onnx_get_int(node, "transA", 0) ||
        (gemm && onnx_input(im, node, 2) && onnx_get_float(node, "beta", 1) != 1))
        return !im->base.failed &&
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
    struct onnx_value *input = onnx_layer_input(im, node, 0, false);
    const float *data[4] = {NULL};
    const char *name = NULL;
    if (!input)
        return false;
    if (onnx_get_int(node, "training_mode", 0))
        return onnx_lacks(im, node, N_("a batch norm that is in training"));
    for (size_t p = 0; p < (instance ? 2 : 4); p++) {
        const struct onnx_value *value = floats_input(im, node, p + 1, 1);
        if (!value || value->count != input->dims[1])
            return !im->base.failed &&
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
    struct onnx_value *input = onnx_layer_input(im, node, 0, false);
    const struct onnx_value *slope = onnx_input(im, node, 1);
    if (!input)
        return false;
    if (!slope || slope->kind != ONNX_FLOATS || !fits_channels(slope, input))
        return !im->base.failed &&
               onnx_lacks(im, node, N_("it needs constants, one for each channel"));
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
        return !im->base.failed && onnx_lacks(im, node, why);
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

/* --- channel shifts --- */

/* The channel's offset is (k / 3 - 1, k % 3 - 1), and output[y] = input[y - offset]: the kernel's
 * element that is 1 lies opposite. */
void onnx_shift_kernels(size_t channels, float *kernels)
{
    const size_t group = channels / 9;
    memset(kernels, 0, channels * 9 * sizeof *kernels);
    for (size_t c = 0; c < channels; c++)
        kernels[c * 9 + (c < 9 * group ? 8 - c / group : 4)] = 1;
}
