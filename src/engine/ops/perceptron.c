/* The loss of the perceptron rule (Rosenblatt 1958) for any number of classes: the largest logit
 * minus that of the label, max x - x[label]. It is 0 if the label's logit is the largest.
 *
 * With p the predicted class, the first with the largest logit, the gradient is onehot(p) -
 * onehot(label), and so 0 for an image that is classified correctly. Plain SGD with rate 1 and
 * one image at a time then is the rule: a wrong answer adds the input to the weights of the label
 * and subtracts it from those of the predicted class (Kesler's construction in Duda and Hart 1973;
 * in Crammer and Singer 2003 the update that has the worst margin). For two classes the difference
 * of both rows is Rosenblatt's weight vector.
 *
 * In a tie the lowest class is predicted, as in top-1. A label in a tie with a lower class
 * therefore has a loss of 0 but a gradient: it is a wrong answer. Without that, weights that begin
 * at 0 would never change.
 *
 * It differs from the multi-class hinge loss of Crammer and Singer (2001), which demands a margin
 * of 1, and from scikit-learn's Perceptron, which trains each class against all others on its own.
 *
 * The loss of an image with a NaN among its logits, and its gradients, are NaN.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <assert.h>
#include <math.h>

static bool infer_perceptron(struct graph *graph, struct node *node, const struct shape *inputs,
                             struct error *error)
{
    (void)graph;
    if (shape_area(inputs[0]) != 1)
        return error_set(error, ERROR_INPUT, node->name,
                         "put a global pool, a flatten or a linear layer before it",
                         "perceptron: it takes one value a class, not %zu x %zu x %zu",
                         inputs[0].channels, inputs[0].height, inputs[0].width);
    return rule_loss(node, error);
}

/* Returns the first class with the largest logit, or the first whose logit is NaN. */
static size_t predicted_class(const float *x, size_t classes)
{
    size_t best = 0;
    for (size_t c = 0; c < classes; c++) {
        if (isnan(x[c]))
            return c;
        if (x[c] > x[best])
            best = c;
    }
    return best;
}

static size_t label_of(const struct kernel_call *call, size_t n)
{
    assert(call->labels[n] >= 0 && (size_t)call->labels[n] < call->site->inputs[0].channels);
    return (size_t)call->labels[n];
}

static void forward_perceptron(const struct kernel_call *call)
{
    const size_t classes = call->site->inputs[0].channels;
    for (size_t n = 0; n < call->site->batch; n++) {
        const float *x = call->inputs[0] + n * classes;
        call->output[n] = x[predicted_class(x, classes)] - x[label_of(call, n)];
    }
}

static void backward_perceptron(const struct kernel_call *call)
{
    const size_t classes = call->site->inputs[0].channels;
    if (!call->input_gradients[0])
        return;
    for (size_t n = 0; n < call->site->batch; n++) {
        const float *x = call->inputs[0] + n * classes;
        const size_t predicted = predicted_class(x, classes), label = label_of(call, n);
        for (size_t c = 0; c < classes; c++) {
            float gradient = (float)(c == predicted) - (float)(c == label);
            if (isnan(x[predicted]))
                gradient = x[predicted];
            gradient_store(&call->input_gradients[0][n * classes + c], call->accumulate[0],
                           loss_scale(call) * gradient);
        }
    }
}

static const struct kernel reference = {
    .name = "perceptron reference",
    .instruction_set = "any",
    .op = &op_perceptron,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_perceptron,
    .backward = backward_perceptron,
};

const struct op op_perceptron = {
    .name = "perceptron",
    .description = "loss: the largest logit minus that of the right class (perceptron rule)",
    .min_inputs = 1,
    .max_inputs = 1,
    .traits = OP_LOSS | OP_READS_LABELS,
    .read = rule_read_loss,
    .write = rule_write_loss,
    .infer = infer_perceptron,
    .reference = &reference,
};
