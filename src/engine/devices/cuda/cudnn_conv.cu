/* cuDNN's functions for one pass of a convolution: descriptors, the ranking of algorithms, the
 * call.
 *
 * Channels-last arrays are described to it as NHWC, for which its kernels for tensor cores need no
 * transposition. The filter must have the same order: it is packed in the workspace, behind that of
 * the algorithm, and its gradient is unpacked from there. */
#include "engine/devices/cuda/conv_choice.h"

#include "engine/devices/cuda/conv.h"

#include <stdio.h>

/* --- descriptors --- */

struct described {
    const struct dnn_library *library;
    dnn_handle handle;
    dnn_tensor in, out, bias; /* bias and activation: only for a fused forward pass */
    dnn_filter weight;
    dnn_convolution conv;
    dnn_activation activation;
};

static void forget(struct described *d)
{
    if (d->in)
        d->library->destroy_tensor(d->in);
    if (d->out)
        d->library->destroy_tensor(d->out);
    if (d->bias)
        d->library->destroy_tensor(d->bias);
    if (d->activation)
        d->library->destroy_activation(d->activation);
    if (d->weight)
        d->library->destroy_filter(d->weight);
    if (d->conv)
        d->library->destroy_convolution(d->conv);
}

static enum dnn_math math_of(enum cuda_precision precision)
{
    return precision == CUDA_FLOAT32 ? DNN_FMA_MATH
           : precision == CUDA_TF32  ? DNN_DEFAULT_MATH
                                     : DNN_TENSOR_MATH_CONVERTS;
}

static bool describe_arrays(struct described *d, const struct dnn_shape *s)
{
    const struct dnn_library *f = d->library;
    const int format = s->last ? DNN_NHWC : DNN_NCHW;
    return f->create_tensor(&d->in) == DNN_SUCCESS && f->create_tensor(&d->out) == DNN_SUCCESS &&
           f->create_filter(&d->weight) == DNN_SUCCESS &&
           f->set_tensor(d->in, format, DNN_FLOAT, s->batch, s->channels, s->height, s->width) ==
               DNN_SUCCESS &&
           f->set_tensor(d->out, format, DNN_FLOAT, s->batch, s->outputs, s->out_height,
                         s->out_width) == DNN_SUCCESS &&
           f->set_filter(d->weight, DNN_FLOAT, format, s->outputs, s->channels / s->groups,
                         s->kernel[0], s->kernel[1]) == DNN_SUCCESS;
}

/* Creates the descriptors. Returns false if cuDNN cannot. The caller calls forget() in either case.
 */
static bool describe(struct described *d, const struct cuda_dnn *dnn, const struct dnn_shape *s)
{
    const struct dnn_library *f = dnn->library;
    *d = {};
    d->library = f;
    d->handle = dnn->handle;
    return describe_arrays(d, s) && f->create_convolution(&d->conv) == DNN_SUCCESS &&
           f->set_convolution(d->conv, s->pad[0], s->pad[1], s->stride[0], s->stride[1], 1, 1,
                              DNN_CROSS_CORRELATION, DNN_FLOAT) == DNN_SUCCESS &&
           f->set_groups(d->conv, s->groups) == DNN_SUCCESS &&
           f->set_math(d->conv, math_of(s->precision)) == DNN_SUCCESS;
}

/* Creates the descriptors of a bias and an activation. Returns false if cuDNN cannot. */
static bool describe_epilogue(struct described *d, int outputs, bool rectify)
{
    const struct dnn_library *f = d->library;
    return f->create_tensor(&d->bias) == DNN_SUCCESS &&
           f->set_tensor(d->bias, DNN_NCHW, DNN_FLOAT, 1, outputs, 1, 1) == DNN_SUCCESS &&
           f->create_activation(&d->activation) == DNN_SUCCESS &&
           f->set_activation(d->activation, rectify ? DNN_RELU : DNN_IDENTITY, DNN_PROPAGATE_NAN,
                             0) == DNN_SUCCESS;
}

struct dnn_shape dnn_shape_of(const struct cuda_context *context, const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    const struct window *w = &conv->window;
    const struct shape in = site->inputs[0], out = site->node->output;
    return {(int)site->batch,
            (int)in.channels,
            (int)in.height,
            (int)in.width,
            (int)out.channels,
            (int)out.height,
            (int)out.width,
            (int)conv->groups,
            {(int)w->kernel_height, (int)w->kernel_width},
            {(int)w->stride_height, (int)w->stride_width},
            {(int)w->pad_height, (int)w->pad_width},
            conv->bias,
            site->output_layout.channels_last,
            context->precision};
}

