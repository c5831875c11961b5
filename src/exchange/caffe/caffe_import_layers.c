/* Convolutions and pooling. Caffe gives a window's sizes once for both axes, once for each, or as
 * *_h and *_w. */
#include "exchange/caffe/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <string.h>

/* Reads how an array begins. Without a filler weights begin as He et al. propose, and a bias with
 * 0. */
static struct initialiser caffe_get_filler(struct caffe_importer *im,
                                           const struct caffe_field *param, const char *name,
                                           bool bias)
{
    const struct caffe_field *filler = caffe_first(param, name);
    const char *type = caffe_text(filler, "type", "constant");
    const char *norm = caffe_text(filler, "variance_norm", "FAN_IN");
    const bool fan_in = strcmp(norm, "FAN_IN") == 0 || strcmp(norm, "0") == 0;
    const struct initialiser usual = {bias ? INITIALISE_CONSTANT : INITIALISE_HE, 0};
    if (!filler)
        return usual;
    if (strcmp(type, "constant") == 0)
        return (struct initialiser){INITIALISE_CONSTANT, caffe_get_float(im, filler, "value", 0)};
    if (strcmp(type, "gaussian") == 0 && caffe_get_float(im, filler, "mean", 0) == 0 &&
        caffe_get_float(im, filler, "std", 1) >= 0)
        return (struct initialiser){INITIALISE_GAUSSIAN, caffe_get_float(im, filler, "std", 1)};
    if (strcmp(type, "xavier") == 0 && fan_in)
        return (struct initialiser){INITIALISE_XAVIER, 0};
    if (strcmp(type, "msra") == 0 && fan_in)
        return (struct initialiser){INITIALISE_HE, 0};
    if (!im->model) /* with weights it does not matter how they began */
        caffe_damaged(im, filler, name,
                      N_("tinca has the fillers constant, gaussian (mean 0), xavier and msra "
                         "(FAN_IN); or give the weights"));
    return usual;
}

/* Reads the sizes of both axes: `name` once or twice, or the fields `high` and `wide`. */
static void read_sides(struct caffe_importer *im, const struct caffe_field *param, const char *name,
                       const char *high, const char *wide, size_t low, size_t sides[2])
{
    const size_t count = caffe_count(param, name), otherwise = low;
    if (count > 2)
        caffe_damaged(im, param, name, N_("tinca computes images, with two sizes"));
    for (size_t i = 0; i < 2; i++) {
        const struct caffe_field *field = caffe_nth(param, name, count == 2 ? i : 0);
        sides[i] = otherwise;
        if (field &&
            (!caffe_read_count(field, &sides[i]) || sides[i] < low || sides[i] > CAFFE_MAX_SIDE))
            caffe_damaged(im, field, name, N_("the number is none that can be used here"));
    }
    if (high) {
        sides[0] = caffe_get_count(im, param, high, sides[0], low, CAFFE_MAX_SIDE);
        sides[1] = caffe_get_count(im, param, wide, sides[1], low, CAFFE_MAX_SIDE);
    }
}

static bool read_window(struct caffe_importer *im, const struct caffe_field *layer,
                        const struct caffe_field *param, struct window *window)
{
    size_t kernel[2], stride[2], pad[2];
    read_sides(im, param, "kernel_size", "kernel_h", "kernel_w", 1, kernel);
    read_sides(im, param, "stride", "stride_h", "stride_w", 1, stride);
    read_sides(im, param, "pad", "pad_h", "pad_w", 0, pad);
    *window = (struct window){kernel[0], kernel[1], stride[0], stride[1], pad[0], pad[1]};
    if (!caffe_first(param, "kernel_size") &&
        !(caffe_first(param, "kernel_h") && caffe_first(param, "kernel_w")))
        return caffe_damaged(im, layer, caffe_layer_name(layer), N_("it has no kernel_size"));
    return !im->base.failed;
}

/* --- convolutions --- */

