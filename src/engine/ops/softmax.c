/* Softmax across channels, at every position of every image, or over all values of an image:
 *   y[c] = exp(x[c] - m) / sum over k of exp(x[k] - m),  m = max x, so that nothing overflows;
 *   gradient[c] = y[c] (g[c] - sum over k of g[k] y[k]).
 * For classification during training use softmax_cross_entropy, which starts from the logits.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>
#include <string.h>

static void read_softmax(struct layer_reader *reader, union attributes *attributes)
{
    const char *over = layer_text(reader, "over", "channels");
    attributes->softmax.image = strcmp(over, "image") == 0;
    if (!attributes->softmax.image && strcmp(over, "channels") != 0)
        layer_fail(reader, "over", "must be \"channels\" or \"image\"");
}

static bool write_softmax(const union attributes *attributes, struct json *layer)
{
    return !attributes->softmax.image || json_add_string(layer, "over", "image");
}

/* Computes the softmax of one position, whose channels lie `step` floats apart. */
static void softmax(const float *x, float *y, size_t channels, size_t step)
{
    float maximum = x[0];
    for (size_t c = 1; c < channels; c++)
        maximum = fmaxf(maximum, x[c * step]);
    double sum = 0;
    for (size_t c = 0; c < channels; c++) {
        y[c * step] = expf(x[c * step] - maximum);
        sum += y[c * step];
    }
    for (size_t c = 0; c < channels; c++)
        y[c * step] = (float)(y[c * step] / sum);
}

static struct shape shape_of(const struct kernel_call *call)
{
    return softmax_shape(&call->site->node->attributes.softmax, call->site->inputs[0]);
}

static void forward_softmax(const struct kernel_call *call)
{
    const struct shape in = shape_of(call);
    const size_t area = shape_area(in);
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t i = 0; i < area; i++) {
            size_t at = n * shape_count(in) + i; /* channel 0 */
            softmax(call->inputs[0] + at, call->output + at, in.channels, area);
        }
}

static void backward_softmax(const struct kernel_call *call)
{
    const struct shape in = shape_of(call);
    const size_t area = shape_area(in);
    if (!call->input_gradients[0])
        return;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t i = 0; i < area; i++) {
            const size_t first = n * shape_count(in) + i;
            const float *y = call->output + first, *g = call->output_gradient + first;
            double dot = 0;
            for (size_t c = 0; c < in.channels; c++)
                dot += (double)g[c * area] * y[c * area];
            for (size_t c = 0; c < in.channels; c++)
                gradient_store(&call->input_gradients[0][first + c * area], call->accumulate[0],
                               (float)(y[c * area] * (g[c * area] - dot)));
        }
}

static const struct kernel reference = {
    .name = "softmax reference",
    .instruction_set = "any",
    .op = &op_softmax,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_softmax,
    .backward = backward_softmax,
};

const struct op op_softmax = {
    .name = "softmax",
    .description = "probabilities: exponentials across channels, or of an image, that sum to 1",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_softmax,
    .write = write_softmax,
    .infer = rule_same_shape,
    .reference = &reference,
};
