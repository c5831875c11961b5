/* context.h: the state of an open CUDA device: what device->state and call->context point at.
 *
 * Everything is enqueued on `stream`, so that a whole iteration can be captured as one graph. What
 * changes from one iteration to the next must not be an argument of a kernel then: kernels read it
 * from `now`, which the runtime writes on the stream before each iteration and each update.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONTEXT_H
#define TINCA_ENGINE_DEVICES_CUDA_CONTEXT_H

#include "engine/devices/cuda/module.h"

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

/* A matrix product that was measured, in a profile. */
struct cuda_product {
    enum gemm_kind kind;
    size_t m, n, k, count;
    cudaEvent_t begin, end;
};

struct cuda_piece {
    void *there;
    size_t bytes;
};

struct cuda_group; /* group.cu: cards that work together */

struct cuda_context {
    int ordinal;
    int multiprocessors;
    cudaStream_t stream;
    cublasHandle_t blas;
    enum cuda_precision precision;
    char failure[256];          /* the first thing that failed; empty: nothing did */
    struct cuda_iteration *now; /* device memory */
    void *dnn;                  /* cuDNN's handle; NULL: our own kernels do its work */
    enum cuda_trouble trouble;  /* what kind of failure it was */
    cudaStream_t sending;       /* batches travel here while `stream` computes */
    void *workspace;            /* cuBLAS' own */
    bool recording;             /* `stream` is being captured: nothing may wait for it */
    char failure_before[256];   /* what had failed when that began */
    enum cuda_trouble trouble_before;
    cudaEvent_t *stamps; /* of a profile */
    size_t stamp_count;
    bool measuring; /* the pass of a layer is being stamped: products are too */
    struct cuda_product *products;
    size_t product_count, product_capacity; /* those beyond the count have their events, or none */
    struct cuda_piece *pieces;              /* of the card's memory that are allocated */
    size_t piece_count, piece_capacity;
    struct cuda_group *group; /* NULL: this card works by itself */
    size_t rank;              /* its place in the group */
    bool alone;               /* for a while it asks the others for nothing */
};

/* conv_cudnn.cu: sets `dnn` where the module was built with cuDNN and it agrees; and gives it back.
 */
void cuda_dnn_open(struct cuda_context *context);
void cuda_dnn_close(struct cuda_context *context);

/* What a status means for the user. */
enum cuda_trouble cuda_trouble_of(cudaError_t status);

/* Makes this thread work on the card; CUDA keeps that by thread. */
void cuda_enter(struct cuda_context *context);

/* remote.cu and iteration.cu: all of remote.h that needs no words. */
extern const struct device_backend cuda_backend_functions;
void cuda_set_iteration_values(struct device *device, const struct iteration_values *moment);
void cuda_judge(struct device *device, const struct device_losses *losses);
void cuda_mix(struct device *device, float *values, const float *more, float scale, size_t count);
struct device_staging *cuda_staging_create(struct cuda_context *context, size_t bytes, bool ahead);
struct device_event *cuda_event_create(struct cuda_context *context);
void cuda_forget_measurements(struct cuda_context *context);
/* NULL: noted. */
void *cuda_allocate_device(struct cuda_context *context, size_t bytes);
void *cuda_allocate_host(struct cuda_context *context, size_t bytes);
void cuda_release_device(struct cuda_context *context, void *there);
void cuda_release_host(struct cuda_context *context, void *here);

/* Around a library's product, or `count` of them at once, while a profile is taken; else nothing.
 */
void cuda_product_begin(struct cuda_context *context, enum gemm_kind kind, size_t m, size_t n,
                        size_t k, size_t count);
void cuda_product_end(struct cuda_context *context);

/* group.cu. Of cards that were joined all must ask for gather and average in the same order. */
bool cuda_join_group(void *const *states, size_t count, struct cuda_report *report);
void cuda_leave_group(struct device *device);
void cuda_set_standalone(struct device *device, bool alone);
void cuda_poll(struct device *device);
/* How many cards gather: 1 when this one is by itself, or alone for a while. */
size_t cuda_rank_count(const struct cuda_context *context);
/* all[0..cards * bytes) = own[0..bytes) of each card. Nothing when there is one. */
void cuda_all_gather(struct cuda_context *context, const char *what, void *all, const void *own,
                     size_t bytes);
void cuda_all_reduce_mean(struct cuda_context *context, float *values, size_t count);
/* False: a card of the group has failed, and this one is to begin nothing that waits for it. */
bool cuda_group_is_sound(struct cuda_context *context);
/* This card has failed: the others are not to wait for it. */
void cuda_fail_group(struct cuda_context *context);
/* As cudaEventSynchronize and cudaStreamSynchronize, but no longer than the group holds. */
cudaError_t cuda_wait_event(struct cuda_context *context, cudaEvent_t event);
cudaError_t cuda_wait_stream(struct cuda_context *context, cudaStream_t stream);

/* False with a report: something has failed. */
bool cuda_report_failure(const struct cuda_context *context, struct cuda_report *report);

/* Remember what failed first: "conv forward: an illegal memory access was encountered". */
void cuda_note(struct cuda_context *context, const char *what, cudaError_t status);
void cuda_note_blas(struct cuda_context *context, const char *what, cublasStatus_t status);
void cuda_note_words(struct cuda_context *context, enum cuda_trouble trouble, const char *what,
                     const char *why);

#endif
