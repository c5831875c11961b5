/* Softmax across channels. If an image is one position, vectors run along the channels; otherwise
 * they run along neighbouring positions, a strip of positions at a time. */
#include "engine/devices/cpu/functions.h"
#include "engine/devices/cpu/simd.h"

enum { STRIP = 256 };

struct softmax {
    const struct kernel_call *call;
    size_t channels, area, strips; /* strips of an image */
};

static struct softmax softmax_of(const struct kernel_call *call)
{
    const struct shape shape =
        softmax_shape(&call->site->node->attributes.softmax, call->site->inputs[0]);
    const size_t area = shape_area(shape);
    return (struct softmax){call, shape.channels, area, divide_up(area, STRIP)};
}

/* --- one position --- */

static void forward_vector(const float *x, float *y, size_t channels)
{
    float largest = x[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (size_t c = 0; c < channels; c++)
        largest = x[c] > largest ? x[c] : largest;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < channels; c++) {
        y[c] = fast_exp(x[c] - largest);
        sum += y[c];
    }
    const float factor = 1.0f / sum;
#pragma omp simd
    for (size_t c = 0; c < channels; c++)
        y[c] *= factor;
}

static void backward_vector(const float *y, const float *g, float *to, size_t channels,
                            bool accumulate)
{
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (size_t c = 0; c < channels; c++)
        dot += g[c] * y[c];
    if (accumulate) {
#pragma omp simd
        for (size_t c = 0; c < channels; c++)
            to[c] += y[c] * (g[c] - dot);
    } else {
#pragma omp simd
        for (size_t c = 0; c < channels; c++)
            to[c] = y[c] * (g[c] - dot);
    }
}

/* --- a strip of positions, whose channels lie `area` floats apart --- */

static void forward_strip(const float *x, float *y, size_t channels, size_t area, size_t count)
{
    float largest[STRIP], sum[STRIP];
    store_or_add(largest, x, count, false);
    for (size_t c = 1; c < channels; c++) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            largest[i] = x[c * area + i] > largest[i] ? x[c * area + i] : largest[i];
    }
    for (size_t i = 0; i < count; i++)
        sum[i] = 0;
    for (size_t c = 0; c < channels; c++) {
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            const float value = fast_exp(x[c * area + i] - largest[i]);
            y[c * area + i] = value;
            sum[i] += value;
        }
    }
    for (size_t c = 0; c < channels; c++) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[c * area + i] /= sum[i];
    }
}

static void backward_strip(const float *y, const float *g, float *to, size_t channels, size_t area,
                           size_t count, bool accumulate)
{
    float dot[STRIP] = {0}, result[STRIP];
    for (size_t c = 0; c < channels; c++) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            dot[i] += g[c * area + i] * y[c * area + i];
    }
    for (size_t c = 0; c < channels; c++) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            result[i] = y[c * area + i] * (g[c * area + i] - dot[i]);
        store_or_add(to + c * area, result, count, accumulate);
    }
}

/* --- tasks --- */

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct softmax *s = context;
    const size_t position = task % s->strips * STRIP;
    const size_t at = task / s->strips * s->channels * s->area + position;
    if (s->area == 1)
        forward_vector(s->call->inputs[0] + at, s->call->output + at, s->channels);
    else
        forward_strip(s->call->inputs[0] + at, s->call->output + at, s->channels, s->area,
                      min_size(STRIP, s->area - position));
}

static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct softmax *s = context;
    const struct kernel_call *call = s->call;
    const size_t position = task % s->strips * STRIP;
    const size_t at = task / s->strips * s->channels * s->area + position;
    if (s->area == 1)
        backward_vector(call->output + at, call->output_gradient + at,
                        call->input_gradients[0] + at, s->channels, call->accumulate[0]);
    else
        backward_strip(call->output + at, call->output_gradient + at, call->input_gradients[0] + at,
                       s->channels, s->area, min_size(STRIP, s->area - position),
                       call->accumulate[0]);
}

static void forward_softmax(const struct kernel_call *call)
{
    const struct softmax s = softmax_of(call);
    run_tasks(call, call->site->batch * s.strips, forward_task, &s);
}

static void backward_softmax(const struct kernel_call *call)
{
    const struct softmax s = softmax_of(call);
    if (call->input_gradients[0])
        run_tasks(call, call->site->batch * s.strips, backward_task, &s);
}

const struct kernel KERNEL(softmax) = {
    .name = "softmax simd",
    .instruction_set = ISA_NAME,
    .op = &op_softmax,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_softmax,
    .backward = backward_softmax,
};
