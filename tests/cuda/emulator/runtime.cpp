/* The runtime's calls: memory is the host's, a stream is in order because everything happens at
 * once, and a graph is a list of what was enqueued while its stream was captured. */
#include "cuda_runtime.h"

#include <chrono>
#include <cstdio>
#include <vector>

struct emulated_graph {
    std::vector<std::function<void()>> work;
};
struct emulated_stream {
    emulated_graph *capturing;
};
struct emulated_event {
    std::chrono::steady_clock::time_point time;
};

static emulated_stream default_stream;
static cudaError_t last_error = cudaSuccess;
static cudaError_t broken = cudaSuccess; /* what every call returns from now on */
static size_t fail_allocation, fail_launch, free_memory = (size_t)1 << 33, graphs;
static cudaError_t fail_with;

extern "C" void emulator_fail_allocation(size_t n)
{
    fail_allocation = n;
}

extern "C" void emulator_fail_launch(size_t n, int error)
{
    fail_launch = n;
    fail_with = (cudaError_t)error;
    broken = cudaSuccess;
}

extern "C" void emulator_set_free(size_t bytes)
{
    free_memory = bytes;
}

extern "C" size_t emulator_graphs_run(void)
{
    return graphs;
}

cudaError_t emulator_refuse_launch(void)
{
    if (fail_launch > 0 && --fail_launch == 0)
        broken = fail_with;
    return broken;
}

static cudaError_t note(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

cudaError_t emulator_submit(cudaStream_t stream, std::function<void()> work)
{
    if (stream && stream->capturing)
        stream->capturing->work.push_back(work);
    else
        work();
    return cudaSuccess;
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

/* --- the device: one, that is this machine --- */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return note(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int)
{
    *properties = {};
    snprintf(properties->name, sizeof properties->name, "emulated GPU");
    properties->totalGlobalMem = (size_t)1 << 33;
    properties->major = 9;
    properties->multiProcessorCount = 132;
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
    return broken;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
    return cudaSuccess;
}

/* --- memory --- */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = NULL;
    if (fail_allocation > 0 && --fail_allocation == 0)
        return note(cudaErrorMemoryAllocation);
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*memory)
        memset(*memory, 0xff, bytes); /* NaN: a GPU gives no zeros either */
    return note(*memory ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *memory)
{
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
        return note(cudaErrorInvalidValue);
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

/* --- streams and events --- */

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = new emulated_stream{nullptr};
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}

static bool is_capturing(cudaStream_t stream)
{
    return (stream ? stream : &default_stream)->capturing;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return note(is_capturing(stream) ? cudaErrorStreamCaptureUnsupported : broken);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = new emulated_event();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return emulator_submit(stream, [=] { event->time = std::chrono::steady_clock::now(); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if ((flags == cudaEventRecordExternal) != is_capturing(stream))
        return note(cudaErrorInvalidValue); /* as this module means to use it */
    return cudaEventRecord(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return broken;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t first, cudaEvent_t last)
{
    *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return cudaSuccess;
}

/* --- graphs --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    if (!stream || stream->capturing) /* the default stream cannot be captured */
        return note(cudaErrorStreamCaptureUnsupported);
    stream->capturing = new emulated_graph();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (!is_capturing(stream))
        return note(cudaErrorInvalidValue);
    *graph = stream->capturing;
    stream->capturing = nullptr;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    *executable = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    graphs++;
    if (emulator_refuse_launch() != cudaSuccess)
        return broken;
    for (const std::function<void()> &work : executable->work)
        emulator_submit(stream, work);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    delete executable;
    return cudaSuccess;
}
