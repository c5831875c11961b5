/* epilogue.h: the bias after a library's matrix product, and a relu that the plan has fused into
 * the layer. Only the kernels of this folder use it.
 *
 * cuBLAS has no epilogue for this. One pass over the product does both; a bias that is written
 * before the product, which is then added to it, would need a second one for the relu.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_EPILOGUE_H
#define TINCA_ENGINE_DEVICES_CUDA_EPILOGUE_H

#include "engine/devices/cuda/launch.h"

/* Queues, in one pass over the output of the call, y = y + bias[channel] if `bias` is not NULL, and
 * y = relu(y) if a relu is fused; nothing if there is neither. */
void epilogue_forward(const struct kernel_call *call, const float *bias);

/* Queues the backward pass of a fused relu, which overwrites the output's gradient by the mask that
 * the output is; nothing if none is fused. If epilogue_sums_bias, the same pass computes the
 * gradient of the bias and uses the workspace. */
void epilogue_backward(const struct kernel_call *call);

/* Returns whether epilogue_backward computes the gradient of a convolution's bias: if a relu is
 * fused and the output is channels-last. */
bool epilogue_sums_bias(const struct kernel_call *call);

#endif
