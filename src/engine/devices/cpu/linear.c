/* Fully connected layers: y = x W^T + b, with x [N, I], W [O, I], y [N, O].
 *
 * With several images these are matrix products, split into blocks of columns or rows depending on
 * the shape (x' is the gradient of x):
 *   y  = x W^T  (nt)    x' = y' W  (nn)    W' = y'^T x  (tn)
 * With one or a few images the product is limited by memory bandwidth (GEMV). The kernel "linear
 * rows" then computes dot products along the rows of W and reads W once.
 */
#include "base/language.h"
#include "engine/devices/cpu/gemm.h"

#include <string.h>

/* --- several images --- */

enum { WANTED_BLOCKS = 16, LEAST_BLOCK = 64 };

/* Returns the size of a block when `count` columns or rows are divided into blocks. */
static size_t block_of(size_t count)
{
    return max_size(LEAST_BLOCK, round_up(divide_up(count, WANTED_BLOCKS), 16));
}

static size_t inputs_of(const struct kernel_call *call)
{
    return shape_count(call->site->inputs[0]);
}

static size_t outputs_of(const struct kernel_call *call)
{
    return call->site->node->output.channels;
}

static bool has_bias(const struct kernel_call *call)
{
    return call->site->node->attributes.linear.bias;
}

static void forward_block(void *context, size_t task, size_t thread)
{
    const struct kernel_call *call = context;
    const size_t inputs = inputs_of(call), outputs = outputs_of(call), batch = call->site->batch;
    const size_t begin = task * block_of(outputs);
    const size_t count = min_size(block_of(outputs), outputs - begin);
    for (size_t n = 0; has_bias(call) && n < batch; n++)
        memcpy(call->output + n * outputs + begin, call->parameters[1] + begin,
               count * sizeof(float));
    gemm(call->profile, thread,
         &(struct gemm_call){.kind = GEMM_NT,
                             .m = batch,
                             .n = count,
                             .k = inputs,
                             .a = call->inputs[0],
                             .a_stride = inputs,
                             .b = call->parameters[0] + begin * inputs,
                             .b_stride = inputs,
                             .beta = has_bias(call) ? 1 : 0,
                             .c = call->output + begin,
                             .c_stride = outputs});
}

static void backward_input_block(void *context, size_t task, size_t thread)
{
    const struct kernel_call *call = context;
    const size_t inputs = inputs_of(call), outputs = outputs_of(call);
    const size_t begin = task * block_of(inputs);
    gemm(call->profile, thread,
         &(struct gemm_call){.kind = GEMM_NN,
                             .m = call->site->batch,
                             .n = min_size(block_of(inputs), inputs - begin),
                             .k = outputs,
                             .a = call->output_gradient,
                             .a_stride = outputs,
                             .b = call->parameters[0] + begin,
                             .b_stride = inputs,
                             .beta = call->accumulate[0] ? 1 : 0,
                             .c = call->input_gradients[0] + begin,
                             .c_stride = inputs});
}

static void backward_weight_block(void *context, size_t task, size_t thread)
{
    const struct kernel_call *call = context;
    const size_t inputs = inputs_of(call), outputs = outputs_of(call);
    const size_t begin = task * block_of(outputs);
    gemm(call->profile, thread,
         &(struct gemm_call){.kind = GEMM_TN,
                             .m = min_size(block_of(outputs), outputs - begin),
                             .n = inputs,
                             .k = call->site->batch,
                             .a = call->output_gradient + begin,
                             .a_stride = outputs,
                             .b = call->inputs[0],
                             .b_stride = inputs,
                             .c = call->parameter_gradients[0] + begin * inputs,
                             .c_stride = inputs});
}

static void backward_bias(const struct kernel_call *call)
{
    const size_t outputs = outputs_of(call);
    float *gradient = call->parameter_gradients[1];
    for (size_t n = 0; n < call->site->batch; n++)
        store_or_add(gradient, call->output_gradient + n * outputs, outputs, n > 0);
}

static void forward_linear(const struct kernel_call *call)
{
    const size_t outputs = outputs_of(call);
    run_tasks(call, divide_up(outputs, block_of(outputs)), forward_block, call);
}

static void backward_linear(const struct kernel_call *call)
{
    const size_t inputs = inputs_of(call), outputs = outputs_of(call);
    if (call->input_gradients[0])
        run_tasks(call, divide_up(inputs, block_of(inputs)), backward_input_block, call);
    if (call->parameter_gradients[0])
        run_tasks(call, divide_up(outputs, block_of(outputs)), backward_weight_block, call);
    if (has_bias(call) && call->parameter_gradients[1])
        backward_bias(call);
}

const struct kernel KERNEL(linear) = {
    .name = "linear sgemm",
    .instruction_set = ISA_NAME,
    .op = &op_linear,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_linear,
    .backward = backward_linear,
};

/* --- a few images --- */

enum {
    FEW_IMAGES = 4,
    ROWS = 4,       /* rows of W that are read side by side */
    ROW_BLOCK = 32, /* outputs in a task */
    COLUMN_BLOCK = 512,
};

/* Multiplies `rows` rows of W, at most ROWS, with one image. With fewer rows than ROWS the last one
 * is read several times. */
