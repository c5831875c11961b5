/* conv_choice.h: which algorithm computes each pass of a convolution: one of cuDNN's, or one of our
 * kernels. Only conv_cudnn.cu and conv_pointwise.cu use it.
 *
 * With the cache of a device (device_autotune) each pass is measured once, and the fastest
 * algorithm is taken whose workspace is within the limit. Without it, cuDNN's heuristics decide,
 * which look only at shapes. Either way two plans choose the same.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_CHOICE_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_CHOICE_H

#include "engine/devices/cuda/cudnn_library.h"
#include "engine/devices/cuda/launch.h"

/* --- one pass of a convolution by cuDNN (cudnn_conv.cu) --- */

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

/* The shape of a convolution. Convolutions of the same shape have the same choice. */
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

/* Returns whether cuDNN fuses the operations after the convolution into a forward pass by the
 * algorithm: a bias with a relu or, by one algorithm, alone. */
bool dnn_fuses(const struct kernel_site *site, const struct dnn_option *option);

/* Queues a pass. Returns false if cuDNN does not compute it: another kernel must. Other failures
 * are recorded in the context. */
bool dnn_compute(const struct kernel_call *call, const struct dnn_shape *shape, enum dnn_pass pass,
                 const struct dnn_option *option);

/* --- choices --- */

/* A pass is computed by cuDNN, by matrix products of cuBLAS (conv_pointwise.cu) or gemm_wgmma.cu,
 * or by the general kernel. */
enum conv_source { CONV_BY_CUDNN, CONV_BY_PRODUCTS, CONV_BY_WGMMA, CONV_BY_GENERAL, CONV_SOURCES };

struct conv_option {
    enum conv_source source;
    struct dnn_option dnn; /* only for cuDNN, except `bytes` */
};

enum { CONV_OPTIONS = DNN_RANKED + 3 };

struct conv_choice {
    struct dnn_shape shape;
    struct conv_option options[DNN_PASSES][CONV_OPTIONS]; /* best first */
    size_t counts[DNN_PASSES];
    bool known[DNN_PASSES];  /* the first option was measured to be the fastest */
    bool tried[DNN_PASSES];  /* it was measured, perhaps in vain */
    bool refused[DNN_CALLS]; /* cuDNN has refused to compute the pass */
};

/* Returns the choice for a site when a plan is made, which may measure; NULL if out of memory, or
 * if there is one way only: without cuDNN, unless products can compute it from channels-last
 * values. */
struct conv_choice *conv_choice_plan(struct cuda_context *context, const struct kernel_site *site);

/* Returns the choice for a site when a pass is computed. A batch that is smaller than planned is
 * computed by the algorithms of the planned one. */
struct conv_choice *conv_choice_find(struct cuda_context *context, const struct kernel_site *site);

/* Returns the best option of a pass whose algorithm needs at most `limit` bytes. The general kernel
 * and cuBLAS need none. */
const struct conv_option *conv_choice_best(const struct conv_choice *choice, enum dnn_pass pass,
                                           size_t limit);

/* Returns whether cuDNN is used in this precision: it does not round float32 to bfloat16. */
bool conv_may_use_cudnn(const struct cuda_context *context);

/* Returns the kernel that computes a pass without cuDNN, where nothing was measured. */
enum conv_source conv_own_source(const struct kernel_site *site, enum dnn_pass pass);

/* Returns whether the site computes the pass at all. */
bool conv_needs(const struct kernel_site *site, enum dnn_pass pass);

/* Returns the most workspace that an algorithm may need. */
size_t conv_workspace_limit(const struct cuda_context *context, const struct kernel_site *site);

/* Queues a pass, with bias and fused relu, by an option. Returns false if cuDNN refuses; a refused
 * call is noted in refused[DNN_CALLS] and not made again. */
bool conv_run(const struct kernel_call *call, const struct dnn_shape *shape, enum dnn_pass pass,
              const struct conv_option *option, bool *refused);

#endif
