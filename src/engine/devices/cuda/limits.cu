/* Measures the limits of the roofline of a GPU (FLOP/s and bandwidth). Each limit is the best of a
 * few repeats between two events, because a disturbance can only slow a repeat down.
 *
 * Memory: a copy between two arrays that are much larger than the L2 cache; its bytes are those
 * that it reads and those that it writes. Arithmetic: cuBLAS's square products, in float32 and in
 * the device's precision, whose operands then have 16 bits where the precision has. Their size
 * doubles until the arrays are full, or the next one would take too long. The operands are random:
 * a GPU multiplies zeros with less power, and thus with a higher clock. */
#include "engine/devices/cuda/launch.h"

#include <math.h>

enum { REPEATS = 3, LEAST_SIZE = 128, CACHES = 12 };
static const size_t LEAST_BYTES = (size_t)16 << 20;
static const double SECONDS = 0.06; /* of the repeats of one size */

struct trial {
    struct cuda_context *context;
    char *from, *to;
    size_t bytes; /* of each array */
    cudaEvent_t begin, end;
    size_t size; /* rows and columns of a product's matrices */
    cudaDataType_t type;
    cublasComputeType_t compute;
};

/* Enqueues the work once. */
typedef void trial_work(const struct trial *trial);

static void copy(const struct trial *trial)
{
    cuda_note(trial->context, "the limits",
              cudaMemcpyAsync(trial->to, trial->from, trial->bytes, cudaMemcpyDeviceToDevice,
                              trial->context->stream));
}

static void multiply_once(const struct trial *trial)
{
    const float one = 1, none = 0;
    const int n = (int)trial->size;
    const char *second = trial->from + trial->size * trial->size * sizeof(float);
    cuda_note_blas(trial->context, "the limits",
                   cublasGemmEx(trial->context->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one,
                                trial->from, trial->type, n, second, trial->type, n, &none,
                                trial->to, CUDA_R_32F, n, trial->compute, CUBLAS_GEMM_DEFAULT));
}

/* Returns the seconds of the fastest repeat; infinity after a failure. */
static double best_seconds(const struct trial *trial, trial_work *work)
{
    struct cuda_context *context = trial->context;
    float best = INFINITY;
    work(trial); /* libraries initialise themselves */
    for (int i = 0; i < REPEATS; i++) {
        float milliseconds = 0;
        cuda_note(context, "the limits", cudaEventRecord(trial->begin, context->stream));
        work(trial);
        cuda_note(context, "the limits", cudaEventRecord(trial->end, context->stream));
        cuda_note(context, "the limits", cuda_wait_event(context, trial->end));
        cuda_note(context, "the limits",
                  cudaEventElapsedTime(&milliseconds, trial->begin, trial->end));
        if (!context->failure[0] && milliseconds > 0)
            best = fminf(best, milliseconds);
    }
    return 1e-3 * (double)best;
}

static double best_flops(struct trial *trial, cudaDataType_t type, cublasComputeType_t compute)
{
    double best = 0, seconds = 0;
    trial->type = type;
    trial->compute = compute;
    for (trial->size = LEAST_SIZE; 2 * sizeof(float) * trial->size * trial->size <= trial->bytes &&
                                   8 * (REPEATS + 1) * seconds < SECONDS;
         trial->size *= 2) {
        const double size = (double)trial->size;
        seconds = best_seconds(trial, multiply_once);
        best = fmax(best, 2 * size * size * size / seconds);
    }
    return best;
}

/* Returns the operations per second of products in the device's precision. */
static double precision_flops(struct trial *trial)
{
    switch (trial->context->precision) {
    case CUDA_TF32:
        return best_flops(trial, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
    case CUDA_BF16:
        return best_flops(trial, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
    case CUDA_FP16:
        return best_flops(trial, CUDA_R_16F, CUBLAS_COMPUTE_32F);
    default:
        return 0;
    }
}

/* --- the arrays --- */

/* Writes values of moderate size, whether they are read as float32, bf16 or fp16. */
static __global__ void fill(uint32_t *bits, size_t count)
{
    for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < count;
         i += (size_t)gridDim.x * BLOCK) {
        uint32_t mixed = (uint32_t)i * 0x9e3779b9u;
        mixed = (mixed ^ (mixed >> 15)) * 0x85ebca6bu;
        mixed ^= mixed >> 13;
        bits[i] = (mixed & 0x83ff83ffu) | 0x38003800u;
    }
}

/* Returns the bytes of an array: several times the L2 cache, within a quarter of the free memory; 0
 * if that would not exceed the cache. */
static size_t array_bytes(const struct cuda_context *context)
{
    int cache = 0;
    size_t available = 0, total = 0;
    if (cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, context->ordinal) != cudaSuccess ||
        cudaMemGetInfo(&available, &total) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    const size_t wanted = (size_t)CACHES * (size_t)cache, most = available / 4 / 256 * 256;
    const size_t bytes = wanted > LEAST_BYTES ? wanted / 256 * 256 : LEAST_BYTES;
    if (bytes <= most)
        return bytes;
    return most >= LEAST_BYTES && most >= 4 * (size_t)cache ? most : 0;
}

static bool make_arrays(struct trial *trial)
{
    struct cuda_context *context = trial->context;
    trial->bytes = array_bytes(context);
    if (trial->bytes == 0) {
        cuda_note(context, "cudaMalloc", cudaErrorMemoryAllocation);
        return false;
    }
    trial->from = (char *)cuda_allocate_device(context, trial->bytes);
    trial->to = trial->from ? (char *)cuda_allocate_device(context, trial->bytes) : NULL;
    if (!trial->to)
        return false;
    launch(context, "the limits", fill, dim3(cuda_busy_blocks), dim3(BLOCK), 0,
           (uint32_t *)trial->from, trial->bytes / sizeof(uint32_t));
    cuda_note(context, "cudaEventCreate", cudaEventCreate(&trial->begin));
    cuda_note(context, "cudaEventCreate", cudaEventCreate(&trial->end));
    return !context->failure[0];
}

static void free_trial(struct trial *trial)
{
    if (trial->begin)
        cudaEventDestroy(trial->begin);
    if (trial->end)
        cudaEventDestroy(trial->end);
    cuda_release_device(trial->context, trial->to);
    cuda_release_device(trial->context, trial->from);
}

/* Measures float32 with cuBLAS's usual mode, whatever the device's precision has set. */
static double sgemm_flops(struct trial *trial)
{
    struct cuda_context *context = trial->context;
    cuda_note_blas(context, "cublasSetMathMode",
                   cublasSetMathMode(context->blas, CUBLAS_DEFAULT_MATH));
    const double flops = best_flops(trial, CUDA_R_32F, CUBLAS_COMPUTE_32F);
    cuda_note_blas(context, "cublasSetMathMode",
                   cublasSetMathMode(context->blas, context->precision == CUDA_TF32
                                                        ? CUBLAS_TF32_TENSOR_OP_MATH
                                                        : CUBLAS_DEFAULT_MATH));
    return flops;
}

bool cuda_measure_limits(struct cuda_context *context, struct device_limits *limits)
{
    struct trial trial = {};
    struct device_limits measured = {};
    cuda_enter(context);
    trial.context = context;
    if (make_arrays(&trial)) {
        measured.bytes = 2 * (double)trial.bytes / best_seconds(&trial, copy);
        measured.sgemm_flops = sgemm_flops(&trial);
        measured.flops = fmax(precision_flops(&trial), measured.sgemm_flops);
    }
    free_trial(&trial);
    if (!context->failure[0])
        *limits = measured;
    return !context->failure[0];
}
