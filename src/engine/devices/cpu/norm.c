/* Code that the kernels of batch normalisation share (formulas in ops/batch_norm.c): their
 * workspace, and the use of a channel's statistics. */
#include "engine/devices/cpu/norm.h"

#include "engine/graph/micro_batch.h"

#include <math.h>

size_t KERNEL(norm_workspace)(const struct kernel_site *site)
{
    const size_t channels = site->inputs[0].channels;
    return site->batch * channels * sizeof(struct pair) + 3 * channels * sizeof(float);
}

struct norm KERNEL(norm_of)(const struct kernel_call *call)
{
    struct norm norm = {.call = call, .shape = call->site->inputs[0], .batch = call->site->batch};
    norm.area = shape_area(norm.shape);
    norm.blocks = call->site->image_blocks ? call->site->image_blocks : 1;
    norm.planes = call->workspace;
    norm.scale = (float *)(norm.planes + norm.batch * norm.shape.channels);
    norm.offset = norm.scale + norm.shape.channels;
    norm.slope = norm.offset + norm.shape.channels;
    return norm;
}

size_t KERNEL(norm_saved)(const struct kernel_site *site)
{
    return site->training ? 2 * site->inputs[0].channels * sizeof(float) : 0;
}

/* --- forward --- */

/* Returns the moments of channel c in a block of images. */
static struct moments block_moments(const struct norm *norm, size_t c, struct image_range images)
{
    const size_t channels = norm->shape.channels;
    const struct pair *planes = norm->planes + images.first * channels + c;
    const double values = (double)(images.count * norm->area);
    double mean = 0, squares = 0;
    if (images.count == 0)
        return (struct moments){0};
    if (norm->by_blocks)
        return (struct moments){values, planes->a, planes->b};
    for (size_t n = 0; n < images.count; n++)
        mean += planes[n * channels].a;
    mean /= (double)images.count;
    for (size_t n = 0; n < images.count; n++) {
        const double distance = planes[n * channels].a - mean;
        squares += planes[n * channels].b + (double)norm->area * distance * distance;
    }
    return (struct moments){values, mean, squares};
}

/* Returns the moments of channel c in the images of blocks[begin..begin + count). */
static struct moments join_moments(const struct norm *norm, size_t c, size_t begin, size_t count)
{
    if (count == 1)
        return block_moments(norm, c, image_blocks_range(norm->batch, norm->blocks, begin, 1));
    const size_t left = image_blocks_left(count);
    return moments_join(join_moments(norm, c, begin, left),
                        join_moments(norm, c, begin + left, count - left));
}

static void move_towards(float *running, float momentum, double value)
{
    *running = (float)((1.0 - momentum) * *running + momentum * value);
}

static void keep_channel(const struct norm *norm, size_t c, struct moments moments)
{
    const struct kernel_call *call = norm->call;
    const struct batch_norm_attributes *attributes = &call->site->node->attributes.batch_norm;
    const double values = moments.count;
    float *saved = call->saved;
    saved[c] = (float)moments.mean;
    saved[norm->shape.channels + c] =
        (float)(1.0 / sqrt(moments.squares / values + attributes->epsilon));
    move_towards(&call->parameters[RUNNING_MEAN][c], attributes->momentum, moments.mean);
    /* a single value has no unbiased variance (0 / 0); the variance becomes 0 */
    move_towards(&call->parameters[RUNNING_VAR][c], attributes->momentum,
                 moments.squares / (values > 1 ? values - 1 : 1));
}

/* Joins the moments of all channels with those of all processes. */
static void share_moments(const struct norm *norm, const struct micro_batch *micro_batch)
{
    double *mine = micro_batch->mine;
    for (const struct batch_subtree *subtree = micro_batch->own;
         subtree < micro_batch->own + micro_batch->own_count; subtree++)
        for (size_t c = 0; c < norm->shape.channels; c++, mine += 3) {
            const struct moments moments = join_moments(norm, c, subtree->begin, subtree->count);
            mine[0] = moments.count;
            mine[1] = moments.mean;
            mine[2] = moments.squares;
        }
    micro_batch_join_moments(micro_batch, norm->shape.channels);
}