static bool caffe_import_conv(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "convolution_param");
    const char *type = caffe_text(layer, "type", "");
    const bool transposed =
        strcmp(type, "Deconvolution") == 0 || strcmp(type, "DECONVOLUTION") == 0;
    union attributes attributes = {0};
    struct conv_attributes *conv = &attributes.conv;
    size_t input, dilation[2], added;
    if (caffe_other_axis(param, "axis", 1))
        return caffe_lacks(im, layer, N_("a convolution along another axis than the channels"));
    if (!caffe_input(im, layer, 0, &input) || !read_window(im, layer, param, &conv->window))
        return false;
    if (caffe_nth(layer, "bottom", 1))
        return caffe_lacks(im, layer, N_("one convolution of several inputs"));
    read_sides(im, param, "dilation", NULL, NULL, 1, dilation);
    if (transposed && (dilation[0] > 1 || dilation[1] > 1))
        return caffe_lacks(im, layer, N_("tinca's transposed convolution has no dilation"));
    conv->dilation_height = dilation[0];
    conv->dilation_width = dilation[1];
    conv->outputs = caffe_get_count(im, param, "num_output", 0, 1, CAFFE_MAX_SIDE);
    conv->groups = caffe_get_count(im, param, "group", 1, 1, CAFFE_MAX_SIDE);
    conv->bias = caffe_get_flag(im, param, "bias_term", true);
    conv->weight_init = caffe_get_filler(im, param, "weight_filler", false);
    conv->bias_init = caffe_get_filler(im, param, "bias_filler", true);
    if (conv->outputs == 0)
        return caffe_damaged(im, layer, caffe_layer_name(layer), N_("it has no num_output"));
    if (!caffe_add_top(im, layer, transposed ? &op_conv_transpose : &op_conv, &input, 1,
                       &attributes, &added))
        return false;
    caffe_set_source(im, added, 0, layer, 0, CAFFE_COPY);
    if (conv->bias)
        caffe_set_source(im, added, 1, layer, 1, CAFFE_COPY);
    return true;
}

/* --- pooling --- */

/* Returns the outputs along one axis as Caffe counts them: rounded up, but if there is padding
 * along either axis, no window starts beyond the image and the padding before it. */
static size_t count_outputs(size_t size, size_t kernel, size_t stride, size_t pad, bool padded,
                            bool round_up)
{
    if (size + 2 * pad < kernel)
        return 0;
    size_t outputs = (size + 2 * pad - kernel + (round_up ? stride - 1 : 0)) / stride + 1;
    if (padded && (outputs - 1) * stride >= size + pad)
        outputs--;
    return outputs;
}

bool caffe_outputs_agree(struct shape in, struct shape out, const struct window *w, bool round_up)
{
    const bool padded = w->pad_height > 0 || w->pad_width > 0;
    return out.height == count_outputs(in.height, w->kernel_height, w->stride_height, w->pad_height,
                                       padded, round_up) &&
           out.width == count_outputs(in.width, w->kernel_width, w->stride_width, w->pad_width,
                                      padded, round_up);
}

static bool caffe_import_pool(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "pooling_param");
    const char *method = caffe_text(param, "pool", "MAX");
    const char *rounding = caffe_text(param, "round_mode", "CEIL");
    const bool mean = strcmp(method, "AVE") == 0 || strcmp(method, "1") == 0;
    union attributes attributes = {0};
    struct pool_attributes *pool = &attributes.pool;
    size_t input, added;
    if (!mean && strcmp(method, "MAX") != 0 && strcmp(method, "0") != 0)
        return caffe_lacks(im, layer, N_("tinca pools by the mean or the maximum"));
    if (caffe_nth(layer, "top", 1))
        return caffe_lacks(im, layer, N_("the positions of the maxima as a second output"));
    pool->global = caffe_get_flag(im, param, "global_pooling", false);
    pool->ceil_mode = strcmp(rounding, "FLOOR") != 0 && strcmp(rounding, "1") != 0;
    if (!caffe_input(im, layer, 0, &input) ||
        (!pool->global && !read_window(im, layer, param, &pool->window)))
        return false;
    if (pool->global)
        pool->ceil_mode = false;
    if (!caffe_add_top(im, layer, mean ? &op_average_pool : &op_max_pool, &input, 1, &attributes,
                       &added))
        return false;
    if (!pool->global && !caffe_outputs_agree(caffe_shape(im, input), caffe_shape(im, added),
                                              &pool->window, pool->ceil_mode))
        return caffe_lacks(im, layer, N_("a window that lies beyond the image"));
    return true;
}

