/* Batch normalisation (formulas in ops/batch_norm.c).
 *
 * The statistics are taken plane by plane (one channel of one image): the mean of a plane and the
 * sum of squares around it are computed in float32 lanes while the plane is in the level-1 cache.
 * The planes of a channel are then combined in double, in image order:
 * M2 = sum of M2_n + area * sum of (mean_n - mean)^2, and so are blocks of images (image_blocks.h).
 * One pass over memory thus has the precision of two.
 *
 * Planes of a few values (vectors have planes of one value) would not fill a vector register. For
 * them a task takes a range of channels, runs along memory image by image, and has one sum in
 * double for each value of a plane.
 */
#include "engine/devices/cpu/norm.h"
#include "engine/graph/image_blocks.h"

#include <math.h>
#include <string.h>

enum { SMALL_AREA = 16, COLUMN_CHANNELS = 64 };

static size_t plane_tasks(const struct norm *norm)
{
    return divide_up(norm->batch * norm->shape.channels, planes_in_task(norm->area));
}

static size_t plane_end(const struct norm *norm, size_t task)
{
    return min_size(norm->batch * norm->shape.channels, (task + 1) * planes_in_task(norm->area));
}

static size_t column_tasks(const struct norm *norm)
{
    return divide_up(norm->shape.channels, COLUMN_CHANNELS);
}

/* --- statistics of the batch --- */

/* Values of a piece of a plane: few enough for a float32 sum. */
enum { PIECE = 4096 };

static struct pair measure_plane(const float *x, size_t area)
{
    double sum = 0, squares = 0;
    for (size_t at = 0; at < area; at += PIECE)
        sum += sum_floats(x + at, min_size(PIECE, area - at));
    const double mean = sum / (double)area;
    const float centre = (float)mean;
    for (size_t at = 0; at < area; at += PIECE) {
        const float *from = x + at;
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t i = 0; i < min_size(PIECE, area - at); i++)
            part += (from[i] - centre) * (from[i] - centre);
        squares += part;
    }
    /* corrects for the rounding of the centre to float32 */
    return (struct pair){mean, squares - (double)area * (mean - centre) * (mean - centre)};
}

static void measure_planes_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++)
        norm->planes[p] = measure_plane(norm->call->inputs[0] + p * norm->area, norm->area);
}

/* The values of some neighbouring channels in a block of images. */
struct columns {
    const struct norm *norm;
    struct image_range images;
    size_t begin, channels;
    size_t first, count;  /* of their values in an image */
    struct pair *results; /* by channel */
};

/* Calls measure() for the columns of a task in each block of images. */
static void for_blocks(const struct norm *norm, size_t task,
                       void (*measure)(const struct columns *columns))
{
    const size_t begin = task * COLUMN_CHANNELS;
    const size_t channels = min_size(COLUMN_CHANNELS, norm->shape.channels - begin);
    for (size_t b = 0; b < norm->blocks; b++) {
        const struct image_range images = image_blocks_range(norm->batch, norm->blocks, b, 1);
        const struct columns columns = {
            norm,
            images,
            begin,
            channels,
            begin * norm->area,
            channels * norm->area,
            norm->planes + images.first * norm->shape.channels + begin,
        };
        if (images.count > 0)
            measure(&columns);
    }
}

/* Sets sums[i] to the sum over the images of value first + i of an image. */
static void column_sums(const struct columns *columns, const float *x, double *sums)
{
    const size_t count = columns->count, stride = shape_count(columns->norm->shape);
    memset(sums, 0, count * sizeof *sums);
    for (size_t n = 0; n < columns->images.count; n++) {
        const float *from = x + (columns->images.first + n) * stride + columns->first;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sums[i] += from[i];
    }
}

static double channel_sum(const struct norm *norm, const double *sums, size_t c)
{
    double sum = 0;
    for (size_t i = 0; i < norm->area; i++)
        sum += sums[c * norm->area + i];
    return sum;
}

