#include "emulated_device.h"

#include "engine/devices/cuda/context.h"
#include "engine/devices/cuda/divide.h"
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/gemm_split.h"
#include "engine/devices/cuda/implicit_gemm.h"
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include <math.h>
#include <stdlib.h>

static struct cuda_iteration now;
static unsigned arrivals[GEMM_ARRIVALS];
static struct cuda_context context;
static struct device device;

static bool is_available(char *reason, size_t size)
{
    if (size > 0)
        reason[0] = '\0';
    return true;
}

static void update(struct device *of, const struct solver_update *update)
{
    emulated_set_step(&update->settings, update->step, update->learning_rate);
    cuda_update(of, update);
}

static void *allocate(struct device *, size_t bytes, const char *, struct error *)
{
    void *memory = NULL;
    return posix_memalign(&memory, 64, bytes ? bytes : 1) == 0 ? memory : NULL;
}

static void release(struct device *, void *memory)
{
    free(memory);
}

static bool channels_last = true;

static bool prefers_channels_last(enum device_precision)
{
    return channels_last && context.precision != CUDA_FLOAT32;
}

void emulated_use_channels_last(bool use)
{
    channels_last = use;
}

static struct device_driver make_driver(void)
{
    struct device_driver driver = {"cuda",   "an emulated GPU", is_available, NULL,
                                   NULL,     cuda_kernels,      update,       NULL,
                                   allocate, release,           true};
    driver.prefers_channels_last = prefers_channels_last;
    return driver;
}

extern "C" const struct device_driver emulated_driver = make_driver();

struct device *emulated_device(void)
{
    if (!context.stream) {
        cudaStreamCreate(&context.stream);
        cublasCreate(&context.blas);
        cublasSetStream(context.blas, context.stream);
        cuda_dnn_open(&context);
        cuda_wgmma_open(&context);
        context.multiprocessors = 132;
        context.memory_bytes = (size_t)1 << 33;
        now.loss_scale = now.unscale = 1;
        context.now = &now;
        context.arrivals = arrivals;
        device.driver = &emulated_driver;
        device.threads = 1;
        device.state = &context;
    }
    return &device;
}

void emulated_set_iteration(uint64_t iteration)
{
    now.iteration = iteration;
}

void emulated_set_step(const struct solver_settings *settings, uint64_t step, float learning_rate)
{
    now.step = step;
    now.learning_rate = learning_rate;
    now.correction1 = (float)(1 / (1 - pow(settings->momentum, (double)step)));
    now.correction2 = (float)(1 / sqrt(1 - pow(settings->beta2, (double)step)));
}

const char *emulated_failure(void)
{
    static char failure[sizeof context.failure];
    memcpy(failure, context.failure, sizeof failure);
    context.failure[0] = '\0';
    return failure;
}

size_t emulated_gemm_parts(const struct shape *in, const struct shape *out,
                           const struct conv_attributes *conv, size_t batch, int precision)
{
    const struct conv_shape shape = {*in, *out, conv->window, conv->groups, batch, false, false};
    const struct implicit_gemm gemm = implicit_gemm_forward(&shape, NULL);
    return gemm_divide(&gemm, precision ? GEMM_TENSOR : GEMM_FLOAT32).parts;
}

static cudaGraphExec_t captured;

void emulated_capture(void (*work)(void *state), void *state)
{
    cudaGraph_t graph;
    cudaGraphExecDestroy(captured);
    captured = NULL;
    if (!work)
        return;
    cuda_note(&context, "capture",
              cudaStreamBeginCapture(context.stream, cudaStreamCaptureModeThreadLocal));
    work(state);
    cuda_note(&context, "capture", cudaStreamEndCapture(context.stream, &graph));
    cuda_note(&context, "capture", cudaGraphInstantiate(&captured, graph));
    cudaGraphDestroy(graph);
}

void emulated_replay(void)
{
    cuda_note(&context, "replay", cudaGraphLaunch(captured, context.stream));
}

void emulated_set_busy_blocks(unsigned blocks)
{
    cuda_busy_blocks = blocks;
}

size_t emulated_split_count(size_t blocks, size_t positions, size_t resident)
{
    return split_count(blocks, positions, resident);
}

void emulated_use_dnn(bool use)
{
    emulated_device(); /* the device opens with one stream */
    cuda_dnn_close(&context);
    if (use)
        cuda_dnn_open(&context);
}

void emulated_set_precision(int precision)
{
    context.precision = (enum cuda_precision)precision;
}

uint32_t emulated_divide(uint32_t n, uint32_t by, uint32_t *rest)
{
    return divide_rest(n, divisor_of(by), rest);
}
