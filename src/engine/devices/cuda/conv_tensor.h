/* conv_tensor.h: the kernels of convolutions on tensor cores, for precisions below float32, and
 * those for few channels. Only the files that have the same kernels in float32 use it:
 * implicit_gemm.cu and conv_weights.cu. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_TENSOR_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_TENSOR_H

#include "engine/devices/cuda/implicit_gemm.h"

typedef void gemm_kernel(const struct implicit_gemm, const float *, const float *,
                         const struct gemm_result);

/* Returns the kernel whose tile has 64 or 128 rows and as many columns, and sets *threads. NULL:
 * the product has too many taps. */
gemm_kernel *implicit_gemm_tensor(const struct implicit_gemm *w, enum cuda_precision precision,
                                  size_t rows, const float *weight, const float *source,
                                  unsigned *threads);

/* Returns such a kernel for a channels-last source of which four channels lie in 16 bytes, also
 * with a tile of 32 x 128; its weights are those of implicit_gemm_pack. NULL: the product is not of
 * this kind. */
gemm_kernel *implicit_gemm_last(const struct implicit_gemm *w, enum cuda_precision precision,
                                size_t rows, const float *source, unsigned *threads);

/* The sizes and results of a kernel for gradients of weights. */
struct weights_job {
    uint32_t positions, part_positions; /* the latter is a multiple of 16 */
    uint32_t parts, terms;              /* terms of a group */
    uint32_t columns;                   /* terms, and one more if the bias is needed */
    float *weights, *bias; /* with one part, the gradients; else weights[part][row][columns] */
};

typedef void weights_kernel(const struct implicit_gemm, const float *, const float *,
                            const struct weights_job);

/* Returns the kernel for gradients of weights whose tile has 64 or 128 rows and as many columns,
 * and sets *threads. It has no sums for the bias. NULL: the window has too many taps. */
weights_kernel *weights_tensor(const struct implicit_gemm *w, enum cuda_precision precision,
                               size_t rows, const float *small, const float *large,
                               unsigned *threads);

/* Returns such a kernel if both arrays are channels-last and have four channels of a group in 16
 * bytes, also with a tile of 32 x 64. NULL: the arrays are not of this kind. */
weights_kernel *weights_last(const struct implicit_gemm *w, enum cuda_precision precision,
                             size_t rows, const float *small, const float *large,
                             unsigned *threads);

/* Return the blocks of such kernels that the GPU runs at once. */
size_t weights_tensor_resident(enum cuda_precision precision, size_t rows);
size_t weights_last_resident(enum cuda_precision precision, size_t rows);

/* Stores a sum of a job; `row` counts over all groups, and the term after the last is the bias. */
static __device__ __forceinline__ void weights_store(const struct weights_job *job, uint32_t rows,
                                                     uint32_t part, uint32_t row, uint32_t term,
                                                     float sum)
{
    if (job->parts > 1)
        job->weights[((size_t)part * rows + row) * job->columns + term] = sum;
    else if (term < job->terms && job->weights)
        job->weights[(size_t)row * job->terms + term] = sum;
    else if (term == job->terms)
        job->bias[row] = sum;
}

/* --- conv_weights_direct.cu: the gradients of the weights for few channels, in float32 --- */

/* Returns the bytes of workspace, which do not fall when the batch grows; 0 if weights_direct_run
 * does not support the convolution. */
size_t weights_direct_workspace(const struct conv_shape *conv);

/* Queues the sums in float32 and returns true, or returns false if the convolution or the arrays
 * are not of this kind: gradients of a bias, channel moves and channels-last arrays never are. */
bool weights_direct_run(struct cuda_context *context, const char *what,
                        const struct conv_shape *conv, const struct weight_gradients *gradients,
                        float *workspace);

#endif
