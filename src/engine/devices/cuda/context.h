/* context.h: the state of an open CUDA device, to which device->state and call->context point.
 *
 * Everything is enqueued on `stream`, so that a whole iteration can be captured as one graph.
 * Values that change between iterations cannot be arguments of a kernel then: kernels read them
 * from `now`, which is written on the stream before each iteration and each update.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONTEXT_H
#define TINCA_ENGINE_DEVICES_CUDA_CONTEXT_H

#include "engine/devices/cuda/module.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdint.h>

/* The precision of the operands of matrix products and convolutions. Accumulators and stored values
 * are float32. */
enum cuda_precision { CUDA_FLOAT32, CUDA_TF32, CUDA_BF16, CUDA_FP16 };

/* The tiles whose sums are divided into parts (gemm_split.h) in one kernel, at most. */
enum { GEMM_ARRIVALS = 4096 };

struct cuda_iteration {
    uint64_t iteration; /* dropout: selects its random numbers */
    uint64_t step;      /* the solver's step, from 1 */
    float learning_rate;
    float correction1; /* adam: 1 / (1 - momentum^step) */
    float correction2; /* adam: 1 / sqrt(1 - beta2^step) */
    float loss_scale;  /* losses multiply their gradients by it (loss_scale.h) */
    float unscale;     /* 1 / loss_scale */
    unsigned halted;   /* not 0: the loss is NaN or infinite, so the update does nothing */
    unsigned overflow; /* not 0: a gradient is NaN or infinite, so the update does nothing */
};

/* A measured matrix product of a profile. */
struct cuda_product {
    enum gemm_kind kind;
    size_t m, n, k, count;
    cudaEvent_t begin, end;
};

/* An allocation of device memory. */
struct cuda_allocation {
    void *on_device;
    size_t bytes;
};

struct cuda_group; /* group.cu: a process group */
struct cuda_gate;  /* gate.cu */
struct cuda_dnn;   /* conv_choice.h: cuDNN's handle, and the choices of algorithms */

/* The choices of algorithms for the convolutions, by their shapes. */
struct conv_choices {
    struct conv_choice **choices; /* conv_choice.h */
    size_t count, capacity;
};

/* A left operand of gemm_wgmma.cu that the driver refused to map for the TMA. */
struct cuda_refused_map {
    size_t rows, terms;
};
enum { CUDA_REFUSED_MAPS = 16, CUDA_REFUSALS = 8 };

struct cuda_context {
    int ordinal;
    int multiprocessors;
    cudaStream_t stream;
    cublasHandle_t blas;
    enum cuda_precision precision;
    int code_version;           /* cuda_code_version(): which precisions the kernels have */
    char failure[256];          /* the first failure; empty: none */
    struct cuda_iteration *now; /* device memory */
    struct cuda_dnn *dnn;       /* conv_cudnn.cu; NULL: cuDNN is not used */
    struct conv_choices choices;
    struct device_refusal refusals[CUDA_REFUSALS]; /* of cuDNN */
    size_t refusal_count;
    const struct device_autotune *autotune; /* NULL: heuristics choose algorithms */
    void *encode_tensor_map; /* gemm_wgmma.cu: the driver's function; NULL: no wgmma kernels */
    struct cuda_refused_map refused_maps[CUDA_REFUSED_MAPS];
    size_t refused_map_count;            /* with more of them, encode_tensor_map becomes NULL */
    size_t memory_bytes;                 /* of the GPU */
    enum cuda_failure_kind failure_kind; /* kind of the failure */
    cudaStream_t sending;                /* transfers batches while `stream` computes */
    cudaEvent_t batches_read[2]; /* the last batch in pinned memory has been read by `stream`, and
                                    by `sending` */
    void *workspace;             /* workspace for cuBLAS */
    unsigned *arrivals;          /* GEMM_ARRIVALS counts of blocks, 0 between kernels */
    bool recording;              /* `stream` is being captured: nothing may wait for it */
    char failure_before[256];    /* the failure before the capture */
    enum cuda_failure_kind failure_kind_before;
    struct cuda_gate *gate; /* gate.cu; NULL: nothing was profiled */
    cudaEvent_t *stamps;    /* events that a profile records */
    size_t stamp_count;
    bool measuring; /* a layer and the matrix products inside it are being measured */
    struct cuda_product *products;
    size_t product_count, product_capacity; /* entries beyond the count may have events to reuse */
    struct cuda_allocation *allocations;    /* allocated device memory */
    size_t allocation_count, allocation_capacity;
    struct cuda_group *group; /* NULL: no process group */
    size_t rank;              /* in the group */
    size_t member;            /* among the GPUs of the group in this process */
    bool alone;               /* set_standalone has disabled collectives */
};

/* conv_cudnn.cu: create and destroy `dnn`, if cuDNN is installed and works. */
void cuda_dnn_open(struct cuda_context *context);
void cuda_dnn_close(struct cuda_context *context);
/* conv_choice.cu: forgets how convolutions are computed. */
void cuda_choices_free(struct cuda_context *context);

