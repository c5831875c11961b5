/* hardsigmoid, hardswish, silu, gelu and elu (activation.h), on arrays of any layout in training
 * and of the plain layout in inference. Those whose value at 0 is 0, which the unused lanes of a
 * channel-blocked array must keep, also have a kernel for the channel-blocked arrays of inference,
 * which are surrounded by padding. */
#include "base/language.h"
#include "engine/devices/cpu/activation.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/functions.h"

enum { TRAITS = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE | KERNEL_ANY_LAYOUT | ELEMENT_TRAITS };

/* --- channel-blocked arrays, in inference --- */

struct rows {
    const struct kernel_call *call;
    struct blocked in, out;
    struct blocked_tasks tasks;
};

ALWAYS_INLINE void write_rows(const struct rows *rows, size_t task, value_function *value)
{
    const float parameter = activation_parameter(rows->call);
    const size_t count = rows->out.shape.width * LANES;
    struct blocked_band band = blocked_first(&rows->tasks, task);
    while (blocked_next(&rows->tasks, &band)) {
        for (size_t y = band.begin; y < band.end; y++) {
            const element *from = blocked_at(&rows->in, band.image, band.plane, y);
            element *to = blocked_at(&rows->out, band.image, band.plane, y);
#pragma omp simd
            for (size_t i = 0; i < count; i++)
                to[i] = element_of(value(element_value(from[i]), parameter));
        }
        blocked_pad(&rows->out, band.image, band.plane, band.begin, band.end);
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
