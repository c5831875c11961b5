/* The runtime's functions for devices and memory, which is host memory, and the failures that tests
 * can set. Streams, events and graphs are in streams.cpp. */
#include "cuda.h"
#include "cuda_runtime.h"

#include <cstdio>

enum { MAX_GPUS = 16 };

std::recursive_mutex emulator_lock;
static thread_local cudaError_t last_error = cudaSuccess;
static thread_local int gpu;         /* the thread's current device */
static cudaError_t broken[MAX_GPUS]; /* the error that every call returns from now on */
static int code_version = 90;        /* of the kernels: cudaFuncGetAttributes */
static bool has_wgmma = true;        /* the code for 90 is that for sm_90a */
static size_t fail_allocation, fail_launch, free_memory = (size_t)1 << 33;
static cudaError_t fail_with;
static int gpus = 1, first_gpu = 0, fail_gpu = -1;

extern "C" void emulator_set_gpus(int count)
{
    gpus = count;
}

extern "C" void emulator_set_first_gpu(int number)
{
    first_gpu = number;
}

int emulator_gpu(void)
{
    return gpu;
}

int emulator_host_gpu(void)
{
    return first_gpu + gpu;
}

static bool may_fail(void)
{
    return fail_gpu < 0 || fail_gpu == gpu;
}

extern "C" void emulator_fail_gpu(int number)
{
    emulator_guard guard(emulator_lock);
    fail_gpu = number;
}

extern "C" void emulator_fail_allocation(size_t n)
{
    emulator_guard guard(emulator_lock);
    fail_allocation = n;
}

extern "C" void emulator_fail_launch(size_t n, int error)
{
    emulator_guard guard(emulator_lock);
    fail_launch = n;
    fail_with = (cudaError_t)error;
    std::fill(broken, broken + MAX_GPUS, cudaSuccess);
}

extern "C" void emulator_set_free(size_t bytes)
{
    free_memory = bytes;
}

cudaError_t emulator_broken_gpu(int number)
{
    return broken[number];
}

cudaError_t emulator_broken(void)
{
    return broken[gpu];
}

cudaError_t emulator_refuse_launch(void)
{
    if (fail_launch > 0 && may_fail() && --fail_launch == 0)
        broken[gpu] = fail_with;
    return broken[gpu];
}

cudaError_t emulator_note(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    default:
        return "an emulated CUDA error";
    }
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

/* --- the GPUs, all emulated on this machine --- */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = gpus;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = gpu;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= gpus)
        return emulator_note(cudaErrorInvalidDevice);
    gpu = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number)
{
    *properties = {};
    snprintf(properties->name, sizeof properties->name, "emulated GPU");
    properties->totalGlobalMem = (size_t)1 << 33;
    properties->major = 9;
    properties->pciBusID = first_gpu + number + 1;
    properties->multiProcessorCount = 132;
    return cudaSuccess;
}

extern "C" void emulator_set_code(int version)
{
    code_version = version;
}

cudaError_t emulator_describe_code(struct cudaFuncAttributes *attributes)
{
    *attributes = {};
    attributes->ptxVersion = attributes->binaryVersion = code_version;
    attributes->numRegs = has_wgmma ? 128 : 4; /* as multiply_wide of gemm_wgmma.cu has */
    return cudaSuccess;
}

extern "C" void emulator_set_wgmma(bool has)
{
    has_wgmma = has;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *result)
{
    const bool known = strcmp(symbol, "cuTensorMapEncodeTiled") == 0 && version == 12000;
    *function = known ? (void *)cuTensorMapEncodeTiled : nullptr;
    *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9
             : attribute == cudaDevAttrMultiProcessorCount  ? 132
                                                            : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int)
{
    snprintf(id, (size_t)size, "0000:00:00.0");
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = free_memory;
    *total = (size_t)1 << 33;
    return emulator_broken();
}

cudaError_t cudaDeviceSynchronize(void)
{
    emulator_finish_all();
    return emulator_broken();
}

cudaError_t cudaDeviceReset(void)
{
    return cudaSuccess;
}

/* --- memory --- */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = NULL;
    emulator_guard guard(emulator_lock);
    if (fail_allocation > 0 && may_fail() && --fail_allocation == 0)
        return emulator_note(cudaErrorMemoryAllocation);
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*memory)
        memset(*memory, 0xff, bytes); /* NaN: a GPU does not clear memory either */
    return emulator_note(*memory ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* cudaFree waits for all work first. */
cudaError_t cudaFree(void *memory)
{
    emulator_finish_all();
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned)
{
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream)
{
    return emulator_submit(stream, [=] { memcpy(to, from, bytes); });
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream)
{
    if (to_pitch < width || from_pitch < width)
        return emulator_note(cudaErrorInvalidValue);
    return emulator_submit(stream, [=] {
        for (size_t row = 0; row < height; row++)
            memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    });
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind)
{
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    return emulator_submit(stream, [=] { memset(memory, value, bytes); });
}
