/* pool_window.h: the geometry of max and average pooling. Only these two kernels use it. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_POOL_WINDOW_H
#define TINCA_ENGINE_DEVICES_CUDA_POOL_WINDOW_H

#include "engine/devices/cuda/launch.h"

struct pool_window {
    int kernel_height, kernel_width, stride_height, stride_width, pad_height, pad_width;
    int in_height, in_width, out_height, out_width;
    struct divisor across_in, down_in, across_out, down_out; /* the same sizes as divisors */
    struct divisor channels;
    bool in_last, out_last; /* the array is channels-last */
};

static inline struct pool_window pool_window_of(const struct kernel_call *call)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    return {(int)w->kernel_height,
            (int)w->kernel_width,
            (int)w->stride_height,
            (int)w->stride_width,
            (int)w->pad_height,
            (int)w->pad_width,
            (int)in.height,
            (int)in.width,
            (int)out.height,
            (int)out.width,
            divisor_of(in.width),
            divisor_of(in.height),
            divisor_of(out.width),
            divisor_of(out.height),
            divisor_of(in.channels),
            call->site->layouts[0].channels_last,
            call->site->output_layout.channels_last};
}

/* A plane of one of the two arrays: its value (y, x) is start[(y * width + x) * step]. */
struct pool_plane {
    uint32_t start, step;
};

/* Returns where plane `plane` begins in an array of planes with `area` positions. */
static __host__ __device__ __forceinline__ struct pool_plane
plane_of(const struct pool_window *w, uint32_t plane, int area, bool last)
{
    uint32_t channel;
    if (!last)
        return {plane * (uint32_t)area, 1};
    const uint32_t image = divide_rest(plane, w->channels, &channel);
    return {image * (uint32_t)area * w->channels.value + channel, w->channels.value};
}

/* Returns the plane of element `at`, counted over all images, and sets its row and column. */
static __host__ __device__ __forceinline__ uint32_t position_of(const struct pool_window *w,
                                                                uint32_t at, struct divisor down,
                                                                struct divisor across, bool last,
                                                                int *y, int *x)
{
    uint32_t row, column, channel = 0;
    const uint32_t position = last ? divide_rest(at, w->channels, &channel) : at;
    const uint32_t rows = divide_rest(position, across, &column);
    const uint32_t plane = divide_rest(rows, down, &row);
    *y = (int)row;
    *x = (int)column;
    return last ? plane * w->channels.value + channel : plane;
}

/* A range [begin, end). */
struct range {
    int begin, end;
};

/* Returns the range of the image under the window at `out`, along one axis. */
static __host__ __device__ __forceinline__ struct range window_range(int out, int kernel,
                                                                     int stride, int pad, int size)
{
    const int begin = out * stride - pad, end = begin + kernel;
    return {begin > 0 ? begin : 0, end < size ? end : size};
}

/* Returns the windows that cover position `in`, along one axis. */
static __host__ __device__ __forceinline__ struct range
covering_windows(int in, int kernel, int stride, int pad, int outputs)
{
    const int reach = in + pad - kernel; /* windows that begin here or earlier do not cover `in` */
    const int begin = reach < 0 ? 0 : reach / stride + 1, end = (in + pad) / stride + 1;
    return {begin, end < outputs ? end : outputs};
}

/* Returns how many elements of the window at `out` lie in the image or its padding, along one axis;
 * positions that ceil mode adds beyond the padding do not count. */
static __host__ __device__ __forceinline__ int window_counted(int out, int kernel, int stride,
                                                              int pad, int size)
{
    const int end = out * stride + kernel, limit = size + 2 * pad;
    return (end < limit ? end : limit) - out * stride;
}

#endif
