/* relu, leaky_relu, sigmoid and tanh. Each is two functions of one element: the value, and the
 * input's gradient from the output y and the output's gradient g (`slope` is leaky_relu's). The
 * loops over a block of elements are written once, in write_values and write_gradients; they are
 * always inlined, so that each activation gets loops of its own that the compiler turns into vector
 * code. Output and gradient may overwrite what they are computed from. */
#include "engine/devices/cpu/elements.h"
#include "engine/devices/cpu/functions.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef float value_function(float x, float slope);
typedef float gradient_function(float y, float g, float slope);

/* Returns 0 for the activations that have no slope. */
static float slope_of(const struct kernel_call *call)
{
    return call->site->node->op == &op_leaky_relu ? call->site->node->attributes.leaky_relu.slope
                                                  : 0;
}

/* Writes block `task` of the output. */
ALWAYS_INLINE void write_values(const struct kernel_call *call, size_t task, value_function *value)
{
    const float slope = slope_of(call);
    const element *in = (const element *)call->inputs[0];
    const size_t end = block_end(output_values(call), task);
    element *out = (element *)call->output;
#pragma omp simd
    for (size_t i = task * BLOCK; i < end; i++)
        out[i] = element_of(value(element_value(in[i]), slope));
}

/* Writes block `task` of the input's gradient, or adds to it. */
ALWAYS_INLINE void write_gradients(const struct kernel_call *call, size_t task,
                                   gradient_function *gradient)
{
    const float slope = slope_of(call);
    const element *out = (const element *)call->output;
    const element *from = (const element *)call->output_gradient;
    const size_t begin = task * BLOCK, end = block_end(output_values(call), task);
    element *to = (element *)call->input_gradients[0];
    if (call->accumulate[0]) {
#pragma omp simd
        for (size_t i = begin; i < end; i++)
            to[i] = element_of(element_value(to[i]) +
                               gradient(element_value(out[i]), element_value(from[i]), slope));
    } else {
#pragma omp simd
        for (size_t i = begin; i < end; i++)
            to[i] = element_of(gradient(element_value(out[i]), element_value(from[i]), slope));
    }
}

static void run_forward(const struct kernel_call *call, pool_task *task)
{
    run_tasks(call, block_count(output_values(call)), task, call);
}

static void run_backward(const struct kernel_call *call, pool_task *task)
{
    if (call->input_gradients[0])
        run_tasks(call, block_count(output_values(call)), task, call);
}

enum {
    TRAITS = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE |
             KERNEL_ANY_LAYOUT | ELEMENT_TRAITS
};

/* --- relu: x < 0 ? 0 : x keeps NaN, so that a diverged run is noticed --- */

ALWAYS_INLINE float relu_value(float x, float slope)
{
    (void)slope;
    return x < 0 ? 0 : x;
}

ALWAYS_INLINE float relu_gradient(float y, float g, float slope)
{
    (void)slope;
    return y > 0 ? g : 0;
}

static void relu_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, relu_value);
}

static void relu_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_gradients(context, task, relu_gradient);
}

static void relu_forward(const struct kernel_call *call)
{
    run_forward(call, relu_forward_task);
}

static void relu_backward(const struct kernel_call *call)
{
    run_backward(call, relu_backward_task);
}

const struct kernel KERNEL(relu) = {
    .name = "relu simd",
    .instruction_set = ISA_NAME,
    .op = &op_relu,
    .traits = TRAITS,
    .forward = relu_forward,
    .backward = relu_backward,
};

/* --- leaky_relu --- */

ALWAYS_INLINE float leaky_relu_value(float x, float slope)
{
    return x > 0 ? x : slope * x;
}

ALWAYS_INLINE float leaky_relu_gradient(float y, float g, float slope)
{
    return y > 0 ? g : slope * g;
}

static void leaky_relu_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, leaky_relu_value);
}

static void leaky_relu_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_gradients(context, task, leaky_relu_gradient);
}

static void leaky_relu_forward(const struct kernel_call *call)
{
    run_forward(call, leaky_relu_forward_task);
}

static void leaky_relu_backward(const struct kernel_call *call)
{
    run_backward(call, leaky_relu_backward_task);
}

const struct kernel KERNEL(leaky_relu) = {
    .name = "leaky_relu simd",
    .instruction_set = ISA_NAME,
    .op = &op_leaky_relu,
    .traits = TRAITS,
    .forward = leaky_relu_forward,
    .backward = leaky_relu_backward,
};

/* --- sigmoid --- */

ALWAYS_INLINE float sigmoid_value(float x, float slope)
{
    (void)slope;
    return fast_sigmoid(x);
}

ALWAYS_INLINE float sigmoid_gradient(float y, float g, float slope)
{
    (void)slope;
    return g * y * (1.0f - y);
}

static void sigmoid_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, sigmoid_value);
}

static void sigmoid_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_gradients(context, task, sigmoid_gradient);
}

static void sigmoid_forward(const struct kernel_call *call)
{
    run_forward(call, sigmoid_forward_task);
}

static void sigmoid_backward(const struct kernel_call *call)
{
    run_backward(call, sigmoid_backward_task);
}

const struct kernel KERNEL(sigmoid) = {
    .name = "sigmoid simd",
    .instruction_set = ISA_NAME,
    .op = &op_sigmoid,
    .traits = TRAITS,
    .forward = sigmoid_forward,
    .backward = sigmoid_backward,
};

/* --- tanh --- */

ALWAYS_INLINE float tanh_value(float x, float slope)
{
    (void)slope;
    return fast_tanh(x);
}

ALWAYS_INLINE float tanh_gradient(float y, float g, float slope)
{
    (void)slope;
    return g * (1.0f - y * y);
}

static void tanh_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, tanh_value);
}

static void tanh_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_gradients(context, task, tanh_gradient);
}

static void tanh_forward(const struct kernel_call *call)
{
    run_forward(call, tanh_forward_task);
}

static void tanh_backward(const struct kernel_call *call)
{
    run_backward(call, tanh_backward_task);
}

const struct kernel KERNEL(tanh) = {
    .name = "tanh simd",
    .instruction_set = ISA_NAME,
    .op = &op_tanh,
    .traits = TRAITS,
    .forward = tanh_forward,
    .backward = tanh_backward,
};
