/* Batch normalisation (formulas in ops/batch_norm.c), with an addition and a relu behind it if they
 * are fused.
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

#define ALWAYS_INLINE static inline __attribute__((always_inline))

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

/* Values of a chunk of a plane: few enough for a float32 sum. */
enum { CHUNK = 4096 };

static struct pair measure_plane(const float *x, size_t area)
{
    double sum = 0, squares = 0;
    for (size_t at = 0; at < area; at += CHUNK)
        sum += sum_floats(x + at, min_size(CHUNK, area - at));
    const double mean = sum / (double)area;
    const float centre = (float)mean;
    for (size_t at = 0; at < area; at += CHUNK) {
        const float *from = x + at;
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t i = 0; i < min_size(CHUNK, area - at); i++)
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
    size_t first, count;  /* the first of their values in an image, and how many */
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

/* The fused epilogue of the norm: the addition of `summand`, unless it is NULL, and a relu, if
 * there is one. */
struct ending {
    const float *summand;
    bool relu;
};

static struct ending ending_of(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    return (struct ending){site->fused_add ? call->inputs[1] : NULL, site->fused_activation};
}

/* Returns the epilogue of the values from `at` on. */
static struct ending ending_at(const struct ending *ending, size_t at)
{
    return (struct ending){ending->summand ? ending->summand + at : NULL, ending->relu};
}

/* Subtracts the mean first, so that a large mean costs no precision. */
ALWAYS_INLINE float normalised(float x, float mean, float scale, float bias)
{
    return (x - mean) * scale + bias;
}

/* Returns value i after the epilogue. NaN stays NaN, so that a diverged run is noticed. */
ALWAYS_INLINE float ended(float y, const float *summand, size_t i, const bool relu)
{
    if (summand)
        y += summand[i];
    return relu && y < 0 ? 0 : y;
}

/* The factors of one channel. */
struct factors {
    float mean, scale, bias;
};

/* Normalises values of one channel. Whether there are a summand and a relu is a constant of each
 * call. */
ALWAYS_INLINE void apply_values(const float *x, float *y, size_t area, struct factors f,
                                const float *summand, const bool relu)
{
#pragma omp simd
    for (size_t i = 0; i < area; i++)
        y[i] = ended(normalised(x[i], f.mean, f.scale, f.bias), summand, i, relu);
}

static void apply_plane(const float *x, float *y, size_t area, struct factors f,
                        struct ending ending)
{
    if (ending.summand && ending.relu)
        apply_values(x, y, area, f, ending.summand, true);
    else if (ending.summand)
        apply_values(x, y, area, f, ending.summand, false);
    else if (ending.relu)
        apply_values(x, y, area, f, NULL, true);
    else
        apply_values(x, y, area, f, NULL, false);
}

static void apply_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const struct ending ending = ending_of(call);
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++) {
        const size_t c = p % norm->shape.channels, at = p * norm->area;
        const struct factors f = {norm->offset[c], norm->scale[c], call->parameters[BIAS][c]};
        apply_plane(call->inputs[0] + at, call->output + at, norm->area, f, ending_at(&ending, at));
    }
}

/* Normalises channels of one value each: the vectors run along the channels. */
ALWAYS_INLINE void apply_channels(const struct norm *norm, const float *x, float *y,
                                  const float *summand, const bool relu)
{
    const float *mean = norm->offset, *scale = norm->scale;
    const float *bias = norm->call->parameters[BIAS];
#pragma omp simd
    for (size_t c = 0; c < norm->shape.channels; c++)
        y[c] = ended(normalised(x[c], mean[c], scale[c], bias[c]), summand, c, relu);
}

/* Normalises an image with planes of one value. */
static void apply_vectors_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const size_t at = n * norm->shape.channels;
    const struct ending all = ending_of(call), ending = ending_at(&all, at);
    const float *x = call->inputs[0] + at;
    float *y = call->output + at;
    if (ending.summand && ending.relu)
        apply_channels(norm, x, y, ending.summand, true);
    else if (ending.summand)
        apply_channels(norm, x, y, ending.summand, false);
    else if (ending.relu)
        apply_channels(norm, x, y, NULL, true);
    else
        apply_channels(norm, x, y, NULL, false);
}

