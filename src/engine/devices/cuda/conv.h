/* conv.h: the passes of the general convolution kernel, which the other convolution kernels call
 * for sites that they do not support. Only the kernels of this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_H

#include "engine/devices/cuda/implicit_gemm.h"

/* Returns whether the general kernel supports the site; if not, sets *reason. */
bool conv_supports(const struct kernel_site *site, const char **reason);

/* Returns the bytes of workspace of the general kernel. */
size_t conv_workspace(const struct kernel_site *site);

/* Returns the name of the general kernel, which says whether some of its passes compute in float32
 * although the precision is lower. */
const char *conv_general_name(const struct kernel_site *site);

/* Returns the bias, or NULL if the layer has none. */
const float *conv_bias(const struct kernel_call *call);

/* Returns the bytes of a copy of the weights in the order of channels-last values; 0 if no array of
 * the site is channels-last. */
size_t conv_packed_bytes(const struct kernel_site *site);

/* Returns the bytes of workspace of implicit GEMMs, also of a transposed convolution: for packed
 * weights, and behind them for `partial` bytes of sums of parts. */
size_t conv_gemm_workspace_bytes(const struct kernel_site *site, size_t partial);

/* Returns that workspace in a call. */
struct gemm_workspace conv_gemm_workspace(const struct kernel_call *call);

/* Queue the forward pass, the input's gradient, and the gradients of weight and bias. The last two
 * do nothing if the call does not need the gradient. */
void conv_forward(const struct kernel_call *call);
void conv_backward_input(const struct kernel_call *call);
void conv_backward_weights(const struct kernel_call *call);

/* Queues the gradient of the bias, which the convolution must have. It may use the workspace. */
void conv_backward_bias(const struct kernel_call *call);

/* --- conv_pointwise.cu: 1x1 convolutions by matrix products (gemm.h) --- */

enum conv_pass { CONV_FORWARD, CONV_INPUT, CONV_WEIGHTS, CONV_PASSES };

/* Return whether the layer is a large 1x1 convolution with stride 1: the first function of plain
 * (NCHW) values, each image of which is one product, the second of channels-last values. */
bool conv_is_pointwise(const struct kernel_site *site);
bool conv_is_pointwise_last(const struct kernel_site *site);

/* Returns whether products can compute a pass: all of channels-last values, but not the gradient of
 * the weights of plain ones. */
bool conv_has_products(const struct kernel_site *site, enum conv_pass pass);

/* Returns the bytes of workspace that gemm_wgmma.cu takes for the product of a pass, from the start
 * of the general kernel's; 0: it cannot compute it, or the pass has no product. */
size_t conv_wgmma_workspace(const struct kernel_site *site, enum conv_pass pass);

/* Queues a pass as products, with bias and fused relu, or by the general kernel if the pass has no
 * product or a fused channel move. `wgmma`: uses gemm_wgmma.cu, if it supports the product, instead
 * of cuBLAS. */
void conv_products_run(const struct kernel_call *call, enum conv_pass pass, bool wgmma);

/* Returns the name of the kernel that computes a convolution if no choice was measured and cuDNN is
 * not used: products of plain values, or the general kernel, which always computes the gradient of
 * the weights. The workspace is that of the general kernel. */
const char *conv_next_name(const struct kernel_site *site);

/* Returns the multiply-adds of one pass over the site's batch. */
size_t conv_work(const struct kernel_site *site);

/* Returns the least multiply-adds for which calling a library is worth its cost. */
size_t conv_least_work(void);

#endif
