/* Batch normalisation (Ioffe & Szegedy 2015), a channel at a time over all images and positions:
 *
 *   y = weight * (x - mean) * invstd + bias,    invstd = 1 / sqrt(variance + epsilon)
 *
 * With the attribute `instance` inference uses the statistics of each image alone: what training
 * does with a batch of one (Isola et al. 2017).
 *
 * Training uses the batch's mean and (biased) variance and moves the running statistics towards
 * them, the variance unbiased there as in PyTorch; inference uses the running statistics. With M
 * values a channel, xhat = (x - mean) * invstd and g the output's gradient:
 *
 *   weight' = sum g xhat      bias' = sum g
 *   x' = weight * invstd * (g - bias' / M - xhat * weight' / M)
 *
 * Saved: mean then invstd, [2, C]; a forward pass that is run again takes them from there.
 * Parameters: weight, bias, running_mean, running_var.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

static void read_batch_norm(struct layer_reader *reader, union attributes *attributes)
{
    attributes->batch_norm.epsilon = (float)layer_number(reader, "epsilon", 1e-5, 1e-12, 1);
    attributes->batch_norm.momentum = (float)layer_number(reader, "momentum", 0.1, 0, 1);
    attributes->batch_norm.instance = layer_flag(reader, "instance", false);
}

static bool infer_batch_norm(struct graph *graph, struct node *node, const struct shape *inputs,
                             struct error *error)
{
    const struct batch_norm_attributes *norm = &node->attributes.batch_norm;
    const struct initialiser zero = {INITIALISE_CONSTANT, 0.0f}, one = {INITIALISE_CONSTANT, 1.0f};
    const size_t channels = inputs[0].channels;
    if (!(norm->epsilon > 0) || !(norm->momentum >= 0 && norm->momentum <= 1))
        return error_set(error, ERROR_INPUT, node->name,
                         "choose an \"epsilon\" above 0 and a \"momentum\" of 0 to 1",
                         "batch_norm: epsilon %g or momentum %g cannot be used", norm->epsilon,
                         norm->momentum);
    return rule_same_shape(graph, node, inputs, error) &&
           graph_add_parameter(graph, node, "weight", &channels, 1, 1, one, true, error) &&
           graph_add_parameter(graph, node, "bias", &channels, 1, 1, zero, true, error) &&
           graph_add_parameter(graph, node, "running_mean", &channels, 1, 1, zero, false, error) &&
           graph_add_parameter(graph, node, "running_var", &channels, 1, 1, one, false, error);
}

static size_t saved_batch_norm(const struct kernel_site *site)
{
    return site->training ? 2 * site->inputs[0].channels * sizeof(float) : 0;
}

/* Element i of channel c of image n. */
static size_t element(struct shape shape, size_t n, size_t c, size_t i)
{
    return (n * shape.channels + c) * shape_area(shape) + i;
}

static double channel_mean(const struct kernel_call *call, size_t c)
{
    const struct shape shape = call->site->inputs[0];
    double sum = 0;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t i = 0; i < shape_area(shape); i++)
            sum += call->inputs[0][element(shape, n, c, i)];
    return sum / (double)(call->site->batch * shape_area(shape));
}

static double channel_squares(const struct kernel_call *call, size_t c, double mean)
{
    const struct shape shape = call->site->inputs[0];
    double sum = 0;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t i = 0; i < shape_area(shape); i++) {
            double difference = call->inputs[0][element(shape, n, c, i)] - mean;
            sum += difference * difference;
        }
    return sum;
}

static void move_towards(float *running, float momentum, double value)
{
    *running = (float)((1.0 - momentum) * *running + momentum * value);
}

/* Training: the batch's statistics into saved[], and their share into the running ones. */
static void measure_channel(const struct kernel_call *call, size_t c)
{
    const struct batch_norm_attributes *norm = &call->site->node->attributes.batch_norm;
    const size_t channels = call->site->inputs[0].channels;
    const double values = (double)(call->site->batch * shape_area(call->site->inputs[0]));
    const double mean = channel_mean(call, c), squares = channel_squares(call, c, mean);
    float *saved = call->saved;
    saved[c] = (float)mean;
    saved[channels + c] = (float)(1.0 / sqrt(squares / values + norm->epsilon));
    move_towards(&call->parameters[RUNNING_MEAN][c], norm->momentum, mean);
    /* one value alone has no unbiased variance; its spread, 0, is taken instead of 0 / 0 */
    move_towards(&call->parameters[RUNNING_VAR][c], norm->momentum,
                 squares / (values > 1 ? values - 1 : 1));
}

