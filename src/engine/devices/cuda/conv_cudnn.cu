/* Convolution by cuDNN, where that library is installed. It is meant for large convolutions, which
 * it may compute faster than our kernels.
 *
 * When the plan is made, cuDNN's heuristics rank their algorithms for each pass of a convolution.
 * The first one is taken that always gives the same bits and whose workspace is within the limit;
 * the forecast contains that workspace. If a pass has none, the next kernel of the list takes the
 * convolution. Heuristics look only at shapes, so two plans choose the same.
 *
 * The forward pass also adds the bias and applies a relu that the plan has fused, where cuDNN does
 * that with the chosen algorithm; if it refuses, a pass of ours over its output does (epilogue.h).
 *
 * Channels-last arrays are described to it as NHWC, for which its kernels for tensor cores need no
 * transposition. The filter must have the same order: it is packed in the workspace, behind that of
 * the algorithm, and its gradient is unpacked from there.
 *
 * cuDNN may still refuse a call, or have no memory for it. The next kernel then computes this pass,
 * from then on, and runs_as names it. Other failures of cuDNN are failures of the GPU. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/cudnn_library.h"
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/kernels.h"

#include "base/language.h"

#include <stdlib.h>
#include <string.h>

/* DNN_FUSED is the forward pass with bias and relu, by an algorithm of DNN_FORWARD. */
enum dnn_pass {
    DNN_FORWARD,
    DNN_INPUT,
    DNN_WEIGHTS,
    DNN_PASSES,
    DNN_FUSED = DNN_PASSES,
    DNN_CALLS
};
enum { DNN_RANKED = 10 }; /* algorithms of a ranking */

/* What distinguishes one convolution from others: the same shapes give the same choice. */
struct dnn_shape {
    int batch, channels, height, width;
    int outputs, out_height, out_width, groups;
    int kernel[2], stride[2], pad[2];
    int last; /* channels-last */
    enum cuda_precision precision;
};

struct dnn_option {
    dnn_algorithm algorithm;
    int math;
    size_t bytes;
};

struct dnn_choice {
    struct dnn_shape shape;
    struct dnn_option options[DNN_PASSES][DNN_RANKED]; /* best first */
    size_t counts[DNN_PASSES];
    bool refused[DNN_CALLS]; /* cuDNN has refused to compute the pass */
};

struct cuda_dnn {
    const struct dnn_library *library;
    dnn_handle handle;
    struct dnn_choice **choices;
    size_t count, capacity;
};

/* --- the handle --- */

void cuda_dnn_open(struct cuda_context *context)
{
    const struct dnn_library *library = dnn_load();
    struct cuda_dnn *dnn = library ? (struct cuda_dnn *)calloc(1, sizeof *dnn) : NULL;
    context->dnn = dnn;
    if (!dnn)
        return;
    dnn->library = library;
    const dnn_status status = library->create(&dnn->handle);
    if (status == DNN_SUCCESS && library->set_stream(dnn->handle, context->stream) == DNN_SUCCESS)
        return;
    if (status != DNN_SUCCESS)
        dnn->handle = NULL;
    cuda_dnn_close(context);
    cudaGetLastError();
}

void cuda_dnn_close(struct cuda_context *context)
{
    struct cuda_dnn *dnn = context->dnn;
    if (!dnn)
        return;
    if (dnn->handle)
        dnn->library->destroy(dnn->handle);
    for (size_t i = 0; i < dnn->count; i++)
        free(dnn->choices[i]);
    free(dnn->choices);
    free(dnn);
    context->dnn = NULL;
}

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

/* --- the choice of algorithms --- */

static struct dnn_shape shape_of(const struct cuda_context *context, const struct kernel_site *site)
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
            site->output_layout.channels_last,
            context->precision};
}

