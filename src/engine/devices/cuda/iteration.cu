/* Kernels that an iteration needs besides those of its nodes: they write the iteration's values to
 * the device, check the loss, and add the gradients of a discriminator's two passes. */
#include "engine/devices/cuda/context.h"

#include <math.h>

enum { THREADS = 256 };

/* --- values of the iteration --- */

static __global__ void write_values(struct cuda_iteration *now, struct cuda_iteration values)
{
    *now = values;
}

/* Writes the values from a kernel's argument, which the launch copies, so that the host's memory
 * may change. */
void cuda_set_iteration_values(struct device *device, const struct iteration_values *given)
{
    struct cuda_context *context = (struct cuda_context *)device->state;
    const double step = (double)given->step;
    struct cuda_iteration values = {};
    values.iteration = given->iteration;
    values.step = given->step;
    values.learning_rate = given->learning_rate;
    values.loss_scale = given->loss_scale > 0 ? given->loss_scale : 1.0f;
    values.unscale = 1.0f / values.loss_scale;
    if (given->step > 0) {
        values.correction1 = (float)(1 / (1 - pow(given->beta1, step)));
        values.correction2 = (float)(1 / sqrt(1 - pow(given->beta2, step)));
    }
    void *arguments[] = {&context->now, &values};
    cuda_enter(context);
    cuda_note(context, "iteration",
              cudaLaunchKernel(write_values, dim3(1), dim3(1), arguments, 0, context->stream));
}

int cuda_code_version(struct cuda_context *context)
{
    struct cudaFuncAttributes attributes = {};
    cuda_note(context, "cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, write_values));
    return attributes.ptxVersion;
}

/* --- the loss --- */

/* Sets now->halted if the loss is NaN or infinite. One block: its threads load values into shared
 * memory, and thread 0 adds them in the order of the images, as the host does, because a sum may
 * overflow in one order and not in another. */
static __global__ void check_losses(struct device_losses losses, struct cuda_iteration *now)
{
    __shared__ float loaded[THREADS];
    float total = 0;
    for (size_t i = 0; i < losses.losses; i++) {
        float sum = 0;
        for (size_t first = 0; first < losses.count; first += THREADS) {
            const size_t left = losses.count - first;
            if (threadIdx.x < left)
                loaded[threadIdx.x] = losses.on_device[i][first + threadIdx.x];
            __syncthreads();
            for (size_t k = 0; threadIdx.x == 0 && k < left && k < THREADS; k++)
                sum += loaded[k];
            __syncthreads();
        }
        total += losses.weights[i] * (sum / (float)losses.count);
    }
    if (threadIdx.x == 0)
        now->halted = !isfinite(total);
}

void cuda_check_loss(struct device *device, const struct device_losses *losses)
{
    struct cuda_context *context = (struct cuda_context *)device->state;
    struct device_losses copy = *losses;
    void *arguments[] = {&copy, &context->now};
    cuda_note(
        context, "the loss",
        cudaLaunchKernel(check_losses, dim3(1), dim3(THREADS), arguments, 0, context->stream));
}

/* --- the gradients of two passes --- */

static __global__ void mix_values(float *values, const float *more, float scale, size_t count)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count)
        values[i] = scale * (values[i] + more[i]);
}

void cuda_mix(struct device *device, float *values, const float *more, float scale, size_t count)
{
    struct cuda_context *context = (struct cuda_context *)device->state;
    const unsigned blocks = (unsigned)((count + THREADS - 1) / THREADS);
    void *arguments[] = {&values, &more, &scale, &count};
    if (count > 0)
        cuda_note(context, "mix",
                  cudaLaunchKernel(mix_values, dim3(blocks), dim3(THREADS), arguments, 0,
                                   context->stream));
}
