/* Layers with weights, but for convolutions. A Scale after a BatchNorm, which nothing else reads,
 * is part of tinca's batch norm; elsewhere it is a convolution of each channel with one factor. */
#include "exchange/caffe/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <math.h>
#include <string.h>

struct initialiser caffe_get_filler(struct caffe_importer *im, const struct caffe_field *param,
                                    const char *name, bool bias)
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

bool caffe_import_linear(struct caffe_importer *im, const struct caffe_field *layer)
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

bool caffe_import_norm(struct caffe_importer *im, const struct caffe_field *layer)
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
    const struct node *node = &im->graph.nodes[input];
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

bool caffe_import_scale(struct caffe_importer *im, const struct caffe_field *layer)
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

bool caffe_import_prelu(struct caffe_importer *im, const struct caffe_field *layer)
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