/* --- layers with weights --- */

/* Layers with weights, but for convolutions. A Scale after a BatchNorm, which nothing else reads,
 * is part of tinca's batch norm; elsewhere it is a convolution of each channel with one factor. */

static bool caffe_import_linear(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "inner_product_param");
    union attributes attributes = {0};
    struct linear_attributes *linear = &attributes.linear;
    const bool transposed = caffe_get_flag(im, param, "transpose", false);
    size_t input, added;
    if (caffe_other_axis(param, "axis", 1))
        return caffe_lacks(im, layer, N_("a product along another axis than the channels"));
    if (!caffe_input(im, layer, 0, &input))
        return false;
    linear->outputs = caffe_get_count(im, param, "num_output", 0, 1, 1 << 24);
    linear->bias = caffe_get_flag(im, param, "bias_term", true);
    linear->weight_init = caffe_get_filler(im, param, "weight_filler", false);
    linear->bias_init = caffe_get_filler(im, param, "bias_filler", true);
    if (linear->outputs == 0)
        return caffe_damaged(im, layer, caffe_layer_name(layer), N_("it has no num_output"));
    if (!caffe_add_top(im, layer, &op_linear, &input, 1, &attributes, &added))
        return false;
    caffe_set_source(im, added, 0, layer, 0, transposed ? CAFFE_TRANSPOSE : CAFFE_COPY);
    if (linear->bias)
        caffe_set_source(im, added, 1, layer, 1, CAFFE_COPY);
    return true;
}

/* --- batch norms --- */

enum { NORM_WEIGHT, NORM_BIAS, NORM_MEAN, NORM_VARIANCE };

static bool caffe_import_norm(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "batch_norm_param");
    union attributes attributes = {0};
    struct batch_norm_attributes *norm = &attributes.batch_norm;
    size_t input, added;
    norm->epsilon = caffe_get_float(im, param, "eps", 1e-5f);
    norm->momentum = 1 - caffe_get_float(im, param, "moving_average_fraction", 0.999f);
    norm->instance = !caffe_get_flag(im, param, "use_global_stats", true);
    if (norm->instance && im->batch != 1)
        return caffe_lacks(im, layer,
                           N_("use_global_stats is false: after training, too, it takes the "
                              "statistics of each batch; leave the field out to take those of the "
                              "training"));
    if (!caffe_input(im, layer, 0, &input) ||
        !caffe_add_top(im, layer, &op_batch_norm, &input, 1, &attributes, &added))
        return false;
    caffe_set_source(im, added, NORM_WEIGHT, layer, 0, CAFFE_DEFAULT);
    caffe_set_source(im, added, NORM_BIAS, layer, 0, CAFFE_DEFAULT);
    caffe_set_source(im, added, NORM_MEAN, layer, 0, CAFFE_STATISTIC);
    caffe_set_source(im, added, NORM_VARIANCE, layer, 1, CAFFE_STATISTIC);
    return true;
}

/* Returns how many layers read the value `name`, from any place on. */
static size_t count_readers(const struct caffe_importer *im, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < im->layer_count; i++)
        for (const struct caffe_field *f = caffe_first(im->layers[i], "bottom"); f;
             f = caffe_next(f))
            count += strcmp(f->text, name) == 0;
    return count;
}

/* Returns whether a node is a batch norm that only this Scale reads: it works in place, or the
 * value has no other reader. */
static bool follows_norm(const struct caffe_importer *im, const struct caffe_field *layer,
                         size_t input)
{
    const struct node *node = &im->base.graph.nodes[input];
    const char *bottom = caffe_text(layer, "bottom", ""), *top = caffe_text(layer, "top", "");
    return node->op == &op_batch_norm &&
           im->sources[node->parameters[NORM_WEIGHT]].copy == CAFFE_DEFAULT &&
           !(input < im->read_capacity && im->read[input]) &&
           (strcmp(bottom, top) == 0 || count_readers(im, bottom) == 1);
}

