/* Code that the kernels for channel-blocked arrays share: the scale and shift of fused batch norms,
 * and the copy to the plain layout for kernels that support no other. */
#include "engine/devices/cpu/blocked.h"

#include "base/language.h"

#include <math.h>

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

bool KERNEL(blocked_supports)(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a plain layout");
    return site->layouts[0].block == LANES && site->output_layout.block == LANES;
}

struct affine KERNEL(norm_affine)(const struct node *norm,
                                  const float *const parameters[NORM_PARAMETERS], size_t channel)
{
    const double variance = parameters[RUNNING_VAR][channel];
    const double scale =
        parameters[WEIGHT][channel] / sqrt(variance + (double)norm->attributes.batch_norm.epsilon);
    return (struct affine){
        .scale = (float)scale,
        .shift = (float)(parameters[BIAS][channel] - parameters[RUNNING_MEAN][channel] * scale)};
}

struct affine KERNEL(blocked_affine)(const struct kernel_call *call, size_t channel, float bias)
{
    struct affine all = {.scale = 1, .shift = bias};
    for (size_t i = 0; i < call->site->fused_norm_count; i++) {
        const struct affine norm =
            KERNEL(norm_affine)(call->site->fused_norms[i].node, call->norm_parameters[i], channel);
        all.scale *= norm.scale;
        all.shift = all.shift * norm.scale + norm.shift;
    }
    return all;
}

/* --- the plain layout --- */

struct copy {
    struct blocked from;
    float *to;
};

/* Copies the channels of one block of one image. */
static void copy_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct copy *copy = context;
    const struct shape shape = copy->from.shape;
    const size_t planes = blocked_planes(&copy->from), image = task / planes, plane = task % planes;
    const size_t channels = min_size(LANES, shape.channels - plane * LANES);
    float *to = copy->to + (image * shape.channels + plane * LANES) * shape_area(shape);
    for (size_t y = 0; y < shape.height; y++) {
        const element *from = blocked_at(&copy->from, image, plane, y);
        for (size_t x = 0; x < shape.width; x++, from += LANES, to++) {
            const vector lanes = element_load(from);
            for (size_t c = 0; c < channels; c++)
                to[c * shape_area(shape)] = lanes[c];
        }
    }
}

struct copy_back {
    struct blocked to;
    const float *from;
    bool accumulate;
};

/* Copies the channels of one block of one image, with zeros in unused lanes. */
static void copy_back_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct copy_back *copy = context;
    const struct shape shape = copy->to.shape;
    const size_t planes = blocked_planes(&copy->to), image = task / planes, plane = task % planes;
    const size_t channels = min_size(LANES, shape.channels - plane * LANES);
    const float *from = copy->from + (image * shape.channels + plane * LANES) * shape_area(shape);
    for (size_t y = 0; y < shape.height; y++) {
        element *to = blocked_at(&copy->to, image, plane, y);
        for (size_t x = 0; x < shape.width; x++, to += LANES, from++) {
            vector lanes = {0};
            for (size_t c = 0; c < channels; c++)
                lanes[c] = from[c * shape_area(shape)];
            element_store(to, copy->accumulate ? element_load(to) + lanes : lanes);
        }
    }
}

void KERNEL(copy_from_plain)(struct pool *pool, struct tensor_layout layout, struct shape shape,
                             size_t batch, const float *from, void *to, bool accumulate)
{
    struct copy_back copy = {
        .to = blocked_make(to, shape, layout), .from = from, .accumulate = accumulate};
    pool_run(pool, batch * blocked_planes(&copy.to), copy_back_task, &copy);
}

void KERNEL(copy_to_plain)(struct pool *pool, struct tensor_layout layout, struct shape shape,
                           size_t batch, const void *from, float *to)
{
    struct copy copy = {.from = blocked_make(from, shape, layout), .to = to};
    pool_run(pool, batch * blocked_planes(&copy.from), copy_task, &copy);
}
