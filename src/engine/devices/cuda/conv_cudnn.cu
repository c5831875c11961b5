/* Convolution by cuDNN, where that library is installed, for large convolutions.
 *
 * When the plan is made, an algorithm is chosen for each pass (conv_choice.h): one of cuDNN's that
 * always gives the same bits, or one of our kernels; the forecast contains its workspace. If our
 * kernels compute all passes, they take the convolution from this one.
 *
 * The forward pass also adds the bias and applies a relu that the plan has fused, where cuDNN does
 * that with the chosen algorithm; if it refuses, a pass of ours over its output does (epilogue.h).
 *
 * cuDNN may still refuse a call, or have no memory for it. The next kernel then computes this pass,
 * from then on, and runs_as names it. Other failures of cuDNN are failures of the GPU. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/conv_choice.h"
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/kernels.h"

#include "base/language.h"

#include <algorithm>

#include <stdio.h>
#include <stdlib.h>

/* --- the handle --- */

void cuda_dnn_open(struct cuda_context *context)
{
    const struct dnn_library *library = dnn_load();
    struct cuda_dnn *dnn = library ? (struct cuda_dnn *)calloc(1, sizeof *dnn) : NULL;
    context->dnn = dnn;
    if (!dnn)
        return;
    dnn->library = library;
    dnn_status status = library->create(&dnn->handle);
    if (status != DNN_SUCCESS)
        dnn->handle = NULL;
    else
        status = library->set_stream(dnn->handle, context->stream);
    dnn_note_start(context->ordinal, status);
    if (status == DNN_SUCCESS)
        return;
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
    free(dnn);
    context->dnn = NULL;
}

/* --- the kernel --- */

struct planned {
    struct conv_choice *choice;
    const struct conv_option *passes[DNN_PASSES]; /* NULL: the pass is not needed */
};

/* Returns the options that compute the passes. */
static struct planned plan_passes(const struct kernel_site *site)
{
    struct cuda_context *context = (struct cuda_context *)site->context;
    struct planned p = {site->fused_move ? NULL : conv_choice_plan(context, site), {}};
    for (unsigned pass = 0; p.choice && pass < DNN_PASSES; pass++)
        if (conv_needs(site, (enum dnn_pass)pass))
            p.passes[pass] = conv_choice_best(p.choice, (enum dnn_pass)pass,
                                              conv_workspace_limit(context, site));
    return p;
}

/* Returns whether another kernel than the next one of the list computes some pass. */
static bool is_wanted(const struct kernel_site *site, const struct planned *p)
{
    bool wanted = false;
    for (unsigned pass = 0; pass < DNN_PASSES; pass++)
        wanted = wanted || (p->passes[pass] &&
                            p->passes[pass]->source != conv_own_source(site, (enum dnn_pass)pass));
    return wanted;
}

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
    if (!conv_may_use_cudnn(context))
        return false;
    *reason = N_("its input and output have different layouts");
    if (site->layouts[0].channels_last != site->output_layout.channels_last)
        return false;
    const struct planned p = plan_passes(site);
    *reason = p.choice && p.choice->known[DNN_FORWARD]
                  ? N_("tinca's kernels were chosen instead of cuDNN by their measured times")
                  : N_("cuDNN has no algorithm with equal bits in each run and little workspace");
    return is_wanted(site, &p);
}

static size_t workspace_choice(const struct kernel_site *site)
{
    const struct planned p = plan_passes(site);
    size_t bytes = conv_workspace(site);
    for (const struct conv_option *option : p.passes)
        if (option && (option->source == CONV_BY_CUDNN || option->source == CONV_BY_WGMMA))
            bytes = std::max(bytes, option->dnn.bytes + dnn_packed_bytes(site));
    return bytes;
}

/* Returns the name of the kernels if some passes are products, and the others are cuDNN's or ours.
 */
static const char *products_name(const struct kernel_site *site, const size_t *sources)
{
    static const char *const names[][3] = {
        {"conv 1x1 cuBLAS", "conv 1x1 wgmma", "conv 1x1 wgmma + cuBLAS"},
        {"conv cuDNN + 1x1 cuBLAS", "conv cuDNN + 1x1 wgmma", "conv cuDNN + 1x1 wgmma + cuBLAS"},
        {"conv 1x1 cuBLAS + implicit gemm", "conv 1x1 wgmma + implicit gemm",
         "conv 1x1 wgmma + cuBLAS + implicit gemm"}};
    const size_t by_blas = sources[CONV_BY_PRODUCTS], by_wgmma = sources[CONV_BY_WGMMA];
    const bool ours = sources[CONV_BY_GENERAL] && conv_is_pointwise_last(site);
    return names[sources[CONV_BY_CUDNN] ? 1 : ours ? 2 : 0][!by_wgmma ? 0 : !by_blas ? 1 : 2];
}

/* Returns the name of the kernels that compute the site: cuDNN, perhaps with a pass of ours over
 * its output, or another kernel for some passes. */
