/* The three passes of a convolution as one loop over all pairs of an output position and a window
 * element; each pass adds to a different array. Workspace is requested and overwritten, as the real
 * library may do. */
#include "cudnn.h"

#include <vector>

struct emulated_dnn {
    cudaStream_t stream;
};
struct emulated_sizes {
    int n, c, h, w; /* filter: outputs, channels of a group, window */
};
struct emulated_conv {
    int pad_h, pad_w, stride_h, stride_w, groups;
};

enum { WORKSPACE_BYTES = 4096 };

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = new emulated_dnn{nullptr};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* --- descriptors --- */

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
    *tensor = new emulated_sizes();
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    delete tensor;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t,
                                         cudnnDataType_t, int n, int c, int h, int w)
{
    *tensor = {n, c, h, w};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
    return cudnnCreateTensorDescriptor(filter);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    return cudnnDestroyTensorDescriptor(filter);
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t,
                                         cudnnTensorFormat_t, int k, int c, int h, int w)
{
    *filter = {k, c, h, w};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *conv)
{
    *conv = new emulated_conv();
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t conv)
{
    delete conv;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv, int pad_h,
                                              int pad_w, int u, int v, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t)
{
    *conv = {pad_h, pad_w, u, v, 1};
    return dilation_h == 1 && dilation_w == 1 && mode == CUDNN_CROSS_CORRELATION
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t conv, int groups)
{
    conv->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t)
{
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
    return p->x.n == p->y.n && p->y.c == p->w.n && p->x.c == p->w.c * c.groups &&
           p->w.n % c.groups == 0 && p->y.h == (p->x.h + 2 * c.pad_h - p->w.h) / c.stride_h + 1 &&
           p->y.w == (p->x.w + 2 * c.pad_w - p->w.w) / c.stride_w + 1;
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
                                visit(((n * p->x.c + c) * p->x.h + y) * p->x.w + x,
                                      ((o * p->w.c + i) * p->w.h + ky) * p->w.w + kx,
                                      ((n * p->y.c + o) * p->y.h + oy) * p->y.w + ox);
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

static cudnnStatus_t ask(size_t *bytes)
{
    *bytes = WORKSPACE_BYTES;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t submit(cudnnHandle_t handle, const struct pass *p, void *workspace,
                            size_t bytes, const std::function<void()> &work)
{
    if (!fits(p) || bytes < WORKSPACE_BYTES || !workspace)
        return CUDNN_STATUS_BAD_PARAM;
    emulator_submit(handle->stream, [=] {
        memset(workspace, 0xff, bytes);
        work();
    });
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                      cudnnFilterDescriptor_t,
                                                      cudnnConvolutionDescriptor_t,
                                                      cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t, size_t *bytes)
{
    return ask(bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *,
                                      cudnnTensorDescriptor_t x_sizes, const void *x,
                                      cudnnFilterDescriptor_t w_sizes, const void *w,
                                      cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t,
                                      void *workspace, size_t bytes, const void *beta,
                                      cudnnTensorDescriptor_t y_sizes, void *y)
{
    const pass p = {*x_sizes, *w_sizes, *y_sizes, *conv};
    const float keep = *(const float *)beta;
    return submit(handle, &p, workspace, bytes, [=] {
        std::vector<double> sums(count_of(p.y));
        visit_pairs(&p, [&](int at_x, int at_w, int at_y) {
            sums[at_y] += (double)((const float *)x)[at_x] * ((const float *)w)[at_w];
        });
        end(sums, keep, (float *)y);
    });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t, size_t *bytes)
{
    return ask(bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *,
                                           cudnnFilterDescriptor_t w_sizes, const void *w,
                                           cudnnTensorDescriptor_t dy_sizes, const void *dy,
                                           cudnnConvolutionDescriptor_t conv,
                                           cudnnConvolutionBwdDataAlgo_t, void *workspace,
                                           size_t bytes, const void *beta,
                                           cudnnTensorDescriptor_t dx_sizes, void *dx)
{
    const pass p = {*dx_sizes, *w_sizes, *dy_sizes, *conv};
    const float keep = *(const float *)beta;
    return submit(handle, &p, workspace, bytes, [=] {
        std::vector<double> sums(count_of(p.x));
        visit_pairs(&p, [&](int at_x, int at_w, int at_y) {
            sums[at_x] += (double)((const float *)dy)[at_y] * ((const float *)w)[at_w];
        });
        end(sums, keep, (float *)dx);
    });
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t, size_t *bytes)
{
    return ask(bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *,
                                             cudnnTensorDescriptor_t x_sizes, const void *x,
                                             cudnnTensorDescriptor_t dy_sizes, const void *dy,
                                             cudnnConvolutionDescriptor_t conv,
                                             cudnnConvolutionBwdFilterAlgo_t, void *workspace,
                                             size_t bytes, const void *beta,
                                             cudnnFilterDescriptor_t dw_sizes, void *dw)
{
    const pass p = {*x_sizes, *dw_sizes, *dy_sizes, *conv};
    const float keep = *(const float *)beta;
    return submit(handle, &p, workspace, bytes, [=] {
        std::vector<double> sums(count_of(p.w));
        visit_pairs(&p, [&](int at_x, int at_w, int at_y) {
            sums[at_w] += (double)((const float *)x)[at_x] * ((const float *)dy)[at_y];
        });
        end(sums, keep, (float *)dw);
    });
}
