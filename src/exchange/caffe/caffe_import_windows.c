/* Convolutions and pooling. Caffe gives a window's sizes once for both axes, once for each, or as
 * *_h and *_w. */
#include "exchange/caffe/internal.h"

#include "base/language.h"
#include "engine/ops/op.h"

#include <string.h>

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
    return !im->failed;
}

/* --- convolutions --- */

bool caffe_import_conv(struct caffe_importer *im, const struct caffe_field *layer)
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

static bool outputs_agree(struct shape in, struct shape out, const struct window *w, bool round_up)
{
    const bool padded = w->pad_height > 0 || w->pad_width > 0;
    return out.height == count_outputs(in.height, w->kernel_height, w->stride_height, w->pad_height,
                                       padded, round_up) &&
           out.width == count_outputs(in.width, w->kernel_width, w->stride_width, w->pad_width,
                                      padded, round_up);
}

bool caffe_import_pool(struct caffe_importer *im, const struct caffe_field *layer)
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
    if (!pool->global && !outputs_agree(caffe_shape(im, input), caffe_shape(im, added),
                                        &pool->window, pool->ceil_mode))
        return caffe_lacks(im, layer, N_("a window that lies beyond the image"));
    return true;
}
