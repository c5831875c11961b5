/* The three passes of a convolution as one loop over all pairs of an output position and a window
 * element; each pass adds to a different array. Workspace is requested and overwritten, as the real
 * library may do. The heuristics rank an algorithm first that is not deterministic, then a best and
 * a slower one that are, each with and without tensor cores. */
#include "cudnn.h"

#include "libraries.h"

#include <cstdio>
#include <vector>

struct emulated_dnn {
    cudaStream_t stream;
};
struct emulated_sizes {
    int n, c, h, w; /* filter: outputs, channels of a group, window */
    bool last;      /* NHWC */
};
struct emulated_conv {
    int pad_h, pad_w, stride_h, stride_w, groups;
};
struct emulated_activation {
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t propagation;
};

enum { ALGO_RANDOM, ALGO_BEST, ALGO_SLOW, ALGOS };

static bool hidden, create_fails, only_best;
static size_t version = 90100, best_bytes = 8192, passes[ALGOS];
static int fail_with[4];
static size_t fused_passes[2]; /* with the identity, with a relu */

void emulator_hide_cudnn(bool hide)
{
    hidden = hide;
}

void emulator_set_cudnn_version(size_t number)
{
    version = number;
}

void emulator_fail_cudnn_create(bool fail)
{
    create_fails = fail;
}

void emulator_fail_cudnn(int pass, int status)
{
    fail_with[pass] = status;
}

void emulator_set_cudnn_workspace(size_t bytes)
{
    best_bytes = bytes;
}

void emulator_limit_cudnn(bool limit)
{
    only_best = limit;
}

size_t emulator_cudnn_passes(bool best)
{
    return best ? passes[ALGO_BEST] : passes[ALGO_BEST] + passes[ALGO_SLOW];
}

size_t emulator_cudnn_fused(bool relu)
{
    return fused_passes[relu];
}

static size_t cudnnGetVersion(void)
{
    return version;
}

static const char *cudnnGetErrorString(cudnnStatus_t status)
{
    static char text[64];
    snprintf(text, sizeof text, "CUDNN_STATUS_%d", (int)status);
    return text;
}

static void cudnnGetLastErrorString(char *text, size_t size)
{
    snprintf(text, size, "an emulated cuDNN refused");
}

static cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (create_fails)
        return (cudnnStatus_t)(version >= 90000 ? 4003 : 2);
    *handle = new emulated_dnn{nullptr};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* --- descriptors --- */

static cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
    *tensor = new emulated_sizes();
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    delete tensor;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                                cudnnTensorFormat_t format, cudnnDataType_t, int n,
                                                int c, int h, int w)
{
    *tensor = {n, c, h, w, format == CUDNN_TENSOR_NHWC};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
    return cudnnCreateTensorDescriptor(filter);
}

static cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    return cudnnDestroyTensorDescriptor(filter);
}

static cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t,
                                                cudnnTensorFormat_t format, int k, int c, int h,
                                                int w)
{
    *filter = {k, c, h, w, format == CUDNN_TENSOR_NHWC};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *conv)
{
    *conv = new emulated_conv();
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t conv)
{
    delete conv;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv, int pad_h,
                                                     int pad_w, int u, int v, int dilation_h,
                                                     int dilation_w, cudnnConvolutionMode_t mode,
                                                     cudnnDataType_t)
{
    *conv = {pad_h, pad_w, u, v, 1};
    return dilation_h == 1 && dilation_w == 1 && mode == CUDNN_CROSS_CORRELATION
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t conv, int groups)
{
    conv->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t)
{
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *activation)
{
    *activation = new emulated_activation();
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation)
{
    delete activation;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation,
                                                  cudnnActivationMode_t mode,
                                                  cudnnNanPropagation_t propagation, double)
{
    *activation = {mode, propagation};
    return CUDNN_STATUS_SUCCESS;
}

/* --- passes --- */

struct pass {
    emulated_sizes x, w, y;
    emulated_conv conv;
};