/* Adds a gate: the second input has one factor for each channel. */
static bool import_gate(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "scale_param");
    size_t inputs[2];
    const bool bias = caffe_get_flag(im, param, "bias_term", false);
    if (!caffe_input(im, layer, 0, &inputs[0]) || !caffe_input(im, layer, 1, &inputs[1]))
        return false;
    if (bias || shape_area(caffe_shape(im, inputs[1])) != 1 ||
        caffe_shape(im, inputs[0]).channels != caffe_shape(im, inputs[1]).channels)
        return caffe_lacks(im, layer, N_("factors that are not one for each channel of an image"));
    return caffe_add_top(im, layer, &op_channel_scale, inputs, 2, NULL, NULL);
}

/* Gives the batch norm before a Scale its factors. */
static bool join_norm(struct caffe_importer *im, const struct caffe_field *layer, size_t norm,
                      bool bias)
{
    const char *top = caffe_text(layer, "top", "");
    caffe_set_source(im, norm, NORM_WEIGHT, layer, 0, CAFFE_COPY);
    if (bias)
        caffe_set_source(im, norm, NORM_BIAS, layer, 1, CAFFE_COPY);
    return caffe_set_value(im, top, CAFFE_NODE, norm);
}

static bool caffe_import_scale(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "scale_param");
    const struct caffe_field *bottom = caffe_first(layer, "bottom");
    const struct caffe_value *value = bottom ? caffe_find_value(im, bottom->text) : NULL;
    const bool bias = caffe_get_flag(im, param, "bias_term", false);
    size_t input, added;
    if (bottom && caffe_next(bottom))
        return import_gate(im, layer);
    if (caffe_other_axis(param, "axis", 1) || caffe_get_count(im, param, "num_axes", 1, 0, 4) != 1)
        return caffe_lacks(im, layer, N_("factors that are not one for each channel"));
    if (caffe_count(layer, "top") != 1)
        return caffe_damaged(im, layer, caffe_layer_name(layer), N_("it must have one top"));
    if (value && value->kind == CAFFE_NODE && follows_norm(im, layer, value->node))
        return join_norm(im, layer, value->node, bias);
    if (!caffe_input(im, layer, 0, &input))
        return false;
    const size_t channels = caffe_shape(im, input).channels;
    const union attributes attributes = {.conv = {.window = {1, 1, 1, 1, 0, 0},
                                                  .outputs = channels,
                                                  .groups = channels,
                                                  .bias = bias,
                                                  .weight_init = {INITIALISE_CONSTANT, 1},
                                                  .bias_init = {INITIALISE_CONSTANT, 0}}};
    if (!caffe_add_top(im, layer, &op_conv, &input, 1, &attributes, &added))
        return false;
    caffe_set_source(im, added, 0, layer, 0, CAFFE_COPY);
    if (bias)
        caffe_set_source(im, added, 1, layer, 1, CAFFE_COPY);
    return true;
}

static bool caffe_import_prelu(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "prelu_param");
    const bool shared = caffe_get_flag(im, param, "channel_shared", false);
    const struct caffe_field *filler = caffe_first(param, "filler");
    const struct initialiser init = caffe_get_filler(im, param, "filler", true);
    const union attributes attributes = {.prelu = {.slope = filler ? init.value : 0.25f}};
    size_t input, added;
    if (filler && init.kind != INITIALISE_CONSTANT && !im->model)
        return caffe_lacks(im, layer, N_("slopes that do not begin with one value"));
    if (!caffe_input(im, layer, 0, &input) ||
        !caffe_add_top(im, layer, &op_prelu, &input, 1, &attributes, &added))
        return false;
    caffe_set_source(im, added, 0, layer, 0, shared ? CAFFE_REPEAT : CAFFE_COPY);
    return true;
}

/* The table of Caffe's layers, with the names of both formats, and the layers without weights. A
 * field that a layer's parameters do not have is an error, as in Caffe: it may be a misspelt one.
 */