/* Normalises with the statistics of each image, for inference: a plane is normalised while it is in
 * the cache. */
static void apply_instances_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const struct ending ending = ending_of(call);
    const double epsilon = call->site->node->attributes.batch_norm.epsilon;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++) {
        const size_t c = p % norm->shape.channels, at = p * norm->area;
        const struct pair statistics = measure_plane(call->inputs[0] + at, norm->area);
        const double invstd = 1.0 / sqrt(statistics.b / (double)norm->area + epsilon);
        const struct factors f = {(float)statistics.a, (float)invstd * call->parameters[WEIGHT][c],
                                  call->parameters[BIAS][c]};
        apply_plane(call->inputs[0] + at, call->output + at, norm->area, f, ending_at(&ending, at));
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

/* The gradient of the norm's output is 0 where a fused relu was 0. The relu's output shows where
 * or, without a fused addition, the norm is recomputed. */
enum mask { UNMASKED, MASKED_BY_NORM, MASKED_BY_OUTPUT };

static enum mask mask_of(const struct kernel_site *site)
{
    if (!site->fused_activation)
        return UNMASKED;
    return site->fused_add ? MASKED_BY_OUTPUT : MASKED_BY_NORM;
}

/* Returns the factors of channel c as they were in the forward pass. */
static struct factors factors_of(const struct norm *norm, size_t c)
{
    const struct kernel_call *call = norm->call;
    const float *mean = call->saved, *invstd = mean + norm->shape.channels;
    return (struct factors){mean[c], invstd[c] * call->parameters[WEIGHT][c],
                            call->parameters[BIAS][c]};
}

/* Returns the sums of g and of g (x - mean) over a few values of a channel. The mask is a constant
 * of each call. */
ALWAYS_INLINE struct pair correlate_values(const float *x, const float *g, const float *y,
                                           size_t count, struct factors f, const enum mask mask)
{
    float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (size_t i = 0; i < count; i++) {
        float gradient = g[i];
        if (mask == MASKED_BY_NORM)
            gradient = normalised(x[i], f.mean, f.scale, f.bias) > 0 ? gradient : 0;
        if (mask == MASKED_BY_OUTPUT)
            gradient = y[i] > 0 ? gradient : 0;
        sum += gradient;
        product += gradient * (x[i] - f.mean);
    }
    return (struct pair){sum, product};
}

static struct pair correlate_chunk(const struct norm *norm, size_t at, size_t count,
                                   struct factors f)
{
    const struct kernel_call *call = norm->call;
    const float *x = call->inputs[0] + at, *g = call->output_gradient + at;
    switch (mask_of(call->site)) {
    case UNMASKED:
        return correlate_values(x, g, NULL, count, f, UNMASKED);
    case MASKED_BY_NORM:
        return correlate_values(x, g, NULL, count, f, MASKED_BY_NORM);
    default:
        return correlate_values(x, g, call->output + at, count, f, MASKED_BY_OUTPUT);
    }
}

/* Returns the sums of g and of g (x - mean) over one plane. */
static struct pair correlate_plane(const struct norm *norm, size_t plane)
{
    const struct factors f = factors_of(norm, plane % norm->shape.channels);
    struct pair sums = {0, 0};
    for (size_t at = 0; at < norm->area; at += CHUNK) {
        const size_t count = min_size(CHUNK, norm->area - at);
        const struct pair chunk = correlate_chunk(norm, plane * norm->area + at, count, f);
        sums.a += chunk.a;
        sums.b += chunk.b;
    }
    return sums;
}

static void correlate_planes_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++)
        norm->planes[p] = correlate_plane(norm, p);
}

static void mask_by_output(const float *y, const float *g, float *to, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[i] = y[i] > 0 ? g[i] : 0;
}

/* The factors of neighbouring values of some channels. */
struct column_factors {
    float mean[COLUMN_CHANNELS * SMALL_AREA], scale[COLUMN_CHANNELS * SMALL_AREA],
        bias[COLUMN_CHANNELS * SMALL_AREA];
};

