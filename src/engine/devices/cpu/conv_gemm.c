/* Convolution as im2col and matrix products, for shapes that direct convolution does not support.
 *
 * The matrix columns [inputs * taps, positions] of one image and group has the value under each
 * window element at each output position. With ' for gradients:
 *   output         = weight  columns            (nn)
 *   columns'       = weight^T output'           (tn), added into the input's gradient
 *   weight'       += output' columns^T          (nt), over a fixed chunk of the images
 */
#include "engine/devices/cpu/conv.h"
#include "engine/devices/cpu/gemm.h"

enum { GEMM_PARTIALS = 8 };

struct gemm_job {
    struct conv_sizes sizes;
    size_t terms, positions, weight_floats, partials;
    float *results; /* [partial][weight] */
    float *columns; /* one matrix for each thread */
    const struct kernel_call *call;
};

static struct gemm_job job_make(const struct kernel_site *site, struct carve *carve)
{
    struct gemm_job job = {.sizes = conv_sizes_of(site)};
    const struct conv_sizes *s = &job.sizes;
    job.terms = s->inputs * s->taps;
    job.positions = shape_area(s->out);
    job.weight_floats = s->groups * s->outputs * job.terms;
    job.partials = min_size(GEMM_PARTIALS, conv_partials(s->batch, job.weight_floats));
    job.results = carve_floats(carve, site->training ? job.partials * job.weight_floats : 0);
    job.columns = carve_floats(carve, job.terms * job.positions * site->threads);
    return job;
}

static size_t workspace_conv_gemm(const struct kernel_site *site)
{
    struct carve carve = {0};
    job_make(site, &carve);
    return carve.used;
}

/* Sets [*begin, *end) to the output positions of an axis at which a window element lies in the
 * image. It is at position k of the window. */
static void inside(size_t k, size_t stride, size_t pad, size_t size, size_t out, size_t *begin,
                   size_t *end)
{
    *begin = min_size(out, pad > k ? divide_up(pad - k, stride) : 0);
    *end = size + pad > k ? min_size(out, divide_up(size + pad - k, stride)) : 0;
    *end = max_size(*begin, *end);
}

/* Writes the row of the matrix for one window element of one channel. */
static void fill_row(const struct conv_sizes *s, const float *plane, size_t ky, size_t kx,
                     float *columns)
{
    const struct window *w = &s->window;
    size_t y0, y1, x0, x1;
    ky *= s->dilation_height;
    kx *= s->dilation_width;
    inside(ky, w->stride_height, w->pad_height, s->in.height, s->out.height, &y0, &y1);
    inside(kx, w->stride_width, w->pad_width, s->in.width, s->out.width, &x0, &x1);
    memset(columns, 0, shape_area(s->out) * sizeof *columns);
    for (size_t y = y0; y < y1 && x0 < x1; y++) {
        const float *from = plane + (y * w->stride_height + ky - w->pad_height) * s->in.width +
                            (x0 * w->stride_width + kx - w->pad_width);
        float *to = columns + y * s->out.width;
#pragma omp simd
        for (size_t x = x0; x < x1; x++)
            to[x] = from[(x - x0) * w->stride_width];
    }
}

/* Adds such a row of gradients to the channel's plane of the input's gradient. */
static void add_row(const struct conv_sizes *s, const float *columns, size_t ky, size_t kx,
                    float *plane)
{
    const struct window *w = &s->window;
    size_t y0, y1, x0, x1;
    ky *= s->dilation_height;
    kx *= s->dilation_width;
    inside(ky, w->stride_height, w->pad_height, s->in.height, s->out.height, &y0, &y1);
    inside(kx, w->stride_width, w->pad_width, s->in.width, s->out.width, &x0, &x1);
    for (size_t y = y0; y < y1 && x0 < x1; y++) {
        float *to = plane + (y * w->stride_height + ky - w->pad_height) * s->in.width +
                    (x0 * w->stride_width + kx - w->pad_width);
        const float *from = columns + y * s->out.width;
#pragma omp simd
        for (size_t x = x0; x < x1; x++)
            to[(x - x0) * w->stride_width] += from[x];
    }
}

static const float *input_of(const struct gemm_job *job, size_t image, size_t group)
{
    return job->call->inputs[0] + image * shape_count(job->sizes.in) +
           group * job->sizes.inputs * shape_area(job->sizes.in);
}

static size_t output_at(const struct gemm_job *job, size_t image, size_t group)
{
    return image * shape_count(job->sizes.out) + group * job->sizes.outputs * job->positions;
}

static float *fill_columns(const struct gemm_job *job, size_t image, size_t group, size_t thread)
{
    const struct conv_sizes *s = &job->sizes;
    const float *input = input_of(job, image, group);
    float *columns = job->columns + thread * job->terms * job->positions, *at = columns;
    for (size_t i = 0; i < s->inputs; i++)
        for (size_t ky = 0; ky < s->window.kernel_height; ky++)
            for (size_t kx = 0; kx < s->window.kernel_width; kx++, at += job->positions)
                fill_row(s, input + i * shape_area(s->in), ky, kx, at);
    return columns;
}

