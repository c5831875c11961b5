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

/* The weights of the loss with a soft target (soft_target.h): those of the image's two labels, and,
 * from smoothing, `share` times the class's weight for every class. */
struct soft_weights {
    float own, other, share;
    int label, partner;
    const float *classes; /* NULL: all 1 */
};

static struct soft_weights soft_weights_of(const struct kernel_call *call, size_t n)
{
    const struct soft_target *soft = &call->soft_targets[n];
    const float smoothing = loss_smoothing(call->site);
    return (struct soft_weights){.own = (1 - smoothing) * soft->own,
                                 .other = (1 - smoothing) * soft->other,
                                 .share = smoothing / (float)call->site->inputs[0].channels *
                                          soft->scale,
                                 .label = (int)label_of(call, n),
                                 .partner = soft->partner,
                                 .classes = call->class_weights};
}

/* Returns the sum over the classes of weight(c) (logarithm - (x[c] - largest)). */
static float soft_loss(const struct soft_weights *soft, const float *x, size_t count, float largest,
                       float logarithm)
{
    float sum = 0;
    if (soft->classes) {
#pragma omp simd reduction(+ : sum)
        for (size_t c = 0; c < count; c++)
            sum += soft->classes[c] * (logarithm - (x[c] - largest));
    } else if (soft->share > 0) {
        sum = (float)count * (logarithm - mean_of(x, count, largest));
    }
    return soft->own * (logarithm - (x[soft->label] - largest)) +
           soft->other * (logarithm - (x[soft->partner] - largest)) + soft->share * sum;
}

/* Returns the sum of the weights of all classes. */
static float soft_total(const struct soft_weights *soft, size_t count)
{
    float sum = 0;
    for (size_t c = 0; soft->classes && c < count; c++)
        sum += soft->classes[c];
    return soft->own + soft->other + soft->share * (soft->classes ? sum : (float)count);
}

static void soft_backward(const struct kernel_call *call, size_t n, float *to)
{
    const size_t classes = call->site->inputs[0].channels;
    const float *x = call->inputs[0] + n * classes, largest = largest_of(x, classes);
    const float sum = exponentials(x, classes, largest), scale = loss_scale(call);
    const struct soft_weights soft = soft_weights_of(call, n);
    const float total = soft_total(&soft, classes);
    for (int c = 0; c < (int)classes; c++) {
        const float weight = soft.share * (soft.classes ? soft.classes[c] : 1) +
                             (c == soft.label ? soft.own : 0) +
                             (c == soft.partner ? soft.other : 0);
        const float gradient = scale * (total * (fast_exp(x[c] - largest) / sum) - weight);
        to[c] = call->accumulate[0] ? to[c] + gradient : gradient;
    }
}

static void cross_entropy_forward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float *x = call->inputs[0] + n * classes, largest = largest_of(x, classes);
    const float smoothing = loss_smoothing(call->site);
    if (call->soft_targets) {
        const struct soft_weights soft = soft_weights_of(call, n);
        call->output[n] =
            soft_loss(&soft, x, classes, largest, logf(exponentials(x, classes, largest)));
        return;
    }
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
    if (call->soft_targets) {
        soft_backward(call, n, to);
        return;
    }
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
