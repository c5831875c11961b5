/* The losses of pairs of values: l1_loss, l2_loss and binary_cross_entropy (formulas in ops/). Each
 * is three functions of a value x and its target t: the loss, and the gradients of x and of t. The
 * loops are written once and always inlined, so that each loss gets loops of its own that the
 * compiler turns into vector code; a task chooses them by the operator.
 *
 * In the forward pass a task is one image, in the backward pass a block of values. */
#include "engine/devices/cpu/functions.h"
#include "engine/devices/cpu/simd.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* --- the functions of each loss --- */

ALWAYS_INLINE float sign(float x)
{
    return (x > 0 ? 1.0f : 0.0f) - (x < 0 ? 1.0f : 0.0f);
}

ALWAYS_INLINE float l1_value(float x, float t)
{
    return fabsf(x - t);
}

ALWAYS_INLINE float l1_gradient(float x, float t)
{
    return sign(x - t);
}

ALWAYS_INLINE float l1_target_gradient(float x, float t)
{
    return -sign(x - t);
}

ALWAYS_INLINE float l2_value(float x, float t)
{
    return (x - t) * (x - t);
}

ALWAYS_INLINE float l2_gradient(float x, float t)
{
    return 2.0f * (x - t);
}

ALWAYS_INLINE float l2_target_gradient(float x, float t)
{
    return -2.0f * (x - t);
}

ALWAYS_INLINE float positive(float x)
{
    return x > 0 ? x : 0;
}

ALWAYS_INLINE float binary_value(float x, float t)
{
    return positive(x) - x * t + fast_log1p(fast_exp(-fabsf(x)));
}

ALWAYS_INLINE float binary_gradient(float x, float t)
{
    return fast_sigmoid(x) - t;
}

ALWAYS_INLINE float binary_target_gradient(float x, float t)
{
    (void)t;
    return -x;
}

/* --- the loops --- */

/* Values of a chunk: few enough for a float32 sum, and for gradients on the stack. The sums of the
 * chunks are added in double. */
enum { CHUNK = 1024 };

typedef float pair_function(float x, float t);

/* The targets: input 1 or, if `values` is NULL, one constant, which `constant` repeats. */
struct targets {
    const float *values;
    float constant[CHUNK];
};

static void set_targets(const struct kernel_call *call, struct targets *targets)
{
    const struct node *node = call->site->node;
    targets->values = node->input_count > 1 ? call->inputs[1] : NULL;
    for (size_t i = 0; i < CHUNK; i++)
        targets->constant[i] = node->attributes.loss.target;
}

static const float *targets_at(const struct targets *targets, size_t at)
{
    return targets->values ? targets->values + at : targets->constant;
}

/* Writes the loss of image n, the mean over its values. */
ALWAYS_INLINE void write_loss(const struct kernel_call *call, size_t n, pair_function *loss)
{
    const size_t count = shape_count(call->site->inputs[0]);
    struct targets targets;
    double sum = 0;
    set_targets(call, &targets);
    for (size_t at = 0; at < count; at += CHUNK) {
        const float *x = call->inputs[0] + n * count + at,
                    *t = targets_at(&targets, n * count + at);
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t i = 0; i < min_size(CHUNK, count - at); i++)
            part += loss(x[i], t[i]);
        sum += part;
    }
    call->output[n] = (float)(sum / (double)count);
}

/* Writes the gradients of block `task` of both inputs, or adds to them. */
ALWAYS_INLINE void write_gradients(const struct kernel_call *call, size_t task,
                                   pair_function *x_gradient, pair_function *t_gradient)
{
    const float scale = loss_scale(call) / (float)shape_count(call->site->inputs[0]);
    const size_t end = block_end(input_values(call), task);
    float gradient[CHUNK], target_gradient[CHUNK];
    struct targets targets;
    set_targets(call, &targets);
    for (size_t at = task * BLOCK; at < end; at += CHUNK) {
        const size_t count = min_size(CHUNK, end - at);
        const float *x = call->inputs[0] + at, *t = targets_at(&targets, at);
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            gradient[i] = scale * x_gradient(x[i], t[i]);
            target_gradient[i] = scale * t_gradient(x[i], t[i]);
        }
        if (call->input_gradients[0])
            store_or_add(call->input_gradients[0] + at, gradient, count, call->accumulate[0]);
        if (targets.values && call->input_gradients[1])
            store_or_add(call->input_gradients[1] + at, target_gradient, count,
                         call->accumulate[1]);
    }
}

/* --- the kernels --- */

static void forward_task(void *context, size_t n, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct op *op = call->site->node->op;
    if (op == &op_l1_loss)
        write_loss(call, n, l1_value);
    else if (op == &op_l2_loss)
        write_loss(call, n, l2_value);
    else
        write_loss(call, n, binary_value);
}

static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct op *op = call->site->node->op;
    if (op == &op_l1_loss)
        write_gradients(call, task, l1_gradient, l1_target_gradient);
    else if (op == &op_l2_loss)
        write_gradients(call, task, l2_gradient, l2_target_gradient);
    else
        write_gradients(call, task, binary_gradient, binary_target_gradient);
}

static void forward(const struct kernel_call *call)
{
    run_tasks(call, call->site->batch, forward_task, call);
}

static void backward(const struct kernel_call *call)
{
    run_tasks(call, block_count(input_values(call)), backward_task, call);
}

const struct kernel KERNEL(l1_loss) = {
    .name = "l1_loss simd",
    .instruction_set = ISA_NAME,
    .op = &op_l1_loss,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(l2_loss) = {
    .name = "l2_loss simd",
    .instruction_set = ISA_NAME,
    .op = &op_l2_loss,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(binary_cross_entropy) = {
    .name = "binary_cross_entropy simd",
    .instruction_set = ISA_NAME,
    .op = &op_binary_cross_entropy,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward,
    .backward = backward,
};