static void dot_rows(const float *weight, size_t inputs, size_t rows, const float *x, float *y)
{
    const float *w[ROWS];
    vector sum[ROWS][2];
    float tail[ROWS] = {0};
    for (size_t r = 0; r < ROWS; r++) {
        w[r] = weight + min_size(r, rows - 1) * inputs;
        sum[r][0] = sum[r][1] = (vector){0};
    }
    size_t i = 0;
    for (; i + 2 * LANES <= inputs; i += 2 * LANES) {
        const vector x0 = vector_load(x + i), x1 = vector_load(x + i + LANES);
#pragma GCC unroll 4
        for (size_t r = 0; r < ROWS; r++) {
            sum[r][0] += vector_load(w[r] + i) * x0;
            sum[r][1] += vector_load(w[r] + i + LANES) * x1;
        }
    }
    for (; i < inputs; i++)
        for (size_t r = 0; r < ROWS; r++)
            tail[r] += w[r][i] * x[i];
    for (size_t r = 0; r < rows; r++)
        y[r] = vector_sum(sum[r][0] + sum[r][1]) + tail[r];
}

static void forward_rows(void *context, size_t task, size_t thread)
{
    const struct kernel_call *call = context;
    const size_t inputs = inputs_of(call), outputs = outputs_of(call);
    const size_t begin = task * ROW_BLOCK, end = min_size(outputs, begin + ROW_BLOCK);
    const uint64_t start = profile_start(call->profile);
    for (size_t o = begin; o < end; o += ROWS)
        for (size_t n = 0; n < call->site->batch; n++) {
            float *y = call->output + n * outputs + o;
            const size_t rows = min_size(ROWS, end - o);
            dot_rows(call->parameters[0] + o * inputs, inputs, rows, call->inputs[0] + n * inputs,
                     y);
            for (size_t r = 0; has_bias(call) && r < rows; r++)
                y[r] += call->parameters[1][o + r];
        }
    profile_add_gemm(call->profile, thread, GEMM_NT, call->site->batch, end - begin, inputs, start);
}

/* Adds g[0] W[0][i] + ... + g[3] W[3][i] to sum[i]. */
static void add_four_rows(const float *weight, size_t stride, const float *g, size_t count,
                          float *sum)
{
    const float *w1 = weight + stride, *w2 = w1 + stride, *w3 = w2 + stride;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        sum[i] += g[0] * weight[i] + g[1] * w1[i] + g[2] * w2[i] + g[3] * w3[i];
}

static void backward_input_columns(void *context, size_t task, size_t thread)
{
    const struct kernel_call *call = context;
    const size_t inputs = inputs_of(call), outputs = outputs_of(call), batch = call->site->batch;
    const size_t begin = task * COLUMN_BLOCK, count = min_size(COLUMN_BLOCK, inputs - begin);
    const uint64_t start = profile_start(call->profile);
    float sum[FEW_IMAGES][COLUMN_BLOCK] = {{0}};
    size_t o = 0;
    for (; o + ROWS <= outputs; o += ROWS)
        for (size_t n = 0; n < batch; n++)
            add_four_rows(call->parameters[0] + o * inputs + begin, inputs,
                          call->output_gradient + n * outputs + o, count, sum[n]);
    for (; o < outputs; o++)
        for (size_t n = 0; n < batch; n++) {
            const float g = call->output_gradient[n * outputs + o];
            const float *w = call->parameters[0] + o * inputs + begin;
#pragma omp simd
            for (size_t i = 0; i < count; i++)
                sum[n][i] += g * w[i];
        }
    for (size_t n = 0; n < batch; n++)
        store_or_add(call->input_gradients[0] + n * inputs + begin, sum[n], count,
                     call->accumulate[0]);
    profile_add_gemm(call->profile, thread, GEMM_NN, batch, count, outputs, start);
}

static void backward_weight_rows(void *context, size_t task, size_t thread)
{
    const struct kernel_call *call = context;
    const size_t inputs = inputs_of(call), outputs = outputs_of(call);
    const size_t begin = task * ROW_BLOCK, end = min_size(outputs, begin + ROW_BLOCK);
    const uint64_t start = profile_start(call->profile);
    for (size_t o = begin; o < end; o++)
        for (size_t n = 0; n < call->site->batch; n++) {
            const float g = call->output_gradient[n * outputs + o];
            const float *x = call->inputs[0] + n * inputs;
            float *to = call->parameter_gradients[0] + o * inputs;
            if (n == 0) {
#pragma omp simd
                for (size_t i = 0; i < inputs; i++)
                    to[i] = g * x[i];
            } else {
#pragma omp simd
                for (size_t i = 0; i < inputs; i++)
                    to[i] += g * x[i];
            }
        }
    profile_add_gemm(call->profile, thread, GEMM_TN, end - begin, inputs, call->site->batch, start);
}

static void forward_linear_rows(const struct kernel_call *call)
{
    run_tasks(call, divide_up(outputs_of(call), ROW_BLOCK), forward_rows, call);
}

static void backward_linear_rows(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, divide_up(inputs_of(call), COLUMN_BLOCK), backward_input_columns, call);
    if (call->parameter_gradients[0])
        run_tasks(call, divide_up(outputs_of(call), ROW_BLOCK), backward_weight_rows, call);
    if (has_bias(call) && call->parameter_gradients[1])
        backward_bias(call);
}

static bool supports_linear_rows(const struct kernel_site *site, const char **reason)
{
    *reason = N_("more than 4 images");
    return site->batch <= FEW_IMAGES;
}

const struct kernel KERNEL(linear_rows) = {
    .name = "linear rows",
    .instruction_set = ISA_NAME,
    .op = &op_linear,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .supports = supports_linear_rows,
    .forward = forward_linear_rows,
    .backward = backward_linear_rows,
};
