/* relu, leaky_relu, elu, gelu, silu, hardswish, sigmoid, hardsigmoid and tanh, element by element;
 * loads take four values if the arrays are aligned. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include <math.h>

/* Each activation has its value, and its gradient from the output's gradient g and, as its kernel's
 * traits say, the output y or the input x. */
struct relu {
    static __device__ __forceinline__ float value(float x, float)
    {
        return x < 0 ? 0 : x; /* NaN stays NaN */
    }
    static __device__ __forceinline__ float gradient(float y, float g, float)
    {
        return y > 0 ? g : 0;
    }
};
struct leaky_relu {
    static __device__ __forceinline__ float value(float x, float slope)
    {
        return x > 0 ? x : slope * x;
    }
    static __device__ __forceinline__ float gradient(float y, float g, float slope)
    {
        return y > 0 ? g : slope * g;
    }
};
struct sigmoid {
    static __device__ __forceinline__ float value(float x, float)
    {
        return 1.0f / (1.0f + expf(-x));
    }
    static __device__ __forceinline__ float gradient(float y, float g, float)
    {
        return g * y * (1.0f - y);
    }
};
struct hyperbolic_tangent {
    static __device__ __forceinline__ float value(float x, float)
    {
        return tanhf(x);
    }
    static __device__ __forceinline__ float gradient(float y, float g, float)
    {
        return g * (1.0f - y * y);
    }
};

struct elu {
    static __device__ __forceinline__ float value(float x, float alpha)
    {
        return x > 0 ? x : alpha * expm1f(x);
    }
    static __device__ __forceinline__ float gradient(float y, float g, float alpha)
    {
        return y > 0 ? g : g * (y + alpha);
    }
};
struct hardsigmoid {
    static __device__ __forceinline__ float value(float x, float)
    {
        return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6;
    }
    static __device__ __forceinline__ float gradient(float y, float g, float)
    {
        return y > 0 && y < 1 ? g / 6 : 0;
    }
};
struct hardswish {
    static __device__ __forceinline__ float value(float x, float)
    {
        return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
    }
    static __device__ __forceinline__ float gradient(float x, float g, float)
    {
        return g * (x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6);
    }
};
struct silu {
    static __device__ __forceinline__ float value(float x, float)
    {
        return x / (1.0f + expf(-x));
    }
    static __device__ __forceinline__ float gradient(float x, float g, float)
    {
        const float s = 1.0f / (1.0f + expf(-x));
        return g * s * (1.0f + x * (1.0f - s));
    }
};
struct gelu {
    /* Returns the share of a normal distribution that lies below x. */
    static __device__ __forceinline__ float below(float x)
    {
        return 0.5f * (1.0f + erff(x * 0.7071067812f));
    }
    static __device__ __forceinline__ float value(float x, float)
    {
        return x * below(x);
    }
    static __device__ __forceinline__ float gradient(float x, float g, float)
    {
        return g * (below(x) + x * 0.3989422804f * expf(-0.5f * x * x));
    }
};

template <class F>
static __global__ void activate(const float *x, float *y, uint32_t count, uint32_t quads,
                                float slope)
{
    for (uint32_t i = stride_first(); i < quads; i += stride_step()) {
        const float4 v = ((const float4 *)x)[i];
        ((float4 *)y)[i] = make_float4(F::value(v.x, slope), F::value(v.y, slope),
                                       F::value(v.z, slope), F::value(v.w, slope));
    }
    for (uint32_t i = 4 * quads + stride_first(); i < count; i += stride_step())
        y[i] = F::value(x[i], slope);
}

template <class F>
static __global__ void activate_back(const float *of, const float *g, float *gradient,
                                     bool accumulate, uint32_t count, uint32_t quads, float slope)
{
    for (uint32_t i = stride_first(); i < quads; i += stride_step()) {
        const float4 a = ((const float4 *)of)[i], b = ((const float4 *)g)[i];
        float4 sum = make_float4(F::gradient(a.x, b.x, slope), F::gradient(a.y, b.y, slope),
                                 F::gradient(a.z, b.z, slope), F::gradient(a.w, b.w, slope));
        if (accumulate) {
            const float4 old = ((const float4 *)gradient)[i];
            sum = make_float4(old.x + sum.x, old.y + sum.y, old.z + sum.z, old.w + sum.w);
        }
        ((float4 *)gradient)[i] = sum;
    }
    for (uint32_t i = 4 * quads + stride_first(); i < count; i += stride_step())
        gradient_store(&gradient[i], accumulate, F::gradient(of[i], g[i], slope));
}

template <class F>
static void forward(const struct kernel_call *call, const char *what, float slope)
{
    const size_t count = output_values(call);
    const bool aligned = aligned16(call->inputs[0]) && aligned16(call->output);
    launch(context_of(call), what, activate<F>, stride_blocks(aligned ? count / 4 + 3 : count),
           BLOCK, 0, call->inputs[0], call->output, (uint32_t)count,
           (uint32_t)(aligned ? count / 4 : 0), slope);
}

/* Queues the gradient; `of` is the array that F::gradient reads: the output or the input. */
template <class F>
static void backward(const struct kernel_call *call, const char *what, const float *of, float slope)
{
    const size_t count = output_values(call);
    float *gradient = call->input_gradients[0];
    if (!gradient)
        return;
    const bool aligned = aligned16(of) && aligned16(call->output_gradient) && aligned16(gradient);
    launch(context_of(call), what, activate_back<F>, stride_blocks(aligned ? count / 4 + 3 : count),
           BLOCK, 0, of, call->output_gradient, gradient, call->accumulate[0], (uint32_t)count,
           (uint32_t)(aligned ? count / 4 : 0), slope);
}

