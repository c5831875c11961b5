/* Activations. Each is two functions of one element, and has loops over them of its own that the
 * compiler turns into vector code; the table below lists these. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/elements.h"
#include "engine/devices/cpu/functions.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Return the value of an element, and the input's gradient from the output's gradient g and, as the
 * kernel's traits say, the output or the input. `parameter` is that of the operator, if it has one.
 */
typedef float value_function(float x, float parameter);
typedef float gradient_function(float of, float g, float parameter);

/* --- the functions of each activation --- */

/* Returns max(x, 0). The comparison with < keeps NaN, so that a diverged run is noticed. */
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

ALWAYS_INLINE float leaky_relu_value(float x, float slope)
{
    return x > 0 ? x : slope * x;
}

ALWAYS_INLINE float leaky_relu_gradient(float y, float g, float slope)
{
    return y > 0 ? g : slope * g;
}

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

/* Returns the share of a normal distribution that lies below x. */
ALWAYS_INLINE float normal_below(float x)
{
    return 0.5f * (1.0f + fast_erf(x * 0.7071067812f));
}

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

ALWAYS_INLINE float elu_value(float x, float alpha)
{
    return x > 0 ? x : alpha * fast_expm1(x);
}

ALWAYS_INLINE float elu_gradient(float y, float g, float alpha)
{
    return y > 0 ? g : g * (y + alpha);
}

/* --- the loops ---
 *
 * They are always inlined. Output and gradient may overwrite what they are computed from. */

/* Returns 0 for the activations that have no parameter. */
static inline float activation_parameter(const struct kernel_call *call)
{
    const struct node *node = call->site->node;
    if (node->op == &op_leaky_relu)
        return node->attributes.leaky_relu.slope;
    return node->op == &op_elu ? node->attributes.elu.alpha : 0;
}

/* Writes block `task` of the output. */
ALWAYS_INLINE void write_values(const struct kernel_call *call, size_t task, value_function *value)
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
ALWAYS_INLINE void write_gradients(const struct kernel_call *call, const float *array, size_t task,
                                   gradient_function *gradient)
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

/* --- the loops of each activation --- */

static void relu_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, relu_value);
}

static void relu_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->output, task, relu_gradient);
}

static void leaky_relu_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, leaky_relu_value);
}

static void leaky_relu_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->output, task, leaky_relu_gradient);
}

static void sigmoid_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, sigmoid_value);
}

static void sigmoid_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->output, task, sigmoid_gradient);
}

static void tanh_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, tanh_value);
}

static void tanh_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->output, task, tanh_gradient);
}

static void hardsigmoid_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, hardsigmoid_value);
}

static void hardsigmoid_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->output, task, hardsigmoid_gradient);
}

static void hardswish_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, hardswish_value);
}

static void hardswish_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->inputs[0], task, hardswish_gradient);
}

static void hardswish_rows(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, hardswish_value);
}

static void silu_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, silu_value);
}

static void silu_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->inputs[0], task, silu_gradient);
}

static void silu_rows(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, silu_value);
}

static void gelu_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, gelu_value);
}

static void gelu_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->inputs[0], task, gelu_gradient);
}

static void gelu_rows(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, gelu_value);
}

static void elu_forward(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_values(context, task, elu_value);
}

static void elu_backward(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    write_gradients(call, call->output, task, elu_gradient);
}

static void elu_rows(void *context, size_t task, size_t thread)
{
    (void)thread;
    write_rows(context, task, elu_value);
}

static const struct activation {
    const struct op *op;
    pool_task *forward, *backward, *rows;
} activations[] = {
    {&op_relu, relu_forward, relu_backward, NULL},
    {&op_leaky_relu, leaky_relu_forward, leaky_relu_backward, NULL},
    {&op_sigmoid, sigmoid_forward, sigmoid_backward, NULL},
    {&op_tanh, tanh_forward, tanh_backward, NULL},
    {&op_hardsigmoid, hardsigmoid_forward, hardsigmoid_backward, NULL},
    {&op_hardswish, hardswish_forward, hardswish_backward, hardswish_rows},
    {&op_silu, silu_forward, silu_backward, silu_rows},
    {&op_gelu, gelu_forward, gelu_backward, gelu_rows},
    {&op_elu, elu_forward, elu_backward, elu_rows},
};

