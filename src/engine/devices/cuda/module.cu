/* The module's table, and how a GPU is opened and closed. */
#include "config.h"

#include "engine/devices/cuda/context.h"
#include "engine/devices/cuda/kernels.h"

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
    report->trouble = cuda_trouble_of(status);
    if (report->trouble == CUDA_OLD_DRIVER && driver == 0)
        report->trouble = CUDA_NO_DRIVER;
    report->driver_version = (unsigned)driver;
    report->needed_version = CUDART_VERSION;
    snprintf(report->text, sizeof report->text, "%s", cudaGetErrorString(status));
}

static size_t count_cards(struct cuda_report *report)
{
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count <= 0)
        status = cudaErrorNoDevice;
    cudaGetLastError();
    report_status(report, status);
    return status == cudaSuccess ? (size_t)count : 0;
}

static bool describe_card(size_t number, struct device_facts *facts)
{
    struct cudaDeviceProp properties;
    *facts = {};
    if (cudaGetDeviceProperties(&properties, (int)number) != cudaSuccess)
        return false;
    snprintf(facts->name, sizeof facts->name, "%.63s", properties.name);
    facts->capability[0] = (unsigned)properties.major;
    facts->capability[1] = (unsigned)properties.minor;
    facts->memory_bytes = properties.totalGlobalMem;
    return true;
}

static uint64_t memory_free_on(size_t number)
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

/* Launches a kernel: it fails if the module has no code for this GPU. */
static void try_code(struct cuda_context *context)
{
    struct device device = {};
    const struct iteration_values moment = {};
    device.state = context;
    cuda_set_iteration_values(&device, &moment);
    cuda_note(context, "the first kernel", cudaStreamSynchronize(context->stream));
}

static void open_card(struct cuda_context *context)
{
    struct cudaDeviceProp properties;
    cuda_enter(context);
    cuda_note(context, "cudaGetDeviceProperties",
              cudaGetDeviceProperties(&properties, context->ordinal));
    if (context->failure[0])
        return;
    context->multiprocessors = properties.multiProcessorCount;
    cuda_note(context, "cudaStreamCreate",
              cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking));
    cuda_note(context, "cudaStreamCreate",
              cudaStreamCreateWithFlags(&context->sending, cudaStreamNonBlocking));
    context->now = (struct cuda_iteration *)cuda_allocate_device(context, sizeof *context->now);
    if (!context->failure[0])
        open_blas(context, &properties);
    if (!context->failure[0])
        cuda_dnn_open(context);
    if (!context->failure[0])
        try_code(context);
}

static void close_card(void *state)
{
    struct cuda_context *context = (struct cuda_context *)state;
    cuda_enter(context);
    cuda_forget_measurements(context);
    cuda_dnn_close(context);
    if (context->blas)
        cublasDestroy(context->blas);
    cuda_release_device(context, context->workspace);
    cuda_release_device(context, context->now);
    if (context->stream)
        cudaStreamDestroy(context->stream);
    if (context->sending)
        cudaStreamDestroy(context->sending);
    free(context->pieces);
    free(context);
}

static void *open_number(size_t number, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)calloc(1, sizeof *context);
    if (!context) {
        report_status(report, cudaErrorMemoryAllocation);
        return NULL;
    }
    context->ordinal = (int)number;
    open_card(context);
    if (cuda_report_failure(context, report))
        return context;
    close_card(context);
    return NULL;
}

static bool check_card(void *state, struct cuda_report *report)
{
    return cuda_report_failure((const struct cuda_context *)state, report);
}

static void set_precision(void *state, enum device_precision precision)
{
    static const enum cuda_precision ours[] = {CUDA_FLOAT32, CUDA_TF32, CUDA_BF16, CUDA_FP16};
    struct cuda_context *context = (struct cuda_context *)state;
    context->precision = ours[precision];
    cuda_note_blas(context, "cublasSetMathMode",
                   cublasSetMathMode(context->blas, precision == PRECISION_TF32
                                                        ? CUBLAS_TF32_TENSOR_OP_MATH
                                                        : CUBLAS_DEFAULT_MATH));
}

/* --- calls that may fail for lack of memory: such a failure ends no run and is not recorded --- */

static void *hand_over(struct cuda_context *context, void *made, struct cuda_report *report)
{
    if (made || !report)
        return made;
    cuda_report_failure(context, report);
    cudaGetLastError();
    if (context->trouble == CUDA_NO_MEMORY) {
        context->trouble = CUDA_FINE;
        context->failure[0] = '\0';
    }
    return NULL;
}

static void *allocate(void *state, size_t bytes, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    return hand_over(context, cuda_allocate_device(context, bytes), report);
}

static void release(void *state, void *there)
{
    cuda_release_device((struct cuda_context *)state, there);
}

static void *allocate_pinned(void *state, size_t bytes, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    return hand_over(context, cuda_allocate_host(context, bytes), report);
}

static void release_pinned(void *state, void *here)
{
    cuda_release_host((struct cuda_context *)state, here);
}

static struct device_staging *stage_create(void *state, size_t bytes, bool ahead,
                                           struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    struct device_staging *stage = cuda_staging_create(context, bytes, ahead);
    return (struct device_staging *)hand_over(context, stage, report);
}

static struct device_event *mark_create(void *state, struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    return (struct device_event *)hand_over(context, cuda_event_create(context), report);
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
    module.count = count_cards;
    module.describe = describe_card;
    module.memory_free = memory_free_on;
    module.open = open_number;
    module.close = close_card;
    module.set_precision = set_precision;
    module.check = check_card;
    module.kernels = cuda_kernels;
    module.update = cuda_update;
    module.allocate = allocate;
    module.release = release;
    module.allocate_pinned = allocate_pinned;
    module.release_pinned = release_pinned;
    module.staging_create = stage_create;
    module.event_create = mark_create;
    module.join = cuda_join_group;
    module.backend = cuda_backend_functions;
    return &module;
}