enum { MAX_NAMES = 1024 };

/* --- layers that are rows --- */

#define FLOAT(name, member, usual)                                                                 \
    {                                                                                              \
        name, MAPPING_FLOAT, offsetof(union attributes, member), usual, 0                          \
    }

const struct mapping caffe_rows[] = {
    {"ReLU",
     "relu_param",
     &op_leaky_relu, /* op_relu, if the slope is 0 */
     {FLOAT("negative_slope", leaky_relu.slope, 0)}},
    {"ReLU", NULL, &op_relu, {{0}}},
    {"ELU", "elu_param", &op_elu, {FLOAT("alpha", elu.alpha, 1)}},
    {"Sigmoid", NULL, &op_sigmoid, {{0}}},
    {"TanH", NULL, &op_tanh, {{0}}},
    {"Softmax", NULL, &op_softmax, {{0}}},
    {"Flatten", NULL, &op_flatten, {{0}}},
    {"LRN",
     "lrn_param",
     &op_lrn,
     {{"local_size", MAPPING_COUNT, offsetof(union attributes, lrn.size), 5, 1023},
      FLOAT("alpha", lrn.alpha, 1),
      FLOAT("beta", lrn.beta, 0.75f),
      FLOAT("k", lrn.k, 1)}},
    {"Dropout", "dropout_param", &op_dropout, {FLOAT("dropout_ratio", dropout.rate, 0.5f)}},
    {0}};

/* Returns why tinca has no such layer, because of a field beside its values; NULL: it has. */
static const char *refuse_row(struct caffe_importer *im, const struct caffe_field *param,
                              const struct op *op)
{
    const char *region = caffe_text(param, "norm_region", "ACROSS_CHANNELS");
    if (op == &op_softmax && caffe_other_axis(param, "axis", 1))
        return N_("a softmax along another axis than the channels");
    if (op == &op_lrn && strcmp(region, "ACROSS_CHANNELS") != 0 && strcmp(region, "0") != 0)
        return N_("norm_region WITHIN_CHANNEL: tinca normalises across channels");
    if (op == &op_dropout && !caffe_get_flag(im, param, "scale_train", true))
        return N_("a dropout that scales values in inference");
    if (op == &op_flatten &&
        (caffe_other_axis(param, "axis", 1) || caffe_other_axis(param, "end_axis", 3)))
        return N_("it leaves axes of the image as they are");
    return NULL;
}

static bool import_row(struct caffe_importer *im, const struct caffe_field *layer,
                       const struct mapping *row, const struct caffe_field *param)
{
    union attributes attributes = {0};
    const struct op *op = row->op;
    const char *why = refuse_row(im, param, op);
    size_t input;
    if (why)
        return caffe_lacks(im, layer, why);
    for (const struct mapping_value *value = row->values; value->name; value++) {
        void *to = (char *)&attributes + value->offset;
        if (value->kind == MAPPING_COUNT)
            *(size_t *)to = caffe_get_count(im, param, value->name, (size_t)value->usual, 1,
                                            (size_t)value->limit);
        else
            *(float *)to = caffe_get_float(im, param, value->name, value->usual);
    }
    if (op == &op_leaky_relu && attributes.leaky_relu.slope == 0)
        op = &op_relu;
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, op, &input, 1, &attributes, NULL);
}

/* --- layers that change nothing --- */

static bool import_power(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "power_param");
    const struct caffe_field *top = caffe_first(layer, "top");
    size_t input;
    if (caffe_get_float(im, param, "power", 1) != 1 ||
        caffe_get_float(im, param, "scale", 1) != 1 || caffe_get_float(im, param, "shift", 0) != 0)
        return caffe_lacks(im, layer, N_("tinca has no such operator"));
    return top && caffe_input(im, layer, 0, &input) &&
           caffe_set_value(im, top->text, CAFFE_NODE, input);
}

/* --- layers of several inputs or outputs --- */

/* Joins the inputs of a layer. A node has at most NODE_MAX_INPUTS of them: beyond that the first
 * ones are joined before the others. */
