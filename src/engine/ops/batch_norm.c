/* Batch normalisation (Ioffe & Szegedy 2015), for each channel over all images and positions:
 *
 *   y = weight * (x - mean) * invstd + bias,    invstd = 1 / sqrt(variance + epsilon)
 *
 * Training uses the mean and the biased variance of the batch, and moves the running statistics
 * towards the mean and the unbiased variance, as PyTorch does. Inference uses the running
 * statistics. With the attribute `instance` inference uses the statistics of each single image,
 * like training with a batch of one (Isola et al. 2017).
 *
 * With M values in a channel, xhat = (x - mean) * invstd and g the output's gradient:
 *
 *   weight' = sum g xhat      bias' = sum g
 *   x' = weight * invstd * (g - bias' / M - xhat * weight' / M)
 *
 * Saved: mean, then invstd, [2, C]; a recomputed forward pass reads them and leaves the running
 * statistics alone. Parameters: weight, bias, running_mean, running_var.
 */
#include "engine/graph/micro_batch.h"
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

static bool write_batch_norm(const union attributes *attributes, struct json *layer)
{
    const struct batch_norm_attributes *norm = &attributes->batch_norm;
    return json_add_float(layer, "epsilon", norm->epsilon) &&
           json_add_float(layer, "momentum", norm->momentum) &&
           json_add_bool(layer, "instance", norm->instance);
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

/* Returns the index of element i of channel c of image n. */
static size_t element(struct shape shape, size_t n, size_t c, size_t i)
{
    return (n * shape.channels + c) * shape_area(shape) + i;
}

static double channel_mean(const struct kernel_call *call, size_t c, struct image_range images)
{
    const struct shape shape = call->site->inputs[0];
    double sum = 0;
    for (size_t n = 0; n < images.count; n++)
        for (size_t i = 0; i < shape_area(shape); i++)
            sum += call->inputs[0][element(shape, images.first + n, c, i)];
    return sum / (double)(images.count * shape_area(shape));
}

static double channel_squares(const struct kernel_call *call, size_t c, struct image_range images,
                              double mean)
{
    const struct shape shape = call->site->inputs[0];
    double sum = 0;
    for (size_t n = 0; n < images.count; n++)
        for (size_t i = 0; i < shape_area(shape); i++) {
            double difference = call->inputs[0][element(shape, images.first + n, c, i)] - mean;
            sum += difference * difference;
        }
    return sum;
}

static size_t image_blocks_of(const struct kernel_call *call)
{
    return call->site->image_blocks ? call->site->image_blocks : 1;
}

/* Returns the moments of channel c in the images of blocks[begin..begin + count). */
static struct moments channel_moments(const struct kernel_call *call, size_t c, size_t begin,
                                      size_t count)
{
    const struct image_range images =
        image_blocks_range(call->site->batch, image_blocks_of(call), begin, count);
    if (images.count == 0)
        return (struct moments){0};
    if (count == 1) {
        const double mean = channel_mean(call, c, images);
        return (struct moments){(double)(images.count * shape_area(call->site->inputs[0])), mean,
                                channel_squares(call, c, images, mean)};
    }
    const size_t left = image_blocks_left(count);
    return moments_join(channel_moments(call, c, begin, left),
                        channel_moments(call, c, begin + left, count - left));
}

static void move_towards(float *running, float momentum, double value)
{
    *running = (float)((1.0 - momentum) * *running + momentum * value);
}

/* Joins the moments of all channels with those of all processes. */
static void share_moments(const struct kernel_call *call)
{
    const struct micro_batch *micro_batch = call->micro_batch;
    const size_t channels = call->site->inputs[0].channels;
    double *mine = micro_batch->mine;
    for (const struct batch_subtree *subtree = micro_batch->own;
         subtree < micro_batch->own + micro_batch->own_count; subtree++)
        for (size_t c = 0; c < channels; c++, mine += 3) {
            const struct moments moments = channel_moments(call, c, subtree->begin, subtree->count);
            mine[0] = moments.count;
            mine[1] = moments.mean;
            mine[2] = moments.squares;
        }
    micro_batch_join_moments(micro_batch, channels);
}

/* Returns the moments of channel c in the whole batch. */
static struct moments whole_moments(const struct kernel_call *call, size_t c)
{
    if (!call->micro_batch)
        return channel_moments(call, c, 0, image_blocks_of(call));
    const double *shared = call->micro_batch->all + 3 * c;
    return (struct moments){shared[0], shared[1], shared[2]};
}

/* Writes the statistics of the batch to saved[] and updates the running statistics, in training. */
static void measure_channel(const struct kernel_call *call, size_t c)
{
    const struct batch_norm_attributes *norm = &call->site->node->attributes.batch_norm;
    const size_t channels = call->site->inputs[0].channels;
    const struct moments moments = whole_moments(call, c);
    const double values = moments.count, mean = moments.mean, squares = moments.squares;
    float *saved = call->saved;
    saved[c] = (float)mean;
    saved[channels + c] = (float)(1.0 / sqrt(squares / values + norm->epsilon));
    move_towards(&call->parameters[RUNNING_MEAN][c], norm->momentum, mean);
    /* a single value has no unbiased variance (0 / 0); the variance becomes 0 */
    move_towards(&call->parameters[RUNNING_VAR][c], norm->momentum,
                 squares / (values > 1 ? values - 1 : 1));
}

static bool takes_instances(const struct kernel_site *site)
{
    return !site->training && site->node->attributes.batch_norm.instance;
}

/* Normalises one channel of one image with the statistics of that image. */
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
    if (call->micro_batch && call->site->training && !call->recomputing)
        share_moments(call);
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

struct gradient_sums {
    double g, g_xhat;
};

/* Returns the sums of channel c over the images of blocks[begin..begin + count). */
static struct gradient_sums sum_gradients(const struct kernel_call *call, size_t c, size_t begin,
                                          size_t count)
{
    const struct shape shape = call->site->inputs[0];
    const float *saved = call->saved;
    const double mean = saved[c], invstd = saved[shape.channels + c];
    struct gradient_sums sums = {0, 0};
    if (count > 1) {
        const size_t left = image_blocks_left(count);
        const struct gradient_sums a = sum_gradients(call, c, begin, left);
        const struct gradient_sums b = sum_gradients(call, c, begin + left, count - left);
        return (struct gradient_sums){a.g + b.g, a.g_xhat + b.g_xhat};
    }
    const struct image_range images =
        image_blocks_range(call->site->batch, image_blocks_of(call), begin, 1);
    for (size_t n = images.first; n < images.first + images.count; n++)
        for (size_t i = 0; i < shape_area(shape); i++) {
            size_t at = element(shape, n, c, i);
            sums.g += call->output_gradient[at];
            sums.g_xhat += call->output_gradient[at] * (call->inputs[0][at] - mean) * invstd;
        }
    return sums;
}

/* Adds the sums of all channels to those of all processes. */
static void share_sums(const struct kernel_call *call)
{
    const struct micro_batch *micro_batch = call->micro_batch;
    const size_t channels = call->site->inputs[0].channels;
    double *mine = micro_batch->mine;
    for (const struct batch_subtree *subtree = micro_batch->own;
         subtree < micro_batch->own + micro_batch->own_count; subtree++)
        for (size_t c = 0; c < channels; c++, mine += 2) {
            const struct gradient_sums sums =
                sum_gradients(call, c, subtree->begin, subtree->count);
            mine[0] = sums.g;
            mine[1] = sums.g_xhat;
        }
    micro_batch_add(micro_batch, 2 * channels);
}

/* Returns the sums of channel c over the whole batch. */
static struct gradient_sums whole_sums(const struct kernel_call *call, size_t c)
{
    if (!call->micro_batch)
        return sum_gradients(call, c, 0, image_blocks_of(call));
    const double *shared = call->micro_batch->all + 2 * c;
    return (struct gradient_sums){shared[0], shared[1]};
}

static void backward_channel(const struct kernel_call *call, size_t c)
{
    const struct shape shape = call->site->inputs[0];
    const size_t images = call->micro_batch ? call->micro_batch->whole_images : call->site->batch;
    const double values = (double)(images * shape_area(shape));
    const float *saved = call->saved;
    const double mean = saved[c], invstd = saved[shape.channels + c];
    const struct gradient_sums sums = whole_sums(call, c);
    const double sum = sums.g, sum_xhat = sums.g_xhat;
    if (call->parameter_gradients[WEIGHT])
        call->parameter_gradients[WEIGHT][c] = micro_batch_gradient(call->micro_batch, sum_xhat);
    if (call->parameter_gradients[BIAS])
        call->parameter_gradients[BIAS][c] = micro_batch_gradient(call->micro_batch, sum);
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
    if (call->micro_batch)
        share_sums(call);
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
    .traits = OP_READS_WHOLE_BATCH,
    .read = read_batch_norm,
    .write = write_batch_norm,
    .infer = infer_batch_norm,
    .reference = &reference,
};
