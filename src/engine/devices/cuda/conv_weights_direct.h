/* conv_weights_direct.h: the gradients of a convolution's weights for few channels. Only
 * conv_weights.cu, which computes all others, uses it. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_WEIGHTS_DIRECT_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_WEIGHTS_DIRECT_H

#include "engine/devices/cuda/implicit_gemm.h"

/* Returns the bytes of workspace, which do not fall when the batch grows; 0 if weights_direct_run
 * does not support the convolution. */
size_t weights_direct_workspace(const struct conv_shape *conv);

/* Queues the sums in float32 and returns true, or returns false if the convolution or the arrays
 * are not of this kind: gradients of a bias, channel moves and channels-last arrays never are. */
bool weights_direct_run(struct cuda_context *context, const char *what,
                        const struct conv_shape *conv, const struct weight_gradients *gradients,
                        float *workspace);

#endif
