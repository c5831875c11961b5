/* context.h: the state of an open CUDA device: what device->state and call->context point at.
 *
 * Everything is enqueued on `stream`, so that a whole iteration can be captured as one graph. What
 * changes from one iteration to the next must not be an argument of a kernel then: kernels read it
 * from `now`, which the runtime writes on the stream before each iteration and each update.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONTEXT_H
#define TINCA_ENGINE_DEVICES_CUDA_CONTEXT_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdint.h>

/* What matrix products and convolutions multiply with; they always add in float32, and all values
 * are kept in float32. */
enum cuda_precision { CUDA_FLOAT32, CUDA_TF32, CUDA_BF16, CUDA_FP16 };

struct cuda_iteration {
    uint64_t iteration; /* dropout: selects its random numbers */
    uint64_t step;      /* of the solver, from 1 */
    float learning_rate;
    float correction1; /* adam: 1 / (1 - momentum^step) */
    float correction2; /* adam: 1 / sqrt(1 - beta2^step) */
    unsigned halted;   /* not 0: the loss is no number, and an update does nothing */
};

struct cuda_context {
    int ordinal;
    int multiprocessors;
    cudaStream_t stream;
    cublasHandle_t blas;
    enum cuda_precision precision;
    char failure[256];          /* the first thing that failed; empty: nothing did */
    struct cuda_iteration *now; /* device memory */
    void *dnn;                  /* cuDNN's handle; NULL: our own kernels do its work */
};

/* conv_cudnn.cu: sets `dnn` where the module was built with cuDNN and it agrees; and gives it back.
 */
void cuda_dnn_open(struct cuda_context *context);
void cuda_dnn_close(struct cuda_context *context);

/* Remember what failed first: "conv forward: an illegal memory access was encountered". */
void cuda_note(struct cuda_context *context, const char *what, cudaError_t status);
void cuda_note_blas(struct cuda_context *context, const char *what, cublasStatus_t status);

#endif