/* --- the ranking --- */

static dnn_status ask_ranking(const struct described *d, enum dnn_pass pass, int *count,
                              struct dnn_ranked *list)
{
    const struct dnn_library *f = d->library;
    return pass == DNN_FORWARD ? f->rank_forward(d->handle, d->in, d->weight, d->conv, d->out,
                                                 DNN_RANKED, count, list)
           : pass == DNN_INPUT ? f->rank_input(d->handle, d->weight, d->out, d->conv, d->in,
                                               DNN_RANKED, count, list)
                               : f->rank_weights(d->handle, d->in, d->out, d->conv, d->weight,
                                                 DNN_RANKED, count, list);
}

static dnn_status ask_workspace(const struct described *d, enum dnn_pass pass,
                                dnn_algorithm algorithm, size_t *bytes)
{
    const struct dnn_library *f = d->library;
    return pass == DNN_FORWARD
               ? f->space_forward(d->handle, d->in, d->weight, d->conv, d->out, algorithm, bytes)
           : pass == DNN_INPUT
               ? f->space_input(d->handle, d->weight, d->out, d->conv, d->in, algorithm, bytes)
               : f->space_weights(d->handle, d->in, d->out, d->conv, d->weight, algorithm, bytes);
}

/* Returns whether products of this kind round operands no more coarsely than the precision says.
 * Tensor cores round float32 to TF32, and to float16 if they may convert. */
static bool math_is_fine(int math, enum cuda_precision precision)
{
    return precision == CUDA_FLOAT32 ? math == DNN_FMA_MATH
           : precision == CUDA_TF32  ? math != DNN_TENSOR_MATH_CONVERTS
                                     : true;
}

/* Returns whether an algorithm is as exact as float32 is. Winograd's transforms of a 5x5 window are
 * not: on an H100 the gradient of the weights was 8e-4 from the reference. */
static bool algorithm_is_fine(dnn_algorithm algorithm, enum dnn_pass pass,
                              const struct dnn_shape *shape)
{
    const dnn_algorithm winograd =
        pass == DNN_FORWARD ? DNN_FORWARD_WINOGRAD_NONFUSED : DNN_BACKWARD_WINOGRAD_NONFUSED;
    return shape->precision != CUDA_FLOAT32 || algorithm != winograd ||
           (shape->kernel[0] <= 3 && shape->kernel[1] <= 3);
}

/* Lists the suitable algorithms of the ranking, which may also name ones that round too coarsely.
 */
size_t dnn_list(const struct cuda_dnn *dnn, const struct dnn_shape *shape, enum dnn_pass pass,
                struct dnn_option list[DNN_RANKED])
{
    struct dnn_ranked ranked[DNN_RANKED];
    struct described d;
    int ranked_count = 0;
    size_t count = 0;
    if (!describe(&d, dnn, shape) || ask_ranking(&d, pass, &ranked_count, ranked) != DNN_SUCCESS)
        ranked_count = 0;
    for (int i = 0; i < ranked_count && i < DNN_RANKED; i++) {
        struct dnn_option option = {ranked[i].algorithm, ranked[i].math, 0};
        if (ranked[i].status == DNN_SUCCESS && ranked[i].determinism == DNN_DETERMINISTIC &&
            math_is_fine(option.math, shape->precision) &&
            algorithm_is_fine(option.algorithm, pass, shape) &&
            d.library->set_math(d.conv, option.math) == DNN_SUCCESS &&
            ask_workspace(&d, pass, option.algorithm, &option.bytes) == DNN_SUCCESS)
            list[count++] = option;
    }
    forget(&d);
    return count;
}

/* --- the filter of channels-last arrays --- */

/* Returns the product whose rows are the filter's. */
static struct implicit_gemm filter_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    const struct conv_shape shape = {
        site->inputs[0], site->node->output, conv->window, conv->groups, site->batch, true, true};
    return implicit_gemm_forward(&shape, NULL);
}

/* Returns whether the filter must be packed: the order of its values depends on the layout. */
static bool packs(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    return site->output_layout.channels_last && site->inputs[0].channels > conv->groups &&
           conv->window.kernel_height * conv->window.kernel_width > 1;
}

size_t dnn_packed_bytes(const struct kernel_site *site)
{
    return packs(site) ? (conv_packed_bytes(site) + 255) / 256 * 256 + 255 : 0;
}

/* Returns the place of the packed filter behind the workspace of an algorithm. */
static float *packed_of(const struct kernel_call *call, const struct dnn_option *option)
{
    return (float *)((char *)call->workspace + (option->bytes + 255) / 256 * 256);
}

