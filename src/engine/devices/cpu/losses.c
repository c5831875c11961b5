/* The losses (see their files in ops/ for the formulas). Forward: a task is one image, whose loss
 * is a sum in vectors. Backward: blocks of values, each by itself. */
#include "engine/devices/cpu/functions.h"
#include "engine/devices/cpu/simd.h"

#include <assert.h>

/* The factor on one image's gradient: weight / N, the mean over the batch. */
static float loss_scale(const struct kernel_call *call)
{
    return call->site->node->attributes.loss.weight / (float)call->site->batch;
}

/* --- softmax_cross_entropy --- */

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

/* sum over c of exp(x[c] - largest), in [1, count] */
static float exponentials(const float *x, size_t count, float largest)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < count; c++)
        sum += fast_exp(x[c] - largest);
    return sum;
}

static void cross_entropy_forward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float *x = call->inputs[0] + n * classes, largest = largest_of(x, classes);
    call->output[n] = logf(exponentials(x, classes, largest)) - (x[label_of(call, n)] - largest);
}

static void cross_entropy_backward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t classes = call->site->inputs[0].channels;
    const float *x = call->inputs[0] + n * classes, largest = largest_of(x, classes);
    const float sum = exponentials(x, classes, largest), scale = loss_scale(call);
    const int label = (int)label_of(call, n);
    float *to = call->input_gradients[0] + n * classes;
    if (call->accumulate[0]) {
#pragma omp simd
        for (int c = 0; c < (int)classes; c++)
            to[c] += scale * (fast_exp(x[c] - largest) / sum - (c == label ? 1.0f : 0.0f));
    } else {
#pragma omp simd
        for (int c = 0; c < (int)classes; c++)
            to[c] = scale * (fast_exp(x[c] - largest) / sum - (c == label ? 1.0f : 0.0f));
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

/* --- losses of pairs of values --- */

/* Pieces short enough for a float32 sum are added in double; and room for gradients on the stack.
 */
enum { PIECE = 1024 };

/* The target of value i: an input, or one constant that `constant` repeats. */
struct targets {
    const float *values;
    float constant[PIECE];
};

static void set_targets(const struct kernel_call *call, struct targets *targets)
{
    const struct node *node = call->site->node;
    targets->values = node->input_count > 1 ? call->inputs[1] : NULL;
    for (size_t i = 0; i < PIECE; i++)
        targets->constant[i] = node->attributes.loss.target;
}

static const float *targets_at(const struct targets *targets, size_t at)
{
    return targets->values ? targets->values + at : targets->constant;
}

/* Defines NAME's kernel from three expressions in x and t: the loss of one value, and its gradients
 * for input 0 and input 1. */
#define PAIR_LOSS(NAME, LOSS, GRADIENT, TARGET_GRADIENT)                                           \
    static float NAME##_sum(const float *from, const float *target, size_t count)                  \
    {                                                                                              \
        float sum = 0;                                                                             \
        _Pragma("omp simd reduction(+ : sum)") for (size_t i = 0; i < count; i++)                  \
        {                                                                                          \
            const float x = from[i], t = target[i];                                                \
            sum += LOSS;                                                                           \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void NAME##_gradients(const float *from, const float *target, size_t count,             \
                                 float scale, float *gradient, float *target_gradient)             \
    {                                                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++)                                     \
        {                                                                                          \
            const float x = from[i], t = target[i];                                                \
            gradient[i] = scale * (GRADIENT);                                                      \
            target_gradient[i] = scale * (TARGET_GRADIENT);                                        \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_forward_task(void *context, size_t n, size_t thread)                        \
    {                                                                                              \
        (void)thread;                                                                              \
        const struct kernel_call *call = context;                                                  \
        const size_t count = shape_count(call->site->inputs[0]);                                   \
        struct targets targets;                                                                    \
        double sum = 0;                                                                            \
        set_targets(call, &targets);                                                               \
        for (size_t at = 0; at < count; at += PIECE)                                               \
            sum += NAME##_sum(call->inputs[0] + n * count + at,                                    \
                              targets_at(&targets, n * count + at), least(PIECE, count - at));     \
        call->output[n] = (float)(sum / (double)count);                                            \
    }                                                                                              \
    static void NAME##_backward_task(void *context, size_t task, size_t thread)                    \
    {                                                                                              \
        (void)thread;                                                                              \
        const struct kernel_call *call = context;                                                  \
        const float scale = loss_scale(call) / (float)shape_count(call->site->inputs[0]);          \
        const size_t end = block_end(input_values(call), task);                                    \
        float gradient[PIECE], target_gradient[PIECE];                                             \
        struct targets targets;                                                                    \
        set_targets(call, &targets);                                                               \
        for (size_t at = task * BLOCK; at < end; at += PIECE) {                                    \
            const size_t count = least(PIECE, end - at);                                           \
            NAME##_gradients(call->inputs[0] + at, targets_at(&targets, at), count, scale,         \
                             gradient, target_gradient);                                           \
            if (call->input_gradients[0])                                                          \
                store_or_add(call->input_gradients[0] + at, gradient, count, call->accumulate[0]); \
            if (targets.values && call->input_gradients[1])                                        \
                store_or_add(call->input_gradients[1] + at, target_gradient, count,                \
                             call->accumulate[1]);                                                 \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_forward(const struct kernel_call *call)                                     \
    {                                                                                              \
        run_tasks(call, call->site->batch, NAME##_forward_task, call);                             \
    }                                                                                              \
    static void NAME##_backward(const struct kernel_call *call)                                    \
    {                                                                                              \
        run_tasks(call, block_count(input_values(call)), NAME##_backward_task, call);              \
    }                                                                                              \
    const struct kernel KERNEL(NAME) = {                                                           \
        .name = #NAME " simd",                                                                     \
        .instruction_set = ISA_NAME,                                                               \
        .op = &op_##NAME,                                                                          \
        .traits = KERNEL_BACKWARD_READS_INPUT,                                                     \
        .forward = NAME##_forward,                                                                 \
        .backward = NAME##_backward,                                                               \
    };

static inline float sign(float x)
{
    return (x > 0 ? 1.0f : 0.0f) - (x < 0 ? 1.0f : 0.0f);
}

static inline float positive(float x)
{
    return x > 0 ? x : 0;
}

PAIR_LOSS(l1_loss, fabsf(x - t), sign(x - t), -sign(x - t))
PAIR_LOSS(l2_loss, (x - t) * (x - t), 2.0f * (x - t), -2.0f * (x - t))
PAIR_LOSS(binary_cross_entropy, positive(x) - x * t + fast_log1p(fast_exp(-fabsf(x))),
          fast_sigmoid(x) - t, -x)
