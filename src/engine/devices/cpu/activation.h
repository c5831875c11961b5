/* activation.h: the loops of activations. Only the kernels of this folder use it.
 *
 * An activation is two functions of one element: the value, and the input's gradient from the
 * output's gradient g and, as the kernel's traits say, the output or the input (`parameter` is that
 * of the operator, if it has one). The loops over a block of elements are always inlined, so that
 * each activation gets loops of its own that the compiler turns into vector code. Output and
 * gradient may overwrite what they are computed from. */
#ifndef TINCA_ENGINE_DEVICES_CPU_ACTIVATION_H
#define TINCA_ENGINE_DEVICES_CPU_ACTIVATION_H

#include "engine/devices/cpu/elements.h"

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

#endif