static bool takes_instances(const struct kernel_site *site)
{
    return !site->training && site->node->attributes.batch_norm.instance;
}

/* One channel of one image by its own statistics. */
static void forward_instance(const struct kernel_call *call, size_t n, size_t c)
{
    const struct shape shape = call->site->inputs[0];
    const double values = (double)shape_area(shape);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < shape_area(shape); i++)
        sum += call->inputs[0][element(shape, n, c, i)];
    const double mean = sum / values;
    for (size_t i = 0; i < shape_area(shape); i++) {
        double difference = call->inputs[0][element(shape, n, c, i)] - mean;
        squares += difference * difference;
    }
    const double invstd =
        1.0 / sqrt(squares / values + call->site->node->attributes.batch_norm.epsilon);
    for (size_t i = 0; i < shape_area(shape); i++) {
        size_t at = element(shape, n, c, i);
        call->output[at] =
            call->parameters[WEIGHT][c] * (((float)(call->inputs[0][at] - mean)) * (float)invstd) +
            call->parameters[BIAS][c];
    }
}

static void forward_instances(const struct kernel_call *call)
{
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < call->site->inputs[0].channels; c++)
            forward_instance(call, n, c);
}

static void forward_batch_norm(const struct kernel_call *call)
{
    if (takes_instances(call->site)) {
        forward_instances(call);
        return;
    }
    const struct shape shape = call->site->inputs[0];
    const float epsilon = call->site->node->attributes.batch_norm.epsilon;
    const float *saved = call->saved;
    for (size_t c = 0; c < shape.channels; c++) {
        float mean = call->parameters[RUNNING_MEAN][c];
        float invstd = 1.0f / sqrtf(call->parameters[RUNNING_VAR][c] + epsilon);
        if (call->site->training) {
            if (!call->recomputing)
                measure_channel(call, c);
            mean = saved[c];
            invstd = saved[shape.channels + c];
        }
        for (size_t n = 0; n < call->site->batch; n++)
            for (size_t i = 0; i < shape_area(shape); i++) {
                size_t at = element(shape, n, c, i);
                call->output[at] =
                    call->parameters[WEIGHT][c] * ((call->inputs[0][at] - mean) * invstd) +
                    call->parameters[BIAS][c];
            }
    }
}

static void backward_channel(const struct kernel_call *call, size_t c)
{
    const struct shape shape = call->site->inputs[0];
    const double values = (double)(call->site->batch * shape_area(shape));
    const float *saved = call->saved;
    const double mean = saved[c], invstd = saved[shape.channels + c];
    double sum = 0, sum_xhat = 0;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t i = 0; i < shape_area(shape); i++) {
            size_t at = element(shape, n, c, i);
            sum += call->output_gradient[at];
            sum_xhat += call->output_gradient[at] * (call->inputs[0][at] - mean) * invstd;
        }
    if (call->parameter_gradients[WEIGHT])
        call->parameter_gradients[WEIGHT][c] = (float)sum_xhat;
    if (call->parameter_gradients[BIAS])
        call->parameter_gradients[BIAS][c] = (float)sum;
    if (!call->input_gradients[0])
        return;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t i = 0; i < shape_area(shape); i++) {
            size_t at = element(shape, n, c, i);
            double xhat = (call->inputs[0][at] - mean) * invstd;
            double centred = call->output_gradient[at] - sum / values - xhat * sum_xhat / values;
            gradient_store(&call->input_gradients[0][at], call->accumulate[0],
                           (float)(call->parameters[WEIGHT][c] * invstd * centred));
        }
}

static void backward_batch_norm(const struct kernel_call *call)
{
    for (size_t c = 0; c < call->site->inputs[0].channels; c++)
        backward_channel(call, c);
}

static const struct kernel reference = {
    .name = "batch_norm reference",
    .instruction_set = "any",
    .op = &op_batch_norm,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE |
              KERNEL_REUSES_SAVED,
    .saved_bytes = saved_batch_norm,
    .forward = forward_batch_norm,
    .backward = backward_batch_norm,
};

const struct op op_batch_norm = {
    .name = "batch_norm",
    .description = "each channel to mean 0 and deviation 1 over the batch, then scaled and moved",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_batch_norm,
    .infer = infer_batch_norm,
    .reference = &reference,
};
