/* The shape rules that several operators share: outputs of the input's shape, sliding windows,
 * losses, weight and bias; and the keys of pooling layers and losses. */
#include "engine/ops/rules.h"

#include "engine/ops/op.h"

#include <string.h>

bool rule_same_shape(struct graph *graph, struct node *node, const struct shape *inputs,
                     struct error *error)
{
    (void)graph, (void)error;
    node->output = inputs[0];
    return true;
}

bool rule_set_output(struct node *node, struct shape output, struct error *error)
{
    node->output = output;
    if (!output.channels || !output.height || !output.width)
        return error_set(error, ERROR_INPUT, node->name, "give every size a value of 1 or more",
                         "%s: an output of %zu x %zu x %zu has no values", node->op->name,
                         output.channels, output.height, output.width);
    if (!shape_is_countable(output))
        return error_set(error, ERROR_INPUT, node->name, "choose smaller sizes",
                         "%s: an output of %zu x %zu x %zu values an image is too large",
                         node->op->name, output.channels, output.height, output.width);
    return true;
}

bool rule_equal_inputs(const struct node *node, const struct shape *inputs, struct error *error)
{
    if (shape_equal(inputs[0], inputs[1]))
        return true;
    return error_set(error, ERROR_INPUT, node->name, "correct its \"from\" or the layers before it",
                     "%s: its inputs must have one shape, not %zu x %zu x %zu and %zu x %zu x %zu",
                     node->op->name, inputs[0].channels, inputs[0].height, inputs[0].width,
                     inputs[1].channels, inputs[1].height, inputs[1].width);
}

size_t window_output(size_t size, size_t kernel, size_t stride, size_t pad, bool ceil_mode)
{
    if (!kernel || !stride || pad > (SIZE_MAX - size) / 2 || size + 2 * pad < kernel)
        return 0;
    size_t free_steps = size + 2 * pad - kernel;
    size_t output = free_steps / stride + 1;
    if (ceil_mode && free_steps % stride != 0 && output * stride < size + pad)
        output++;
    return output;
}

bool rule_slide_window(struct node *node, const struct window *window, bool ceil_mode,
                       struct shape input, size_t channels, struct error *error)
{
    if (!window->kernel_height || !window->kernel_width || !window->stride_height ||
        !window->stride_width)
        return error_set(error, ERROR_INPUT, node->name,
                         "give \"kernel\" and \"stride\" values of 1 or more",
                         "%s: its kernel or stride is zero", node->op->name);
    struct shape output = {
        channels,
        window_output(input.height, window->kernel_height, window->stride_height,
                      window->pad_height, ceil_mode),
        window_output(input.width, window->kernel_width, window->stride_width, window->pad_width,
                      ceil_mode),
    };
    if (!output.height || !output.width)
        return error_set(error, ERROR_INPUT, node->name,
                         "choose a smaller \"kernel\", more \"pad\" or a larger input",
                         "%s: a window of %zu x %zu does not fit an input of %zu x %zu with "
                         "padding %zu x %zu",
                         node->op->name, window->kernel_height, window->kernel_width, input.height,
                         input.width, window->pad_height, window->pad_width);
    return rule_set_output(node, output, error);
}

bool rule_pool(struct graph *graph, struct node *node, const struct shape *inputs,
               struct error *error)
{
    (void)graph;
    struct pool_attributes *pool = &node->attributes.pool;
    struct window *window = &pool->window;
    if (pool->global)
        *window = (struct window){inputs[0].height, inputs[0].width, 1, 1, 0, 0};
    /* With more padding a window could consist of padding only, which has no maximum. */
    if (window->pad_height > window->kernel_height / 2 ||
        window->pad_width > window->kernel_width / 2)
        return error_set(error, ERROR_INPUT, node->name, "choose less \"pad\"",
                         "%s: padding %zu x %zu is more than half of the kernel, %zu x %zu",
                         node->op->name, window->pad_height, window->pad_width,
                         window->kernel_height, window->kernel_width);
    return rule_slide_window(node, window, pool->ceil_mode, inputs[0], inputs[0].channels, error);
}

bool rule_loss(struct node *node, struct error *error)
{
    node->output = (struct shape){1, 1, 1};
    if (node->attributes.loss.weight > 0)
        return true;
    return error_set(error, ERROR_INPUT, node->name, "give a \"weight\" above 0, or leave it out",
                     "%s: with a weight of %g it would train nothing", node->op->name,
                     node->attributes.loss.weight);
}