static void forward_task(void *context, size_t task, size_t thread)
{
    const struct gemm_job *job = context;
    const struct conv_sizes *s = &job->sizes;
    const size_t image = task / s->groups, group = task % s->groups;
    const bool bias = job->call->site->node->attributes.conv.bias;
    float *output = job->call->output + output_at(job, image, group);
    for (size_t o = 0; bias && o < s->outputs; o++)
        for (size_t i = 0; i < job->positions; i++)
            output[o * job->positions + i] = job->call->parameters[1][group * s->outputs + o];
    gemm(job->call->profile, thread,
         &(struct gemm_call){.kind = GEMM_NN,
                             .m = s->outputs,
                             .n = job->positions,
                             .k = job->terms,
                             .a = job->call->parameters[0] + group * s->outputs * job->terms,
                             .a_stride = job->terms,
                             .b = fill_columns(job, image, group, thread),
                             .b_stride = job->positions,
                             .beta = bias ? 1 : 0,
                             .c = output,
                             .c_stride = job->positions});
}

static void backward_input_task(void *context, size_t task, size_t thread)
{
    const struct gemm_job *job = context;
    const struct conv_sizes *s = &job->sizes;
    const size_t image = task / s->groups, group = task % s->groups, area = shape_area(s->in);
    float *columns = job->columns + thread * job->terms * job->positions, *at = columns;
    gemm(job->call->profile, thread,
         &(struct gemm_call){.kind = GEMM_TN,
                             .m = job->terms,
                             .n = job->positions,
                             .k = s->outputs,
                             .a = job->call->parameters[0] + group * s->outputs * job->terms,
                             .a_stride = job->terms,
                             .b = job->call->output_gradient + output_at(job, image, group),
                             .b_stride = job->positions,
                             .c = columns,
                             .c_stride = job->positions});
    float *gradient =
        job->call->input_gradients[0] + image * shape_count(s->in) + group * s->inputs * area;
    if (!job->call->accumulate[0])
        memset(gradient, 0, s->inputs * area * sizeof *gradient);
    for (size_t i = 0; i < s->inputs; i++)
        for (size_t ky = 0; ky < s->window.kernel_height; ky++)
            for (size_t kx = 0; kx < s->window.kernel_width; kx++, at += job->positions)
                add_row(s, at, ky, kx, gradient + i * area);
}

static void backward_weight_task(void *context, size_t task, size_t thread)
{
    const struct gemm_job *job = context;
    const struct conv_sizes *s = &job->sizes;
    const size_t partial = task / s->groups, group = task % s->groups;
    const size_t begin = chunk_begin(s->batch, job->partials, partial);
    for (size_t n = begin; n < chunk_begin(s->batch, job->partials, partial + 1); n++)
        gemm(job->call->profile, thread,
             &(struct gemm_call){.kind = GEMM_NT,
                                 .m = s->outputs,
                                 .n = job->terms,
                                 .k = job->positions,
                                 .a = job->call->output_gradient + output_at(job, n, group),
                                 .a_stride = job->positions,
                                 .b = fill_columns(job, n, group, thread),
                                 .b_stride = job->positions,
                                 .beta = n > begin ? 1 : 0,
                                 .c = job->results + partial * job->weight_floats +
                                      group * s->outputs * job->terms,
                                 .c_stride = job->terms});
}

static void add_partials_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct gemm_job *job = context;
    const size_t begin = task * BLOCK, end = block_end(job->weight_floats, task);
    float *to = job->call->parameter_gradients[0];
    for (size_t partial = 0; partial < job->partials; partial++)
        store_or_add(to + begin, job->results + partial * job->weight_floats + begin, end - begin,
                     partial > 0);
}

static void forward_conv_gemm(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct gemm_job job = job_make(call->site, &carve);
    job.call = call;
    run_tasks(call, job.sizes.batch * job.sizes.groups, forward_task, &job);
}

static void backward_conv_gemm(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct gemm_job job = job_make(call->site, &carve);
    job.call = call;
    if (call->input_gradients[0])
        run_tasks(call, job.sizes.batch * job.sizes.groups, backward_input_task, &job);
    if (call->parameter_gradients[0]) {
        run_tasks(call, job.partials * job.sizes.groups, backward_weight_task, &job);
        run_tasks(call, block_count(job.weight_floats), add_partials_task, &job);
    }
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        KERNEL(conv_bias_backward)(call);
}

const struct kernel KERNEL(conv_gemm) = {
    .name = "conv im2col+sgemm",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .workspace_bytes = workspace_conv_gemm,
    .forward = forward_conv_gemm,
    .backward = backward_conv_gemm,
};
