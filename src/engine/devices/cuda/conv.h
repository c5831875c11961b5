/* conv.h: what the kernels of a convolution share. Not for use outside this room.
 *
 * The passes of the general kernel, which others fall back to for what they cannot do.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_H

#include "engine/devices/cuda/conv_walk.h"

bool conv_supports(const struct kernel_site *site, const char **reason);
size_t conv_workspace(const struct kernel_site *site);
void conv_forward(const struct kernel_call *call);
void conv_backward_input(const struct kernel_call *call);   /* if it is wanted */
void conv_backward_weights(const struct kernel_call *call); /* and the bias's, if they are */

/* Writes the bias to every position of the output, for products to be added to. Returns what they
 * multiply that by: 0 where there is no bias, and nothing is written. */
float conv_begin_output(const struct kernel_call *call);

/* Multiply-adds of a pass over the site's batch, and below how many of them a call of a library
 * costs more than it gains. */
size_t conv_work(const struct kernel_site *site);
size_t conv_least_work(void);

#endif