static bool fits(const struct pass *p)
{
    const emulated_conv &c = p->conv;
    return p->x.last == p->y.last && p->x.last == p->w.last && p->x.n == p->y.n &&
           p->y.c == p->w.n && p->x.c == p->w.c * c.groups && p->w.n % c.groups == 0 &&
           p->y.h == (p->x.h + 2 * c.pad_h - p->w.h) / c.stride_h + 1 &&
           p->y.w == (p->x.w + 2 * c.pad_w - p->w.w) / c.stride_w + 1;
}

/* Returns the index of an element in its format. */
static int index_of(const emulated_sizes &s, int n, int c, int y, int x)
{
    return s.last ? ((n * s.h + y) * s.w + x) * s.c + c : ((n * s.c + c) * s.h + y) * s.w + x;
}

/* visit(element of x, of w, of y) */
template <class F> static void visit_pairs(const struct pass *p, F visit)
{
    const int outputs = p->w.n / p->conv.groups; /* channels of a group */
    for (int n = 0; n < p->y.n; n++)
        for (int o = 0; o < p->y.c; o++)
            for (int oy = 0; oy < p->y.h; oy++)
                for (int ox = 0; ox < p->y.w; ox++)
                    for (int i = 0; i < p->w.c; i++)
                        for (int ky = 0; ky < p->w.h; ky++)
                            for (int kx = 0; kx < p->w.w; kx++) {
                                const int y = oy * p->conv.stride_h + ky - p->conv.pad_h;
                                const int x = ox * p->conv.stride_w + kx - p->conv.pad_w;
                                const int c = o / outputs * p->w.c + i;
                                if (y < 0 || x < 0 || y >= p->x.h || x >= p->x.w)
                                    continue;
                                visit(index_of(p->x, n, c, y, x), index_of(p->w, o, i, ky, kx),
                                      index_of(p->y, n, o, oy, ox));
                            }
}

/* Computes to = sums + beta * to; with beta 0 `to` is not read. */
static void end(const std::vector<double> &sums, float beta, float *to)
{
    for (size_t i = 0; i < sums.size(); i++)
        to[i] = (float)sums[i] + (beta != 0 ? beta * to[i] : 0.0f);
}

static size_t count_of(const emulated_sizes &sizes)
{
    return (size_t)sizes.n * sizes.c * sizes.h * sizes.w;
}

static size_t bytes_of(cudnnAlgo_t algorithm)
{
    return algorithm == ALGO_BEST ? best_bytes : 4096;
}

static cudnnStatus_t ask(cudnnAlgo_t algorithm, size_t *bytes)
{
    *bytes = bytes_of(algorithm);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t rank(int capacity, int *count, cudnnAlgoPerf_t *list)
{
    static const cudnnMathType_t maths[] = {CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH};
    *count = 0;
    for (cudnnAlgo_t algorithm = 0; algorithm < (only_best ? ALGO_SLOW : ALGOS); algorithm++)
        for (cudnnMathType_t math : maths)
            if (*count < capacity)
                list[(*count)++] = {algorithm,
                                    CUDNN_STATUS_SUCCESS,
                                    (float)algorithm,
                                    bytes_of(algorithm),
                                    algorithm == ALGO_RANDOM ? CUDNN_NON_DETERMINISTIC
                                                             : CUDNN_DETERMINISTIC,
                                    math,
                                    {}};
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                            cudnnFilterDescriptor_t,
                                                            cudnnConvolutionDescriptor_t,
                                                            cudnnTensorDescriptor_t, int capacity,
                                                            int *count, cudnnAlgoPerf_t *list)
{
    return rank(capacity, count, list);
}

static cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, int capacity, int *count, cudnnAlgoPerf_t *list)
{
    return rank(capacity, count, list);
}

static cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnFilterDescriptor_t, int capacity, int *count, cudnnAlgoPerf_t *list)
{
    return rank(capacity, count, list);
}

/* Overwrites the workspace and does the work, later. */
static cudnnStatus_t submit(cudnnHandle_t handle, const struct pass *p, int number,
                            cudnnAlgo_t algorithm, void *workspace, size_t bytes,
                            const std::function<void()> &work)
{
    if (fail_with[number])
        return (cudnnStatus_t)fail_with[number];
    if (!fits(p) || algorithm == ALGO_RANDOM || bytes < bytes_of(algorithm) || !workspace)
        return CUDNN_STATUS_BAD_PARAM;
    passes[algorithm]++;
    emulator_submit(handle->stream, [=] {
        memset(workspace, 0xff, bytes);
        work();
    });
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                             cudnnFilterDescriptor_t,
                                                             cudnnConvolutionDescriptor_t,
                                                             cudnnTensorDescriptor_t,
                                                             cudnnAlgo_t algorithm, size_t *bytes)
{
    return ask(algorithm, bytes);
}

