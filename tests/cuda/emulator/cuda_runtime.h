/* cuda_runtime.h of the emulator: the part of the CUDA runtime that the CUDA device needs, for a
 * machine without CUDA.
 *
 * With this folder first in the include path the .cu files compile as plain C++ and run on the
 * processor. Device memory is allocated by malloc, so AddressSanitizer checks it. The threads of a
 * block are fibers that switch at barriers and shuffles, and blocks run one after the other; a
 * random order (emulator_set_order) reveals results that depend on the order. Work is done on the
 * calling thread when it is enqueued, or later (emulator_set_delay), unless its stream is being
 * captured: then it is recorded in the graph. Several threads may call; one call runs at a time.
 * There can be several GPUs (emulator_set_gpus), which share the host's memory; using a stream of
 * one GPU while another one is the thread's current device fails, as in CUDA. Errors that a GPU
 * would not survive end the program with a message: a barrier that not all threads reach, a shuffle
 * with lanes missing, a launch outside of the limits.
 */
#ifndef TINCA_TESTS_CUDA_RUNTIME_H
#define TINCA_TESTS_CUDA_RUNTIME_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

/* NCCL and cuDNN are part of the program: these functions find them there (libraries.cpp). */
extern "C" void *emulator_dlopen(const char *name, int flags);
extern "C" void *emulator_dlsym(void *library, const char *name);
extern "C" int emulator_dlclose(void *library);
#define dlopen  emulator_dlopen
#define dlsym   emulator_dlsym
#define dlclose emulator_dlclose

#define CUDA_EMULATED  1
#define CUDART_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __constant__    static
#define __shared__      static
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)

using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

struct alignas(8) uint2 {
    unsigned x, y;
};
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}

struct alignas(8) float2 {
    float x, y;
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

/* --- inside kernels --- */

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
enum { warpSize = 32 };

void __syncthreads(void);
void __syncwarp(unsigned mask = 0xffffffffu);
float __shfl_xor_sync(unsigned mask, float value, int lanes, int width = 32);
float __shfl_down_sync(unsigned mask, float value, unsigned lanes, int width = 32);
float __shfl_sync(unsigned mask, float value, int lane, int width = 32);

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)(((uint64_t)a * b) >> 32);
}
static inline uint32_t __float_as_uint(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
template <class T> static inline T __ldg(const T *at)
{
    return *at;
}
template <class T> static inline T __ldcs(const T *at)
{
    return *at;
}
template <class T> static inline T __ldcg(const T *at)
{
    return *at;
}
/* One thread runs at a time. */
static inline void __threadfence(void)
{
}
static inline unsigned atomicAdd(unsigned *at, unsigned more)
{
    const unsigned before = *at;
    *at += more;
    return before;
}
/* They are functions, so that the compiler cannot contract them with other operations. */
float __fsub_rn(float a, float b);
float __fdiv_rn(float a, float b);
static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

/* --- the runtime --- */

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorUnknown = 999
} cudaError_t;

const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int major, minor;
    int multiProcessorCount;
    int l2CacheSize;
    int pciBusID, pciDeviceID, pciDomainID;
};
typedef enum cudaDeviceAttr {
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrL2CacheSize = 38
} cudaDeviceAttr;
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
struct cudaFuncAttributes {
    int ptxVersion, binaryVersion, numRegs;
};
cudaError_t emulator_describe_code(struct cudaFuncAttributes *attributes);
template <class... P>
static inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                                void (*)(P...))
{
    return emulator_describe_code(attributes);
}

typedef enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8
} cudaFuncAttribute;
template <class... P>
static inline cudaError_t cudaFuncSetAttribute(void (*)(P...), cudaFuncAttribute, int value)
{
    return value <= 227 << 10 ? cudaSuccess : cudaErrorInvalidValue;
}

enum { cudaEnableDefault = 0 };
typedef enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1
} cudaDriverEntryPointQueryResult;
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *result);

/* A multiprocessor of the emulated GPU runs 512 threads at once. */
template <class... P>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*)(P...),
                                                                        int threads, size_t)
{
    *blocks = threads > 512 ? 1 : 512 / threads;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);

typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_graph *cudaGraph_t;
typedef struct emulated_graph *cudaGraphExec_t;
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaEventRecordDefault = 0, cudaEventRecordExternal = 1 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1 };
typedef enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
} cudaStreamCaptureMode;
typedef enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
} cudaMemcpyKind;

cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *memory, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream = nullptr);

template <class T> static inline cudaError_t cudaMalloc(T **memory, size_t bytes)
{
    return cudaMalloc((void **)memory, bytes);
}
template <class T> static inline cudaError_t cudaMallocHost(T **memory, size_t bytes)
{
    return cudaMallocHost((void **)memory, bytes);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
#define CUDART_CB
typedef void (*cudaHostFn_t)(void *data);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t first, cudaEvent_t last);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

/* --- functions of the emulator --- */

/* Sets the delay. 0: work is done when it is enqueued, as if the device took no time. Otherwise it
 * waits in its stream: sometimes, drawn from this seed, a stream advances, and the rest is done
 * when somebody waits for it. Work that is not ordered by a stream, an event or a wait then gives
 * wrong results. EMULATOR_LAZY: work is done only when somebody waits for it. */
