/* 1x1 convolutions with stride 1 by matrix products (gemm.h).
 *
 * Of plain values, each image is a product: W x forward, W^T g for the input's gradient. The
 * general kernel computes the gradient of the weights.
 *
 * Channels-last values are one matrix of all pixels, and each pass is one product: x W^T, g W, and
 * g^T x for the weights. There the general kernel reads as well as a library, so these products are
 * only taken where they were measured to be faster (conv_choice.cu). gemm_wgmma.cu would round the
 * pixels into the workspace first, as far as that is within a layer's limit. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/conv_choice.h"
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/kernels.h"

#include "base/language.h"

#include <algorithm>

enum { POINTWISE_AREA = 64 }; /* least positions of an image for one product for each image */

/* --- what is supported --- */

static bool is_pointwise(const struct conv_attributes *conv)
{
    const struct window *w = &conv->window;
    return w->kernel_height == 1 && w->kernel_width == 1 && w->stride_height == 1 &&
           w->stride_width == 1 && w->pad_height == 0 && w->pad_width == 0 && conv->groups == 1;
}

static bool is_last(const struct kernel_site *site)
{
    return site->layouts[0].channels_last && site->output_layout.channels_last;
}

static bool supports_pointwise(const struct kernel_site *site, const char **reason)
{
    if (!is_pointwise(&site->node->attributes.conv))
        *reason = N_("not a 1x1 window with stride 1, without padding and groups");
    else if (shape_area(site->inputs[0]) < POINTWISE_AREA || conv_work(site) < conv_least_work())
        *reason = N_("too small for matrix products of a library");
    else if (site->layouts[0].channels_last || site->output_layout.channels_last)
        *reason = N_("its values are channels-last");
    else
        return conv_supports(site, reason);
    return false;
}

bool conv_is_pointwise(const struct kernel_site *site)
{
    const char *reason;
    return supports_pointwise(site, &reason);
}

bool conv_is_pointwise_last(const struct kernel_site *site)
{
    const char *reason;
    return is_pointwise(&site->node->attributes.conv) && is_last(site) &&
           conv_work(site) >= conv_least_work() && conv_supports(site, &reason);
}

bool conv_has_products(const struct kernel_site *site, enum conv_pass pass)
{
    return conv_is_pointwise_last(site) || (pass != CONV_WEIGHTS && conv_is_pointwise(site));
}

/* --- the products --- */

/* Returns the product of a pass, without pointers. */
static struct product product_of(const struct kernel_site *site, enum conv_pass pass)
{
    const struct shape in = site->inputs[0], out = site->node->output;
    const size_t pixels = site->batch * shape_area(in);
    const bool last = is_last(site), backward = pass == CONV_INPUT;
    struct product p = {};
    p.count = last ? 1 : site->batch;
    if (last) {
        p.m = pass == CONV_WEIGHTS ? out.channels : pixels;
        p.n = pass == CONV_FORWARD ? out.channels : in.channels;
        p.k = pass == CONV_FORWARD ? in.channels : backward ? out.channels : pixels;
        p.a_transposed = pass == CONV_WEIGHTS;
        p.b_transposed = pass == CONV_FORWARD;
        return p;
    }
    p.m = backward ? in.channels : out.channels;
    p.n = shape_area(in);
    p.k = backward ? out.channels : in.channels;
    p.a_transposed = backward;
    p.b_stride = shape_count(backward ? out : in);
    p.c_stride = shape_count(backward ? in : out);
    return p;
}

/* Returns the most workspace that a product may take. */
static size_t most_workspace(const struct kernel_site *site)
{
    return is_last(site) ? conv_workspace_limit((const struct cuda_context *)site->context, site)
                         : SIZE_MAX;
}

/* Returns the bytes that gemm_wgmma.cu needs for a pass; 0: cuBLAS computes it. */
static size_t products_workspace(const struct kernel_site *site, enum conv_pass pass)
{
    const struct cuda_context *context = (const struct cuda_context *)site->context;
    const struct product p = product_of(site, pass);
    const size_t bytes = context ? wgmma_workspace(context, &p) : 0;
    return bytes > 0 && bytes <= most_workspace(site) ? bytes : 0;
}

size_t conv_products_workspace(const struct kernel_site *site, enum conv_pass pass)
{
    return conv_has_products(site, pass) && !site->fused_move ? products_workspace(site, pass) : 0;
}

