/* kernels.h: this device's kernels, as table.cu lists them. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_KERNELS_H
#define TINCA_ENGINE_DEVICES_CUDA_KERNELS_H

#include "engine/graph/kernel.h"

struct device;
struct solver_update;

/* A kernel with the name of its operator: the operator's own table is in the main program, and is
 * handed over when the kernel is asked for. */
struct cuda_kernel {
    const char *op;
    struct kernel kernel;
};

extern struct cuda_kernel cuda_conv_depthwise, cuda_conv_cudnn, cuda_conv_pointwise, cuda_conv,
    cuda_conv_transpose, cuda_linear, cuda_max_pool, cuda_average_pool, cuda_relu, cuda_leaky_relu,
    cuda_sigmoid, cuda_tanh, cuda_softmax, cuda_batch_norm, cuda_lrn, cuda_dropout, cuda_concat,
    cuda_add, cuda_channel_shuffle, cuda_channel_shift, cuda_softmax_cross_entropy,
    cuda_binary_cross_entropy, cuda_l1_loss, cuda_l2_loss;

/* The kernels for an operator, best first, into list[0..capacity); returns how many. The driver's
 * `kernels`. */
extern "C" size_t cuda_kernels(const struct op *op, const struct kernel **list, size_t capacity);

/* One solver step on the device's stream. Learning rate and step are those of context->now: those
 * of `update` are not looked at. The driver's `update`. */
extern "C" void cuda_update(struct device *device, const struct solver_update *update);

#endif