static void measure_columns(const struct columns *columns)
{
    const struct norm *norm = columns->norm;
    const size_t count = columns->count, stride = shape_count(norm->shape);
    const double values = (double)(columns->images.count * norm->area);
    double sums[COLUMN_CHANNELS * SMALL_AREA], mean[COLUMN_CHANNELS * SMALL_AREA];
    column_sums(columns, norm->call->inputs[0], sums);
    for (size_t c = 0; c < columns->channels; c++) {
        columns->results[c].a = channel_sum(norm, sums, c) / values;
        for (size_t i = 0; i < norm->area; i++)
            mean[c * norm->area + i] = columns->results[c].a;
    }
    memset(sums, 0, count * sizeof *sums);
    for (size_t n = 0; n < columns->images.count; n++) {
        const float *from =
            norm->call->inputs[0] + (columns->images.first + n) * stride + columns->first;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sums[i] += (from[i] - mean[i]) * (from[i] - mean[i]);
    }
    for (size_t c = 0; c < columns->channels; c++)
        columns->results[c].b = channel_sum(norm, sums, c);
}

static void measure_columns_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    for_blocks(context, task, measure_columns);
}

static void measure(const struct norm *norm)
{
    if (norm->by_blocks)
        run_tasks(norm->call, column_tasks(norm), measure_columns_task, norm);
    else
        run_tasks(norm->call, plane_tasks(norm), measure_planes_task, norm);
    KERNEL(norm_keep)(norm);
}

/* --- forward --- */

/* Subtracts the mean first, so that a large mean costs no precision. */
static void apply_plane(const float *x, float *y, size_t area, float mean, float scale, float bias)
{
#pragma omp simd
    for (size_t i = 0; i < area; i++)
        y[i] = (x[i] - mean) * scale + bias;
}

static void apply_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const size_t channels = norm->shape.channels;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++) {
        const size_t c = p % channels;
        apply_plane(call->inputs[0] + p * norm->area, call->output + p * norm->area, norm->area,
                    norm->offset[c], norm->scale[c], call->parameters[BIAS][c]);
    }
}

/* Normalises an image with planes of one value: the vectors run along the channels. */
static void apply_vectors_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const size_t channels = norm->shape.channels;
    const float *x = call->inputs[0] + n * channels, *mean = norm->offset, *scale = norm->scale;
    const float *bias = call->parameters[BIAS];
    float *y = call->output + n * channels;
#pragma omp simd
    for (size_t c = 0; c < channels; c++)
        y[c] = (x[c] - mean[c]) * scale[c] + bias[c];
}

/* Inference with the statistics of each image: a plane is normalised while it is in the cache. */
static void apply_instances_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const double epsilon = call->site->node->attributes.batch_norm.epsilon;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++) {
        const size_t c = p % norm->shape.channels;
        const float *x = call->inputs[0] + p * norm->area;
        const struct pair statistics = measure_plane(x, norm->area);
        const double invstd = 1.0 / sqrt(statistics.b / (double)norm->area + epsilon);
        apply_plane(x, call->output + p * norm->area, norm->area, (float)statistics.a,
                    (float)invstd * call->parameters[WEIGHT][c], call->parameters[BIAS][c]);
    }
}

static struct norm batch_norm_of(const struct kernel_call *call)
{
    struct norm norm = KERNEL(norm_of)(call);
    norm.by_blocks = norm.area < SMALL_AREA;
    return norm;
}

static void forward_batch_norm(const struct kernel_call *call)
{
    const struct norm norm = batch_norm_of(call);
    const size_t channels = norm.shape.channels;
    const float epsilon = call->site->node->attributes.batch_norm.epsilon, *saved = call->saved;
    if (!call->site->training && call->site->node->attributes.batch_norm.instance) {
        run_tasks(call, plane_tasks(&norm), apply_instances_task, &norm);
        return;
    }
    if (call->site->training && !call->recomputing)
        measure(&norm);
    for (size_t c = 0; c < channels; c++) {
        const bool training = call->site->training;
        const float invstd = training ? saved[channels + c]
                                      : 1.0f / sqrtf(call->parameters[RUNNING_VAR][c] + epsilon);
        norm.offset[c] = training ? saved[c] : call->parameters[RUNNING_MEAN][c];
        norm.scale[c] = invstd * call->parameters[WEIGHT][c];
    }
    if (norm.area == 1)
        run_tasks(call, norm.batch, apply_vectors_task, &norm);
    else
        run_tasks(call, plane_tasks(&norm), apply_task, &norm);
}

/* --- backward --- */