static const float *pack(const struct kernel_call *call, const struct dnn_option *option)
{
    struct implicit_gemm filter = filter_of(call->site);
    return packs(call->site) ? implicit_gemm_pack(context_of(call), &filter, call->parameters[0],
                                                  packed_of(call, option))
                             : call->parameters[0];
}

/* --- passes --- */

static dnn_status run_forward(const struct described *d, const struct kernel_call *call,
                              const struct dnn_option *option)
{
    const float one = 1.0f, zero = 0.0f;
    return d->library->forward(d->handle, &one, d->in, call->inputs[0], d->weight,
                               pack(call, option), d->conv, option->algorithm, call->workspace,
                               option->bytes, &zero, d->out, call->output);
}

static dnn_status run_fused(const struct described *d, const struct kernel_call *call,
                            const struct dnn_option *option)
{
    const float one = 1.0f, zero = 0.0f;
    return d->library->forward_fused(d->handle, &one, d->in, call->inputs[0], d->weight,
                                     pack(call, option), d->conv, option->algorithm,
                                     call->workspace, option->bytes, &zero, d->out, call->output,
                                     d->bias, conv_bias(call), d->activation, d->out, call->output);
}

static dnn_status run_input(const struct described *d, const struct kernel_call *call,
                            const struct dnn_option *option)
{
    const float one = 1.0f, keep = call->accumulate[0] ? 1.0f : 0.0f;
    return d->library->backward_input(
        d->handle, &one, d->weight, pack(call, option), d->out, call->output_gradient, d->conv,
        option->algorithm, call->workspace, option->bytes, &keep, d->in, call->input_gradients[0]);
}

static dnn_status run_weights(const struct described *d, const struct kernel_call *call,
                              const struct dnn_option *option)
{
    const float one = 1.0f, zero = 0.0f;
    const struct implicit_gemm filter = filter_of(call->site);
    const bool unpacks = packs(call->site);
    float *const to = unpacks ? packed_of(call, option) : call->parameter_gradients[0];
    const dnn_status status = d->library->backward_weights(
        d->handle, &one, d->in, call->inputs[0], d->out, call->output_gradient, d->conv,
        option->algorithm, call->workspace, option->bytes, &zero, d->weight, to);
    if (status == DNN_SUCCESS && unpacks)
        implicit_gemm_unpack(context_of(call), &filter, to, call->parameter_gradients[0]);
    return status;
}

bool dnn_fuses(const struct kernel_site *site, const struct dnn_option *option)
{
    return site->node->attributes.conv.bias &&
           (site->fused_activation || option->algorithm == DNN_PRECOMP_GEMM);
}

/* Records a failure in cuDNN's words. CUDA determines the kind of failure, because cuDNN may only
 * be the first to notice that the GPU is lost. */
static void note_failure(struct cuda_context *context, const char *what, dnn_status status)
{
    char text[200];
    const enum cuda_failure_kind kind = cuda_failure_kind_of(cudaPeekAtLastError());
    dnn_text(status, text, sizeof text);
    cuda_note_words(context, kind == CUDA_FINE ? CUDA_BROKEN : kind, what, text);
}

bool dnn_compute(const struct kernel_call *call, const struct dnn_shape *shape, enum dnn_pass pass,
                 const struct dnn_option *option)
{
    static const struct {
        const char *what;
        dnn_status (*run)(const struct described *, const struct kernel_call *,
                          const struct dnn_option *);
    } passes[] = {{"conv forward by cuDNN", run_forward},
                  {"conv backward by cuDNN, input", run_input},
                  {"conv backward by cuDNN, weights", run_weights},
                  {"conv forward by cuDNN, with bias and relu", run_fused}};
    struct cuda_context *context = context_of(call);
    struct described d;
    dnn_status status = DNN_SUCCESS;
    const bool described =
        describe(&d, context->dnn, shape) &&
        d.library->set_math(d.conv, option->math) == DNN_SUCCESS &&
        (pass != DNN_FUSED ||
         describe_epilogue(&d, shape->outputs, call->site->fused_activation != NULL));
    if (described)
        status = passes[pass].run(&d, call, option);
    forget(&d);
    const bool refused = !described || dnn_refuses(status);
    if (refused) {
        char *const words = context->dnn->refusal;
        dnn_text(status, words, sizeof context->dnn->refusal);
        if (status == DNN_SUCCESS)
            snprintf(words, sizeof context->dnn->refusal, "it does not describe the convolution");
        cudaGetLastError();
    } else if (status != DNN_SUCCESS)
        note_failure(context, passes[pass].what, status);
    return !refused;
}
