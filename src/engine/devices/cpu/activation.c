/* relu, leaky_relu, sigmoid and tanh: one value at a time, in blocks; in place where asked. */
#include "engine/devices/cpu/functions.h"
#include "engine/devices/cpu/simd.h"

/* Defines NAME's kernel. FORWARD is an expression in x; BACKWARD the factor's product with the
 * output's gradient, in y (the output) and g. Both may use `slope`. */
#define ACTIVATION(NAME, FORWARD, BACKWARD)                                                        \
    static void NAME##_forward_task(void *context, size_t task, size_t thread)                     \
    {                                                                                              \
        (void)thread;                                                                              \
        const struct kernel_call *call = context;                                                  \
        const float slope = slope_of(call), *in = call->inputs[0];                                 \
        const size_t end = block_end(output_values(call), task);                                   \
        float *out = call->output;                                                                 \
        (void)slope;                                                                               \
        _Pragma("omp simd") for (size_t i = task * BLOCK; i < end; i++)                            \
        {                                                                                          \
            const float x = in[i];                                                                 \
            out[i] = FORWARD;                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_backward_task(void *context, size_t task, size_t thread)                    \
    {                                                                                              \
        (void)thread;                                                                              \
        const struct kernel_call *call = context;                                                  \
        const float slope = slope_of(call), *out = call->output, *from = call->output_gradient;    \
        const size_t begin = task * BLOCK, end = block_end(output_values(call), task);             \
        float *to = call->input_gradients[0];                                                      \
        (void)slope;                                                                               \
        if (call->accumulate[0]) {                                                                 \
            _Pragma("omp simd") for (size_t i = begin; i < end; i++)                               \
            {                                                                                      \
                const float y = out[i], g = from[i];                                               \
                to[i] += BACKWARD;                                                                 \
            }                                                                                      \
        } else {                                                                                   \
            _Pragma("omp simd") for (size_t i = begin; i < end; i++)                               \
            {                                                                                      \
                const float y = out[i], g = from[i];                                               \
                to[i] = BACKWARD;                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_forward(const struct kernel_call *call)                                     \
    {                                                                                              \
        run_tasks(call, block_count(output_values(call)), NAME##_forward_task, call);              \
    }                                                                                              \
    static void NAME##_backward(const struct kernel_call *call)                                    \
    {                                                                                              \
        if (call->input_gradients[0])                                                              \
            run_tasks(call, block_count(output_values(call)), NAME##_backward_task, call);         \
    }                                                                                              \
    const struct kernel KERNEL(NAME) = {                                                           \
        .name = #NAME " simd",                                                                     \
        .instruction_set = ISA_NAME,                                                               \
        .op = &op_##NAME,                                                                          \
        .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,       \
        .forward = NAME##_forward,                                                                 \
        .backward = NAME##_backward,                                                               \
    };

static float slope_of(const struct kernel_call *call)
{
    return call->site->node->op == &op_leaky_relu ? call->site->node->attributes.leaky_relu.slope
                                                  : 0;
}

ACTIVATION(relu, x<0 ? 0 : x, y> 0 ? g : 0)
ACTIVATION(leaky_relu, x > 0 ? x : slope * x, y > 0 ? g : slope * g)
ACTIVATION(sigmoid, fast_sigmoid(x), g *y *(1.0f - y))
ACTIVATION(tanh, fast_tanh(x), g *(1.0f - y * y))