/* iteration.cu: returns the virtual architecture that the code of this GPU's kernels was compiled
 * for, such as 80, or 0 with a failure noted. The code may be older than the GPU: the driver
 * translates PTX for newer GPUs. */
int cuda_code_version(struct cuda_context *context);

/* Returns what kind of failure a status is. */
enum cuda_failure_kind cuda_failure_kind_of(cudaError_t status);

/* Selects the GPU for this thread (cudaSetDevice). */
void cuda_enter(struct cuda_context *context);

/* backend.cu, iteration.cu and update.cu: the functions of device_backend.h. Functions that set an
 * error are NULL in this table; cuda.c adds them. */
extern const struct device_backend cuda_backend_functions;
void cuda_set_iteration_values(struct device *device, const struct iteration_values *values);
void cuda_check_loss(struct device *device, const struct device_losses *losses);
void cuda_mix(struct device *device, float *values, const float *more, float scale, size_t count);
struct device_staging *cuda_staging_create(struct cuda_context *context,
                                           const struct staging_sizes *sizes);
/* normalise.cu: enqueues the conversion of an array of samples, at `samples` in device memory. */
void cuda_normalise(struct cuda_context *context, const struct batch_array *array,
                    const uint8_t *samples, const struct sample_scale *scale);
void cuda_average(struct device *device, float *averages, const float *values, float share,
                  size_t count);
/* limits.cu: measures the limits in about 0.2 s. Returns false, leaves *limits unchanged and notes
 * a failure if there is too little free memory, or if a call fails. */
bool cuda_measure_limits(struct cuda_context *context, struct device_limits *limits);
struct device_event *cuda_event_create(struct cuda_context *context);
void cuda_forget_measurements(struct cuda_context *context);
/* Return NULL after a failure, which is recorded in the context. */
void *cuda_allocate_device(struct cuda_context *context, size_t bytes);
void *cuda_allocate_host(struct cuda_context *context, size_t bytes);
void cuda_release_device(struct cuda_context *context, void *on_device);
void cuda_release_host(struct cuda_context *context, void *pinned);

/* gate.cu: cuda_gate_close enqueues a point at which the stream waits, for at most 0.2 s, until
 * cuda_gate_open is called, so that the GPU runs the next kernels without waiting for the host.
 * cuda_wait_event and cuda_wait_stream open the gate. cuda_gate_free waits for the stream, and must
 * be called before that is destroyed. */
void cuda_gate_close(struct cuda_context *context);
void cuda_gate_open(struct cuda_context *context);
void cuda_gate_free(struct cuda_context *context);

/* Measure a library's matrix product, or a batch of `count` products, for a profile. Without a
 * profile they do nothing. */
void cuda_product_begin(struct cuda_context *context, enum gemm_kind kind, size_t m, size_t n,
                        size_t k, size_t count);
void cuda_product_end(struct cuda_context *context);

/* --- group.cu: all ranks of a group must enqueue the same collectives in the same order --- */
bool cuda_join_group(void *const *states, size_t count, struct cuda_report *report);
bool cuda_make_group_id(unsigned char *id, struct cuda_report *report);
bool cuda_join_processes(void *state, const struct device_process_group *processes,
                         struct cuda_report *report);
void cuda_leave_group(struct device *device);
void cuda_set_standalone(struct device *device, bool alone);
void cuda_poll(struct device *device);
/* Returns the number of ranks; 1 without a group, and while collectives are switched off. */
size_t cuda_rank_count(const struct cuda_context *context);
/* Concatenates local[0..bytes) of all ranks in all[0..ranks * bytes). Does nothing with one rank.
 * `what` names the arrays in an error. */
void cuda_all_gather(struct cuda_context *context, const char *what, void *all, const void *local,
                     size_t bytes);
void cuda_all_reduce_mean(struct cuda_context *context, float *values, size_t count);
/* Returns false if a rank has failed; then no collective may be enqueued. */
bool cuda_group_is_sound(struct cuda_context *context);
/* Records that this rank has failed, so that the others stop waiting for it. */
void cuda_fail_group(struct cuda_context *context);
/* Do what cudaEventSynchronize and cudaStreamSynchronize do, but return when a rank of the group
 * fails. */
cudaError_t cuda_wait_event(struct cuda_context *context, cudaEvent_t event);
cudaError_t cuda_wait_stream(struct cuda_context *context, cudaStream_t stream);

/* Waits for an event of a GPU whose thread may be another one: notes no failure, and returns when a
 * rank of the group has failed. */
void cuda_await_event(struct cuda_context *context, cudaEvent_t event);

/* Returns false with a report if something has failed. */
bool cuda_report_failure(const struct cuda_context *context, struct cuda_report *report);

/* Record the first failure: "conv forward: an illegal memory access was encountered". */
void cuda_note(struct cuda_context *context, const char *what, cudaError_t status);
void cuda_note_blas(struct cuda_context *context, const char *what, cublasStatus_t status);
void cuda_note_words(struct cuda_context *context, enum cuda_failure_kind failure_kind,
                     const char *what, const char *why);

#endif
