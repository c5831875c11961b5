/* kernels.h: the kernels of the CUDA device and its solver step. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_KERNELS_H
#define TINCA_ENGINE_DEVICES_CUDA_KERNELS_H

#include "engine/graph/kernel.h"

struct device;
struct solver_update;

/* A kernel and the name of its operator. The operator itself lies in the main program, which this
 * module is not linked with: cuda_kernels stores its address in kernel.op. */
struct cuda_kernel {
    const char *op;
    struct kernel kernel;
};

#define CUDA_KERNEL(name) extern struct cuda_kernel cuda_##name;
#include "engine/devices/cuda/kernels.inc"

/* Writes the kernels of an operator, best first, to list[0..capacity) and returns their number.
 * This is the driver's `kernels`. Several threads may call it at once. */
extern "C" size_t cuda_kernels(const struct op *op, const struct kernel **list, size_t capacity);

/* Queues one solver step on the device's stream. The learning rate and the step number are those of
 * context->now; the ones in `update` are ignored. This is the driver's `update`. */
extern "C" void cuda_update(struct device *device, const struct solver_update *update);

#endif
