/* The loss softmax_cross_entropy (formulas in ops/softmax_cross_entropy.c). A task is one image;
 * its vectors run along the classes. */
#include "engine/devices/cpu/functions.h"
#include "engine/devices/cpu/simd.h"

#include <assert.h>

static size_t label_of(const struct kernel_call *call, size_t n)
{
    assert(call->labels[n] >= 0 && (size_t)call->labels[n] < call->site->inputs[0].channels);
    return (size_t)call->labels[n];
}

static float largest_of(const float *x, size_t count)
{
    float largest = x[0];
#pragma omp simd reduction(max : largest)
    for (size_t c = 0; c < count; c++)
        largest = x[c] > largest ? x[c] : largest;
    return largest;
}

/* Returns the sum over c of exp(x[c] - largest), which lies in [1, count]. */
static float exponentials(const float *x, size_t count, float largest)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < count; c++)
        sum += fast_exp(x[c] - largest);
    return sum;
}

/* Returns the mean over c of x[c] - largest. */
static float mean_of(const float *x, size_t count, float largest)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < count; c++)
        sum += x[c] - largest;
    return sum / (float)count;
}

static void cross_entropy_forward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float *x = call->inputs[0] + n * classes, largest = largest_of(x, classes);
    const float smoothing = loss_smoothing(call->site);
    float target = x[label_of(call, n)] - largest;
    if (smoothing > 0)
        target = (1 - smoothing) * target + smoothing * mean_of(x, classes, largest);
    call->output[n] = logf(exponentials(x, classes, largest)) - target;
}

static void cross_entropy_backward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float *x = call->inputs[0] + n * classes, largest = largest_of(x, classes);
    const float sum = exponentials(x, classes, largest), scale = loss_scale(call);
    const float smoothing = loss_smoothing(call->site), share = smoothing / (float)classes;
    const float right = 1 - smoothing + share;
    const int label = (int)label_of(call, n);
    float *to = call->input_gradients[0] + n * classes;
    if (call->accumulate[0]) {
#pragma omp simd
        for (int c = 0; c < (int)classes; c++)
            to[c] += scale * (fast_exp(x[c] - largest) / sum - (c == label ? right : share));
    } else {
#pragma omp simd
        for (int c = 0; c < (int)classes; c++)
            to[c] = scale * (fast_exp(x[c] - largest) / sum - (c == label ? right : share));
    }
}

static void cross_entropy_forward(const struct kernel_call *call)
{
    run_tasks(call, call->site->batch, cross_entropy_forward_task, call);
}

static void cross_entropy_backward(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, call->site->batch, cross_entropy_backward_task, call);
}

const struct kernel KERNEL(softmax_cross_entropy) = {
    .name = "softmax_cross_entropy simd",
    .instruction_set = ISA_NAME,
    .op = &op_softmax_cross_entropy,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = cross_entropy_forward,
    .backward = cross_entropy_backward,
};
