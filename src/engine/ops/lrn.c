/* Local response normalisation across channels (Krizhevsky et al. 2012, with Caffe's alpha / size):
 *
 *   scale[c] = k + alpha / size * sum over the `size` channels around c of x^2
 *   y[c] = x[c] * scale[c]^-beta
 *   x'[c] = g[c] scale[c]^-beta
 *         - 2 alpha beta / size * x[c] * sum over the channels j around c of g[j] y[j] / scale[j]
 *
 * where x' is the input's gradient and g the output's. Channels before the first and after the last
 * count as 0. Saved: scale, [N, C, H, W].
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void read_lrn(struct layer_reader *reader, union attributes *attributes)
{
    struct lrn_attributes *lrn = &attributes->lrn;
    lrn->size = layer_count(reader, "size", 5, 1, 1023);
    lrn->alpha = (float)layer_number(reader, "alpha", 1e-4, 0, 1e3);
    lrn->beta = (float)layer_number(reader, "beta", 0.75, 0, 1e3);
    lrn->k = (float)layer_number(reader, "k", 1, 1e-6, 1e6);
    if (lrn->size % 2 == 0)
        layer_fail(reader, "size", "must be odd");
}

static bool write_lrn(const union attributes *attributes, struct json *layer)
{
    const struct lrn_attributes *lrn = &attributes->lrn;
    return json_add_count(layer, "size", lrn->size) && json_add_float(layer, "alpha", lrn->alpha) &&
           json_add_float(layer, "beta", lrn->beta) && json_add_float(layer, "k", lrn->k);
}

static bool infer_lrn(struct graph *graph, struct node *node, const struct shape *inputs,
                      struct error *error)
{
    const struct lrn_attributes *lrn = &node->attributes.lrn;
    if (lrn->size % 2 == 0 || !(lrn->k > 0) || !(lrn->alpha >= 0))
        return error_set(error, ERROR_INPUT, node->name,
                         "choose an odd \"size\", a \"k\" above 0 and an \"alpha\" of 0 or more",
                         "lrn: size %zu, k %g or alpha %g cannot be used", lrn->size, lrn->k,
                         lrn->alpha);
    return rule_same_shape(graph, node, inputs, error);
}

static size_t saved_lrn(const struct kernel_site *site)
{
    return site->training ? site->batch * shape_count(site->inputs[0]) * sizeof(float) : 0;
}

/* Sets [*begin, *end) to the channels around c, itself included. */
static void neighbours(const struct kernel_call *call, size_t c, size_t *begin, size_t *end)
{
    const size_t half = call->site->node->attributes.lrn.size / 2;
    const size_t channels = call->site->inputs[0].channels;
    *begin = c < half ? 0 : c - half;
    *end = c + half + 1 < channels ? c + half + 1 : channels;
}

static size_t element(const struct kernel_call *call, size_t n, size_t c, size_t i)
{
    const struct shape shape = call->site->inputs[0];
    return (n * shape.channels + c) * shape_area(shape) + i;
}

static float scale_at(const struct kernel_call *call, size_t n, size_t c, size_t i)
{
    const struct lrn_attributes *lrn = &call->site->node->attributes.lrn;
    size_t begin, end;
    double squares = 0;
    neighbours(call, c, &begin, &end);
    for (size_t j = begin; j < end; j++) {
        double x = call->inputs[0][element(call, n, j, i)];
        squares += x * x;
    }
    return (float)(lrn->k + lrn->alpha / (double)lrn->size * squares);
}

static void forward_lrn(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    const float beta = call->site->node->attributes.lrn.beta;
    float *saved = call->site->training ? call->saved : NULL;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < shape.channels; c++)
            for (size_t i = 0; i < shape_area(shape); i++) {
                size_t at = element(call, n, c, i);
                float scale = scale_at(call, n, c, i);
                call->output[at] = call->inputs[0][at] * powf(scale, -beta);
                if (saved)
                    saved[at] = scale;
            }
}

/* Returns the sum over the channels j around c of g[j] y[j] / scale[j]. */
static double neighbour_sum(const struct kernel_call *call, size_t n, size_t c, size_t i)
{
    const float beta = call->site->node->attributes.lrn.beta, *scale = call->saved;
    size_t begin, end;
    double sum = 0;
    neighbours(call, c, &begin, &end);
    for (size_t j = begin; j < end; j++) {
        size_t at = element(call, n, j, i);
        double y = call->inputs[0][at] * pow(scale[at], -beta);
        sum += call->output_gradient[at] * y / scale[at];
    }
    return sum;
}

static void backward_lrn(const struct kernel_call *call)
{
    const struct lrn_attributes *lrn = &call->site->node->attributes.lrn;
    const struct shape shape = call->site->inputs[0];
    const double factor = 2.0 * lrn->alpha * lrn->beta / (double)lrn->size;
    const float *scale = call->saved;
    if (!call->input_gradients[0])
        return;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < shape.channels; c++)
            for (size_t i = 0; i < shape_area(shape); i++) {
                size_t at = element(call, n, c, i);
                double own = call->output_gradient[at] * pow(scale[at], -lrn->beta);
                double others = factor * call->inputs[0][at] * neighbour_sum(call, n, c, i);
                gradient_store(&call->input_gradients[0][at], call->accumulate[0],
                               (float)(own - others));
            }
}

static const struct kernel reference = {
    .name = "lrn reference",
    .instruction_set = "any",
    .op = &op_lrn,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .saved_bytes = saved_lrn,
    .forward = forward_lrn,
    .backward = backward_lrn,
};

const struct op op_lrn = {
    .name = "lrn",
    .description = "each value divided by the strength of the channels around it",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_lrn,
    .write = write_lrn,
    .infer = infer_lrn,
    .reference = &reference,
};