static const char *runs_as_choice(const struct kernel_site *site)
{
    const struct planned p = plan_passes(site);
    size_t passes = 0, sources[CONV_SOURCES] = {};
    if (!p.choice)
        return conv_next_name(site);
    for (unsigned pass = 0; pass < DNN_PASSES; pass++) {
        if (!p.passes[pass])
            continue;
        const enum conv_source source =
            p.passes[pass]->source == CONV_BY_CUDNN && p.choice->refused[pass]
                ? conv_own_source(site, (enum dnn_pass)pass)
                : p.passes[pass]->source;
        passes++;
        sources[source]++;
    }
    if (sources[CONV_BY_PRODUCTS] || sources[CONV_BY_WGMMA])
        return products_name(site, sources);
    if (sources[CONV_BY_CUDNN] == passes)
        return p.choice->refused[DNN_FUSED] ? "conv cuDNN + epilogue" : "conv cuDNN";
    return sources[CONV_BY_CUDNN] == 0 ? conv_general_name(site) : "conv cuDNN + implicit gemm";
}

/* Notes that cuDNN has refused a pass, for a finding of the run. */
static void note_refusal(const struct kernel_call *call, unsigned pass, const char *instead)
{
    static const char *const passes[DNN_CALLS] = {"the forward pass", "the input's gradient",
                                                  "the weights' gradient", "bias and relu"};
    struct cuda_context *context = context_of(call);
    if (context->refusal_count == CUDA_REFUSALS)
        return;
    struct device_refusal *refusal = &context->refusals[context->refusal_count++];
    snprintf(refusal->layer, sizeof refusal->layer, "%s", call->site->node->name);
    snprintf(refusal->pass, sizeof refusal->pass, "%s", passes[pass]);
    snprintf(refusal->kernel, sizeof refusal->kernel, "%s", instead);
    snprintf(refusal->why, sizeof refusal->why, "%s", context->dnn->refusal);
}

/* Queues a pass by its option, or by the next kernel if cuDNN refuses. */
static void run_pass(const struct kernel_call *call, enum dnn_pass pass)
{
    struct conv_choice *choice =
        call->site->fused_move ? NULL : conv_choice_find(context_of(call), call->site);
    const struct conv_option own = {conv_own_source(call->site, pass), {}};
    const size_t packed = dnn_packed_bytes(call->site);
    const size_t room = call->workspace_bytes > packed ? call->workspace_bytes - packed : 0;
    const size_t limit = std::min(room, conv_workspace_limit(context_of(call), call->site));
    const struct conv_option *option =
        choice && !choice->refused[pass] ? conv_choice_best(choice, pass, limit) : &own;
    const bool fused = choice && !choice->refused[DNN_FUSED];
    const bool computed = conv_run(call, choice ? &choice->shape : NULL, pass, option,
                                   choice ? choice->refused : NULL);
    if (computed && fused && choice->refused[DNN_FUSED])
        note_refusal(call, DNN_FUSED, "a pass over its output");
    if (computed)
        return;
    note_refusal(call, pass,
                 own.source == CONV_BY_PRODUCTS ? conv_next_name(call->site)
                                                : conv_general_name(call->site));
    conv_run(call, &choice->shape, pass, &own, choice->refused);
}

static void forward_choice(const struct kernel_call *call)
{
    run_pass(call, DNN_FORWARD);
}

static void backward_choice(const struct kernel_call *call)
{
    epilogue_backward(call);
    if (call->input_gradients[0])
        run_pass(call, DNN_INPUT);
    if (call->parameter_gradients[0])
        run_pass(call, DNN_WEIGHTS);
    else
        conv_backward_weights(call);
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
            .runs_as = runs_as_choice,
            .workspace_bytes = workspace_choice,
            .forward = forward_choice,
            .backward = backward_choice,
        },
};

/* --- without cuDNN --- */

static bool supports_last(const struct kernel_site *site, const char **reason)
{
    *reason = N_("not a large 1x1 convolution of channels-last values, without stride and groups");
    if (!conv_is_pointwise_last(site))
        return false;
    const struct planned p = plan_passes(site);
    *reason = p.choice && p.choice->known[DNN_FORWARD]
                  ? N_("tinca's implicit GEMM was chosen by its measured time")
                  : N_("it is only used where its measured time chooses it (autotune)");
    return is_wanted(site, &p);
}

/* Computes channels-last 1x1 convolutions by matrix products where cuDNN is not used and they were
 * measured to be faster than the general kernel. Its functions are those of cuDNN's kernel. */
struct cuda_kernel cuda_conv_pointwise_last = {
    .op = "conv",
    .kernel =
        {
            .name = "conv 1x1 products NHWC",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES |
                      KERNEL_CONVERTS_LAYOUT | KERNEL_FUSES_ACTIVATION,
            .supports = supports_last,
            .runs_as = runs_as_choice,
            .workspace_bytes = workspace_choice,
            .forward = forward_choice,
            .backward = backward_choice,
        },
};
