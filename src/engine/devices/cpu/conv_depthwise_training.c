/* Depthwise convolution on channel-blocked arrays in training: groups of one input channel and one
 * output channel each.
 *
 * The channels of a block are in the lanes. Every pass first copies a plane with zeros around it:
 * the input, or the output's gradient with zeros between its rows and columns if there is a stride.
 * The input's gradient is then a convolution of stride 1 with the window turned by 180 degrees.
 */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/blocked_conv.h"

enum { STRIP = 8, WEIGHT_ROWS = 8, TILE_TAPS = 3 };

/* A convolution of planes with zeros around them: y[p] = sum over t of
 * weight[t] x[p stride + t dilation]. */
struct pass {
    struct conv_sizes sizes;
    const struct kernel_call *call;
    struct blocked from, to;
    size_t spread_height, spread_width; /* rows and columns of the copy for one of the source */
    size_t top, left;                   /* zeros before the source */
    size_t height, width;               /* of the copy, in positions */
    size_t stride_height, stride_width;
    bool accumulate;
    float *weights, *bias; /* [block][tap][lane], [block][lane]; bias NULL: none */
    element *copies;       /* one for each thread */
    struct blocked_tasks tasks;
};

static size_t copy_elements(const struct pass *pass)
{
    return pass->height * pass->width * LANES;
}

static struct pass forward_of(const struct kernel_site *site, struct carve *carve)
{
    struct pass pass = {.sizes = conv_sizes_of(site), .spread_height = 1, .spread_width = 1};
    const struct conv_sizes *s = &pass.sizes;
    const struct window *w = &s->window;
    pass.top = w->pad_height;
    pass.left = w->pad_width;
    pass.height = max_size(s->in.height + 2 * pass.top, s->span_height);
    pass.width = max_size(s->in.width + 2 * pass.left, s->span_width);
    pass.stride_height = w->stride_height;
    pass.stride_width = w->stride_width;
    pass.weights = carve_floats(carve, round_up(s->out.channels, LANES) * s->taps);
    pass.bias = carve_floats(carve, round_up(s->out.channels, LANES));
    pass.copies = carve_elements(carve, copy_elements(&pass) * site->threads);
    return pass;
}

/* Returns the input's gradient as a pass. For input position q, element t of the window belongs to
 * output (q + pad - t) / stride: the copy of the gradient has its position 0 at span - 1 - pad, and
 * one column for each column of the input. */
static struct pass backward_of(const struct kernel_site *site, struct carve *carve)
{
    struct pass pass = {.sizes = conv_sizes_of(site)};
    const struct conv_sizes *s = &pass.sizes;
    const struct window *w = &s->window;
    pass.spread_height = w->stride_height;
    pass.spread_width = w->stride_width;
    pass.top = s->span_height - 1 - w->pad_height;
    pass.left = s->span_width - 1 - w->pad_width;
    pass.height = s->in.height + s->span_height - 1;
    pass.width = s->in.width + s->span_width - 1;
    pass.stride_height = pass.stride_width = 1;
    pass.weights = carve_floats(carve, round_up(s->in.channels, LANES) * s->taps);
    pass.copies = carve_elements(carve, copy_elements(&pass) * site->threads);
    return pass;
}

static void pack_weights(const struct pass *pass, bool backward)
{
    const struct conv_sizes *s = &pass->sizes;
    const struct kernel_call *call = pass->call;
    for (size_t c = 0; c < round_up(s->out.channels, LANES); c++) {
        const bool used = c < s->out.channels;
        float *to = pass->weights + c / LANES * s->taps * LANES + c % LANES;
        for (size_t t = 0; t < s->taps; t++) {
            const size_t tap = backward ? s->taps - 1 - t : t;
            to[t * LANES] = used ? element_round(call->parameters[0][c * s->taps + tap]) : 0;
        }
        if (pass->bias)
            pass->bias[c] =
                used && call->site->node->attributes.conv.bias ? call->parameters[1][c] : 0;
    }
}

/* Copies a plane with zeros around and between its positions. */
static void copy_plane(const struct pass *pass, size_t image, size_t plane, element *copy)
{
    const struct shape shape = pass->from.shape;
    const size_t row = pass->width * LANES;
    blocked_clear(copy, copy_elements(pass));
    for (size_t y = 0; y < shape.height; y++) {
        const element *from = blocked_at(&pass->from, image, plane, y);
        const size_t at = pass->top + y * pass->spread_height;
        if (at >= pass->height)
            break;
        element *to = copy + at * row + pass->left * LANES;
        if (pass->spread_width == 1) {
            memcpy(to, from, shape.width * LANES * sizeof *to);
            continue;
        }
        for (size_t x = 0; x < shape.width; x++)
            element_store(to + x * pass->spread_width * LANES, element_load(from + x * LANES));
    }
}

