/* Convolution by cuDNN, in modules that are built with it: the same values as by our own kernels,
 * and meant to be faster where there is much to multiply. Only algorithms that give the same bits
 * every time. What cuDNN cannot do, or only in more memory than it is given, is done by our own: a
 * move of channels that is read through, bfloat16, a window that it refuses. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/kernels.h"

#if !HAVE_CUDNN
void cuda_dnn_open(struct cuda_context *context)
{
    context->dnn = NULL;
}

void cuda_dnn_close(struct cuda_context *context)
{
    (void)context;
}
#else

#include "base/language.h"

#include <cudnn.h>

void cuda_dnn_open(struct cuda_context *context)
{
    cudnnHandle_t handle = NULL;
    if (cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS &&
        cudnnSetStream(handle, context->stream) == CUDNN_STATUS_SUCCESS)
        context->dnn = handle;
}

void cuda_dnn_close(struct cuda_context *context)
{
    if (context->dnn)
        cudnnDestroy((cudnnHandle_t)context->dnn);
    context->dnn = NULL;
}

/* A site is planned where there is no handle to ask: so much is there for each, and used if enough.
 */
static const size_t budget = (size_t)32 << 20;

static const cudnnConvolutionFwdAlgo_t forward_algorithm =
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
static const cudnnConvolutionBwdDataAlgo_t input_algorithm = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
static const cudnnConvolutionBwdFilterAlgo_t weight_algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

/* A convolution as cuDNN describes it. */
struct described {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t in, out;
    cudnnFilterDescriptor_t weight;
    cudnnConvolutionDescriptor_t conv;
};

static void forget(struct described *d)
{
    if (d->in)
        cudnnDestroyTensorDescriptor(d->in);
    if (d->out)
        cudnnDestroyTensorDescriptor(d->out);
    if (d->weight)
        cudnnDestroyFilterDescriptor(d->weight);
    if (d->conv)
        cudnnDestroyConvolutionDescriptor(d->conv);
}

static bool describe_tensor(cudnnTensorDescriptor_t *tensor, size_t batch, struct shape shape)
{
    return cudnnCreateTensorDescriptor(tensor) == CUDNN_STATUS_SUCCESS &&
           cudnnSetTensor4dDescriptor(*tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, (int)batch,
                                      (int)shape.channels, (int)shape.height,
                                      (int)shape.width) == CUDNN_STATUS_SUCCESS;
}

static cudnnMathType_t math_of(enum cuda_precision precision)
{
    return precision == CUDA_FLOAT32 ? CUDNN_FMA_MATH
           : precision == CUDA_TF32  ? CUDNN_DEFAULT_MATH
                                     : CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
}

static bool describe_conv(struct described *d, const struct conv_attributes *conv, size_t channels,
                          enum cuda_precision precision)
{
    const struct window *w = &conv->window;
    return cudnnCreateFilterDescriptor(&d->weight) == CUDNN_STATUS_SUCCESS &&
           cudnnSetFilter4dDescriptor(d->weight, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                      (int)conv->outputs, (int)(channels / conv->groups),
                                      (int)w->kernel_height,
                                      (int)w->kernel_width) == CUDNN_STATUS_SUCCESS &&
           cudnnCreateConvolutionDescriptor(&d->conv) == CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolution2dDescriptor(d->conv, (int)w->pad_height, (int)w->pad_width,
                                           (int)w->stride_height, (int)w->stride_width, 1, 1,
                                           CUDNN_CROSS_CORRELATION,
                                           CUDNN_DATA_FLOAT) == CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolutionGroupCount(d->conv, (int)conv->groups) == CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolutionMathType(d->conv, math_of(precision)) == CUDNN_STATUS_SUCCESS;
}

/* False: not for cuDNN. To be forgotten in either case. */
static bool describe(struct described *d, const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    const struct cuda_context *context = context_of(call);
    *d = {};
    d->handle = (cudnnHandle_t)context->dnn;
    return d->handle && !site->fused_move && context->precision != CUDA_BF16 &&
           describe_tensor(&d->in, site->batch, site->inputs[0]) &&
           describe_tensor(&d->out, site->batch, site->node->output) &&
           describe_conv(d, &site->node->attributes.conv, site->inputs[0].channels,
                         context->precision);
}

