/* Activations. The gradients of relu, leaky_relu, sigmoid and tanh are computed from their outputs,
 * those of the smooth ones at the end from their inputs. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/elements.h"
#include "engine/devices/cpu/functions.h"

/* An activation is two functions of one element: the value, and the input's gradient from the
 * output's gradient g and, as the kernel's traits say, the output or the input (`parameter` is that
 * of the operator, if it has one). The loops over a block of elements are always inlined, so that
 * each activation gets loops of its own that the compiler turns into vector code. Output and
 * gradient may overwrite what they are computed from. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef float value_function(float x, float parameter);
typedef float gradient_function(float of, float g, float parameter);

/* Returns 0 for the activations that have no parameter. */
static inline float activation_parameter(const struct kernel_call *call)
{
    const struct node *node = call->site->node;
    if (node->op == &op_leaky_relu)
        return node->attributes.leaky_relu.slope;
    return node->op == &op_elu ? node->attributes.elu.alpha : 0;
}

/* Writes block `task` of the output. */
ALWAYS_INLINE void activation_values(const struct kernel_call *call, size_t task,
                                     value_function *value)
{
    const float parameter = activation_parameter(call);
    const element *in = (const element *)call->inputs[0];
    const size_t end = block_end(output_values(call), task);
    element *out = (element *)call->output;
#pragma omp simd
    for (size_t i = task * BLOCK; i < end; i++)
        out[i] = element_of(value(element_value(in[i]), parameter));
}

/* Writes block `task` of the input's gradient, or adds to it. `array` is the output or the input,
 * whichever `gradient` needs. */
ALWAYS_INLINE void activation_gradients(const struct kernel_call *call, const float *array,
                                        size_t task, gradient_function *gradient)
{
    const float parameter = activation_parameter(call);
    const element *of = (const element *)array;
    const element *from = (const element *)call->output_gradient;
    const size_t begin = task * BLOCK, end = block_end(output_values(call), task);
    element *to = (element *)call->input_gradients[0];
    if (call->accumulate[0]) {
#pragma omp simd
        for (size_t i = begin; i < end; i++)
            to[i] = element_of(element_value(to[i]) +
                               gradient(element_value(of[i]), element_value(from[i]), parameter));
    } else {
#pragma omp simd
        for (size_t i = begin; i < end; i++)
            to[i] = element_of(gradient(element_value(of[i]), element_value(from[i]), parameter));
    }
}

static inline void activation_forward(const struct kernel_call *call, pool_task *task)
{
    run_tasks(call, block_count(output_values(call)), task, call);
}

static inline void activation_backward(const struct kernel_call *call, pool_task *task)
{
    if (call->input_gradients[0])
        run_tasks(call, block_count(output_values(call)), task, call);
}

enum { TRAITS = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE | KERNEL_ANY_LAYOUT | ELEMENT_TRAITS };

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
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
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
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
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
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
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
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = tanh_forward,
    .backward = tanh_backward,
};

/* --- hardsigmoid, hardswish, silu, gelu and elu ---
 *
 * They work on arrays of any layout in training
 * and of the plain layout in inference. Those whose value at 0 is 0, which the unused lanes of a
 * channel-blocked array must keep, also have a kernel for the channel-blocked arrays of inference,
 * which are surrounded by padding. */

struct rows {
    const struct kernel_call *call;
    struct blocked in, out;
    struct blocked_tasks tasks;
};

ALWAYS_INLINE void write_rows(const struct rows *rows, size_t task, value_function *value)
{
    const float parameter = activation_parameter(rows->call);
    const size_t count = rows->out.shape.width * LANES;
    struct row_block block = blocked_first(&rows->tasks, task);
    while (blocked_next(&rows->tasks, &block)) {
        for (size_t y = block.begin; y < block.end; y++) {
            const element *from = blocked_at(&rows->in, block.image, block.plane, y);
            element *to = blocked_at(&rows->out, block.image, block.plane, y);
#pragma omp simd
            for (size_t i = 0; i < count; i++)
                to[i] = element_of(value(element_value(from[i]), parameter));
        }
        blocked_pad(&rows->out, block.image, block.plane, block.begin, block.end);
    }
}

static void run_rows(const struct kernel_call *call, pool_task *task)
{
    struct rows rows = {.call = call, .in = blocked_input(call, 0), .out = blocked_output(call)};
    rows.tasks = blocked_tasks_of(call, &rows.out, 8 * rows.out.shape.width);
    run_tasks(call, rows.tasks.count, task, &rows);
}

/* --- hardsigmoid --- */

ALWAYS_INLINE float hardsigmoid_value(float x, float none)
{
    (void)none;
    const float above = x + 3.0f;
    const float y = above > 6.0f ? 1.0f : above * (1.0f / 6.0f);
    return above < 0 ? 0 : y;
}

ALWAYS_INLINE float hardsigmoid_gradient(float y, float g, float none)
{
    (void)none;
    return y > 0 && y < 1 ? g * (1.0f / 6.0f) : 0;
}

static void hardsigmoid_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_values(context, task, hardsigmoid_value);
}

static void hardsigmoid_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    activation_gradients(call, call->output, task, hardsigmoid_gradient);
}

static void hardsigmoid_forward(const struct kernel_call *call)
{
    activation_forward(call, hardsigmoid_forward_task);
}

static void hardsigmoid_backward(const struct kernel_call *call)
{
    activation_backward(call, hardsigmoid_backward_task);
}

const struct kernel KERNEL(hardsigmoid) = {
    .name = "hardsigmoid simd",
    .instruction_set = ISA_NAME,
    .op = &op_hardsigmoid,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = hardsigmoid_forward,
    .backward = hardsigmoid_backward,
};