static bool join(struct caffe_importer *im, const struct caffe_field *layer, const struct op *op)
{
    size_t inputs[NODE_MAX_INPUTS], count = 0, next;
    for (size_t k = 0; caffe_nth(layer, "bottom", k); k++) {
        if (!caffe_input(im, layer, k, &next))
            return false;
        if (count == NODE_MAX_INPUTS) {
            if (!caffe_add(im, layer, ".first", op, inputs, count, NULL, &inputs[0]))
                return false;
            count = 1;
        }
        inputs[count++] = next;
    }
    if (count == 0)
        return caffe_damaged(im, layer, caffe_layer_name(layer),
                             N_("an input (bottom) is missing"));
    if (count == 1) {
        const struct caffe_field *top = caffe_first(layer, "top");
        return top && caffe_set_value(im, top->text, CAFFE_NODE, inputs[0]);
    }
    return caffe_add_top(im, layer, op, inputs, count, NULL, NULL);
}

static bool import_concat(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "concat_param");
    if (caffe_other_axis(param, "axis", 1) || caffe_other_axis(param, "concat_dim", 1))
        return caffe_lacks(im, layer, N_("it joins along another axis than the channels"));
    return join(im, layer, &op_concat);
}

static bool import_eltwise(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "eltwise_param");
    const char *operation = caffe_text(param, "operation", "SUM");
    double factor;
    if (strcmp(operation, "SUM") != 0 && strcmp(operation, "1") != 0)
        return caffe_lacks(im, layer, N_("tinca adds inputs; it has neither PROD nor MAX"));
    for (const struct caffe_field *f = caffe_first(param, "coeff"); f; f = caffe_next(f))
        if (!caffe_read_number(f, &factor) || factor != 1)
            return caffe_lacks(im, layer, N_("tinca adds inputs without coefficients"));
    return join(im, layer, &op_add);
}

static bool import_split(struct caffe_importer *im, const struct caffe_field *layer)
{
    size_t input;
    if (!caffe_input(im, layer, 0, &input))
        return false;
    for (const struct caffe_field *f = caffe_first(layer, "top"); f; f = caffe_next(f))
        if (!caffe_set_value(im, f->text, CAFFE_NODE, input))
            return false;
    return true;
}

/* A copy of the labels of the batch, for several losses. */
static bool import_split_of_any(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_value *value = caffe_find_value(im, caffe_text(layer, "bottom", ""));
    if (!value || value->kind == CAFFE_NODE)
        return import_split(im, layer);
    const enum caffe_value_kind kind = value->kind;
    for (const struct caffe_field *f = caffe_first(layer, "top"); f; f = caffe_next(f))
        if (!caffe_set_value(im, f->text, kind, 0))
            return false;
    return true;
}

/* --- what measures --- */

static bool import_measure(struct caffe_importer *im, const struct caffe_field *layer)
{
    for (const struct caffe_field *f = caffe_first(layer, "top"); f; f = caffe_next(f))
        if (!caffe_set_value(im, f->text, CAFFE_RESULT, 0))
            return false;
    return true;
}

static bool import_loss(struct caffe_importer *im, const struct caffe_field *layer)
{
    const float weight = caffe_get_float(im, layer, "loss_weight", 1);
    size_t input;
    if (weight == 0)
        return import_measure(im, layer);
    if (caffe_other_axis(caffe_first(layer, "softmax_param"), "axis", 1) ||
        caffe_first(caffe_first(layer, "loss_param"), "ignore_label"))
        return caffe_lacks(im, layer, N_("a loss that ignores a label or takes another axis"));
    if (!caffe_input(im, layer, 0, &input))
        return false;
    if (weight < 0 || im->loss_count == IMPORTER_LOSSES)
        return caffe_damaged(im, layer, caffe_layer_name(layer),
                             N_("its loss_weight is negative, or it is one loss too many"));
    if (shape_area(caffe_shape(im, input)) != 1)
        return caffe_lacks(im, layer, N_("a loss for each position of an image"));
    im->losses[im->loss_count++] = (struct caffe_loss){input, weight, caffe_layer_name(layer)};
    return import_measure(im, layer);
}

