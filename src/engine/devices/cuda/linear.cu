/* Fully connected layers by matrix products (gemm.h). With a few images the forward pass is limited
 * by reading the weights; then one launch computes everything, with a warp for each output of all
 * images. */
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

/* --- the matrix products --- */

enum linear_pass { FORWARD, BACKWARD_INPUT, BACKWARD_WEIGHTS, PASSES };

/* Returns the product of a pass, without pointers. */
static struct product product_of(const struct kernel_site *site, enum linear_pass pass)
{
    const size_t batch = site->batch, inputs = shape_count(site->inputs[0]);
    const size_t outputs = site->node->output.channels;
    struct product p = {};
    p.m = pass == BACKWARD_WEIGHTS ? outputs : batch;
    p.n = pass == FORWARD ? outputs : inputs;
    p.k = pass == FORWARD ? inputs : pass == BACKWARD_INPUT ? outputs : batch;
    p.a_transposed = pass == BACKWARD_WEIGHTS;
    p.b_transposed = pass == FORWARD;
    p.count = 1;
    return p;
}

static void run(const struct kernel_call *call, enum linear_pass pass, const char *what,
                const float *a, const float *b, float *c, bool add)
{
    struct product p = product_of(call->site, pass);
    p.a = a;
    p.b = b;
    p.c = c;
    p.beta = add ? 1.0f : 0.0f;
    p.workspace = call->workspace;
    p.workspace_bytes = call->workspace_bytes;
    if (c)
        multiply(context_of(call), what, &p);
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
    run(call, FORWARD, "linear forward", call->inputs[0], call->parameters[0], call->output, false);
    epilogue_forward(call, bias);
}

static void backward_linear(const struct kernel_call *call)
{
    const size_t batch = call->site->batch, outputs = call->site->node->output.channels;
    epilogue_backward(call);
    run(call, BACKWARD_INPUT, "linear backward, input", call->output_gradient, call->parameters[0],
        call->input_gradients[0], call->accumulate[0]);
    run(call, BACKWARD_WEIGHTS, "linear backward, weights", call->output_gradient, call->inputs[0],
        call->parameter_gradients[0], false);
    if (call->site->node->attributes.linear.bias && call->parameter_gradients[1])
        launch(context_of(call), "linear backward, bias", sum_columns, blocks_for(outputs, WARP),
               BLOCK, 0, call->output_gradient, call->parameter_gradients[1], (uint32_t)batch,
               (uint32_t)outputs);
}

/* Returns whether the site runs a pass. */
static bool needs_pass(const struct kernel_site *site, enum linear_pass pass)
{
    return pass == FORWARD ||
           (site->training && (pass != BACKWARD_INPUT || site->input_gradient[0]));
}

static size_t workspace_linear(const struct kernel_site *site)
{
    size_t most = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        const struct product p = product_of(site, (enum linear_pass)pass);
        const size_t bytes = needs_pass(site, (enum linear_pass)pass)
                                 ? wgmma_workspace((const struct cuda_context *)site->context, &p)
                                 : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static const char *runs_as_linear(const struct kernel_site *site)
{
    size_t passes = 0, taken = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        const struct product p = product_of(site, (enum linear_pass)pass);
        if (!needs_pass(site, (enum linear_pass)pass))
            continue;
        passes++;
        taken += wgmma_takes((const struct cuda_context *)site->context, &p);
    }
    return taken == 0 ? "linear cuBLAS" : taken < passes ? "linear wgmma + cuBLAS" : "linear wgmma";
}

struct cuda_kernel cuda_linear = {
    .op = "linear",
    .kernel =
        {
            .name = "linear cuBLAS",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_ACTIVATION,
            .supports = supports_counts,
            .runs_as = runs_as_linear,
            .workspace_bytes = workspace_linear,
            .forward = forward_linear,
            .backward = backward_linear,
        },
};