void KERNEL(norm_keep)(const struct norm *norm)
{
    const struct micro_batch *micro_batch = norm->call->micro_batch;
    if (micro_batch)
        share_moments(norm, micro_batch);
    for (size_t c = 0; c < norm->shape.channels; c++) {
        const double *shared = micro_batch ? micro_batch->all + 3 * c : NULL;
        keep_channel(norm, c,
                     micro_batch ? (struct moments){shared[0], shared[1], shared[2]}
                                 : join_moments(norm, c, 0, norm->blocks));
    }
}

/* --- backward --- */

static struct pair block_sums(const struct norm *norm, size_t c, struct image_range images)
{
    const size_t channels = norm->shape.channels;
    const struct pair *planes = norm->planes + images.first * channels + c;
    struct pair sums = {0, 0};
    if (norm->by_blocks && images.count > 0)
        return *planes;
    for (size_t n = 0; n < images.count; n++) {
        sums.a += planes[n * channels].a;
        sums.b += planes[n * channels].b;
    }
    return sums;
}

/* Returns the sums of channel c over the images of blocks[begin..begin + count). */
static struct pair add_sums(const struct norm *norm, size_t c, size_t begin, size_t count)
{
    if (count == 1)
        return block_sums(norm, c, image_blocks_range(norm->batch, norm->blocks, begin, 1));
    const size_t left = image_blocks_left(count);
    const struct pair a = add_sums(norm, c, begin, left);
    const struct pair b = add_sums(norm, c, begin + left, count - left);
    return (struct pair){a.a + b.a, a.b + b.b};
}

static void finish_channel(const struct norm *norm, size_t c, struct pair sums)
{
    const struct kernel_call *call = norm->call;
    const size_t images = call->micro_batch ? call->micro_batch->whole_images : norm->batch;
    const double values = (double)(images * norm->area);
    const float *saved = call->saved;
    const double invstd = saved[norm->shape.channels + c];
    const double weight_gradient = sums.b * invstd, factor = call->parameters[WEIGHT][c] * invstd;
    if (call->parameter_gradients[WEIGHT])
        call->parameter_gradients[WEIGHT][c] =
            micro_batch_gradient(call->micro_batch, weight_gradient);
    if (call->parameter_gradients[BIAS])
        call->parameter_gradients[BIAS][c] = micro_batch_gradient(call->micro_batch, sums.a);
    norm->scale[c] = (float)factor;
    norm->slope[c] = (float)(-factor * invstd * weight_gradient / values);
    norm->offset[c] = (float)(-factor * sums.a / values);
}

/* Adds the sums of all channels to those of all processes. */
static void share_sums(const struct norm *norm, const struct micro_batch *micro_batch)
{
    double *mine = micro_batch->mine;
    for (const struct batch_subtree *subtree = micro_batch->own;
         subtree < micro_batch->own + micro_batch->own_count; subtree++)
        for (size_t c = 0; c < norm->shape.channels; c++, mine += 2) {
            const struct pair sums = add_sums(norm, c, subtree->begin, subtree->count);
            mine[0] = sums.a;
            mine[1] = sums.b;
        }
    micro_batch_add(micro_batch, 2 * norm->shape.channels);
}

void KERNEL(norm_finish)(const struct norm *norm)
{
    const struct micro_batch *micro_batch = norm->call->micro_batch;
    if (micro_batch)
        share_sums(norm, micro_batch);
    for (size_t c = 0; c < norm->shape.channels; c++) {
        const double *shared = micro_batch ? micro_batch->all + 2 * c : NULL;
        finish_channel(norm, c,
                       micro_batch ? (struct pair){shared[0], shared[1]}
                                   : add_sums(norm, c, 0, norm->blocks));
    }
}
