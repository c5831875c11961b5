/* norm.h: the statistics of batch normalisation, for the kernels of plain and of channel-blocked
 * arrays. Only the kernels of this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_NORM_H
#define TINCA_ENGINE_DEVICES_CPU_NORM_H

#include "engine/devices/cpu/simd.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

/* Statistics of a channel in one image, or in all images of a block. Forward: the mean and M2.
 * Backward: the sums of g and of g (x - mean). */
struct pair {
    double a, b;
};

struct norm {
    const struct kernel_call *call;
    struct shape shape;
    size_t batch, area;
    size_t blocks; /* over which sums over images are taken (image_blocks.h) */
    /* [N, C] in the workspace. The kernel measures either every image, or (by_blocks) every block
     * of images, whose statistics are those of its first image then. */
    struct pair *planes;
    bool by_blocks;
    /* [C] each. Forward: y = (x - offset) scale + bias. Backward: the input's gradient is
     * scale g + slope (x - mean) + offset. */
    float *scale, *offset, *slope;
};

/* Returns the bytes of workspace that norm_of divides. */
size_t KERNEL(norm_workspace)(const struct kernel_site *site);

/* Returns the norm of a call, with its arrays in the workspace. */
struct norm KERNEL(norm_of)(const struct kernel_call *call);

/* Returns the bytes that are saved for the backward pass: mean and 1 / sqrt(variance + epsilon),
 * [C] each. */
size_t KERNEL(norm_saved)(const struct kernel_site *site);

/* Joins the statistics of each channel, also with those of other processes, saves them and updates
 * the running ones. */
void KERNEL(norm_keep)(const struct norm *norm);

/* Adds the sums of each channel, also those of other processes, and writes the gradients of its
 * weight and bias and the factors of the input's gradient. */
void KERNEL(norm_finish)(const struct norm *norm);

#endif
