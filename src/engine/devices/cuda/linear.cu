/* Fully connected layers by cuBLAS. With a few images the forward pass is limited by reading the
 * weights; then one launch computes everything, with a warp for each output of all images. */
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/reduce.h"

enum { FEW_IMAGES = 4 };

template <int IMAGES>
static __global__ void few_images(const float *x, const float *weight, const float *bias, float *y,
                                  uint32_t inputs, uint32_t outputs, bool rectify)
{
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t o = stride_first() / WARP; o < outputs; o += stride_step() / WARP) {
        const float *row = weight + (size_t)o * inputs;
        float sums[IMAGES] = {};
#pragma unroll 4
        for (uint32_t i = lane; i < inputs; i += WARP) {
            const float w = row[i];
#pragma unroll
            for (int n = 0; n < IMAGES; n++)
                sums[n] += w * x[(size_t)n * inputs + i];
        }
#pragma unroll
        for (int n = 0; n < IMAGES; n++) {
            const float sum = warp_sum(sums[n]) + (bias ? bias[o] : 0.0f);
            if (lane == 0)
                y[(size_t)n * outputs + o] = rectify && sum < 0 ? 0 : sum; /* NaN stays NaN */
        }
    }
}

/* Sums columns: a block takes 32 columns, and a warp every eighth row. */
static __global__ void sum_columns(const float *g, float *sums, uint32_t rows, uint32_t columns)
{
    __shared__ float of_warps[BLOCK_WARPS][WARP];
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t column = blockIdx.x * WARP + lane;
    float sum = 0;
    for (uint32_t r = warp; column < columns && r < rows; r += BLOCK_WARPS)
        sum += g[(size_t)r * columns + column];
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || column >= columns)
        return;
    for (uint32_t w = 1; w < BLOCK_WARPS; w++)
        sum += of_warps[w][lane];
    sums[column] = sum;
}

static void forward_few(const struct kernel_call *call, const float *bias, size_t inputs,
                        size_t outputs)
{
    void (*const by_count[])(const float *, const float *, const float *, float *, uint32_t,
                             uint32_t, bool) = {few_images<1>, few_images<2>, few_images<3>,
                                                few_images<FEW_IMAGES>};
    launch(context_of(call), "linear forward", by_count[call->site->batch - 1],
           stride_blocks(WARP * outputs), BLOCK, 0, call->inputs[0],
           (const float *)call->parameters[0], bias, call->output, (uint32_t)inputs,
           (uint32_t)outputs, call->site->fused_activation != NULL);
}

static void forward_linear(const struct kernel_call *call)
{
    const size_t batch = call->site->batch, inputs = shape_count(call->site->inputs[0]);
    const size_t outputs = call->site->node->output.channels;
    const float *bias = call->site->node->attributes.linear.bias ? call->parameters[1] : NULL;
    if (batch <= FEW_IMAGES) {
        forward_few(call, bias, inputs, outputs);
        return;
    }
    const struct product product = {batch,
                                    outputs,
                                    inputs,
                                    call->inputs[0],
                                    call->parameters[0],
                                    call->output,
                                    false,
                                    true,
                                    0.0f,
                                    1,
                                    0,
                                    0,
                                    0};
    multiply(context_of(call), "linear forward", &product);
    epilogue_forward(call, bias);
}

static void backward_linear(const struct kernel_call *call)
{
    const size_t batch = call->site->batch, inputs = shape_count(call->site->inputs[0]);
    const size_t outputs = call->site->node->output.channels;
    struct cuda_context *context = context_of(call);
    const struct product input = {batch,
                                  inputs,
                                  outputs,
                                  call->output_gradient,
                                  call->parameters[0],
                                  call->input_gradients[0],
                                  false,
                                  false,
                                  call->accumulate[0] ? 1.0f : 0.0f,
                                  1,
                                  0,
                                  0,
                                  0};
    const struct product weight = {outputs,
                                   inputs,
                                   batch,
                                   call->output_gradient,
                                   call->inputs[0],
                                   call->parameter_gradients[0],
                                   true,
                                   false,
                                   0.0f,
                                   1,
                                   0,
                                   0,
                                   0};
    epilogue_backward(call);
    if (input.c)
        multiply(context, "linear backward, input", &input);
    if (weight.c)
        multiply(context, "linear backward, weights", &weight);
    if (call->site->node->attributes.linear.bias && call->parameter_gradients[1])
        launch(context, "linear backward, bias", sum_columns, blocks_for(outputs, WARP), BLOCK, 0,
               call->output_gradient, call->parameter_gradients[1], (uint32_t)batch,
               (uint32_t)outputs);
}

struct cuda_kernel cuda_linear = {
    .op = "linear",
    .kernel =
        {
            .name = "linear cuBLAS",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_ACTIVATION,
            .supports = supports_counts,
            .forward = forward_linear,
            .backward = backward_linear,
        },
};
