/* The table of Caffe's layers, with the names of both formats, and the layers without weights. A
 * field that a layer's parameters do not have is an error, as in Caffe: it may be a misspelt one.
 */
#include "exchange/caffe/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 1024 };

/* --- layers of one input --- */

static bool import_relu(struct caffe_importer *im, const struct caffe_field *layer)
{
    const float slope = caffe_get_float(im, caffe_first(layer, "relu_param"), "negative_slope", 0);
    const union attributes attributes = {.leaky_relu = {.slope = slope}};
    size_t input;
    return caffe_input(im, layer, 0, &input) &&
           (slope == 0 ? caffe_add_top(im, layer, &op_relu, &input, 1, NULL, NULL)
                       : caffe_add_top(im, layer, &op_leaky_relu, &input, 1, &attributes, NULL));
}

static bool import_elu(struct caffe_importer *im, const struct caffe_field *layer)
{
    const union attributes attributes = {
        .elu = {.alpha = caffe_get_float(im, caffe_first(layer, "elu_param"), "alpha", 1)}};
    size_t input;
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, &op_elu, &input, 1, &attributes, NULL);
}

static bool import_sigmoid(struct caffe_importer *im, const struct caffe_field *layer)
{
    size_t input;
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, &op_sigmoid, &input, 1, NULL, NULL);
}

static bool import_tanh(struct caffe_importer *im, const struct caffe_field *layer)
{
    size_t input;
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, &op_tanh, &input, 1, NULL, NULL);
}

static bool import_softmax(struct caffe_importer *im, const struct caffe_field *layer)
{
    size_t input;
    if (caffe_other_axis(caffe_first(layer, "softmax_param"), "axis", 1))
        return caffe_lacks(im, layer, N_("a softmax along another axis than the channels"));
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, &op_softmax, &input, 1, NULL, NULL);
}

static bool import_lrn(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "lrn_param");
    const char *region = caffe_text(param, "norm_region", "ACROSS_CHANNELS");
    union attributes attributes = {0};
    struct lrn_attributes *lrn = &attributes.lrn;
    size_t input;
    if (strcmp(region, "ACROSS_CHANNELS") != 0 && strcmp(region, "0") != 0)
        return caffe_lacks(im, layer,
                           N_("norm_region WITHIN_CHANNEL: tinca normalises across channels"));
    lrn->size = caffe_get_count(im, param, "local_size", 5, 1, 1023);
    lrn->alpha = caffe_get_float(im, param, "alpha", 1);
    lrn->beta = caffe_get_float(im, param, "beta", 0.75f);
    lrn->k = caffe_get_float(im, param, "k", 1);
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, &op_lrn, &input, 1, &attributes, NULL);
}

static bool import_dropout(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "dropout_param");
    const union attributes attributes = {
        .dropout = {.rate = caffe_get_float(im, param, "dropout_ratio", 0.5f)}};
    size_t input;
    if (!caffe_get_flag(im, param, "scale_train", true))
        return caffe_lacks(im, layer, N_("a dropout that scales values in inference"));
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, &op_dropout, &input, 1, &attributes, NULL);
}

static bool import_flatten(struct caffe_importer *im, const struct caffe_field *layer)
{
    const struct caffe_field *param = caffe_first(layer, "flatten_param");
    size_t input;
    if (caffe_other_axis(param, "axis", 1) || caffe_other_axis(param, "end_axis", 3))
        return caffe_lacks(im, layer, N_("it leaves axes of the image as they are"));
    return caffe_input(im, layer, 0, &input) &&
           caffe_add_top(im, layer, &op_flatten, &input, 1, NULL, NULL);
}

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
    if (weight < 0 || im->loss_count == CAFFE_MAX_LOSSES)
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
    {"ReLU", "RELU", "relu_param", " negative_slope engine ", import_relu},
    {"PReLU", "", "prelu_param", " filler channel_shared ", caffe_import_prelu},
    {"ELU", "", "elu_param", " alpha ", import_elu},
    {"Sigmoid", "SIGMOID", "sigmoid_param", " engine ", import_sigmoid},
    {"TanH", "TANH", "tanh_param", " engine ", import_tanh},
    {"LRN", "LRN", "lrn_param", " local_size alpha beta norm_region k engine ", import_lrn},
    {"Dropout", "DROPOUT", "dropout_param", " dropout_ratio scale_train ", import_dropout},
    {"Concat", "CONCAT", "concat_param", " concat_dim axis ", import_concat},
    {"Eltwise", "ELTWISE", "eltwise_param", " operation coeff stable_prod_grad ", import_eltwise},
    {"BatchNorm", "", "batch_norm_param", " use_global_stats moving_average_fraction eps ",
     caffe_import_norm},
    {"Scale", "", "scale_param", " axis num_axes filler bias_term bias_filler ",
     caffe_import_scale},
    {"Flatten", "FLATTEN", "flatten_param", " axis end_axis ", import_flatten},
    {"Power", "POWER", "power_param", " power scale shift ", import_power},
    {"Split", "SPLIT", "", NULL, import_split_of_any},
    {"Softmax", "SOFTMAX", "softmax_param", " engine axis ", import_softmax},
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
                          im->request->network || im->has_input
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
    if (reads_unknown(im, layer) && im->failed)
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
    im->result->multipliers += has_multipliers(layer);
    layers[row].import(im, layer);
}