/* Sets the factors of `channels` channels from `begin` on. */
static void set_column_factors(const struct norm *norm, size_t begin, size_t channels,
                               struct column_factors *columns)
{
    for (size_t c = begin, to = 0; c < begin + channels; c++) {
        const struct factors f = factors_of(norm, c);
        for (size_t i = 0; i < norm->area; i++, to++) {
            columns->mean[to] = f.mean;
            columns->scale[to] = f.scale;
            columns->bias[to] = f.bias;
        }
    }
}

/* Returns the gradient of the norm's output for values [at, at + count), which have these factors;
 * `line` has room for it. */
static const float *masked_columns(const struct norm *norm, const struct column_factors *f,
                                   size_t at, size_t count, float *line)
{
    const struct kernel_call *call = norm->call;
    const enum mask mask = mask_of(call->site);
    const float *x = call->inputs[0] + at, *g = call->output_gradient + at;
    if (mask == MASKED_BY_NORM) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            line[i] = normalised(x[i], f->mean[i], f->scale[i], f->bias[i]) > 0 ? g[i] : 0;
    } else if (mask == MASKED_BY_OUTPUT) {
        mask_by_output(call->output + at, g, line, count);
    }
    return mask == UNMASKED ? g : line;
}

static void correlate_columns(const struct columns *columns)
{
    const struct norm *norm = columns->norm;
    const size_t count = columns->count, stride = shape_count(norm->shape);
    double sums[COLUMN_CHANNELS * SMALL_AREA], products[COLUMN_CHANNELS * SMALL_AREA];
    float line[COLUMN_CHANNELS * SMALL_AREA];
    struct column_factors factors;
    set_column_factors(norm, columns->begin, columns->channels, &factors);
    memset(sums, 0, count * sizeof *sums);
    memset(products, 0, count * sizeof *products);
    for (size_t n = 0; n < columns->images.count; n++) {
        const size_t at = (columns->images.first + n) * stride + columns->first;
        const float *x = norm->call->inputs[0] + at, *mean = factors.mean;
        const float *g = masked_columns(norm, &factors, at, count, line);
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            sums[i] += g[i];
            products[i] += g[i] * (x[i] - mean[i]);
        }
    }
    for (size_t c = 0; c < columns->channels; c++)
        columns->results[c] =
            (struct pair){channel_sum(norm, sums, c), channel_sum(norm, products, c)};
}

static void correlate_columns_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    for_blocks(context, task, correlate_columns);
}

/* Writes the gradient of the other summand, if it is needed: that of the norm's output. */
static void gradient_summand(const struct kernel_call *call, const float *g, size_t at,
                             size_t count)
{
    float *to = call->input_gradients[1];
    if (!to)
        return;
    if (!call->accumulate[1]) {
        memcpy(to + at, g, count * sizeof *to);
        return;
    }
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[at + i] += g[i];
}

/* The factors of a channel's input gradient: scale g + slope (x - mean) + offset. */
struct slopes {
    float scale, slope, offset;
};

/* Writes or adds the gradients of values of one channel. `relu` and `accumulate` are constants of
 * each call. */
ALWAYS_INLINE void gradient_values(const float *x, const float *g, float *to, size_t count,
                                   struct factors f, struct slopes s, const bool relu,
                                   const bool accumulate)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        float gradient = g[i];
        if (relu)
            gradient = normalised(x[i], f.mean, f.scale, f.bias) > 0 ? gradient : 0;
        gradient = s.scale * gradient + s.slope * (x[i] - f.mean) + s.offset;
        to[i] = accumulate ? to[i] + gradient : gradient;
    }
}

/* Writes the input's gradient of values that belong to one channel, from that of the norm's output,
 * or of the relu's. */
static void gradient_input(const struct kernel_call *call, const float *g, size_t at, size_t count,
                           struct factors f, struct slopes s, bool relu)
{
    const float *x = call->inputs[0] + at;
    float *to = call->input_gradients[0] + at;
    if (!call->input_gradients[0])
        return;
    if (relu && call->accumulate[0])
        gradient_values(x, g, to, count, f, s, true, true);
    else if (relu)
        gradient_values(x, g, to, count, f, s, true, false);
    else if (call->accumulate[0])
        gradient_values(x, g, to, count, f, s, false, true);
    else
        gradient_values(x, g, to, count, f, s, false, false);
}

