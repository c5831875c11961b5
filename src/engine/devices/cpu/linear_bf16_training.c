/* Fully connected layers in bf16, for training: y = x W^T + b, with x [N, I], W [O, I], y [N, O].
 *
 * Three products of bf16 with sums in float32 (gemm_bf16.h); x' is the gradient of x:
 *   y = x W^T      x' = y' W      W' = y'^T x
 * x, y' and W are float32, and W changes with each iteration. With few images, a pass takes as long
 * as reading W once from memory, and copying W as a whole to bf16 would write and read half as many
 * bytes again. Therefore each task copies a panel of W that fits a level-2 cache, multiplies it
 * with all images, and goes on to the next one along the sum. The copy takes about 1 / 16 of an
 * instruction for a weight, the product 1 / 32 for a weight and an image.
 *
 * The gradient of the bias adds rounded values, as the reference does.
 */
#include "base/language.h"
#include "engine/devices/cpu/gemm_bf16.h"

#include <string.h>

/* The panels of W that tasks copy, 64 KiB each: columns of the product, and values along its sum.
 * Either way, a panel has 1 or 2 KiB of each row, which the processor can fetch ahead. */
enum {
    FORWARD_COLUMNS = 64,
    FORWARD_DEPTH = 512,
    INPUT_COLUMNS = 256,
    INPUT_DEPTH = 128,
    PANEL_FLOATS = FORWARD_COLUMNS * FORWARD_DEPTH / 2, /* of a copy, which has pairs */
    ROWS = 64,                                          /* outputs of a task of W' */
    COPY_COLUMNS = 256,                                 /* inputs of a task that copies x */
};

struct linear {
    const struct kernel_call *call;
    size_t inputs, outputs, batch;
    element *a;   /* the copy of x or y' */
    float *b;     /* W': the copy of x */
    float *panel; /* of W, for each thread */
};

/* A product with W. */
struct product {
    const struct linear *linear;
    enum gemm_kind kind;
    gemm_copy_function *copy;
    size_t k, columns;              /* of the whole */
    size_t panel_k, panel_columns;  /* of a panel */
    size_t stride_k, stride_column; /* floats of W from one to the next */
    const float *bias;
    bool accumulate;
    float *c;
};

static struct linear linear_of(const struct kernel_site *site)
{
    return (struct linear){.inputs = shape_count(site->inputs[0]),
                           .outputs = site->node->output.channels,
                           .batch = site->batch};
}

/* Carves the workspace of a product with W, whose other operand has rows of `k` values. */
static struct linear carve_product(const struct kernel_site *site, size_t k, struct carve *carve)
{
    struct linear l = linear_of(site);
    l.a = carve_elements(carve, gemm_a_elements(l.batch, k));
    l.panel = carve_floats(carve, PANEL_FLOATS * site->threads);
    return l;
}

/* Carves the workspace of W'. */
static struct linear carve_weights(const struct kernel_site *site, struct carve *carve)
{
    struct linear l = linear_of(site);
    l.a = carve_elements(carve, gemm_a_elements(round_up(l.outputs, ROWS), l.batch));
    l.b = carve_floats(carve, gemm_b_floats(round_up(l.inputs, COPY_COLUMNS), l.batch));
    return l;
}

static size_t workspace_bytes(const struct kernel_site *site)
{
    struct carve forward = {0}, input = {0}, weights = {0};
    carve_product(site, shape_count(site->inputs[0]), &forward);
    carve_product(site, site->node->output.channels, &input);
    carve_weights(site, &weights);
    return max_size(max_size(forward.used, input.used), weights.used);
}

static bool has_bias(const struct kernel_call *call)
{
    return call->site->node->attributes.linear.bias;
}

/* --- products with W --- */

static void product_task(void *context, size_t task, size_t thread)
{
    const struct product *p = context;
    const struct linear *l = p->linear;
    const uint64_t start = profile_start(l->call->profile);
    const size_t begin = task * p->panel_columns;
    const size_t columns = min_size(p->panel_columns, p->columns - begin);
    float *panel = l->panel + thread * PANEL_FLOATS;
    for (size_t k = 0; k < p->k; k += p->panel_k) {
        const size_t count = min_size(p->panel_k, p->k - k);
        p->copy(l->call->parameters[0] + begin * p->stride_column + k * p->stride_k, l->inputs,
                columns, count, panel);
        KERNEL(gemm_bf16)
        (&(struct gemm_bf16_call){.rows = l->batch,
                                  .columns = columns,
                                  .depth = gemm_depth(count),
                                  .a = l->a + k,
                                  .a_stride = gemm_depth(p->k),
                                  .b = panel,
                                  .bias = k == 0 && p->bias ? p->bias + begin : NULL,
                                  .accumulate = k > 0 || p->accumulate,
                                  .c = p->c + begin,
                                  .c_stride = p->columns});
    }
    profile_add_gemm(l->call->profile, thread, p->kind, l->batch, columns, p->k, start);
}