static cudnnStatus_t
cudnnConvolutionForward(cudnnHandle_t handle, const void *, cudnnTensorDescriptor_t x_sizes,
                        const void *x, cudnnFilterDescriptor_t w_sizes, const void *w,
                        cudnnConvolutionDescriptor_t conv, cudnnAlgo_t algorithm, void *workspace,
                        size_t bytes, const void *beta, cudnnTensorDescriptor_t y_sizes, void *y)
{
    const pass p = {*x_sizes, *w_sizes, *y_sizes, *conv};
    const float keep = *(const float *)beta;
    return submit(handle, &p, 0, algorithm, workspace, bytes, [=] {
        std::vector<double> sums(count_of(p.y));
        visit_pairs(&p, [&](int at_x, int at_w, int at_y) {
            sums[at_y] += (double)((const float *)x)[at_x] * ((const float *)w)[at_w];
        });
        end(sums, keep, (float *)y);
    });
}

/* Returns whether the arguments are what the real library demands: z and y of one shape, a bias for
 * each channel, and the identity only by the algorithm IMPLICIT_PRECOMP_GEMM, here ALGO_BEST. */
static bool can_fuse(const struct pass *p, const emulated_sizes *z, const emulated_sizes *bias,
                     const emulated_activation *activation, cudnnAlgo_t algorithm)
{
    return memcmp(z, &p->y, sizeof *z) == 0 && bias->n == 1 && bias->c == p->y.c && bias->h == 1 &&
           bias->w == 1 && activation->propagation == CUDNN_PROPAGATE_NAN &&
           (activation->mode == CUDNN_ACTIVATION_RELU ||
            (activation->mode == CUDNN_ACTIVATION_IDENTITY && algorithm == ALGO_BEST));
}

static cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *, cudnnTensorDescriptor_t x_sizes, const void *x,
    cudnnFilterDescriptor_t w_sizes, const void *w, cudnnConvolutionDescriptor_t conv,
    cudnnAlgo_t algorithm, void *workspace, size_t bytes, const void *alpha2,
    cudnnTensorDescriptor_t z_sizes, const void *, cudnnTensorDescriptor_t bias_sizes,
    const void *bias, cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t y_sizes,
    void *y)
{
    const pass p = {*x_sizes, *w_sizes, *y_sizes, *conv};
    const bool relu = activation->mode == CUDNN_ACTIVATION_RELU;
    if (!can_fuse(&p, z_sizes, bias_sizes, activation, algorithm) || *(const float *)alpha2 != 0)
        return CUDNN_STATUS_BAD_PARAM;
    const cudnnStatus_t status =
        submit(handle, &p, fail_with[0] ? 0 : 3, algorithm, workspace, bytes, [=] {
            std::vector<double> sums(count_of(p.y));
            visit_pairs(&p, [&](int at_x, int at_w, int at_y) {
                sums[at_y] += (double)((const float *)x)[at_x] * ((const float *)w)[at_w];
            });
            end(sums, 0, (float *)y);
            for (size_t i = 0; i < sums.size(); i++) {
                float *value = &((float *)y)[i];
                *value += ((const float *)bias)[i / (p.y.h * p.y.w) % p.y.c];
                *value = relu && *value < 0 ? 0 : *value;
            }
        });
    fused_passes[relu] += status == CUDNN_STATUS_SUCCESS;
    return status;
}

static cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnAlgo_t algorithm, size_t *bytes)
{
    return ask(algorithm, bytes);
}

static cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *,
                                                  cudnnFilterDescriptor_t w_sizes, const void *w,
                                                  cudnnTensorDescriptor_t dy_sizes, const void *dy,
                                                  cudnnConvolutionDescriptor_t conv,
                                                  cudnnAlgo_t algorithm, void *workspace,
                                                  size_t bytes, const void *beta,
                                                  cudnnTensorDescriptor_t dx_sizes, void *dx)
{
    const pass p = {*dx_sizes, *w_sizes, *dy_sizes, *conv};
    const float keep = *(const float *)beta;
    return submit(handle, &p, 1, algorithm, workspace, bytes, [=] {
        std::vector<double> sums(count_of(p.x));
        visit_pairs(&p, [&](int at_x, int at_w, int at_y) {
            sums[at_x] += (double)((const float *)dy)[at_y] * ((const float *)w)[at_w];
        });
        end(sums, keep, (float *)dx);
    });
}

static cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnFilterDescriptor_t, cudnnAlgo_t algorithm, size_t *bytes)
{
    return ask(algorithm, bytes);
}

static cudnnStatus_t
cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *, cudnnTensorDescriptor_t x_sizes,
                               const void *x, cudnnTensorDescriptor_t dy_sizes, const void *dy,
                               cudnnConvolutionDescriptor_t conv, cudnnAlgo_t algorithm,
                               void *workspace, size_t bytes, const void *beta,
                               cudnnFilterDescriptor_t dw_sizes, void *dw)
{
    const pass p = {*x_sizes, *dw_sizes, *dy_sizes, *conv};
    const float keep = *(const float *)beta;
    return submit(handle, &p, 2, algorithm, workspace, bytes, [=] {
        std::vector<double> sums(count_of(p.w));
        visit_pairs(&p, [&](int at_x, int at_w, int at_y) {
            sums[at_w] += (double)((const float *)x)[at_x] * ((const float *)dy)[at_y];
        });
        end(sums, keep, (float *)dw);
    });
}

/* --- the library as a file --- */

bool emulator_cudnn_is_there(const char *name)
{
    return !hidden && strcmp(name, version >= 90000  ? "libcudnn.so.9"
                                   : version >= 8000 ? "libcudnn.so.8"
                                                     : "libcudnn.so") == 0;
}

#define FUNCTION(name)                                                                             \
    {                                                                                              \
#name, (void *)name                                                                        \
    }
const struct emulated_function emulator_cudnn_functions[] = {
    FUNCTION(cudnnGetVersion),
    FUNCTION(cudnnGetErrorString),
    FUNCTION(cudnnGetLastErrorString),
    FUNCTION(cudnnCreate),
    FUNCTION(cudnnDestroy),
    FUNCTION(cudnnSetStream),
    FUNCTION(cudnnCreateTensorDescriptor),
    FUNCTION(cudnnDestroyTensorDescriptor),
    FUNCTION(cudnnSetTensor4dDescriptor),
    FUNCTION(cudnnCreateFilterDescriptor),
    FUNCTION(cudnnDestroyFilterDescriptor),
    FUNCTION(cudnnSetFilter4dDescriptor),
    FUNCTION(cudnnCreateConvolutionDescriptor),
    FUNCTION(cudnnDestroyConvolutionDescriptor),
    FUNCTION(cudnnSetConvolution2dDescriptor),
    FUNCTION(cudnnSetConvolutionGroupCount),
    FUNCTION(cudnnSetConvolutionMathType),
    FUNCTION(cudnnCreateActivationDescriptor),
    FUNCTION(cudnnDestroyActivationDescriptor),
    FUNCTION(cudnnSetActivationDescriptor),
    FUNCTION(cudnnGetConvolutionForwardAlgorithm_v7),
    FUNCTION(cudnnGetConvolutionBackwardDataAlgorithm_v7),
    FUNCTION(cudnnGetConvolutionBackwardFilterAlgorithm_v7),
    FUNCTION(cudnnGetConvolutionForwardWorkspaceSize),
    FUNCTION(cudnnGetConvolutionBackwardDataWorkspaceSize),
    FUNCTION(cudnnGetConvolutionBackwardFilterWorkspaceSize),
    FUNCTION(cudnnConvolutionForward),
    FUNCTION(cudnnConvolutionBiasActivationForward),
    FUNCTION(cudnnConvolutionBackwardData),
    FUNCTION(cudnnConvolutionBackwardFilter),
    {nullptr, nullptr}};
