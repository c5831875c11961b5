/* Fully connected layers. Large batches are matrix products (gemm.h). With a few images the forward
 * pass is limited by reading the weights, so gemv, a kernel of our own, reads them once for all
 * images, with as many loads in flight as cover the latency of memory, and adds the bias and
 * applies the relu, too. Its operands are never rounded: in every precision it computes in float32,
 * which rounds no more coarsely than asked for.
 *
 * A block computes ROWS outputs. A chunk is four inputs for each of its threads; a thread takes the
 * same four of every chunk, and all ROWS weights of an input are multiplied by one load of its
 * value. The sums of the lanes, then those of the warps, are added in a fixed order, which depends
 * on nothing but the number of inputs: an image gives the same bits alone and among others. */
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/reduce.h"

/* --- a few images --- */

enum { FEW_IMAGES = 8, CHUNK = 4 * BLOCK };

struct few_images {
    const float *x, *weight, *bias; /* bias may be NULL */
    float *y;
    uint32_t images, inputs, outputs;
    bool rectify;
};

/* Loads four values of a row, of which `left` are its last ones; those beyond its end are 0. If
 * WIDE, there are four, at a multiple of 16 bytes. STREAMED values are read once: they leave the
 * caches first, so that the rest of the network's values can stay. */
template <bool WIDE, bool STREAMED>
static __device__ __forceinline__ float4 load_four(const float *at, uint32_t left)
{
    if (WIDE)
        return STREAMED ? __ldcs((const float4 *)at) : __ldg((const float4 *)at);
    return make_float4(__ldg(at), left > 1 ? __ldg(at + 1) : 0.0f, left > 2 ? __ldg(at + 2) : 0.0f,
                       left > 3 ? __ldg(at + 3) : 0.0f);
}

/* The places of the rows and images of a thread, relative to the first ones. Rows and images beyond
 * the last are the last one again; their sums are not stored. */
template <int IMAGES, int ROWS> struct gemv_lines {
    uint32_t rows[ROWS], images[IMAGES];
};

/* Adds the products of DEPTH chunks, from input i on. All weights are loaded before the first one
 * is multiplied. */
template <int IMAGES, int ROWS, int DEPTH, bool WIDE>
static __device__ __forceinline__ void gemv_add(float sums[ROWS][IMAGES], const float *weight,
                                                const float *x, uint32_t i, uint32_t inputs,
                                                const struct gemv_lines<IMAGES, ROWS> &lines)
{
    float4 w[DEPTH][ROWS];
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            w[d][r] = load_four<WIDE, true>(weight + (lines.rows[r] + i + d * CHUNK),
                                            inputs - i - d * CHUNK);
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
#pragma unroll
        for (int n = 0; n < IMAGES; n++) {
            const float4 v = load_four<WIDE, false>(x + (lines.images[n] + i + d * CHUNK),
                                                    inputs - i - d * CHUNK);
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                sums[r][n] += w[d][r].x * v.x;
                sums[r][n] += w[d][r].y * v.y;
                sums[r][n] += w[d][r].z * v.z;
                sums[r][n] += w[d][r].w * v.w;
            }
        }
}

/* Adds the sums of the warps and stores the outputs. */
template <int IMAGES, int ROWS>
static __device__ __forceinline__ void gemv_end(const float sums[ROWS][IMAGES],
                                                const struct few_images &g, uint32_t first)
{
    __shared__ float of_warps[BLOCK_WARPS][ROWS * IMAGES];
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, t = threadIdx.x;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int n = 0; n < IMAGES; n++) {
            const float sum = warp_sum(sums[r][n]);
            if (lane == 0)
                of_warps[warp][n * ROWS + r] = sum;
        }
    __syncthreads();
    const uint32_t row = first + t % ROWS, image = t / ROWS;
    if (t >= ROWS * IMAGES || row >= g.outputs || image >= g.images)
        return;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < BLOCK_WARPS; w++)
        sum += of_warps[w][t];
    sum += g.bias ? g.bias[row] : 0.0f;
    g.y[(size_t)image * g.outputs + row] = g.rectify && sum < 0 ? 0 : sum; /* NaN stays NaN */
}

/* Computes outputs for a few images. A thread loads DEPTH chunks at once, and single ones at the
 * end. */
template <int IMAGES, int ROWS, int DEPTH, bool WIDE>
static __global__ void __launch_bounds__(BLOCK, IMAGES > 4 ? 2 : 3) gemv(const struct few_images g)
{
    const uint32_t first = blockIdx.x * ROWS;
    const float *weight = g.weight + (size_t)first * g.inputs;
    struct gemv_lines<IMAGES, ROWS> lines;
    float sums[ROWS][IMAGES] = {};
    uint32_t i = 4 * threadIdx.x;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++)
        lines.rows[r] = min(r, g.outputs - 1 - first) * g.inputs;
#pragma unroll
    for (uint32_t n = 0; n < IMAGES; n++)
        lines.images[n] = min(n, g.images - 1) * g.inputs;
    for (; i + (DEPTH - 1) * CHUNK < g.inputs; i += DEPTH * CHUNK)
        gemv_add<IMAGES, ROWS, DEPTH, WIDE>(sums, weight, g.x, i, g.inputs, lines);
    for (; DEPTH > 1 && i < g.inputs; i += CHUNK)
        gemv_add<IMAGES, ROWS, 1, WIDE>(sums, weight, g.x, i, g.inputs, lines);
    gemv_end<IMAGES, ROWS>(sums, g, first);
}

/* --- the gradient of the bias --- */

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

/* Queues the forward pass of a few images. More images need more registers for their sums, so they
 * load fewer chunks at once; eight of them take more rows, because a block reads all of their
 * inputs. */
static void forward_few(const struct kernel_call *call, const float *bias, size_t inputs,
                        size_t outputs)
{
    static const struct {
        size_t images, rows;
        void (*kernels[2])(const struct few_images); /* [wide] */
    } choices[] = {
        {1, 4, {gemv<1, 4, 2, false>, gemv<1, 4, 2, true>}},
        {2, 4, {gemv<2, 4, 2, false>, gemv<2, 4, 2, true>}},
        {4, 4, {gemv<4, 4, 1, false>, gemv<4, 4, 1, true>}},
        {FEW_IMAGES, 8, {gemv<FEW_IMAGES, 8, 1, false>, gemv<FEW_IMAGES, 8, 1, true>}},
    };
    const size_t batch = call->site->batch;
    const struct few_images g = {call->inputs[0],
                                 call->parameters[0],
                                 bias,
                                 call->output,
                                 (uint32_t)batch,
                                 (uint32_t)inputs,
                                 (uint32_t)outputs,
                                 call->site->fused_activation != NULL};
    const bool wide = inputs % 4 == 0 && aligned16(g.x) && aligned16(g.weight);
    size_t c = 0;
    while (choices[c].images < batch)
        c++;
    launch(context_of(call), "linear forward", choices[c].kernels[wide],
           blocks_for(outputs, choices[c].rows), BLOCK, 0, g);
}

/* --- the matrix products --- */

enum linear_pass { FORWARD, BACKWARD_INPUT, BACKWARD_WEIGHTS };

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

static const char *runs_as_linear(const struct kernel_site *site)
{
    return site->batch > FEW_IMAGES ? "linear cuBLAS"
           : site->training         ? "linear gemv + cuBLAS"
                                    : "linear gemv";
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
            .forward = forward_linear,
            .backward = backward_linear,
        },
};
