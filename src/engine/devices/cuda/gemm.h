/* gemm.h: products of row-major matrices by cuBLAS, and large ones by gemm_wgmma.cu, where that was
 * measured to be faster (conv_choice.cu). Only the kernels of this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_GEMM_H
#define TINCA_ENGINE_DEVICES_CUDA_GEMM_H

#include "engine/devices/cuda/launch.h"

/* C[m, n] = A B + beta C in float32, with a beta of 0 or 1. If transposed, A is stored as [k, m] or
 * B as [n, k]. There are `count` products, whose matrices lie a_stride, b_stride and c_stride
 * floats apart; with a stride of 0 all products use the same matrix. */
struct product {
    size_t m, n, k;
    const float *a, *b;
    float *c;
    bool a_transposed, b_transposed;
    float beta;
    size_t count, a_stride, b_stride, c_stride;
};

/* gemm_wgmma.cu: finds out whether the GPU and its code have the kernels, and records it in the
 * context. */
void cuda_wgmma_open(struct cuda_context *context);

/* Returns whether gemm_wgmma.cu can compute the product: the GPU has compute capability 9.0 and the
 * module code for it; the precision is below float32; and the product is large: as many tiles of
 * 128 x 128 as the GPU has multiprocessors, 128 terms (fewer would not fill the stages), 64 rows
 * (a tile is no more than half empty). Its rows must be whole groups of 16 bytes, and count
 * products must share A. Pointers that are NULL, while a plan is built, count as aligned. */
bool wgmma_takes(const struct cuda_context *context, const struct product *p);

/* Returns the bytes of workspace of such products, for A in the lower precision; 0 if wgmma_takes
 * refuses them. */
size_t wgmma_workspace(const struct cuda_context *context, const struct product *p);

/* Queues the products, with that workspace. Returns false, without doing anything, if
 * gemm_wgmma.cu cannot compute them, or if the driver refuses the operand's map for the TMA; from
 * then on, wgmma_takes refuses operands of its size, too. */
bool wgmma_multiply(struct cuda_context *context, const char *what, const struct product *p,
                    void *workspace, size_t workspace_bytes);

static inline cublasComputeType_t compute_type(enum cuda_precision precision)
{
    switch (precision) {
    case CUDA_TF32:
        return CUBLAS_COMPUTE_32F_FAST_TF32;
    case CUDA_BF16:
        return CUBLAS_COMPUTE_32F_FAST_16BF;
    case CUDA_FP16:
        return CUBLAS_COMPUTE_32F_FAST_16F;
    default:
        return CUBLAS_COMPUTE_32F;
    }
}

static inline void product_begin(struct cuda_context *context, const struct product *p)
{
    cuda_product_begin(context,
                       p->a_transposed   ? GEMM_TN
                       : p->b_transposed ? GEMM_NT
                                         : GEMM_NN,
                       p->m, p->n, p->k, p->count);
}

/* Queues the products by cuBLAS, which expects columns first, so it gets the transposed matrices:
 * C^T = B^T A^T. */
static inline void multiply(struct cuda_context *context, const char *what, const struct product *p)
{
    const float one = 1.0f;
    product_begin(context, p);
    cuda_note_blas(context, what,
                   cublasGemmStridedBatchedEx(
                       context->blas, p->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                       p->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, (int)p->n, (int)p->m, (int)p->k,
                       &one, p->b, CUDA_R_32F, (int)(p->b_transposed ? p->k : p->n),
                       (long long)p->b_stride, p->a, CUDA_R_32F,
                       (int)(p->a_transposed ? p->m : p->k), (long long)p->a_stride, &p->beta, p->c,
                       CUDA_R_32F, (int)p->n, (long long)p->c_stride, (int)p->count,
                       compute_type(context->precision), CUBLAS_GEMM_DEFAULT));
    cuda_product_end(context);
}

#endif