static void note(const struct kernel_call *call, const char *what, cudnnStatus_t status)
{
    if (status != CUDNN_STATUS_SUCCESS)
        cuda_note(context_of(call), what, cudaErrorUnknown);
}

/* --- passes; false: not done --- */

static bool run_forward(const struct described *d, const struct kernel_call *call)
{
    size_t bytes;
    const float one = 1.0f;
    if (cudnnGetConvolutionForwardWorkspaceSize(d->handle, d->in, d->weight, d->conv, d->out,
                                                forward_algorithm,
                                                &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > budget)
        return false;
    const float keep = conv_begin_output(call);
    note(call, "conv forward by cuDNN",
         cudnnConvolutionForward(d->handle, &one, d->in, call->inputs[0], d->weight,
                                 call->parameters[0], d->conv, forward_algorithm, call->workspace,
                                 bytes, &keep, d->out, call->output));
    return true;
}

static bool run_input(const struct described *d, const struct kernel_call *call)
{
    size_t bytes;
    const float one = 1.0f, keep = call->accumulate[0] ? 1.0f : 0.0f;
    if (cudnnGetConvolutionBackwardDataWorkspaceSize(d->handle, d->weight, d->out, d->conv, d->in,
                                                     input_algorithm,
                                                     &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > budget)
        return false;
    note(call, "conv backward by cuDNN, input",
         cudnnConvolutionBackwardData(d->handle, &one, d->weight, call->parameters[0], d->out,
                                      call->output_gradient, d->conv, input_algorithm,
                                      call->workspace, bytes, &keep, d->in,
                                      call->input_gradients[0]));
    return true;
}

static bool run_weights(const struct described *d, const struct kernel_call *call)
{
    size_t bytes;
    const float one = 1.0f, zero = 0.0f;
    const struct shape out = call->site->node->output;
    if (!call->parameter_gradients[0] ||
        cudnnGetConvolutionBackwardFilterWorkspaceSize(d->handle, d->in, d->out, d->conv, d->weight,
                                                       weight_algorithm,
                                                       &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > budget)
        return false;
    note(call, "conv backward by cuDNN, weights",
         cudnnConvolutionBackwardFilter(d->handle, &one, d->in, call->inputs[0], d->out,
                                        call->output_gradient, d->conv, weight_algorithm,
                                        call->workspace, bytes, &zero, d->weight,
                                        call->parameter_gradients[0]));
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        sum_channels(context_of(call), "conv backward, bias", call->output_gradient,
                     call->site->batch, out.channels, shape_area(out),
                     call->parameter_gradients[1]);
    return true;
}

/* --- the kernel --- */

static bool supports_cudnn(const struct kernel_site *site, const char **reason)
{
    if (conv_work(site) >= conv_least_work())
        return conv_supports(site, reason);
    *reason = N_("too small for a library's convolution");
    return false;
}

static size_t workspace_cudnn(const struct kernel_site *site)
{
    const size_t own = conv_workspace(site);
    return own > budget ? own : budget;
}

static void forward_cudnn(const struct kernel_call *call)
{
    struct described d;
    if (!describe(&d, call) || !run_forward(&d, call))
        conv_forward(call);
    forget(&d);
}

static void backward_cudnn(const struct kernel_call *call)
{
    struct described d;
    const bool described = describe(&d, call);
    if (call->input_gradients[0] && (!described || !run_input(&d, call)))
        conv_backward_input(call);
    if (!described || !run_weights(&d, call))
        conv_backward_weights(call);
    forget(&d);
}

struct cuda_kernel cuda_conv_cudnn = {
    "conv",
    {"conv cuDNN", "cuda", NULL, KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES,
     supports_cudnn, NULL, workspace_cudnn, forward_cudnn, backward_cudnn}};
#endif