/* --- the table --- */

static const struct {
    const char *type, *old_type, *param;
    const char *fields; /* of the param, between blanks; NULL: not checked */
    /* NULL: a row of caffe_rows */
    bool (*import)(struct caffe_importer *im, const struct caffe_field *layer);
} layers[] = {
    {"Input", "", "input_param", NULL, caffe_import_data},
    {"Data", "DATA", "data_param", NULL, caffe_import_data},
    {"ImageData", "IMAGE_DATA", "image_data_param", NULL, caffe_import_data},
    {"MemoryData", "MEMORY_DATA", "memory_data_param", NULL, caffe_import_data},
    {"DummyData", "DUMMY_DATA", "dummy_data_param", NULL, caffe_import_data},
    {"HDF5Data", "HDF5_DATA", "hdf5_data_param", NULL, caffe_import_data},
    {"Convolution", "CONVOLUTION", "convolution_param",
     " num_output bias_term pad kernel_size group stride weight_filler bias_filler pad_h pad_w "
     "kernel_h kernel_w stride_h stride_w engine axis force_nd_im2col dilation ",
     caffe_import_conv},
    {"Deconvolution", "DECONVOLUTION", "convolution_param",
     " num_output bias_term pad kernel_size group stride weight_filler bias_filler pad_h pad_w "
     "kernel_h kernel_w stride_h stride_w engine axis force_nd_im2col dilation ",
     caffe_import_conv},
    {"InnerProduct", "INNER_PRODUCT", "inner_product_param",
     " num_output bias_term weight_filler bias_filler axis transpose ", caffe_import_linear},
    {"Pooling", "POOLING", "pooling_param",
     " pool kernel_size stride pad kernel_h kernel_w stride_h stride_w pad_h pad_w engine "
     "global_pooling round_mode ",
     caffe_import_pool},
    {"ReLU", "RELU", "relu_param", " negative_slope engine ", NULL},
    {"PReLU", "", "prelu_param", " filler channel_shared ", caffe_import_prelu},
    {"ELU", "", "elu_param", " alpha ", NULL},
    {"Sigmoid", "SIGMOID", "sigmoid_param", " engine ", NULL},
    {"TanH", "TANH", "tanh_param", " engine ", NULL},
    {"LRN", "LRN", "lrn_param", " local_size alpha beta norm_region k engine ", NULL},
    {"Dropout", "DROPOUT", "dropout_param", " dropout_ratio scale_train ", NULL},
    {"Concat", "CONCAT", "concat_param", " concat_dim axis ", import_concat},
    {"Eltwise", "ELTWISE", "eltwise_param", " operation coeff stable_prod_grad ", import_eltwise},
    {"BatchNorm", "", "batch_norm_param", " use_global_stats moving_average_fraction eps ",
     caffe_import_norm},
    {"Scale", "", "scale_param", " axis num_axes filler bias_term bias_filler ",
     caffe_import_scale},
    {"Flatten", "FLATTEN", "flatten_param", " axis end_axis ", NULL},
    {"Power", "POWER", "power_param", " power scale shift ", import_power},
    {"Split", "SPLIT", "", NULL, import_split_of_any},
    {"Softmax", "SOFTMAX", "softmax_param", " engine axis ", NULL},
    {"SoftmaxWithLoss", "SOFTMAX_LOSS", "softmax_param", " engine axis ", import_loss},
    {"Accuracy", "ACCURACY", "accuracy_param", NULL, import_measure},
    {"Silence", "SILENCE", "", NULL, import_measure},
};

