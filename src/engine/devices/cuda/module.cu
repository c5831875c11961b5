/* Exports the module's table of functions, and opens, describes and closes GPUs. */
#include "config.h"

#include "engine/devices/cuda/context.h"
#include "engine/devices/cuda/cudnn_library.h"
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CUDA_ARCHITECTURES
#define CUDA_ARCHITECTURES ""
#endif

/* --- GPUs --- */

static void report_status(struct cuda_report *report, cudaError_t status)
{
    int driver = 0;
    cudaDriverGetVersion(&driver);
    *report = {};
    report->failure_kind = cuda_failure_kind_of(status);
    if (report->failure_kind == CUDA_OLD_DRIVER && driver == 0)
        report->failure_kind = CUDA_NO_DRIVER;
    report->driver_version = (unsigned)driver;
    report->needed_version = CUDART_VERSION;
    snprintf(report->text, sizeof report->text, "%s", cudaGetErrorString(status));
}

static size_t count_gpus(struct cuda_report *report)
{
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count <= 0)
        status = cudaErrorNoDevice;
    cudaGetLastError();
    report_status(report, status);
    return status == cudaSuccess ? (size_t)count : 0;
}

static bool describe_gpu(size_t number, struct device_facts *facts)
{
    struct cudaDeviceProp properties;
    *facts = {};
    if (cudaGetDeviceProperties(&properties, (int)number) != cudaSuccess)
        return false;
    snprintf(facts->name, sizeof facts->name, "%.63s", properties.name);
    facts->capability[0] = (unsigned)properties.major;
    facts->capability[1] = (unsigned)properties.minor;
    facts->memory_bytes = properties.totalGlobalMem;
    dnn_describe((int)number, facts->cudnn, sizeof facts->cudnn, facts->no_cudnn,
                 sizeof facts->no_cudnn);
    facts->pci.known = true;
    facts->pci.domain = (unsigned)properties.pciDomainID;
    facts->pci.bus = (unsigned)properties.pciBusID;
    facts->pci.device = (unsigned)properties.pciDeviceID;
    return true;
}

static uint64_t memory_free(size_t number)
{
    size_t available = 0, total = 0;
    if (cudaSetDevice((int)number) != cudaSuccess ||
        cudaMemGetInfo(&available, &total) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return available;
}

/* --- an opened GPU --- */

/* From these architectures on, kernels have float16, and all precisions (tensor_tile.h). */
enum { FLOAT16_CODE = 75, TENSOR_CODE = 80 };

/* Returns the bytes of cuBLAS's workspace. It is allocated here, because cuBLAS cannot allocate
 * while a CUDA graph is captured. NVIDIA recommends 32 MiB on Hopper and 4 MiB before it. */
static size_t workspace_bytes(const struct cudaDeviceProp *properties)
{
    return (size_t)(properties->major >= 9 ? 32 : 4) << 20;
}

static void open_blas(struct cuda_context *context, const struct cudaDeviceProp *properties)
{
    const size_t bytes = workspace_bytes(properties);
    cuda_note_blas(context, "cublasCreate", cublasCreate(&context->blas));
    if (context->failure[0])
        return;
    cuda_note_blas(context, "cublasSetStream", cublasSetStream(context->blas, context->stream));
    context->workspace = cuda_allocate_device(context, bytes);
    if (context->workspace)
        cuda_note_blas(context, "cublasSetWorkspace",
                       cublasSetWorkspace(context->blas, context->workspace, bytes));
}

/* Launches a kernel, which fails if the module has no code for this GPU. */
static void launch_first_kernel(struct cuda_context *context)
{
    struct device device = {};
    const struct iteration_values values = {};
    device.state = context;
    cuda_set_iteration_values(&device, &values);
    cuda_note(context, "the first kernel", cudaStreamSynchronize(context->stream));
}

/* Records the number of multiprocessors of the first GPU that is opened, for all; several threads
 * may open one. */
static void count_multiprocessors(int count)
{
    static std::once_flag once;
    std::call_once(once, [=] { cuda_busy_blocks = 2u * (unsigned)count; });
}

static void open_gpu(struct cuda_context *context)
{
    struct cudaDeviceProp properties;
    cuda_enter(context);
    cuda_note(context, "cudaGetDeviceProperties",
              cudaGetDeviceProperties(&properties, context->ordinal));
    if (context->failure[0])
        return;
    context->multiprocessors = properties.multiProcessorCount;
    context->memory_bytes = properties.totalGlobalMem;
    count_multiprocessors(properties.multiProcessorCount);
    cuda_note(context, "cudaStreamCreate",
              cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking));
    cuda_note(context, "cudaStreamCreate",
              cudaStreamCreateWithFlags(&context->sending, cudaStreamNonBlocking));
    for (cudaEvent_t &event : context->batches_read)
        cuda_note(context, "cudaEventCreate",
                  cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    context->now = (struct cuda_iteration *)cuda_allocate_device(context, sizeof *context->now);
    context->arrivals =
        (unsigned *)cuda_allocate_device(context, GEMM_ARRIVALS * sizeof *context->arrivals);
    if (!context->failure[0])
        cuda_note(context, "cudaMemsetAsync",
                  cudaMemsetAsync(context->arrivals, 0, GEMM_ARRIVALS * sizeof *context->arrivals,
                                  context->stream));
    if (!context->failure[0])
        open_blas(context, &properties);
    if (!context->failure[0])
        cuda_dnn_open(context);
    if (!context->failure[0])
        launch_first_kernel(context);
    if (!context->failure[0])
        context->code_version = cuda_code_version(context);
    if (!context->failure[0])
        cuda_wgmma_open(context);
}

static void close_gpu(void *state)
{
    struct cuda_context *context = (struct cuda_context *)state;
    cuda_enter(context);
    cuda_gate_free(context);
    cuda_forget_measurements(context);
    cuda_dnn_close(context);
    cuda_choices_free(context);
    if (context->blas)
        cublasDestroy(context->blas);
    cuda_release_device(context, context->workspace);
    cuda_release_device(context, context->arrivals);
    cuda_release_device(context, context->now);
    for (cudaEvent_t event : context->batches_read)
        if (event)
            cudaEventDestroy(event);
    if (context->stream)
        cudaStreamDestroy(context->stream);
    if (context->sending)
        cudaStreamDestroy(context->sending);
    free(context->allocations);
    free(context);
}

static void *open_context(size_t number, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)calloc(1, sizeof *context);
    if (!context) {
        report_status(report, cudaErrorMemoryAllocation);
        return NULL;
    }
    context->ordinal = (int)number;
    open_gpu(context);
    if (cuda_report_failure(context, report))
        return context;
    close_gpu(context);
    return NULL;
}