static void forward_relu(const struct kernel_call *call)
{
    forward<relu>(call, "relu forward", 0);
}
static void backward_relu(const struct kernel_call *call)
{
    backward<relu>(call, "relu backward", call->output, 0);
}
static void forward_leaky_relu(const struct kernel_call *call)
{
    forward<leaky_relu>(call, "leaky_relu forward", call->site->node->attributes.leaky_relu.slope);
}
static void backward_leaky_relu(const struct kernel_call *call)
{
    backward<leaky_relu>(call, "leaky_relu backward", call->output,
                         call->site->node->attributes.leaky_relu.slope);
}
static void forward_sigmoid(const struct kernel_call *call)
{
    forward<sigmoid>(call, "sigmoid forward", 0);
}
static void backward_sigmoid(const struct kernel_call *call)
{
    backward<sigmoid>(call, "sigmoid backward", call->output, 0);
}
static void forward_tanh(const struct kernel_call *call)
{
    forward<hyperbolic_tangent>(call, "tanh forward", 0);
}
static void backward_tanh(const struct kernel_call *call)
{
    backward<hyperbolic_tangent>(call, "tanh backward", call->output, 0);
}

static void forward_elu(const struct kernel_call *call)
{
    forward<elu>(call, "elu forward", call->site->node->attributes.elu.alpha);
}
static void backward_elu(const struct kernel_call *call)
{
    backward<elu>(call, "elu backward", call->output, call->site->node->attributes.elu.alpha);
}
static void forward_hardsigmoid(const struct kernel_call *call)
{
    forward<hardsigmoid>(call, "hardsigmoid forward", 0);
}
static void backward_hardsigmoid(const struct kernel_call *call)
{
    backward<hardsigmoid>(call, "hardsigmoid backward", call->output, 0);
}
static void forward_hardswish(const struct kernel_call *call)
{
    forward<hardswish>(call, "hardswish forward", 0);
}
static void backward_hardswish(const struct kernel_call *call)
{
    backward<hardswish>(call, "hardswish backward", call->inputs[0], 0);
}
static void forward_silu(const struct kernel_call *call)
{
    forward<silu>(call, "silu forward", 0);
}
static void backward_silu(const struct kernel_call *call)
{
    backward<silu>(call, "silu backward", call->inputs[0], 0);
}
static void forward_gelu(const struct kernel_call *call)
{
    forward<gelu>(call, "gelu forward", 0);
}
static void backward_gelu(const struct kernel_call *call)
{
    backward<gelu>(call, "gelu backward", call->inputs[0], 0);
}

enum {
    TRAITS = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE |
             KERNEL_CHANNELS_LAST,
    INPUT_TRAITS = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE |
                   KERNEL_CHANNELS_LAST,
};

struct cuda_kernel cuda_relu = {
    .op = "relu",
    .kernel =
        {
            .name = "relu",
            .instruction_set = "cuda",
            .traits = TRAITS,
            .supports = supports_counts,
            .forward = forward_relu,
            .backward = backward_relu,
        },
};
struct cuda_kernel cuda_leaky_relu = {
    .op = "leaky_relu",
    .kernel =
        {
            .name = "leaky_relu",
            .instruction_set = "cuda",
            .traits = TRAITS,
            .supports = supports_counts,
            .forward = forward_leaky_relu,
            .backward = backward_leaky_relu,
        },
};
struct cuda_kernel cuda_sigmoid = {
    .op = "sigmoid",
    .kernel =
        {
            .name = "sigmoid",
            .instruction_set = "cuda",
            .traits = TRAITS,
            .supports = supports_counts,
            .forward = forward_sigmoid,
            .backward = backward_sigmoid,
        },
};
struct cuda_kernel cuda_tanh = {
    .op = "tanh",
    .kernel =
        {
            .name = "tanh",
            .instruction_set = "cuda",
            .traits = TRAITS,
            .supports = supports_counts,
            .forward = forward_tanh,
            .backward = backward_tanh,
        },
};
struct cuda_kernel cuda_elu = {
    .op = "elu",
    .kernel =
        {
            .name = "elu",
            .instruction_set = "cuda",
            .traits = TRAITS,
            .supports = supports_counts,
            .forward = forward_elu,
            .backward = backward_elu,
        },
};
struct cuda_kernel cuda_hardsigmoid = {
    .op = "hardsigmoid",
    .kernel =
        {
            .name = "hardsigmoid",
            .instruction_set = "cuda",
            .traits = TRAITS,
            .supports = supports_counts,
            .forward = forward_hardsigmoid,
            .backward = backward_hardsigmoid,
        },
};
struct cuda_kernel cuda_hardswish = {
    .op = "hardswish",
    .kernel =
        {
            .name = "hardswish",
            .instruction_set = "cuda",
            .traits = INPUT_TRAITS,
            .supports = supports_counts,
            .forward = forward_hardswish,
            .backward = backward_hardswish,
        },
};
struct cuda_kernel cuda_silu = {
    .op = "silu",
    .kernel =
        {
            .name = "silu",
            .instruction_set = "cuda",
            .traits = INPUT_TRAITS,
            .supports = supports_counts,
            .forward = forward_silu,
            .backward = backward_silu,
        },
};
struct cuda_kernel cuda_gelu = {
    .op = "gelu",
    .kernel =
        {
            .name = "gelu",
            .instruction_set = "cuda",
            .traits = INPUT_TRAITS,
            .supports = supports_counts,
            .forward = forward_gelu,
            .backward = backward_gelu,
        },
};