/* --- hardswish --- */

ALWAYS_INLINE float hardswish_value(float x, float none)
{
    (void)none;
    const float between = x * (x + 3.0f) * (1.0f / 6.0f), above = x >= 3.0f ? x : between;
    return x <= -3.0f ? 0 : above;
}

ALWAYS_INLINE float hardswish_gradient(float x, float g, float none)
{
    (void)none;
    const float between = (2.0f * x + 3.0f) * (1.0f / 6.0f), above = x >= 3.0f ? 1.0f : between;
    return g * (x <= -3.0f ? 0 : above);
}

static void hardswish_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_values(context, task, hardswish_value);
}

static void hardswish_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    activation_gradients(call, call->inputs[0], task, hardswish_gradient);
}

static void hardswish_forward(const struct kernel_call *call)
{
    activation_forward(call, hardswish_forward_task);
}

static void hardswish_backward(const struct kernel_call *call)
{
    activation_backward(call, hardswish_backward_task);
}

const struct kernel KERNEL(hardswish) = {
    .name = "hardswish simd",
    .instruction_set = ISA_NAME,
    .op = &op_hardswish,
    .traits = TRAITS | KERNEL_BACKWARD_READS_INPUT,
    .forward = hardswish_forward,
    .backward = hardswish_backward,
};

static void hardswish_rows_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, hardswish_value);
}

static void hardswish_rows(const struct kernel_call *call)
{
    run_rows(call, hardswish_rows_task);
}

const struct kernel KERNEL(hardswish_blocked) = {
    .name = "hardswish blocked",
    .instruction_set = ISA_NAME,
    .op = &op_hardswish,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE,
    .supports = KERNEL(blocked_supports),
    .forward = hardswish_rows,
};

/* --- silu --- */

ALWAYS_INLINE float silu_value(float x, float none)
{
    (void)none;
    return x * fast_sigmoid(x);
}

ALWAYS_INLINE float silu_gradient(float x, float g, float none)
{
    (void)none;
    const float s = fast_sigmoid(x);
    return g * s * (1.0f + x * (1.0f - s));
}

static void silu_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_values(context, task, silu_value);
}

static void silu_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    activation_gradients(call, call->inputs[0], task, silu_gradient);
}

static void silu_forward(const struct kernel_call *call)
{
    activation_forward(call, silu_forward_task);
}

static void silu_backward(const struct kernel_call *call)
{
    activation_backward(call, silu_backward_task);
}

const struct kernel KERNEL(silu) = {
    .name = "silu simd",
    .instruction_set = ISA_NAME,
    .op = &op_silu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_INPUT,
    .forward = silu_forward,
    .backward = silu_backward,
};

static void silu_rows_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, silu_value);
}

static void silu_rows(const struct kernel_call *call)
{
    run_rows(call, silu_rows_task);
}

const struct kernel KERNEL(silu_blocked) = {
    .name = "silu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_silu,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE,
    .supports = KERNEL(blocked_supports),
    .forward = silu_rows,
};

/* Returns the share of a normal distribution that lies below x. */
ALWAYS_INLINE float normal_below(float x)
{
    return 0.5f * (1.0f + fast_erf(x * 0.7071067812f));
}

/* --- gelu --- */

ALWAYS_INLINE float gelu_value(float x, float none)
{
    (void)none;
    return x * normal_below(x);
}

ALWAYS_INLINE float gelu_gradient(float x, float g, float none)
{
    (void)none;
    return g * (normal_below(x) + x * 0.3989422804f * fast_exp(-0.5f * x * x));
}

static void gelu_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_values(context, task, gelu_value);
}

static void gelu_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    activation_gradients(call, call->inputs[0], task, gelu_gradient);
}

static void gelu_forward(const struct kernel_call *call)
{
    activation_forward(call, gelu_forward_task);
}

static void gelu_backward(const struct kernel_call *call)
{
    activation_backward(call, gelu_backward_task);
}

const struct kernel KERNEL(gelu) = {
    .name = "gelu simd",
    .instruction_set = ISA_NAME,
    .op = &op_gelu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_INPUT,
    .forward = gelu_forward,
    .backward = gelu_backward,
};

static void gelu_rows_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, gelu_value);
}

static void gelu_rows(const struct kernel_call *call)
{
    run_rows(call, gelu_rows_task);
}

const struct kernel KERNEL(gelu_blocked) = {
    .name = "gelu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_gelu,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE,
    .supports = KERNEL(blocked_supports),
    .forward = gelu_rows,
};

/* --- elu --- */

ALWAYS_INLINE float elu_value(float x, float alpha)
{
    return x > 0 ? x : alpha * fast_expm1(x);
}

ALWAYS_INLINE float elu_gradient(float y, float g, float alpha)
{
    return y > 0 ? g : g * (y + alpha);
}

static void elu_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    activation_values(context, task, elu_value);
}

static void elu_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    activation_gradients(call, call->output, task, elu_gradient);
}

static void elu_forward(const struct kernel_call *call)
{
    activation_forward(call, elu_forward_task);
}

static void elu_backward(const struct kernel_call *call)
{
    activation_backward(call, elu_backward_task);
}

const struct kernel KERNEL(elu) = {
    .name = "elu simd",
    .instruction_set = ISA_NAME,
    .op = &op_elu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = elu_forward,
    .backward = elu_backward,
};

static void elu_rows_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, elu_value);
}

static void elu_rows(const struct kernel_call *call)
{
    run_rows(call, elu_rows_task);
}

const struct kernel KERNEL(elu_blocked) = {
    .name = "elu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_elu,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE,
    .supports = KERNEL(blocked_supports),
    .forward = elu_rows,
};