/* Returns the sums of g and of g (x - mean) over one plane. */
static struct pair correlate_plane(const float *x, const float *g, size_t area, float mean)
{
    struct pair sums = {0, 0};
    for (size_t at = 0; at < area; at += PIECE) {
        const float *values = x + at, *gradient = g + at;
        float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
        for (size_t i = 0; i < min_size(PIECE, area - at); i++) {
            sum += gradient[i];
            product += gradient[i] * (values[i] - mean);
        }
        sums.a += sum;
        sums.b += product;
    }
    return sums;
}

static void correlate_planes_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const float *mean = norm->call->saved;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++)
        norm->planes[p] = correlate_plane(norm->call->inputs[0] + p * norm->area,
                                          norm->call->output_gradient + p * norm->area, norm->area,
                                          mean[p % norm->shape.channels]);
}

static void correlate_columns(const struct columns *columns)
{
    const struct norm *norm = columns->norm;
    const size_t count = columns->count, stride = shape_count(norm->shape);
    const float *saved = norm->call->saved;
    double sums[COLUMN_CHANNELS * SMALL_AREA];
    float mean[COLUMN_CHANNELS * SMALL_AREA];
    column_sums(columns, norm->call->output_gradient, sums);
    for (size_t c = 0; c < columns->channels; c++) {
        columns->results[c].a = channel_sum(norm, sums, c);
        for (size_t i = 0; i < norm->area; i++)
            mean[c * norm->area + i] = saved[columns->begin + c];
    }
    memset(sums, 0, count * sizeof *sums);
    for (size_t n = 0; n < columns->images.count; n++) {
        const size_t at = (columns->images.first + n) * stride + columns->first;
        const float *x = norm->call->inputs[0] + at, *g = norm->call->output_gradient + at;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            sums[i] += g[i] * (x[i] - mean[i]);
    }
    for (size_t c = 0; c < columns->channels; c++)
        columns->results[c].b = channel_sum(norm, sums, c);
}

static void correlate_columns_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    for_blocks(context, task, correlate_columns);
}

static void gradient_plane(const float *x, const float *g, float *to, size_t area, float mean,
                           float scale, float slope, float offset, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            to[i] += scale * g[i] + slope * (x[i] - mean) + offset;
    } else {
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            to[i] = scale * g[i] + slope * (x[i] - mean) + offset;
    }
}

static void gradient_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const float *mean = call->saved;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++) {
        const size_t c = p % norm->shape.channels, at = p * norm->area;
        gradient_plane(call->inputs[0] + at, call->output_gradient + at,
                       call->input_gradients[0] + at, norm->area, mean[c], norm->scale[c],
                       norm->slope[c], norm->offset[c], call->accumulate[0]);
    }
}

static void gradient_vectors_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const size_t channels = norm->shape.channels;
    const float *x = call->inputs[0] + n * channels, *g = call->output_gradient + n * channels;
    const float *mean = call->saved, *scale = norm->scale, *slope = norm->slope;
    const float *offset = norm->offset;
    float *to = call->input_gradients[0] + n * channels;
    if (call->accumulate[0]) {
#pragma omp simd
        for (size_t c = 0; c < channels; c++)
            to[c] += scale[c] * g[c] + slope[c] * (x[c] - mean[c]) + offset[c];
    } else {
#pragma omp simd
        for (size_t c = 0; c < channels; c++)
            to[c] = scale[c] * g[c] + slope[c] * (x[c] - mean[c]) + offset[c];
    }
}

static void backward_batch_norm(const struct kernel_call *call)
{
    const struct norm norm = batch_norm_of(call);
    if (norm.by_blocks)
        run_tasks(call, column_tasks(&norm), correlate_columns_task, &norm);
    else
        run_tasks(call, plane_tasks(&norm), correlate_planes_task, &norm);
    KERNEL(norm_finish)(&norm);
    if (!call->input_gradients[0])
        return;
    if (norm.area == 1)
        run_tasks(call, norm.batch, gradient_vectors_task, &norm);
    else
        run_tasks(call, plane_tasks(&norm), gradient_task, &norm);
}

const struct kernel KERNEL(batch_norm) = {
    .name = "batch_norm planes",
    .instruction_set = ISA_NAME,
    .op = &op_batch_norm,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE |
              KERNEL_REUSES_SAVED,
    .saved_bytes = KERNEL(norm_saved),
    .workspace_bytes = KERNEL(norm_workspace),
    .forward = forward_batch_norm,
    .backward = backward_batch_norm,
};
