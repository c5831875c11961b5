/* The loss of classification: -log(softmax(x)[label]) of each image, computed from the logits x.
 *
 * With m = max x the loss is log(sum of exp(x - m)) - (x[label] - m). One term of the sum is
 * exp(0) = 1, so the logarithm is at least 0 and at least x[label] - m: the loss is never negative,
 * and finite logits never make it overflow. Its gradient is softmax(x) - onehot(label).
 *
 * With label smoothing e (Szegedy et al. 2016), which only training has, the target of class c is
 * (1 - e) onehot(label)[c] + e / classes, and the loss the mean of -log(softmax(x)) by these
 * weights: (1 - e) x[label] + e mean(x) replaces x[label].
 *
 * A soft target (soft_target.h) has two labels with weights, and smoothing weights each class.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <assert.h>
#include <math.h>

static bool infer_softmax_cross_entropy(struct graph *graph, struct node *node,
                                        const struct shape *inputs, struct error *error)
{
    (void)graph;
    if (shape_area(inputs[0]) != 1)
        return error_set(error, ERROR_INPUT, node->name,
                         "put a global pool, a flatten or a linear layer before it",
                         "softmax_cross_entropy: it takes one value a class, not %zu x %zu x %zu",
                         inputs[0].channels, inputs[0].height, inputs[0].width);
    return rule_loss(node, error);
}

static float maximum(const float *x, size_t classes)
{
    float largest = x[0];
    for (size_t c = 1; c < classes; c++)
        largest = fmaxf(largest, x[c]);
    return largest;
}

/* Returns the sum over c of exp(x[c] - m), which lies in [1, classes]. */
static float sum_of_exponentials(const float *x, size_t classes, float m)
{
    float sum = 0;
    for (size_t c = 0; c < classes; c++)
        sum += expf(x[c] - m);
    return sum;
}

static float mean(const float *x, size_t classes, float m)
{
    float sum = 0;
    for (size_t c = 0; c < classes; c++)
        sum += x[c] - m;
    return sum / (float)classes;
}

static size_t label_of(const struct kernel_call *call, size_t n)
{
    assert(call->labels[n] >= 0 && (size_t)call->labels[n] < call->site->inputs[0].channels);
    return (size_t)call->labels[n];
}

/* Returns the weight of class c in the loss of an image with a soft target. */
static float soft_weight(const struct kernel_call *call, size_t n, size_t c)
{
    const struct soft_target *soft = &call->soft_targets[n];
    const float smoothing = loss_smoothing(call->site);
    const float share = smoothing / (float)call->site->inputs[0].channels;
    const float own = c == label_of(call, n) ? soft->own : 0;
    const float other = c == (size_t)soft->partner ? soft->other : 0;
    const float weight = call->class_weights ? call->class_weights[c] : 1;
    return (1 - smoothing) * (own + other) + share * soft->scale * weight;
}

/* Returns the sum of the weights of all classes. */
static float soft_total(const struct kernel_call *call, size_t n)
{
    float total = 0;
    for (size_t c = 0; c < call->site->inputs[0].channels; c++)
        total += soft_weight(call, n, c);
    return total;
}

/* Returns the sum over c of weight(c) (log(sum) - (x[c] - m)). */
static float soft_loss(const struct kernel_call *call, size_t n, const float *x, float m)
{
    const size_t classes = call->site->inputs[0].channels;
    const float logarithm = logf(sum_of_exponentials(x, classes, m));
    float loss = 0;
    for (size_t c = 0; c < classes; c++)
        loss += soft_weight(call, n, c) * (logarithm - (x[c] - m));
    return loss;
}

static void forward_softmax_cross_entropy(const struct kernel_call *call)
{
    const size_t classes = call->site->inputs[0].channels;
    const float smoothing = loss_smoothing(call->site);
    for (size_t n = 0; n < call->site->batch; n++) {
        const float *x = call->inputs[0] + n * classes;
        const float m = maximum(x, classes);
        if (call->soft_targets) {
            call->output[n] = soft_loss(call, n, x, m);
            continue;
        }
        float target = x[label_of(call, n)] - m;
        if (smoothing > 0)
            target = (1 - smoothing) * target + smoothing * mean(x, classes, m);
        call->output[n] = logf(sum_of_exponentials(x, classes, m)) - target;
    }
}

static void backward_softmax_cross_entropy(const struct kernel_call *call)
{
    const size_t classes = call->site->inputs[0].channels;
    const float smoothing = loss_smoothing(call->site), share = smoothing / (float)classes;
    if (!call->input_gradients[0])
        return;
    for (size_t n = 0; n < call->site->batch; n++) {
        const float *x = call->inputs[0] + n * classes;
        const float m = maximum(x, classes), sum = sum_of_exponentials(x, classes, m);
        const float total = call->soft_targets ? soft_total(call, n) : 1;
        for (size_t c = 0; c < classes; c++) {
            float probability = expf(x[c] - m) / sum;
            float target = call->soft_targets
                               ? soft_weight(call, n, c)
                               : (c == label_of(call, n) ? 1 - smoothing : 0) + share;
            gradient_store(&call->input_gradients[0][n * classes + c], call->accumulate[0],
                           loss_scale(call) * (total * probability - target));
        }
    }
}

static void read(struct layer_reader *reader, union attributes *attributes)
{
    rule_read_loss(reader, attributes);
    attributes->loss.smoothing = (float)layer_number(reader, "smoothing", 0, 0, 0.99);
}

static bool write(const union attributes *attributes, struct json *layer)
{
    return rule_write_loss(attributes, layer) &&
           (attributes->loss.smoothing == 0 ||
            json_add_float(layer, "smoothing", attributes->loss.smoothing));
}

static const struct kernel reference = {
    .name = "softmax_cross_entropy reference",
    .instruction_set = "any",
    .op = &op_softmax_cross_entropy,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_softmax_cross_entropy,
    .backward = backward_softmax_cross_entropy,
};

const struct op op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .description = "loss: minus the log of the probability of the right class, from logits",
    .min_inputs = 1,
    .max_inputs = 1,
    .traits = OP_LOSS | OP_READS_LABELS,
    .read = read,
    .write = write,
    .infer = infer_softmax_cross_entropy,
    .reference = &reference,
};