static dnn_status rank(const struct described *d, enum dnn_pass pass, int *count,
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

static dnn_status measure(const struct described *d, enum dnn_pass pass, dnn_algorithm algorithm,
                          size_t *bytes)
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

/* Lists the usable algorithms of a pass. The ranking may also name some that round too coarsely. */
static void list_options(struct described *d, enum dnn_pass pass, struct dnn_choice *choice)
{
    struct dnn_ranked list[DNN_RANKED];
    int count = 0;
    if (rank(d, pass, &count, list) != DNN_SUCCESS)
        count = 0;
    for (int i = 0; i < count && i < DNN_RANKED; i++) {
        struct dnn_option option = {list[i].algorithm, list[i].math, 0};
        if (list[i].status == DNN_SUCCESS && list[i].determinism == DNN_DETERMINISTIC &&
            math_is_fine(option.math, choice->shape.precision) &&
            d->library->set_math(d->conv, option.math) == DNN_SUCCESS &&
            measure(d, pass, option.algorithm, &option.bytes) == DNN_SUCCESS)
            choice->options[pass][choice->counts[pass]++] = option;
    }
}

static struct dnn_choice *add_choice(struct cuda_dnn *dnn, const struct dnn_shape *shape)
{
    if (dnn->count == dnn->capacity) {
        const size_t capacity = 2 * dnn->capacity + 32;
        void *choices = realloc(dnn->choices, capacity * sizeof(struct dnn_choice *));
        if (!choices)
            return NULL;
        dnn->choices = (struct dnn_choice **)choices;
        dnn->capacity = capacity;
    }
    struct dnn_choice *choice = (struct dnn_choice *)calloc(1, sizeof *choice);
    if (choice) {
        choice->shape = *shape;
        dnn->choices[dnn->count++] = choice;
    }
    return choice;
}

/* Returns the choice for the site on this GPU, or NULL if there is no cuDNN or no memory. cuDNN is
 * asked only once for each shape. */
static struct dnn_choice *find_choice(struct cuda_context *context, const struct kernel_site *site)
{
    struct cuda_dnn *dnn = context->dnn;
    const struct dnn_shape shape = shape_of(context, site);
    for (size_t i = 0; dnn && i < dnn->count; i++)
        if (memcmp(&dnn->choices[i]->shape, &shape, sizeof shape) == 0)
            return dnn->choices[i];
    struct dnn_choice *choice = dnn ? add_choice(dnn, &shape) : NULL;
    if (!choice)
        return NULL;
    struct described d;
    cuda_enter(context);
    if (describe(&d, dnn, &shape))
        for (unsigned pass = 0; pass < DNN_PASSES; pass++)
            list_options(&d, (enum dnn_pass)pass, choice);
    forget(&d);
    return choice;
}

/* Returns the best algorithm of a pass that needs at most `limit` bytes; NULL if none does, or if
 * cuDNN has refused the pass. */
static const struct dnn_option *best(const struct dnn_choice *choice, enum dnn_pass pass,
                                     size_t limit)
{
    const enum dnn_pass ranked = pass == DNN_FUSED ? DNN_FORWARD : pass;
    for (size_t i = 0; !choice->refused[pass] && i < choice->counts[ranked]; i++)
        if (choice->options[ranked][i].bytes <= limit)
            return &choice->options[ranked][i];
    return NULL;
}

/* Returns the most workspace that an algorithm may need: 1 GiB, or a sixteenth of a smaller GPU's
 * memory. It does not depend on what is free now, because the bits would. */
static size_t workspace_limit(const struct cuda_context *context, const struct kernel_site *site)
{
    const size_t most = (size_t)1 << 30, share = context->memory_bytes / 16;
    return site->spare_workspace ? 0 : share < most ? share : most;
}

static bool needs_pass(const struct kernel_site *site, enum dnn_pass pass)
{
    return pass == DNN_FORWARD ||
           (site->training && (pass == DNN_WEIGHTS || site->input_gradient[0]));
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

static size_t packed_bytes(const struct kernel_site *site)
{
    return packs(site) ? (conv_packed_bytes(site) + 255) / 256 * 256 : 0;
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

/* --- passes; each returns cuDNN's status --- */

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

/* Returns whether cuDNN fuses what follows the convolution into a forward pass by the algorithm: a
 * bias with a relu or, by one algorithm, alone. */
static bool can_fuse(const struct kernel_site *site, const struct dnn_option *option)
{
    return site->node->attributes.conv.bias &&
           (site->fused_activation || option->algorithm == DNN_PRECOMP_GEMM);
}

/* Records a failure in cuDNN's words. What kind it is, CUDA says: cuDNN may only be the first to
 * notice that the GPU is lost. */
static void note_failure(struct cuda_context *context, const char *what, dnn_status status)
{
    char text[200];
    const enum cuda_failure_kind kind = cuda_failure_kind_of(cudaPeekAtLastError());
    dnn_text(status, text, sizeof text);
    cuda_note_words(context, kind == CUDA_FINE ? CUDA_BROKEN : kind, what, text);
}

/* Queues a pass. Returns false if cuDNN does not compute it: the next kernel must. */
static bool run_pass(const struct kernel_call *call, enum dnn_pass pass)
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
    struct dnn_choice *choice = call->site->fused_move ? NULL : find_choice(context, call->site);
    const size_t packed = packed_bytes(call->site) + 255; /* and what alignment costs */
    const size_t room = call->workspace_bytes > packed ? call->workspace_bytes - packed : 0;
    const struct dnn_option *option =
        choice ? best(choice, pass, packs(call->site) ? room : call->workspace_bytes) : NULL;
    if (!option || (pass == DNN_FUSED && !can_fuse(call->site, option)))
        return false;
    struct described d;
    dnn_status status = DNN_SUCCESS;
    const bool described =
        describe(&d, context->dnn, &choice->shape) &&
        d.library->set_math(d.conv, option->math) == DNN_SUCCESS &&
        (pass != DNN_FUSED ||
         describe_epilogue(&d, choice->shape.outputs, call->site->fused_activation != NULL));
    if (described)
        status = passes[pass].run(&d, call, option);
    forget(&d);
    choice->refused[pass] = !described || dnn_refuses(status);
    if (choice->refused[pass])
        cudaGetLastError();
    else if (status != DNN_SUCCESS)
        note_failure(context, passes[pass].what, status);
    return !choice->refused[pass];
}

/* --- the kernel --- */

static bool supports_cudnn(const struct kernel_site *site, const char **reason)
{
    struct cuda_context *context = (struct cuda_context *)site->context;
    if (conv_work(site) < conv_least_work()) {
        *reason = N_("too small for a library's convolution");
        return false;
    }
    if (!conv_supports(site, reason))
        return false;
    *reason = N_("cuDNN is missing, or could not start (tinca devices)");
    if (!context || !context->dnn)
        return false;
    *reason = N_("cuDNN does not round float32 to bfloat16");
    if (context->precision == CUDA_BF16)
        return false;
    *reason = N_("its input and output have different layouts");
    if (site->layouts[0].channels_last != site->output_layout.channels_last)
        return false;
    *reason = N_("cuDNN has no algorithm with equal bits in each run and little workspace");
    const struct dnn_choice *choice = find_choice(context, site);
    bool supports = choice;
    for (unsigned pass = 0; supports && pass < DNN_PASSES; pass++)
        supports = !needs_pass(site, (enum dnn_pass)pass) ||
                   best(choice, (enum dnn_pass)pass, workspace_limit(context, site));
    return supports;
}

static size_t workspace_cudnn(const struct kernel_site *site)
{
    struct cuda_context *context = (struct cuda_context *)site->context;
    const struct dnn_choice *choice = site->fused_move ? NULL : find_choice(context, site);
    size_t bytes = conv_next_workspace(site);
    for (unsigned pass = 0; choice && pass < DNN_PASSES; pass++) {
        const struct dnn_option *option =
            needs_pass(site, (enum dnn_pass)pass)
                ? best(choice, (enum dnn_pass)pass, workspace_limit(context, site))
                : NULL;
        const size_t packed = packs(site) ? packed_bytes(site) + 255 : 0;
        if (option && option->bytes + packed > bytes)
            bytes = option->bytes + packed;
    }
    return bytes;
}

/* Returns what computes the site: cuDNN, perhaps with a pass of ours over its output, or the next
 * kernel for the passes that it refused. */
static const char *runs_as_cudnn(const struct kernel_site *site)
{
    struct cuda_context *context = (struct cuda_context *)site->context;
    const struct dnn_choice *choice = site->fused_move ? NULL : find_choice(context, site);
    static const char *const with_products[] = {
        "conv cuDNN + 1x1 cuBLAS", "conv cuDNN + 1x1 wgmma + cuBLAS", "conv cuDNN + 1x1 wgmma"};
    size_t needed = 0, refused = 0;
    if (!choice)
        return conv_next_name(site);
    for (unsigned pass = 0; pass < DNN_PASSES; pass++) {
        needed += needs_pass(site, (enum dnn_pass)pass);
        refused += needs_pass(site, (enum dnn_pass)pass) && choice->refused[pass];
    }
    return refused == 0        ? choice->refused[DNN_FUSED] ? "conv cuDNN + epilogue" : "conv cuDNN"
           : refused == needed ? conv_next_name(site)
           : conv_is_pointwise(site) ? with_products[conv_pointwise_products(site)]
                                     : "conv cuDNN + implicit gemm";
}

static void forward_cudnn(const struct kernel_call *call)
{
    if (run_pass(call, DNN_FUSED))
        return;
    if (run_pass(call, DNN_FORWARD))
        epilogue_forward(call, conv_bias(call));
    else
        conv_next_forward(call);
}

static void backward_cudnn(const struct kernel_call *call)
{
    epilogue_backward(call);
    if (call->input_gradients[0] && !run_pass(call, DNN_INPUT))
        conv_next_backward_input(call);
    if (!call->parameter_gradients[0] || !run_pass(call, DNN_WEIGHTS))
        conv_backward_weights(call);
    else if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        conv_backward_bias(call);
}

struct cuda_kernel cuda_conv_cudnn = {
    .op = "conv",
    .kernel =
        {
            .name = "conv cuDNN",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES |
                      KERNEL_CONVERTS_LAYOUT | KERNEL_FUSES_ACTIVATION,
            .supports = supports_cudnn,
            .runs_as = runs_as_cudnn,
            .workspace_bytes = workspace_cudnn,
            .forward = forward_cudnn,
            .backward = backward_cudnn,
        },
};