/* --- the sums --- */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Computes `count` positions; `source` is the copy under the window of the first one. */
ALWAYS_INLINE void compute_strip(const struct pass *pass, const element *source,
                                 const float *weights, const float *bias, element *out,
                                 const int count)
{
    const struct window *w = &pass->sizes.window;
    const size_t step = pass->stride_width * LANES;
    const size_t down = pass->sizes.dilation_height * pass->width * LANES;
    const size_t across = pass->sizes.dilation_width * LANES;
    const vector start = bias ? vector_load(bias) : (vector){0};
    vector sum[STRIP];
#pragma GCC unroll 8
    for (int p = 0; p < count; p++)
        sum[p] = start;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++, weights += LANES) {
            const element *from = source + ky * down + kx * across;
            const vector weight = vector_load(weights);
#pragma GCC unroll 8
            for (int p = 0; p < count; p++)
                sum[p] += weight * element_load(from + (size_t)p * step);
        }
#pragma GCC unroll 8
    for (int p = 0; p < count; p++) {
        element *to = out + p * LANES;
        element_store(to, pass->accumulate ? element_load(to) + sum[p] : sum[p]);
    }
}

static void compute_plane(const struct pass *pass, size_t image, size_t plane, const element *copy)
{
    const float *weights = pass->weights + plane * pass->sizes.taps * LANES;
    const float *bias = pass->bias ? pass->bias + plane * LANES : NULL;
    const size_t width = pass->to.shape.width, step = pass->stride_width * LANES;
    for (size_t y = 0; y < pass->to.shape.height; y++) {
        const element *source = copy + y * pass->stride_height * pass->width * LANES;
        element *out = blocked_at(&pass->to, image, plane, y);
        size_t x = 0;
        for (; x + STRIP <= width; x += STRIP)
            compute_strip(pass, source + x * step, weights, bias, out + x * LANES, STRIP);
        for (; x + STRIP / 2 <= width; x += STRIP / 2)
            compute_strip(pass, source + x * step, weights, bias, out + x * LANES, STRIP / 2);
        for (; x < width; x++)
            compute_strip(pass, source + x * step, weights, bias, out + x * LANES, 1);
    }
}

static void pass_task(void *context, size_t task, size_t thread)
{
    const struct pass *pass = context;
    element *copy = pass->copies + thread * copy_elements(pass);
    struct row_block block = blocked_first(&pass->tasks, task);
    while (blocked_next(&pass->tasks, &block)) {
        copy_plane(pass, block.image, block.plane, copy);
        compute_plane(pass, block.image, block.plane, copy);
    }
}

static void run_pass(struct pass *pass, bool backward)
{
    const struct kernel_call *call = pass->call;
    pack_weights(pass, backward);
    pass->tasks = blocked_tasks_of(call, &pass->to, pass->sizes.taps * pass->to.shape.width);
    pass->tasks.divides_rows = false; /* a task copies whole planes */
    pass->tasks.count =
        min_size(pass->tasks.batch * pass->tasks.planes, 8 * pool_threads(call->pool));
    run_tasks(call, pass->tasks.count, pass_task, pass);
}

static void forward_depthwise(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct pass pass = forward_of(call->site, &carve);
    pass.call = call;
    pass.from = blocked_input(call, 0);
    pass.to = blocked_output(call);
    run_pass(&pass, false);
}

/* --- the gradient of the weights --- */

struct depthwise_weights {
    struct pass pass; /* how the input is copied */
    struct blocked gradient;
    size_t partials;
    float *results; /* [partial][block][tap][lane] */
};

static struct depthwise_weights weights_of(const struct kernel_site *site, struct carve *carve)
{
    struct depthwise_weights d = {.pass = forward_of(site, carve)};
    d.partials = min_size(site->batch, MAX_PARTIALS);
    d.results = carve_floats(carve, d.partials * round_up(d.pass.sizes.out.channels, LANES) *
                                        d.pass.sizes.taps);
    return d;
}

/* Adds the sums of `count` neighbouring window elements over rows [begin, end) to `out`. */
ALWAYS_INLINE void add_taps(const struct depthwise_weights *d, const element *source, size_t image,
                            size_t plane, size_t begin, size_t end, float *out, const int count)
{
    const struct pass *pass = &d->pass;
    const size_t step = pass->stride_width * LANES, across = pass->sizes.dilation_width * LANES;
    vector sum[TILE_TAPS][2] = {0};
    for (size_t y = begin; y < end; y++) {
        const element *g = blocked_at(&d->gradient, image, plane, y);
        const element *from = source + y * pass->stride_height * pass->width * LANES;
        const size_t width = d->gradient.shape.width;
        for (size_t x = 0; x + 2 <= width; x += 2)
#pragma GCC unroll 3
            for (int t = 0; t < count; t++) {
                const element *at = from + x * step + (size_t)t * across;
                sum[t][0] += element_load(g + x * LANES) * element_load(at);
                sum[t][1] += element_load(g + (x + 1) * LANES) * element_load(at + step);
            }
        if (width % 2)
#pragma GCC unroll 3
            for (int t = 0; t < count; t++)
                sum[t][0] += element_load(g + (width - 1) * LANES) *
                             element_load(from + (width - 1) * step + (size_t)t * across);
    }
#pragma GCC unroll 3
    for (int t = 0; t < count; t++)
        vector_store(out + t * LANES, vector_load(out + t * LANES) + (sum[t][0] + sum[t][1]));
}