/* Writes the gradients of both summands for values that belong to one channel. The input's gradient
 * may overwrite g, and the summand's gradient g or the output: both are read first. If the
 * gradients are one array, the summand's is added. */
static void gradient_sum(const struct kernel_call *call, size_t at, size_t count, struct factors f,
                         struct slopes s)
{
    float line[CHUNK];
    if (call->site->fused_activation)
        mask_by_output(call->output + at, call->output_gradient + at, line, count);
    else
        memcpy(line, call->output_gradient + at, count * sizeof *line);
    gradient_input(call, line, at, count, f, s, false);
    gradient_summand(call, line, at, count);
}

static void gradient_plane(const struct norm *norm, size_t plane)
{
    const struct kernel_call *call = norm->call;
    const size_t c = plane % norm->shape.channels, first = plane * norm->area;
    const struct factors f = factors_of(norm, c);
    const struct slopes s = {norm->scale[c], norm->slope[c], norm->offset[c]};
    if (!call->site->fused_add) {
        gradient_input(call, call->output_gradient + first, first, norm->area, f, s,
                       call->site->fused_activation);
        return;
    }
    for (size_t at = 0; at < norm->area; at += CHUNK)
        gradient_sum(call, first + at, min_size(CHUNK, norm->area - at), f, s);
}

static void gradient_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    for (size_t p = task * planes_in_task(norm->area); p < plane_end(norm, task); p++)
        gradient_plane(norm, p);
}

/* Writes the input's gradients of channels [begin, begin + count) of one value each. */
static void gradient_channels(const struct norm *norm, const float *g, size_t at, size_t begin,
                              size_t count)
{
    const struct kernel_call *call = norm->call;
    const float *x = call->inputs[0] + at, *mean = (const float *)call->saved + begin;
    const float *scale = norm->scale + begin, *slope = norm->slope + begin;
    const float *offset = norm->offset + begin;
    float *to = call->input_gradients[0] + at;
    if (call->accumulate[0]) {
#pragma omp simd
        for (size_t c = 0; c < count; c++)
            to[c] += scale[c] * g[c] + slope[c] * (x[c] - mean[c]) + offset[c];
    } else {
#pragma omp simd
        for (size_t c = 0; c < count; c++)
            to[c] = scale[c] * g[c] + slope[c] * (x[c] - mean[c]) + offset[c];
    }
}

/* Writes the gradients of an image with planes of one value. */
static void gradient_vectors_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct norm *norm = context;
    const struct kernel_call *call = norm->call;
    const size_t channels = norm->shape.channels;
    float line[COLUMN_CHANNELS];
    struct column_factors factors;
    for (size_t begin = 0; begin < channels; begin += COLUMN_CHANNELS) {
        const size_t count = min_size(COLUMN_CHANNELS, channels - begin);
        const size_t at = n * channels + begin;
        if (call->site->fused_activation)
            set_column_factors(norm, begin, count, &factors);
        const float *g = masked_columns(norm, &factors, at, count, line);
        if (call->site->fused_add && g != line)
            g = memcpy(line, g, count * sizeof *line);
        if (call->input_gradients[0])
            gradient_channels(norm, g, at, begin, count);
        if (call->site->fused_add)
            gradient_summand(call, g, at, count);
    }
}

static void backward_batch_norm(const struct kernel_call *call)
{
    const struct norm norm = batch_norm_of(call);
    const bool summand = call->site->fused_add && call->input_gradients[1];
    if (norm.by_blocks)
        run_tasks(call, column_tasks(&norm), correlate_columns_task, &norm);
    else
        run_tasks(call, plane_tasks(&norm), correlate_planes_task, &norm);
    KERNEL(norm_finish)(&norm);
    if (!call->input_gradients[0] && !summand)
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
              KERNEL_REUSES_SAVED | KERNEL_FUSES_EPILOGUE,
    .saved_bytes = KERNEL(norm_saved),
    .workspace_bytes = KERNEL(norm_workspace),
    .forward = forward_batch_norm,
    .backward = backward_batch_norm,
};
