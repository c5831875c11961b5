/* What the kernels of batch normalisation share (formulas in ops/batch_norm.c): their workspace,
 * and what they do with the statistics of a channel. */
#include "engine/devices/cpu/norm.h"

#include <math.h>

size_t KERNEL(norm_workspace)(const struct kernel_site *site)
{
    const size_t channels = site->inputs[0].channels;
    return (site->batch + 1) * channels * sizeof(struct pair) + 3 * channels * sizeof(float);
}

struct norm KERNEL(norm_of)(const struct kernel_call *call)
{
    struct norm norm = {.call = call, .shape = call->site->inputs[0], .batch = call->site->batch};
    norm.area = shape_area(norm.shape);
    norm.planes = call->workspace;
    norm.channels = norm.planes + norm.batch * norm.shape.channels;
    norm.scale = (float *)(norm.channels + norm.shape.channels);
    norm.offset = norm.scale + norm.shape.channels;
    norm.slope = norm.offset + norm.shape.channels;
    return norm;
}

size_t KERNEL(norm_saved)(const struct kernel_site *site)
{
    return site->training ? 2 * site->inputs[0].channels * sizeof(float) : 0;
}

/* --- forward --- */

static struct pair join_planes(const struct norm *norm, size_t c)
{
    const struct pair *planes = norm->planes + c;
    const size_t channels = norm->shape.channels;
    double mean = 0, squares = 0;
    for (size_t n = 0; n < norm->batch; n++)
        mean += planes[n * channels].a;
    mean /= (double)norm->batch;
    for (size_t n = 0; n < norm->batch; n++) {
        const double distance = planes[n * channels].a - mean;
        squares += planes[n * channels].b + (double)norm->area * distance * distance;
    }
    return (struct pair){mean, squares};
}

static void move_towards(float *running, float momentum, double value)
{
    *running = (float)((1.0 - momentum) * *running + momentum * value);
}

void KERNEL(norm_keep)(const struct norm *norm, size_t c, struct pair statistics)
{
    const struct kernel_call *call = norm->call;
    const struct batch_norm_attributes *attributes = &call->site->node->attributes.batch_norm;
    const double values = (double)(norm->batch * norm->area);
    float *saved = call->saved;
    saved[c] = (float)statistics.a;
    saved[norm->shape.channels + c] =
        (float)(1.0 / sqrt(statistics.b / values + attributes->epsilon));
    move_towards(&call->parameters[RUNNING_MEAN][c], attributes->momentum, statistics.a);
    /* a single value has no unbiased variance (0 / 0); the variance becomes 0 */
    move_towards(&call->parameters[RUNNING_VAR][c], attributes->momentum,
                 statistics.b / (values > 1 ? values - 1 : 1));
}

void KERNEL(norm_keep_planes)(const struct norm *norm, size_t c)
{
    KERNEL(norm_keep)(norm, c, join_planes(norm, c));
}

/* --- backward --- */

static struct pair join_sums(const struct norm *norm, size_t c)
{
    struct pair sums = {0, 0};
    for (size_t n = 0; n < norm->batch; n++) {
        sums.a += norm->planes[n * norm->shape.channels + c].a;
        sums.b += norm->planes[n * norm->shape.channels + c].b;
    }
    return sums;
}

void KERNEL(norm_finish)(const struct norm *norm, size_t c, struct pair sums)
{
    const struct kernel_call *call = norm->call;
    const double values = (double)(norm->batch * norm->area);
    const float *saved = call->saved;
    const double invstd = saved[norm->shape.channels + c];
    const double weight_gradient = sums.b * invstd, factor = call->parameters[WEIGHT][c] * invstd;
    if (call->parameter_gradients[WEIGHT])
        call->parameter_gradients[WEIGHT][c] = (float)weight_gradient;
    if (call->parameter_gradients[BIAS])
        call->parameter_gradients[BIAS][c] = (float)sums.a;
    norm->scale[c] = (float)factor;
    norm->slope[c] = (float)(-factor * invstd * weight_gradient / values);
    norm->offset[c] = (float)(-factor * sums.a / values);
}

void KERNEL(norm_finish_planes)(const struct norm *norm, size_t c)
{
    KERNEL(norm_finish)(norm, c, join_sums(norm, c));
}