/* Adds one plane of one image. */
static void add_plane(const struct depthwise_weights *d, const element *copy, size_t image,
                      size_t plane, float *out)
{
    const struct conv_sizes *s = &d->pass.sizes;
    const struct window *w = &s->window;
    const size_t height = d->gradient.shape.height;
    for (size_t y = 0; y < height; y += WEIGHT_ROWS) {
        const size_t end = min_size(y + WEIGHT_ROWS, height);
        for (size_t ky = 0; ky < w->kernel_height; ky++)
            for (size_t kx = 0; kx < w->kernel_width;) {
                const element *source =
                    copy +
                    (ky * s->dilation_height * d->pass.width + kx * s->dilation_width) * LANES;
                float *to = out + (ky * w->kernel_width + kx) * LANES;
                if (kx + TILE_TAPS <= w->kernel_width) {
                    add_taps(d, source, image, plane, y, end, to, TILE_TAPS);
                    kx += TILE_TAPS;
                } else {
                    add_taps(d, source, image, plane, y, end, to, 1);
                    kx++;
                }
            }
    }
}

/* Adds the images of one partial result for one block. */
static void weights_task(void *context, size_t task, size_t thread)
{
    const struct depthwise_weights *d = context;
    const struct pass *pass = &d->pass;
    const size_t planes = blocked_planes(&d->gradient), floats = pass->sizes.taps * LANES;
    const size_t partial = task / planes, plane = task % planes, batch = pass->call->site->batch;
    element *copy = pass->copies + thread * copy_elements(pass);
    float *out = d->results + task * floats;
    floats_clear(out, floats);
    for (size_t n = chunk_begin(batch, d->partials, partial);
         n < chunk_begin(batch, d->partials, partial + 1); n++) {
        copy_plane(pass, n, plane, copy);
        add_plane(d, copy, n, plane, out);
    }
}

static void backward_weights(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct carve carve = {.base = call->workspace};
    struct depthwise_weights d = weights_of(site, &carve);
    const size_t taps = d.pass.sizes.taps;
    d.pass.call = call;
    d.pass.from = blocked_input(call, 0);
    d.gradient = blocked_make(call->output_gradient, site->node->output, site->output_layout);
    const size_t planes = blocked_planes(&d.gradient);
    run_tasks(call, d.partials * planes, weights_task, &d);
    for (size_t c = 0; c < site->node->output.channels; c++)
        for (size_t t = 0; t < taps; t++) {
            const float *from = d.results + (c / LANES * taps + t) * LANES + c % LANES;
            float sum = 0;
            for (size_t partial = 0; partial < d.partials; partial++)
                sum += from[partial * planes * taps * LANES];
            call->parameter_gradients[0][c * taps + t] = sum;
        }
}

static void backward_input(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct carve carve = {.base = call->workspace};
    struct pass pass = backward_of(site, &carve);
    pass.call = call;
    pass.from = blocked_make(call->output_gradient, site->node->output, site->output_layout);
    pass.to = blocked_make(call->input_gradients[0], site->inputs[0], site->layouts[0]);
    pass.accumulate = call->accumulate[0];
    run_pass(&pass, true);
}

static void backward_depthwise(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        backward_input(call);
    if (call->parameter_gradients[0])
        backward_weights(call);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        KERNEL(blocked_bias_backward)(call);
}

/* --- the kernel --- */

static size_t workspace_depthwise(const struct kernel_site *site)
{
    struct carve backward = {0}, weights = {0};
    backward_of(site, &backward);
    weights_of(site, &weights); /* has the forward pass's arrays too */
    return max_size(backward.used, weights.used);
}

static bool supports_depthwise(const struct kernel_site *site, const char **reason)
{
    const struct conv_sizes s = conv_sizes_of(site);
    const struct window *w = &s.window;
    if (!KERNEL(blocked_supports)(site, reason))
        return false;
    *reason = N_("groups of several channels");
    if (s.inputs > 1 || s.outputs > 1 || s.groups == 1)
        return false;
    *reason = N_("padding as large as the window");
    if (w->pad_height >= s.span_height || w->pad_width >= s.span_width)
        return false;
    *reason = N_("an output of one position");
    return shape_area(s.out) > 1;
}

const struct kernel KERNEL(conv_depthwise_training) = {
    .name = "conv depthwise",
    .instruction_set = ISA_NAME,
    .op = &op_conv,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_TRAINS_ONLY | KERNEL_BACKWARD_READS_INPUT,
    .supports = supports_depthwise,
    .workspace_bytes = workspace_depthwise,
    .forward = forward_depthwise,
    .backward = backward_depthwise,
};