static void forward_linear(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct linear l = carve_product(call->site, shape_count(call->site->inputs[0]), &carve);
    l.call = call;
    KERNEL(gemm_copy_a)(call->inputs[0], l.inputs, l.batch, l.inputs, l.a);
    const struct product product = {.linear = &l,
                                    .kind = GEMM_NT,
                                    .copy = KERNEL(gemm_copy_b_transposed),
                                    .k = l.inputs,
                                    .columns = l.outputs,
                                    .panel_k = FORWARD_DEPTH,
                                    .panel_columns = FORWARD_COLUMNS,
                                    .stride_k = 1,
                                    .stride_column = l.inputs,
                                    .bias = has_bias(call) ? call->parameters[1] : NULL,
                                    .c = call->output};
    run_tasks(call, divide_up(l.outputs, FORWARD_COLUMNS), product_task, &product);
}

static void backward_input(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct linear l = carve_product(call->site, call->site->node->output.channels, &carve);
    l.call = call;
    KERNEL(gemm_copy_a)(call->output_gradient, l.outputs, l.batch, l.outputs, l.a);
    const struct product product = {.linear = &l,
                                    .kind = GEMM_NN,
                                    .copy = KERNEL(gemm_copy_b),
                                    .k = l.outputs,
                                    .columns = l.inputs,
                                    .panel_k = INPUT_DEPTH,
                                    .panel_columns = INPUT_COLUMNS,
                                    .stride_k = l.inputs,
                                    .stride_column = 1,
                                    .accumulate = call->accumulate[0],
                                    .c = call->input_gradients[0]};
    run_tasks(call, divide_up(l.inputs, INPUT_COLUMNS), product_task, &product);
}

/* --- gradients of weight and bias --- */

/* Copies the columns of x of one task. */
static void copy_task(void *context, size_t task, size_t thread)
{
    const struct linear *l = context;
    const size_t begin = task * COPY_COLUMNS;
    (void)thread;
    KERNEL(gemm_copy_b)
    (l->call->inputs[0] + begin, l->inputs, min_size(COPY_COLUMNS, l->inputs - begin), l->batch,
     l->b + gemm_b_floats(begin, l->batch));
}

/* Computes the gradient of the weights of some outputs. */
static void weights_task(void *context, size_t task, size_t thread)
{
    const struct linear *l = context;
    const uint64_t start = profile_start(l->call->profile);
    const size_t begin = task * ROWS, rows = min_size(ROWS, l->outputs - begin);
    element *a = l->a + gemm_a_elements(begin, l->batch);
    KERNEL(gemm_copy_a_transposed)
    (l->call->output_gradient + begin, l->outputs, rows, l->batch, a);
    KERNEL(gemm_bf16)
    (&(struct gemm_bf16_call){.rows = rows,
                              .columns = l->inputs,
                              .depth = gemm_depth(l->batch),
                              .a = a,
                              .a_stride = gemm_depth(l->batch),
                              .b = l->b,
                              .c = l->call->parameter_gradients[0] + begin * l->inputs,
                              .c_stride = l->inputs});
    profile_add_gemm(l->call->profile, thread, GEMM_TN, rows, l->inputs, l->batch, start);
}

static void backward_weights(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct linear l = carve_weights(call->site, &carve);
    l.call = call;
    run_tasks(call, divide_up(l.inputs, COPY_COLUMNS), copy_task, &l);
    run_tasks(call, divide_up(l.outputs, ROWS), weights_task, &l);
}

static void backward_bias(const struct kernel_call *call)
{
    const struct linear l = linear_of(call->site);
    float *gradient = call->parameter_gradients[1];
    memset(gradient, 0, l.outputs * sizeof *gradient);
    for (size_t n = 0; n < l.batch; n++) {
        const float *row = call->output_gradient + n * l.outputs;
#pragma omp simd
        for (size_t o = 0; o < l.outputs; o++)
            gradient[o] += element_round(row[o]);
    }
}

static void backward_linear(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        backward_input(call);
    if (call->parameter_gradients[0])
        backward_weights(call);
    if (has_bias(call) && call->parameter_gradients[1])
        backward_bias(call);
}

static bool supports(const struct kernel_site *site, const char **reason)
{
    *reason = N_("its input is channel-blocked");
    return site->layouts[0].block == 0;
}

const struct kernel KERNEL(linear_bf16_training) = {
    .name = "linear gemm",
    .instruction_set = ISA_NAME,
    .op = &op_linear,
    .traits = ELEMENT_TRAITS | KERNEL_TRAINS_ONLY | KERNEL_BACKWARD_READS_INPUT,
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .forward = forward_linear,
    .backward = backward_linear,
};
