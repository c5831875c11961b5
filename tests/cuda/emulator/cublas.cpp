/* Computes cuBLAS's matrix products with OpenBLAS. Both use column-major order, and with beta 0
 * neither reads C. Operands of 16 bits, which only the measurement of limits has, are read as
 * float32. */
#include "cublas_v2.h"

#include <cblas.h>

struct emulated_blas {
    cudaStream_t stream;
};

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    openblas_set_num_threads(1); /* the order of a sum depends on the number of threads */
    *handle = new emulated_blas{nullptr};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t mode)
{
    return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t, void *, size_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "an emulated cuBLAS refused";
}

static CBLAS_TRANSPOSE transposed(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_T ? CblasTrans : CblasNoTrans;
}

/* The rules that cuBLAS checks. */
static bool fits(int m, int n, int k, cublasOperation_t ta, int lda, cublasOperation_t tb, int ldb,
                 int ldc)
{
    return m >= 0 && n >= 0 && k >= 0 && lda >= max(1, ta == CUBLAS_OP_N ? m : k) &&
           ldb >= max(1, tb == CUBLAS_OP_N ? k : n) && ldc >= max(1, m);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         long long stride_a, const float *b, int ldb,
                                         long long stride_b, const float *beta, float *c, int ldc,
                                         long long stride_c, int batch)
{
    if (!fits(m, n, k, ta, lda, tb, ldb, ldc) || batch < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    const float scale = *alpha, keep = *beta;
    const cudaError_t status = emulator_submit(handle->stream, [=] {
        for (long long i = 0; i < batch; i++)
            cblas_sgemm(CblasColMajor, transposed(ta), transposed(tb), m, n, k, scale,
                        a + i * stride_a, lda, b + i * stride_b, ldb, keep, c + i * stride_c, ldc);
    });
    return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                           int n, int k, const float *alpha, const float *a, int lda,
                           const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return cublasSgemmStridedBatched(handle, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c,
                                     ldc, 0, 1);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta,
                                          cublasOperation_t tb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType_t, int lda,
                                          long long stride_a, const void *b, cudaDataType_t,
                                          int ldb, long long stride_b, const void *beta, void *c,
                                          cudaDataType_t, int ldc, long long stride_c, int batch,
                                          cublasComputeType_t, cublasGemmAlgo_t)
{
    return cublasSgemmStridedBatched(
        handle, ta, tb, m, n, k, (const float *)alpha, (const float *)a, lda, stride_a,
        (const float *)b, ldb, stride_b, (const float *)beta, (float *)c, ldc, stride_c, batch);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                            int m, int n, int k, const void *alpha, const void *a, cudaDataType_t,
                            int lda, const void *b, cudaDataType_t, int ldb, const void *beta,
                            void *c, cudaDataType_t, int ldc, cublasComputeType_t, cublasGemmAlgo_t)
{
    return cublasSgemm(handle, ta, tb, m, n, k, (const float *)alpha, (const float *)a, lda,
                       (const float *)b, ldb, (const float *)beta, (float *)c, ldc);
}

cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t t, int m, int n,
                           const float *alpha, const float *a, int lda, const float *x, int incx,
                           const float *beta, float *y, int incy)
{
    const float scale = *alpha, keep = *beta;
    const cudaError_t status = emulator_submit(handle->stream, [=] {
        cblas_sgemv(CblasColMajor, transposed(t), m, n, scale, a, lda, x, incx, keep, y, incy);
    });
    return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