static bool check_gpu(void *state, struct cuda_report *report)
{
    return cuda_report_failure((const struct cuda_context *)state, report);
}

static bool set_precision(void *state, enum device_precision precision, struct cuda_report *report)
{
    static const enum cuda_precision precisions[] = {CUDA_FLOAT32, CUDA_TF32, CUDA_BF16, CUDA_FP16};
    struct cuda_context *context = (struct cuda_context *)state;
    if (precision != PRECISION_FLOAT32 &&
        context->code_version < (precision == PRECISION_FP16 ? FLOAT16_CODE : TENSOR_CODE)) {
        report->failure_kind = CUDA_OLD_CODE;
        snprintf(report->text, sizeof report->text, "compute_%d", context->code_version);
        return false;
    }
    context->precision = precisions[precision];
    cuda_note_blas(context, "cublasSetMathMode",
                   cublasSetMathMode(context->blas, precision == PRECISION_TF32
                                                        ? CUBLAS_TF32_TENSOR_OP_MATH
                                                        : CUBLAS_DEFAULT_MATH));
    return cuda_report_failure(context, report);
}

/* --- calls that may run out of memory --- */

/* Returns `made`, or NULL with a report. A failure for lack of memory is removed from the context,
 * because the caller can go on without the memory. */
static void *result_of(struct cuda_context *context, void *made, struct cuda_report *report)
{
    if (made || !report)
        return made;
    cuda_report_failure(context, report);
    cudaGetLastError();
    if (context->failure_kind == CUDA_NO_MEMORY) {
        context->failure_kind = CUDA_FINE;
        context->failure[0] = '\0';
    }
    return NULL;
}

static void *allocate(void *state, size_t bytes, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    return result_of(context, cuda_allocate_device(context, bytes), report);
}

static void release(void *state, void *on_device)
{
    cuda_release_device((struct cuda_context *)state, on_device);
}

static void *allocate_pinned(void *state, size_t bytes, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    return result_of(context, cuda_allocate_host(context, bytes), report);
}

static void release_pinned(void *state, void *pinned)
{
    cuda_release_host((struct cuda_context *)state, pinned);
}

static struct device_staging *stage_create(void *state, const struct staging_sizes *sizes,
                                           struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    struct device_staging *stage = cuda_staging_create(context, sizes);
    return (struct device_staging *)result_of(context, stage, report);
}

static struct device_event *event_create(void *state, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    return (struct device_event *)result_of(context, cuda_event_create(context), report);
}

static void use_autotune(void *state, const struct device_autotune *autotune)
{
    ((struct cuda_context *)state)->autotune = autotune;
}

static bool measure_limits(void *state, struct device_limits *limits, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    return result_of(context, cuda_measure_limits(context, limits) ? state : NULL, report);
}

static const char *toolkit(void)
{
    static char text[16];
    snprintf(text, sizeof text, "%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return text;
}

extern "C" __attribute__((visibility("default"))) const struct cuda_module *tinca_cuda_module(void)
{
    static struct cuda_module module;
    module.abi = CUDA_MODULE_ABI;
    module.bytes = sizeof module;
    module.version = PACKAGE_VERSION;
    module.toolkit = toolkit();
    module.architectures = CUDA_ARCHITECTURES;
    module.count = count_gpus;
    module.describe = describe_gpu;
    module.memory_free = memory_free;
    module.open = open_context;
    module.close = close_gpu;
    module.set_precision = set_precision;
    module.check = check_gpu;
    module.kernels = cuda_kernels;
    module.update = cuda_update;
    module.allocate = allocate;
    module.release = release;
    module.allocate_pinned = allocate_pinned;
    module.release_pinned = release_pinned;
    module.staging_create = stage_create;
    module.event_create = event_create;
    module.limits = measure_limits;
    module.join = cuda_join_group;
    module.make_group_id = cuda_make_group_id;
    module.join_processes = cuda_join_processes;
    module.backend = cuda_backend_functions;
    module.use_autotune = use_autotune;
    return &module;
}