#define EMULATOR_LAZY UINT64_MAX
extern "C" void emulator_set_delay(uint64_t seed);
/* Sets how long a task of a stream takes at least; 0: as long as it computes. */
extern "C" void emulator_set_pace(unsigned microseconds);
/* Returns how many kernels and copies streams have done so far. */
extern "C" size_t emulator_tasks_done(void);
/* Does all work of the thread's GPU. The thread must not hold the lock. */
void emulator_finish_all(void);
/* Does what streams can do now, without waiting. */
void emulator_advance(void);

/* Held during each call. */
extern std::recursive_mutex emulator_lock;
typedef std::lock_guard<std::recursive_mutex> emulator_guard;

/* Set the number of GPUs, 1 at first, and which of the host's GPUs is the first of them, 0 at
 * first. emulator_gpu returns the current GPU of the thread, emulator_host_gpu its number on the
 * host. */
extern "C" void emulator_set_gpus(int count);
extern "C" void emulator_set_first_gpu(int number);
int emulator_gpu(void);
int emulator_host_gpu(void);

/* Records an error for cudaGetLastError and returns it. The others return the error with which
 * every call on a device fails, or cudaSuccess. */
cudaError_t emulator_note(cudaError_t error);
cudaError_t emulator_broken(void); /* the thread's current GPU */
cudaError_t emulator_broken_gpu(int gpu);

/* Does `work` now or later, or records it if the stream is being captured. */
cudaError_t emulator_submit(cudaStream_t stream, std::function<void()> work);
/* The same for work that is repeated until it returns that it is done, while the stream waits for
 * others. */
cudaError_t emulator_submit_tries(cudaStream_t stream, std::function<bool()> tries);

/* Returns the error that a launch must return instead of launching, or cudaSuccess. */
cudaError_t emulator_refuse_launch(void);

/* Enqueues a kernel whose arguments are bound. */
cudaError_t emulator_launch(dim3 grid, dim3 block, const std::function<void()> &kernel,
                            size_t shared_bytes, cudaStream_t stream);

/* Passes words between the lanes of a warp, all of which must call: returns those of every lane,
 * valid until the lane's second call from now. */
enum { EMULATOR_WORDS = 6 };
typedef uint64_t emulator_words[EMULATOR_WORDS];
const emulator_words *emulator_exchange(const uint64_t mine[EMULATOR_WORDS]);
unsigned emulator_lane(void);
unsigned emulator_thread(void); /* in its block */

/* Prepares the shared memory of a block (wgmma.cpp). */
void emulator_begin_shared(size_t dynamic_bytes);

/* Returns whether asynchronous work is done as late as possible: if the order is drawn. */
bool emulator_is_late(void);

/* Marks that this thread's stores must be fenced before it reaches a barrier of the block. */
void emulator_mark_unfenced(bool unfenced);

/* Returns the products of warpgroups that this thread has begun and not waited for. */
struct emulator_product {
    int kind;
    float *d; /* NULL: the end of a group */
    uint64_t a, b;
};
std::vector<emulator_product> &emulator_products(void);

/* Returns the asynchronous copies that this thread has begun and not waited for. */
struct emulator_copy {
    void *to;
    const void *from; /* NULL: zeros */
    size_t bytes;
};
std::vector<emulator_copy> &emulator_copies(void);

/* Sets the order of blocks and threads: 0 natural, otherwise drawn from this seed. */
extern "C" void emulator_set_order(uint64_t seed);

/* Makes the n-th allocation of device memory from now fail (0: none); makes the n-th launch of a
 * kernel fail with this error, and as on a GPU all later calls on its device, until it is called
 * again. On one GPU only, if that is chosen (-1: any). */
extern "C" void emulator_fail_allocation(size_t n);
extern "C" void emulator_fail_launch(size_t n, int error);
extern "C" void emulator_fail_gpu(int gpu);
/* Sets the free memory that cudaMemGetInfo reports. */
extern "C" void emulator_set_free(size_t bytes);
/* Makes cudaGraphInstantiate fail, as a driver does that refuses a graph. */
extern "C" void emulator_refuse_graphs(bool refuse);
/* Sets the virtual architecture that cudaFuncGetAttributes reports, at first 90, and whether the
 * code for 90 is that for sm_90a. */
extern "C" void emulator_set_code(int version);
extern "C" void emulator_set_wgmma(bool has);
extern "C" void emulator_refuse_tensor_maps(bool refuse);
/* Returns how many graphs were launched since the program began. */
extern "C" size_t emulator_graphs_run(void);

/* Returns how many kernels ran since the program began. */
extern "C" size_t emulator_kernels_run(void);

template <class... P, size_t... I>
static inline std::tuple<P...> emulator_arguments(void **arguments, std::index_sequence<I...>)
{
    (void)arguments;
    return std::tuple<P...>(*(P *)arguments[I]...);
}

template <class... P>
static inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block,
                                           void **arguments, size_t shared_bytes = 0,
                                           cudaStream_t stream = nullptr)
{
    const auto bound = emulator_arguments<P...>(arguments, std::index_sequence_for<P...>());
    return emulator_launch(
        grid, block, [kernel, bound] { std::apply(kernel, bound); }, shared_bytes, stream);
}

#endif
