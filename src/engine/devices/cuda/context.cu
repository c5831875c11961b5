#include "engine/devices/cuda/context.h"

#include <stdio.h>

static void note(struct cuda_context *context, const char *what, const char *why)
{
    if (!context->failure[0])
        snprintf(context->failure, sizeof context->failure, "%s: %s", what, why);
}

void cuda_note(struct cuda_context *context, const char *what, cudaError_t status)
{
    if (status != cudaSuccess)
        note(context, what, cudaGetErrorString(status));
}

void cuda_note_blas(struct cuda_context *context, const char *what, cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        note(context, what, cublasGetStatusString(status));
}