static void run_product(const struct kernel_call *call, enum conv_pass pass, const char *what,
                        const float *a, const float *b, float *c, bool add)
{
    struct product p = product_of(call->site, pass);
    p.a = a;
    p.b = b;
    p.c = c;
    p.beta = add ? 1.0f : 0.0f;
    p.workspace = call->workspace;
    p.workspace_bytes = std::min(call->workspace_bytes, most_workspace(call->site));
    multiply(context_of(call), what, &p);
}

static void run_forward(const struct kernel_call *call)
{
    const float *const x = call->inputs[0], *const w = call->parameters[0];
    const bool last = is_last(call->site);
    run_product(call, CONV_FORWARD, "conv forward", last ? x : w, last ? w : x, call->output,
                false);
    epilogue_forward(call, conv_bias(call));
}

static void run_input(const struct kernel_call *call)
{
    const float *const g = call->output_gradient, *const w = call->parameters[0];
    const bool last = is_last(call->site);
    if (call->input_gradients[0])
        run_product(call, CONV_INPUT, "conv backward, input", last ? g : w, last ? w : g,
                    call->input_gradients[0], call->accumulate[0]);
}

static void run_weights(const struct kernel_call *call)
{
    if (call->parameter_gradients[0])
        run_product(call, CONV_WEIGHTS, "conv backward, weights", call->output_gradient,
                    call->inputs[0], call->parameter_gradients[0], false);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        conv_backward_bias(call);
}

void conv_products_run(const struct kernel_call *call, enum conv_pass pass)
{
    static void (*const general[])(const struct kernel_call *) = {conv_forward, conv_backward_input,
                                                                  conv_backward_weights};
    static void (*const products[])(const struct kernel_call *) = {run_forward, run_input,
                                                                   run_weights};
    const bool moved = call->site->fused_move || !conv_has_products(call->site, pass);
    (moved ? general : products)[pass](call);
}

/* --- names --- */

enum conv_products conv_products_of(const struct kernel_site *site, const bool *passes)
{
    size_t count = 0, wide = 0;
    for (unsigned pass = 0; pass < CONV_PASSES; pass++)
        if (passes[pass] && conv_has_products(site, (enum conv_pass)pass)) {
            count++;
            wide += products_workspace(site, (enum conv_pass)pass) > 0;
        }
    return wide == 0 ? CONV_BLAS : wide < count ? CONV_WGMMA_AND_BLAS : CONV_WGMMA;
}

const char *conv_next_name(const struct kernel_site *site)
{
    static const char *const names[] = {"conv 1x1 cuBLAS", "conv 1x1 wgmma + cuBLAS",
                                        "conv 1x1 wgmma"};
    const bool passes[CONV_PASSES] = {true, site->training && site->input_gradient[0], false};
    return site->fused_move || !conv_is_pointwise(site) ? conv_general_name(site)
                                                        : names[conv_products_of(site, passes)];
}

/* --- the kernel of plain values --- */

/* The general kernel computes the gradient of the weights, and what reads through a channel move.
 */
size_t conv_next_workspace(const struct kernel_site *site)
{
    size_t most = conv_workspace(site);
    for (int pass = 0; conv_is_pointwise(site) && pass < CONV_WEIGHTS; pass++)
        if (pass == CONV_FORWARD || (site->training && site->input_gradient[0]))
            most = std::max(most, conv_products_workspace(site, (enum conv_pass)pass));
    return most;
}

static void forward_pointwise(const struct kernel_call *call)
{
    conv_products_run(call, CONV_FORWARD);
}

static void backward_pointwise(const struct kernel_call *call)
{
    epilogue_backward(call);
    conv_products_run(call, CONV_INPUT);
    conv_backward_weights(call);
}

struct cuda_kernel cuda_conv_pointwise = {
    .op = "conv",
    .kernel =
        {
            .name = "conv 1x1 cuBLAS",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES |
                      KERNEL_CONVERTS_LAYOUT | KERNEL_FUSES_ACTIVATION,
            .supports = supports_pointwise,
            .runs_as = conv_next_name,
            .workspace_bytes = conv_next_workspace,
            .forward = forward_pointwise,
            .backward = backward_pointwise,
        },
};