bool rule_weight_and_bias(struct graph *graph, struct node *node, const size_t *dims, size_t rank,
                          struct initialiser weight_init, const struct initialiser *bias_init,
                          struct error *error)
{
    size_t fan_in = 1;
    for (size_t i = 1; i < rank; i++)
        fan_in *= dims[i];
    return graph_add_parameter(graph, node, "weight", dims, rank, fan_in, weight_init, true,
                               error) &&
           (!bias_init ||
            graph_add_parameter(graph, node, "bias", dims, 1, fan_in, *bias_init, true, error));
}

bool rule_weight_scale(struct graph *graph, struct node *node, bool int8_weights, size_t outputs,
                       struct error *error)
{
    /* weights that are not read from a file are given the range -1..1 */
    const struct initialiser init = {INITIALISE_CONSTANT, 1.0f / QUANTIZED_WEIGHT_MAX};
    return !int8_weights ||
           graph_add_parameter(graph, node, "weight_scale", &outputs, 1, 1, init, false, error);
}

bool rule_read_int8_weights(struct layer_reader *reader)
{
    const char *type = layer_text(reader, "weights", NULL);
    if (type && strcmp(type, "int8") != 0)
        layer_fail(reader, "weights", "must be \"int8\"; without this key they are float32");
    return type;
}

void rule_read_pool(struct layer_reader *reader, union attributes *attributes)
{
    struct pool_attributes *pool = &attributes->pool;
    pool->global = layer_flag(reader, "global", false);
    if (pool->global) {
        if (layer_has(reader, "kernel") || layer_has(reader, "stride") ||
            layer_has(reader, "pad") || layer_has(reader, "ceil"))
            layer_fail(reader, "global", "takes no kernel, stride, pad or ceil");
        return;
    }
    layer_window(reader, &pool->window, false);
    pool->ceil_mode = layer_flag(reader, "ceil", false);
}

bool rule_write_pool(const union attributes *attributes, struct json *layer)
{
    const struct pool_attributes *pool = &attributes->pool;
    if (pool->global)
        return json_add_bool(layer, "global", true);
    return layer_write_window(layer, &pool->window) &&
           json_add_bool(layer, "ceil", pool->ceil_mode);
}

void rule_read_loss(struct layer_reader *reader, union attributes *attributes)
{
    attributes->loss.weight = (float)layer_number(reader, "weight", 1, 1e-6, 1e6);
}

bool rule_write_loss(const union attributes *attributes, struct json *layer)
{
    return json_add_float(layer, "weight", attributes->loss.weight);
}

static bool write_pair(struct json *layer, const char *key, size_t height, size_t width)
{
    if (height == width)
        return json_add_count(layer, key, height);
    struct json *pair = json_add_array(layer, key);
    return json_add_count(pair, NULL, height) && json_add_count(pair, NULL, width);
}

bool layer_write_window(struct json *layer, const struct window *window)
{
    return write_pair(layer, "kernel", window->kernel_height, window->kernel_width) &&
           write_pair(layer, "stride", window->stride_height, window->stride_width) &&
           write_pair(layer, "pad", window->pad_height, window->pad_width);
}

bool layer_write_dilation(struct json *layer, size_t height, size_t width)
{
    return (height <= 1 && width <= 1) || write_pair(layer, "dilation", height, width);
}

static bool write_initialiser(struct json *layer, const char *key, const struct initialiser *init)
{
    switch (init->kind) {
    case INITIALISE_XAVIER:
        return json_add_string(layer, key, "xavier");
    case INITIALISE_HE:
        return json_add_string(layer, key, "he");
    case INITIALISE_GAUSSIAN:
        return json_add_float(json_add_object(layer, key), "gaussian", init->value);
    case INITIALISE_CONSTANT:
        break;
    }
    return json_add_float(json_add_object(layer, key), "constant", init->value);
}

bool layer_write_weights(struct json *layer, bool bias, const struct initialiser *weight_init,
                         const struct initialiser *bias_init)
{
    return json_add_bool(layer, "bias", bias) && write_initialiser(layer, "init", weight_init) &&
           (!bias || write_initialiser(layer, "bias_init", bias_init));
}

bool layer_write_int8_weights(struct json *layer, bool int8_weights)
{
    return !int8_weights || json_add_string(layer, "weights", "int8");
}
