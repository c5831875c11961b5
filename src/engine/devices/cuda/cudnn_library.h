/* cudnn_library.h: NVIDIA's library cuDNN, which is loaded when a GPU is first opened or described.
 *
 * No header of cuDNN is needed to build. This file declares the functions that conv_cudnn.cu calls,
 * as the documentation of cuDNN's convolution API gives them. Versions 8 and 9 agree in these; they
 * differ in the numbers of statuses.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CUDNN_LIBRARY_H
#define TINCA_ENGINE_DEVICES_CUDA_CUDNN_LIBRARY_H

#include <cuda_runtime.h>

#include <stddef.h>

typedef void *dnn_handle, *dnn_tensor, *dnn_filter, *dnn_convolution, *dnn_activation;
typedef int dnn_status, dnn_algorithm; /* enumerations of cuDNN */

enum { DNN_SUCCESS = 0 };
enum {
    DNN_FLOAT = 0,
    DNN_NCHW = 0,
    DNN_NHWC = 1,
    DNN_CROSS_CORRELATION = 1,
    DNN_DETERMINISTIC = 1
};
enum { DNN_RELU = 1, DNN_IDENTITY = 5, DNN_PROPAGATE_NAN = 1 }; /* of an activation */
enum { DNN_PRECOMP_GEMM = 1 }; /* the one forward algorithm that fuses a bias without a relu */
enum { DNN_FORWARD_WINOGRAD_NONFUSED = 7, DNN_BACKWARD_WINOGRAD_NONFUSED = 5 };
enum dnn_math { DNN_DEFAULT_MATH, DNN_TENSOR_MATH, DNN_TENSOR_MATH_CONVERTS, DNN_FMA_MATH };

/* An algorithm in the ranking of cuDNN's heuristics: cudnnConvolution*AlgoPerf_t. */
struct dnn_ranked {
    dnn_algorithm algorithm;
    dnn_status status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
};

struct dnn_library {
    dnn_status (*create)(dnn_handle *);
    dnn_status (*destroy)(dnn_handle);
    dnn_status (*set_stream)(dnn_handle, cudaStream_t);
    const char *(*error_text)(dnn_status);
    void (*last_error)(char *text, size_t size); /* NULL before version 9 */

    dnn_status (*create_tensor)(dnn_tensor *);
    dnn_status (*destroy_tensor)(dnn_tensor);
    dnn_status (*set_tensor)(dnn_tensor, int format, int type, int n, int c, int h, int w);
    dnn_status (*create_filter)(dnn_filter *);
    dnn_status (*destroy_filter)(dnn_filter);
    dnn_status (*set_filter)(dnn_filter, int type, int format, int k, int c, int h, int w);
    dnn_status (*create_convolution)(dnn_convolution *);
    dnn_status (*destroy_convolution)(dnn_convolution);
    dnn_status (*set_convolution)(dnn_convolution, int pad_h, int pad_w, int stride_h, int stride_w,
                                  int dilation_h, int dilation_w, int mode, int type);
    dnn_status (*set_groups)(dnn_convolution, int);
    dnn_status (*set_math)(dnn_convolution, int);
    dnn_status (*create_activation)(dnn_activation *);
    dnn_status (*destroy_activation)(dnn_activation);
    dnn_status (*set_activation)(dnn_activation, int mode, int propagation, double limit);

    /* The rankings, workspaces and passes: forward, gradient of the input, of the weights. */
    dnn_status (*rank_forward)(dnn_handle, dnn_tensor x, dnn_filter w, dnn_convolution,
                               dnn_tensor y, int capacity, int *count, struct dnn_ranked *);
    dnn_status (*rank_input)(dnn_handle, dnn_filter w, dnn_tensor dy, dnn_convolution,
                             dnn_tensor dx, int capacity, int *count, struct dnn_ranked *);
    dnn_status (*rank_weights)(dnn_handle, dnn_tensor x, dnn_tensor dy, dnn_convolution,
                               dnn_filter dw, int capacity, int *count, struct dnn_ranked *);
    dnn_status (*space_forward)(dnn_handle, dnn_tensor x, dnn_filter w, dnn_convolution,
                                dnn_tensor y, dnn_algorithm, size_t *bytes);
    dnn_status (*space_input)(dnn_handle, dnn_filter w, dnn_tensor dy, dnn_convolution,
                              dnn_tensor dx, dnn_algorithm, size_t *bytes);
    dnn_status (*space_weights)(dnn_handle, dnn_tensor x, dnn_tensor dy, dnn_convolution,
                                dnn_filter dw, dnn_algorithm, size_t *bytes);
    dnn_status (*forward)(dnn_handle, const void *alpha, dnn_tensor, const void *x, dnn_filter,
                          const void *w, dnn_convolution, dnn_algorithm, void *workspace,
                          size_t bytes, const void *beta, dnn_tensor, void *y);
    /* y = activation(alpha1 convolution(x) + alpha2 z + bias) */
    dnn_status (*forward_fused)(dnn_handle, const void *alpha1, dnn_tensor, const void *x,
                                dnn_filter, const void *w, dnn_convolution, dnn_algorithm,
                                void *workspace, size_t bytes, const void *alpha2, dnn_tensor,
                                const void *z, dnn_tensor, const void *bias, dnn_activation,
                                dnn_tensor, void *y);
    dnn_status (*backward_input)(dnn_handle, const void *alpha, dnn_filter, const void *w,
                                 dnn_tensor, const void *dy, dnn_convolution, dnn_algorithm,
                                 void *workspace, size_t bytes, const void *beta, dnn_tensor,
                                 void *dx);
    dnn_status (*backward_weights)(dnn_handle, const void *alpha, dnn_tensor, const void *x,
                                   dnn_tensor, const void *dy, dnn_convolution, dnn_algorithm,
                                   void *workspace, size_t bytes, const void *beta, dnn_filter,
                                   void *dw);
};

/* Returns the library, which stays loaded, or NULL if it is not used; dnn_describe says why. A
 * library that is missing is looked for at each call, because it may be installed meanwhile. */
const struct dnn_library *dnn_load(void);

/* Loads the library and writes its version, such as "9.1.0", or "" and into `missing` why it is not
 * used on GPU `ordinal`, in English. */
void dnn_describe(int ordinal, char *version, size_t size, char *missing, size_t missing_size);

/* Notes the status with which cuDNN started on a GPU; dnn_describe then says that it cannot be
 * used there, and why, in cuDNN's words. */
void dnn_note_start(int ordinal, dnn_status status);

/* Returns whether a status means that cuDNN cannot compute the call, or has no memory for it, so
 * that another kernel should. Other statuses are failures. */
bool dnn_refuses(dnn_status status);

/* Writes cuDNN's own text of a status: its name and, from version 9 on, what the library says about
 * the last failure of this thread. */
void dnn_text(dnn_status status, char *text, size_t size);

#endif
