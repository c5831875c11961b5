/* Computes 1x1 convolutions with stride 1 by matrix products (gemm.h).
 *
 * If the values are plain (NCHW), each image is a product: W x forward, W^T g for the input's
 * gradient. The general kernel computes the gradient of the weights.
 *
 * Channels-last values are one matrix of all pixels, and each pass is one product: x W^T, g W, and
 * g^T x for the weights. There the general kernel reads as well as a library, so these products are
 * only taken where they were measured to be faster (conv_choice.cu).
 *
 * Products are those of cuBLAS, or of gemm_wgmma.cu where that was measured to be faster. It rounds
 * the left operand into the workspace first. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/conv_choice.h"
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/kernels.h"

#include "base/language.h"

enum { POINTWISE_AREA = 64 }; /* least positions of an image for one product for each image */

/* --- supported sites --- */

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

size_t conv_wgmma_workspace(const struct kernel_site *site, enum conv_pass pass)
{
    const struct product p = product_of(site, pass);
    return conv_has_products(site, pass) && !site->fused_move
               ? wgmma_workspace((const struct cuda_context *)site->context, &p)
               : 0;
}

static void run_product(const struct kernel_call *call, bool wgmma, enum conv_pass pass,
                        const char *what, const float *a, const float *b, float *c, bool add)
{
    struct cuda_context *context = context_of(call);
    struct product p = product_of(call->site, pass);
    p.a = a;
    p.b = b;
    p.c = c;
    p.beta = add ? 1.0f : 0.0f;
    if (!wgmma || !wgmma_multiply(context, what, &p, call->workspace, call->workspace_bytes))
        multiply(context, what, &p);
}

static void run_forward(const struct kernel_call *call, bool wgmma)
{
    const float *const x = call->inputs[0], *const w = call->parameters[0];
    const bool last = is_last(call->site);
    run_product(call, wgmma, CONV_FORWARD, "conv forward", last ? x : w, last ? w : x, call->output,
                false);
    epilogue_forward(call, conv_bias(call));
}

static void run_input(const struct kernel_call *call, bool wgmma)
{
    const float *const g = call->output_gradient, *const w = call->parameters[0];
    const bool last = is_last(call->site);
    if (call->input_gradients[0])
        run_product(call, wgmma, CONV_INPUT, "conv backward, input", last ? g : w, last ? w : g,
                    call->input_gradients[0], call->accumulate[0]);
}

static void run_weights(const struct kernel_call *call, bool wgmma)
{
    if (call->parameter_gradients[0])
        run_product(call, wgmma, CONV_WEIGHTS, "conv backward, weights", call->output_gradient,
                    call->inputs[0], call->parameter_gradients[0], false);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        conv_backward_bias(call);
}

void conv_products_run(const struct kernel_call *call, enum conv_pass pass, bool wgmma)
{
    static void (*const general[])(const struct kernel_call *) = {conv_forward, conv_backward_input,
                                                                  conv_backward_weights};
    static void (*const products[])(const struct kernel_call *, bool) = {run_forward, run_input,
                                                                         run_weights};
    if (call->site->fused_move || !conv_has_products(call->site, pass))
        general[pass](call);
    else
        products[pass](call, wgmma);
}

const char *conv_next_name(const struct kernel_site *site)
{
    return site->fused_move || !conv_is_pointwise(site) ? conv_general_name(site)
                                                        : "conv 1x1 cuBLAS";
}

/* --- the kernel of plain values ---
 *
 * The general kernel computes the gradient of the weights, and sites with a fused channel move.
 */

static void forward_pointwise(const struct kernel_call *call)
{
    conv_products_run(call, CONV_FORWARD, false);
}

static void backward_pointwise(const struct kernel_call *call)
{
    epilogue_backward(call);
    conv_products_run(call, CONV_INPUT, false);
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
            .workspace_bytes = conv_workspace,
            .forward = forward_pointwise,
            .backward = backward_pointwise,
        },
};
