/* The loss of distillation (Hinton et al. 2015): how far the probabilities of the student's logits
 * x are from those of the teacher's logits t, both softened by a temperature T. With
 * p = softmax(t / T) and q = softmax(x / T), the loss of an image is
 *
 *     T^2 KL(p || q) = T^2 sum over c of p[c] (log p[c] - log q[c])
 *
 * It is never negative. Its gradient is T (q - p) for x and T p (log p - log q - KL(p || q)) for t;
 * the factor T^2 makes the size of the gradients independent of T. A teacher beside a student
 * needs no gradient; a network file may compare two of its own outputs.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void read_distillation(struct layer_reader *reader, union attributes *attributes)
{
    rule_read_loss(reader, attributes);
    attributes->loss.temperature = (float)layer_number(reader, "temperature", 1, 0.01, 1000);
}

static bool write_distillation(const union attributes *attributes, struct json *layer)
{
    return rule_write_loss(attributes, layer) &&
           json_add_float(layer, "temperature", attributes->loss.temperature);
}

static bool infer_distillation(struct graph *graph, struct node *node, const struct shape *inputs,
                               struct error *error)
{
    (void)graph;
    const float temperature = node->attributes.loss.temperature;
    if (shape_area(inputs[0]) != 1)
        return error_set(error, ERROR_INPUT, node->name,
                         "put a global pool, a flatten or a linear layer before it",
                         "distillation: it takes one value a class, not %zu x %zu x %zu",
                         inputs[0].channels, inputs[0].height, inputs[0].width);
    if (!(temperature > 0) || !isfinite(temperature))
        return error_set(error, ERROR_INPUT, node->name, "choose a \"temperature\" above 0",
                         "distillation: logits cannot be divided by %g", (double)temperature);
    return rule_equal_inputs(node, inputs, error) && rule_loss(node, error);
}

/* The logarithm of a softmax of logits / T: log of the probability of class c is
 * (logits[c] - largest) / T - log_sum. Everything is double: of two distributions that are alike
 * the divergence is the small sum of large terms. */
struct log_softmax {
    const float *logits;
    double largest, log_sum, temperature;
};

static struct log_softmax log_softmax_of(const float *logits, size_t classes, double temperature)
{
    struct log_softmax soft = {logits, (double)logits[0], 0, temperature};
    double sum = 0;
    for (size_t c = 1; c < classes; c++)
        soft.largest = fmax(soft.largest, (double)logits[c]);
    for (size_t c = 0; c < classes; c++)
        sum += exp(((double)logits[c] - soft.largest) / temperature);
    soft.log_sum = log(sum);
    return soft;
}

static double log_probability(const struct log_softmax *soft, size_t c)
{
    return ((double)soft->logits[c] - soft->largest) / soft->temperature - soft->log_sum;
}

/* Returns KL(p || q). Rounding may make the sum of equal distributions negative, which 0 replaces;
 * NaN remains. */
static double divergence(const struct log_softmax *teacher, const struct log_softmax *student,
                         size_t classes)
{
    double sum = 0;
    for (size_t c = 0; c < classes; c++) {
        const double log_p = log_probability(teacher, c);
        sum += exp(log_p) * (log_p - log_probability(student, c));
    }
    return sum < 0 ? 0 : sum;
}

static void forward_distillation(const struct kernel_call *call)
{
    const size_t classes = call->site->inputs[0].channels;
    const double temperature = (double)call->site->node->attributes.loss.temperature;
    for (size_t n = 0; n < call->site->batch; n++) {
        const struct log_softmax student = log_softmax_of(call->inputs[0] + n * classes, classes,
                                                          temperature),
                                 teacher = log_softmax_of(call->inputs[1] + n * classes, classes,
                                                          temperature);
        call->output[n] =
            (float)(temperature * temperature * divergence(&teacher, &student, classes));
    }
}

static void backward_distillation(const struct kernel_call *call)
{
    const size_t classes = call->site->inputs[0].channels;
    const double temperature = (double)call->site->node->attributes.loss.temperature;
    const double scale = (double)loss_scale(call) * temperature;
    for (size_t n = 0; n < call->site->batch; n++) {
        const struct log_softmax student = log_softmax_of(call->inputs[0] + n * classes, classes,
                                                          temperature),
                                 teacher = log_softmax_of(call->inputs[1] + n * classes, classes,
                                                          temperature);
        const double kl = divergence(&teacher, &student, classes);
        for (size_t c = 0; c < classes; c++) {
            const double log_p = log_probability(&teacher, c), log_q = log_probability(&student, c);
            const double p = exp(log_p);
            if (call->input_gradients[0])
                gradient_store(&call->input_gradients[0][n * classes + c], call->accumulate[0],
                               (float)(scale * (exp(log_q) - p)));
            if (call->input_gradients[1])
                gradient_store(&call->input_gradients[1][n * classes + c], call->accumulate[1],
                               (float)(scale * p * (log_p - log_q - kl)));
        }
    }
}

static const struct kernel reference = {
    .name = "distillation reference",
    .instruction_set = "any",
    .op = &op_distillation,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_distillation,
    .backward = backward_distillation,
};

const struct op op_distillation = {
    .name = "distillation",
    .description = "loss: difference of two softmax outputs at a temperature (student, teacher)",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = OP_LOSS,
    .read = read_distillation,
    .write = write_distillation,
    .infer = infer_distillation,
    .reference = &reference,
};