/* Checks the names of a layer's fields, and those of its parameters. */
static bool check_fields(struct caffe_importer *im, const struct caffe_field *layer, size_t row)
{
    static const char known[] =
        " name type bottom top loss_weight param blobs include exclude phase propagate_down "
        "blobs_lr weight_decay blob_share_mode transform_param loss_param softmax_param ";
    char word[64];
    for (const struct caffe_field *f = layer->first; f; f = f->next) {
        snprintf(word, sizeof word, " %.60s ", f->name);
        if (!strstr(known, word) && strcmp(f->name, layers[row].param) != 0)
            return caffe_damaged(im, f, f->name, N_("a layer of this type has no such field"));
    }
    const struct caffe_field *param =
        layers[row].fields ? caffe_first(layer, layers[row].param) : NULL;
    for (const struct caffe_field *f = param ? param->first : NULL; f; f = f->next) {
        snprintf(word, sizeof word, " %.60s ", f->name);
        if (!strstr(layers[row].fields, word))
            return caffe_damaged(im, f, f->name, N_("a layer of this type has no such field"));
    }
    return true;
}

/* Returns whether a layer reads what a missing layer computes; its tops are then unknown, too. */
static bool reads_unknown(struct caffe_importer *im, const struct caffe_field *layer)
{
    bool unknown = false;
    for (const struct caffe_field *f = caffe_first(layer, "bottom"); f; f = caffe_next(f)) {
        const struct caffe_value *value = caffe_find_value(im, f->text);
        if (!value) {
            caffe_damaged(im, f, f->text,
                          im->network || im->has_input
                              ? N_("no layer before this one computes it")
                              : N_("the file has weights without the network's input: name the "
                                   "network's .prototxt, too"));
            return true;
        }
        unknown |= value->kind == CAFFE_UNKNOWN;
    }
    for (const struct caffe_field *f = caffe_first(layer, "top"); unknown && f; f = caffe_next(f))
        caffe_set_value(im, f->text, CAFFE_UNKNOWN, 0);
    return unknown;
}

/* Returns whether the learning rates or decays of a layer's weights differ from the solver's. */
static bool has_multipliers(const struct caffe_field *layer)
{
    static const char *const names[] = {"lr_mult", "decay_mult", "blobs_lr", "weight_decay"};
    double number;
    for (const struct caffe_field *f = caffe_first(layer, "param"); f; f = caffe_next(f))
        for (size_t i = 0; i < 2; i++) {
            const struct caffe_field *value = caffe_first(f, names[i]);
            if (value && (!caffe_read_number(value, &number) || number != 1))
                return true;
        }
    for (size_t i = 2; i < 4; i++)
        for (const struct caffe_field *f = caffe_first(layer, names[i]); f; f = caffe_next(f))
            if (!caffe_read_number(f, &number) || number != 1)
                return true;
    return false;
}

void caffe_import_layer(struct caffe_importer *im, const struct caffe_field *layer)
{
    const char *type = caffe_text(layer, "type", "");
    size_t row = 0;
    if (caffe_count(layer, "bottom") > MAX_NAMES || caffe_count(layer, "top") > MAX_NAMES) {
        caffe_damaged(im, layer, caffe_layer_name(layer), N_("it has too many inputs or outputs"));
        return;
    }
    if (!type[0]) {
        caffe_damaged(im, layer, caffe_layer_name(layer), N_("it has no type"));
        return;
    }
    if (reads_unknown(im, layer) && im->base.failed)
        return;
    while (row < sizeof layers / sizeof *layers && strcmp(layers[row].type, type) != 0 &&
           (!layers[row].old_type[0] || strcmp(layers[row].old_type, type) != 0))
        row++;
    if (row == sizeof layers / sizeof *layers) {
        caffe_lacks(im, layer, N_("tinca has no such layer"));
        return;
    }
    for (const struct caffe_field *f = caffe_first(layer, "param"); f; f = caffe_next(f))
        if (f->kind == CAFFE_MESSAGE ? caffe_first(f, "name") != NULL : f->text[0] != '\0') {
            caffe_lacks(im, layer, N_("weights that several layers share"));
            return;
        }
    if (reads_unknown(im, layer) || !check_fields(im, layer, row))
        return;
    im->multipliers += has_multipliers(layer);
    if (layers[row].import) {
        layers[row].import(im, layer);
        return;
    }
    const struct mapping *mapping = caffe_rows;
    while (strcmp(mapping->type, layers[row].type) != 0)
        mapping++;
    import_row(im, layer, mapping, caffe_first(layer, layers[row].param));
}
