/* Simulated quantization (Jacob et al. 2018): y is x rounded to the grid of a quantization,
 *
 *   y = scale * (clamp(round(x / scale) + zero_point, 0, 255) - zero_point)
 *
 * and NaN stays NaN. The rounding has no useful derivative. The gradient is passed straight through
 * (Bengio et al. 2013) where the integer needs no clamping; elsewhere it is 0, as in PyTorch.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void read_fake_quantize(struct layer_reader *reader, union attributes *attributes)
{
    if (!layer_has(reader, "grid"))
        layer_fail(reader, NULL, "\"grid\" is missing: give [scale, zero point]");
    attributes->fake_quantize = layer_quantization(reader, "grid");
}

static bool write_fake_quantize(const union attributes *attributes, struct json *layer)
{
    struct json *pair = json_add_array(layer, "grid");
    return json_add_float(pair, NULL, attributes->fake_quantize.scale) &&
           json_add_count(pair, NULL, (size_t)attributes->fake_quantize.zero_point);
}

static bool infer_fake_quantize(struct graph *graph, struct node *node, const struct shape *inputs,
                                struct error *error)
{
    const struct quantization grid = node->attributes.fake_quantize;
    if (!quantization_is_set(grid) || grid.zero_point < 0 || grid.zero_point > QUANTIZED_MAX)
        return error_set(
            error, ERROR_INPUT, node->name, "choose a scale above 0 and a zero point of 0 to 255",
            "fake_quantize: the grid [%g, %d] cannot be used", (double)grid.scale, grid.zero_point);
    return rule_same_shape(graph, node, inputs, error);
}

static void forward_fake_quantize(const struct kernel_call *call)
{
    const struct quantization grid = call->site->node->attributes.fake_quantize;
    for (size_t i = 0; i < output_values(call); i++) {
        const float x = call->inputs[0][i];
        call->output[i] = isnan(x) ? x : quantization_value(grid, quantization_round(grid, x));
    }
}

static void backward_fake_quantize(const struct kernel_call *call)
{
    const struct quantization grid = call->site->node->attributes.fake_quantize;
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        const float position = quantization_position(grid, call->inputs[0][i]);
        const bool inside = position >= 0 && position <= QUANTIZED_MAX;
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       inside ? call->output_gradient[i] : 0);
    }
}

static const struct kernel reference = {
    .name = "fake_quantize reference",
    .instruction_set = "any",
    .op = &op_fake_quantize,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_fake_quantize,
    .backward = backward_fake_quantize,
};

const struct op op_fake_quantize = {
    .name = "fake_quantize",
    .description = "rounded to 256 levels; the gradient passes unchanged inside of their range",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_fake_quantize,
    .write = write_fake_quantize,
    .infer = infer_fake_quantize,
    .reference = &reference,
};
