/* norm.h: the statistics of batch normalisation, as the kernels for plain and for channel-blocked
 * arrays share them. Only the kernels of this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_NORM_H
#define TINCA_ENGINE_DEVICES_CPU_NORM_H

#include "engine/devices/cpu/simd.h"

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

/* Statistics of a plane or a channel. Forward: the mean and M2. Backward: the sums of g and of
 * g (x - mean). */
struct pair {
    double a, b;
};

struct norm {
    const struct kernel_call *call;
    struct shape shape;
    size_t batch, area;
    struct pair *planes;   /* [N, C] in the workspace */
    struct pair *channels; /* [C] */
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

/* Save the statistics of channel c and update the running ones; the second function joins those of
 * its planes first. */
void KERNEL(norm_keep)(const struct norm *norm, size_t c, struct pair statistics);
void KERNEL(norm_keep_planes)(const struct norm *norm, size_t c);

/* Write the gradients of weight and bias of channel c, and the factors of the input's gradient; the
 * second function adds the sums of its planes first. */
void KERNEL(norm_finish)(const struct norm *norm, size_t c, struct pair sums);
void KERNEL(norm_finish_planes)(const struct norm *norm, size_t c);

#endif