static const struct activation *activation_of(const struct kernel_call *call)
{
    const struct activation *activation = activations;
    while (activation->op != call->site->node->op)
        activation++;
    return activation;
}

static void forward(const struct kernel_call *call)
{
    run_tasks(call, block_count(output_values(call)), activation_of(call)->forward, call);
}

static void backward(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, block_count(output_values(call)), activation_of(call)->backward, call);
}

static void forward_blocked(const struct kernel_call *call)
{
    struct rows rows = {.call = call, .in = blocked_input(call, 0), .out = blocked_output(call)};
    rows.tasks = blocked_tasks_of(call, &rows.out, 8 * rows.out.shape.width);
    run_tasks(call, rows.tasks.count, activation_of(call)->rows, &rows);
}

/* --- the kernels --- */

enum { TRAITS = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE | KERNEL_ANY_LAYOUT | ELEMENT_TRAITS };

const struct kernel KERNEL(relu) = {
    .name = "relu simd",
    .instruction_set = ISA_NAME,
    .op = &op_relu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(leaky_relu) = {
    .name = "leaky_relu simd",
    .instruction_set = ISA_NAME,
    .op = &op_leaky_relu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(sigmoid) = {
    .name = "sigmoid simd",
    .instruction_set = ISA_NAME,
    .op = &op_sigmoid,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(tanh) = {
    .name = "tanh simd",
    .instruction_set = ISA_NAME,
    .op = &op_tanh,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(hardsigmoid) = {
    .name = "hardsigmoid simd",
    .instruction_set = ISA_NAME,
    .op = &op_hardsigmoid,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(hardswish) = {
    .name = "hardswish simd",
    .instruction_set = ISA_NAME,
    .op = &op_hardswish,
    .traits = TRAITS | KERNEL_BACKWARD_READS_INPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(silu) = {
    .name = "silu simd",
    .instruction_set = ISA_NAME,
    .op = &op_silu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_INPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(gelu) = {
    .name = "gelu simd",
    .instruction_set = ISA_NAME,
    .op = &op_gelu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_INPUT,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(elu) = {
    .name = "elu simd",
    .instruction_set = ISA_NAME,
    .op = &op_elu,
    .traits = TRAITS | KERNEL_BACKWARD_READS_OUTPUT,
    .forward = forward,
    .backward = backward,
};

/* Activations that map 0 to 0, which the unused lanes of a channel-blocked array must keep, also
 * have a kernel for the channel-blocked arrays of inference, which are surrounded by padding. */
enum { BLOCKED_TRAITS = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_IN_PLACE };

const struct kernel KERNEL(hardswish_blocked) = {
    .name = "hardswish blocked",
    .instruction_set = ISA_NAME,
    .op = &op_hardswish,
    .traits = BLOCKED_TRAITS,
    .supports = KERNEL(blocked_supports),
    .forward = forward_blocked,
};

const struct kernel KERNEL(silu_blocked) = {
    .name = "silu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_silu,
    .traits = BLOCKED_TRAITS,
    .supports = KERNEL(blocked_supports),
    .forward = forward_blocked,
};

const struct kernel KERNEL(gelu_blocked) = {
    .name = "gelu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_gelu,
    .traits = BLOCKED_TRAITS,
    .supports = KERNEL(blocked_supports),
    .forward = forward_blocked,
};

const struct kernel KERNEL(elu_blocked) = {
    .name = "elu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_elu,
    .traits = BLOCKED_TRAITS,
    .supports = KERNEL(blocked_supports),
    .forward = forward_blocked,
};
