/* cudnn_conv.h: one pass of a convolution by cuDNN. Only conv_choice.cu and conv_cudnn.cu use it.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CUDNN_CONV_H
#define TINCA_ENGINE_DEVICES_CUDA_CUDNN_CONV_H

#include "engine/devices/cuda/cudnn_library.h"
#include "engine/devices/cuda/launch.h"

struct cuda_dnn {
    const struct dnn_library *library;
    dnn_handle handle;
    char refusal[200]; /* cuDNN's words when it last refused a call */
};

/* DNN_FUSED is the forward pass with bias and relu, by an algorithm of DNN_FORWARD. */
enum dnn_pass {
    DNN_FORWARD,
    DNN_INPUT,
    DNN_WEIGHTS,
    DNN_PASSES,
    DNN_FUSED = DNN_PASSES,
    DNN_CALLS
};

/* What distinguishes one convolution from others: the same shapes give the same choice. */
struct dnn_shape {
    int batch, channels, height, width;
    int outputs, out_height, out_width, groups;
    int kernel[2], stride[2], pad[2];
    int bias; /* whether there is one */
    int last; /* channels-last */
    enum cuda_precision precision;
};

struct dnn_option {
    dnn_algorithm algorithm;
    int math;
    size_t bytes; /* workspace of the algorithm */
};

struct dnn_shape dnn_shape_of(const struct cuda_context *context, const struct kernel_site *site);

/* Lists the algorithms of a pass that cuDNN's heuristics rank, best first, that always give the
 * same bits, and that round no more coarsely than the precision says. Returns how many. */
enum { DNN_RANKED = 10 };
size_t dnn_list(const struct cuda_dnn *dnn, const struct dnn_shape *shape, enum dnn_pass pass,
                struct dnn_option list[DNN_RANKED]);

/* Returns the bytes that a call needs behind the workspace of an algorithm, for the packed filter
 * and what alignment costs; 0 if the filter is not packed. */
size_t dnn_packed_bytes(const struct kernel_site *site);

/* Returns whether cuDNN fuses what follows the convolution into a forward pass by the algorithm: a
 * bias with a relu or, by one algorithm, alone. */
bool dnn_fuses(const struct kernel_site *site, const struct dnn_option *option);

/* Queues a pass. Returns false if cuDNN does not compute it: another kernel must. Other failures
 * are recorded in the context. */
bool dnn_compute(const struct kernel_call *call, const struct dnn_shape *shape, enum dnn_pass pass,
                 const struct dnn_option *option);

#endif
