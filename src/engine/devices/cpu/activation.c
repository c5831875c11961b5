/* relu, leaky_relu, sigmoid and tanh, whose gradients are computed from their outputs. */
#include "engine/devices/cpu/activation.h"
#include "engine/devices/cpu/functions.h"

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
    activation_values(context, task, relu_value);
}

static void relu_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_gradients(context, ((const struct kernel_call *)context)->output, task,
                         relu_gradient);
}

static void relu_forward(const struct kernel_call *call)
{
    activation_forward(call, relu_forward_task);
}

static void relu_backward(const struct kernel_call *call)
{
    activation_backward(call, relu_backward_task);
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
    activation_values(context, task, leaky_relu_value);
}

static void leaky_relu_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_gradients(context, ((const struct kernel_call *)context)->output, task,
                         leaky_relu_gradient);
}

static void leaky_relu_forward(const struct kernel_call *call)
{
    activation_forward(call, leaky_relu_forward_task);
}

static void leaky_relu_backward(const struct kernel_call *call)
{
    activation_backward(call, leaky_relu_backward_task);
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
    activation_values(context, task, sigmoid_value);
}

static void sigmoid_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_gradients(context, ((const struct kernel_call *)context)->output, task,
                         sigmoid_gradient);
}

static void sigmoid_forward(const struct kernel_call *call)
{
    activation_forward(call, sigmoid_forward_task);
}

static void sigmoid_backward(const struct kernel_call *call)
{
    activation_backward(call, sigmoid_backward_task);
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
    activation_values(context, task, tanh_value);
}

static void tanh_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_gradients(context, ((const struct kernel_call *)context)->output, task,
                         tanh_gradient);
}

static void tanh_forward(const struct kernel_call *call)
{
    activation_forward(call, tanh_forward_task);
}

static void tanh_backward(const struct kernel_call *call)
{
    activation_backward(call, tanh_backward_task);
}

const struct kernel KERNEL(tanh) = {
    .name = "tanh simd",
    .instruction_set = ISA_NAME,
    .op = &op_tanh,
    .traits = TRAITS,
    .forward = tanh_forward,
    .backward = tanh_backward,
};
