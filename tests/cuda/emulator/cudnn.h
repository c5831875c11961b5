/* cudnn.h of the emulator: the part of cuDNN that the CUDA device needs, as the library's own
 * header declares it. The device has declarations of its own (cudnn_library.h), so a difference
 * shows. Status numbers are those of version 9, or those of version 8 if that is emulated.
 */
#ifndef TINCA_TESTS_CUDNN_H
#define TINCA_TESTS_CUDNN_H

#include "cuda_runtime.h"

typedef enum cudnnStatus_t : int {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_NOT_SUPPORTED = 3000
} cudnnStatus_t;
typedef enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC } cudnnTensorFormat_t;
typedef enum cudnnDataType_t { CUDNN_DATA_FLOAT } cudnnDataType_t;
typedef enum cudnnConvolutionMode_t {
    CUDNN_CONVOLUTION,
    CUDNN_CROSS_CORRELATION
} cudnnConvolutionMode_t;
typedef enum cudnnMathType_t {
    CUDNN_DEFAULT_MATH,
    CUDNN_TENSOR_OP_MATH,
    CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION,
    CUDNN_FMA_MATH
} cudnnMathType_t;
typedef enum cudnnActivationMode_t {
    CUDNN_ACTIVATION_RELU = 1,
    CUDNN_ACTIVATION_IDENTITY = 5
} cudnnActivationMode_t;
typedef enum cudnnNanPropagation_t {
    CUDNN_NOT_PROPAGATE_NAN,
    CUDNN_PROPAGATE_NAN
} cudnnNanPropagation_t;
typedef enum cudnnDeterminism_t { CUDNN_NON_DETERMINISTIC, CUDNN_DETERMINISTIC } cudnnDeterminism_t;
typedef int cudnnAlgo_t;         /* cudnnConvolutionFwdAlgo_t, BwdDataAlgo_t and BwdFilterAlgo_t */
typedef struct cudnnAlgoPerf_t { /* cudnnConvolution*AlgoPerf_t */
    cudnnAlgo_t algo;
    cudnnStatus_t status;
    float time;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t mathType;
    int reserved[3];
} cudnnAlgoPerf_t;

typedef struct emulated_dnn *cudnnHandle_t;
typedef struct emulated_sizes *cudnnTensorDescriptor_t;
typedef struct emulated_sizes *cudnnFilterDescriptor_t;
typedef struct emulated_conv *cudnnConvolutionDescriptor_t;
typedef struct emulated_activation *cudnnActivationDescriptor_t;

extern "C" {
/* --- functions of the emulator --- */

/* Hides the library. */
void emulator_hide_cudnn(bool hide);
/* Sets the version: 90100 is 9.1.0, 8907 is 8.9.7. A library that is loaded stays as it is. */
void emulator_set_cudnn_version(size_t version);
/* Makes cudnnCreate fail. */
void emulator_fail_cudnn_create(bool fail);
/* Makes each call of a pass (0 forward, 1 input, 2 weights, 3 forward with bias and activation, to
 * which 0 applies, too) return this status; 0: none. */
void emulator_fail_cudnn(int pass, int status);
/* Sets the workspace of the algorithm that the heuristics rank best; a slower one needs 4 KiB. */
void emulator_set_cudnn_workspace(size_t bytes);
/* Removes the slower algorithm from the rankings, so that only the best one is left. */
void emulator_limit_cudnn(bool limit);
/* Returns how many passes were computed by the algorithm that is ranked best, or by any. */
size_t emulator_cudnn_passes(bool best);
/* Returns how many forward passes had a fused bias and the identity, or a relu. */
size_t emulator_cudnn_fused(bool relu);
}

#endif
