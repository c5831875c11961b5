/* Local response normalisation of channel-blocked arrays (formulas in ops/lrn.c).
 *
 * The squares of all channels of a position are gathered in a row with zeros at both ends. The sum
 * around each channel is then a sum of vectors at neighbouring addresses, in the order of the
 * channels as in lrn.c. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/functions.h"

enum { MAX_HALF = 16 }; /* channels to each side of a window */

struct blocked_lrn {
    const struct kernel_call *call;
    struct lrn_attributes attributes;
    struct blocked in, out;
    size_t half, row_floats;
};

static size_t row_floats(const struct kernel_site *site)
{
    return round_up(site->inputs[0].channels, LANES) + 2 * MAX_HALF;
}

static size_t workspace_lrn(const struct kernel_site *site)
{
    return row_floats(site) * sizeof(float) * site->threads;
}

/* Writes `count` values of scale^-beta into values[]. */
static void raise(float *values, size_t count, float beta)
{
    if (beta == 0.75f) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            values[i] = 1.0f / (sqrtf(values[i]) * sqrtf(sqrtf(values[i])));
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            values[i] = fast_exp(-beta * fast_log(values[i]));
    }
}

/* Computes one position; `squares` is scratch whose ends are 0. */
static void normalise(const struct blocked_lrn *lrn, const element *from, element *to,
                      float *squares)
{
    const size_t planes = blocked_planes(&lrn->in);
    const float alpha = lrn->attributes.alpha / (float)lrn->attributes.size;
    for (size_t b = 0; b < planes; b++) {
        const vector value = element_load(from + b * lrn->in.plane);
        vector_store(squares + MAX_HALF + b * LANES, value * value);
    }
    for (size_t b = 0; b < planes; b++) {
        vector sum = {0};
        const float *first = squares + MAX_HALF + b * LANES - lrn->half;
        for (size_t d = 0; d <= 2 * lrn->half; d++)
            sum += vector_load(first + d);
        float scale[LANES];
        vector_store(scale, lrn->attributes.k + alpha * sum);
        raise(scale, LANES, lrn->attributes.beta);
        element_store(to + b * lrn->out.plane,
                      element_load(from + b * lrn->in.plane) * vector_load(scale));
    }
}

/* Normalises a row of an image, in all its channels. */
static void lrn_task(void *context, size_t task, size_t thread)
{
    const struct blocked_lrn *lrn = context;
    const size_t height = lrn->in.shape.height, image = task / height, y = task % height;
    float *squares = (float *)lrn->call->workspace + thread * lrn->row_floats;
    floats_clear(squares, lrn->row_floats);
    for (size_t x = 0; x < lrn->in.shape.width; x++)
        normalise(lrn, blocked_at(&lrn->in, image, 0, y) + x * LANES,
                  blocked_at(&lrn->out, image, 0, y) + x * LANES, squares);
    for (size_t b = 0; b < blocked_planes(&lrn->out); b++)
        blocked_pad(&lrn->out, image, b, y, y + 1);
}

static struct blocked_lrn lrn_of(const struct kernel_call *call)
{
    struct blocked_lrn lrn = {.call = call,
                              .attributes = call->site->node->attributes.lrn,
                              .in = blocked_input(call, 0),
                              .out = blocked_output(call),
                              .row_floats = row_floats(call->site)};
    lrn.half = lrn.attributes.size / 2;
    return lrn;
}

static void forward_lrn(const struct kernel_call *call)
{
    const struct blocked_lrn lrn = lrn_of(call);
    run_tasks(call, call->site->batch * lrn.in.shape.height, lrn_task, &lrn);
}

/* --- backward: x' = g scale^-beta - 2 alpha beta x sum of g x scale^(-beta - 1) --- */

/* Scratch of a thread: squares and ratios, with zeros at both ends, and the powers. */
struct rows {
    float *squares, *ratios, *powers;
};

static size_t workspace_training(const struct kernel_site *site)
{
    return 3 * workspace_lrn(site);
}

/* Returns the sum of the window around each lane of block b. */
static inline vector window_sum(const struct blocked_lrn *lrn, const float *row, size_t b)
{
    vector sum = {0};
    const float *first = row + MAX_HALF + b * LANES - lrn->half;
    for (size_t d = 0; d <= 2 * lrn->half; d++)
        sum += vector_load(first + d);
    return sum;
}

/* Computes the gradient of one position, or adds it. */
static void differentiate(const struct blocked_lrn *lrn, const struct rows *rows, const element *x,
                          const element *g, element *to, bool accumulate)
{
    const size_t planes = blocked_planes(&lrn->in);
    const struct lrn_attributes *a = &lrn->attributes;
    const float alpha = a->alpha / (float)a->size, factor = 2 * alpha * a->beta;
    for (size_t b = 0; b < planes; b++) {
        const vector value = element_load(x + b * lrn->in.plane);
        vector_store(rows->squares + MAX_HALF + b * LANES, value * value);
    }
    for (size_t b = 0; b < planes; b++) {
        float *power = rows->powers + b * LANES;
        const vector scale = a->k + alpha * window_sum(lrn, rows->squares, b);
        vector_store(power, scale);
        raise(power, LANES, a->beta);
        vector_store(rows->ratios + MAX_HALF + b * LANES, element_load(g + b * lrn->out.plane) *
                                                              element_load(x + b * lrn->in.plane) *
                                                              vector_load(power) / scale);
    }
    for (size_t b = 0; b < planes; b++) {
        const vector sum = window_sum(lrn, rows->ratios, b);
        const vector gradient =
            element_load(g + b * lrn->out.plane) * vector_load(rows->powers + b * LANES) -
            factor * element_load(x + b * lrn->in.plane) * sum;
        element *at = to + b * lrn->in.plane;
        element_store(at, accumulate ? element_load(at) + gradient : gradient);
    }
}

/* Computes the gradient of a row of an image, in all its channels. */
static void gradient_task(void *context, size_t task, size_t thread)
{
    const struct blocked_lrn *lrn = context;
    const struct kernel_call *call = lrn->call;
    const size_t height = lrn->in.shape.height, image = task / height, y = task % height;
    const struct blocked to =
        blocked_make(call->input_gradients[0], call->site->inputs[0], call->site->layouts[0]);
    float *scratch = (float *)call->workspace + 3 * thread * lrn->row_floats;
    const struct rows rows = {scratch, scratch + lrn->row_floats, scratch + 2 * lrn->row_floats};
    floats_clear(scratch, 3 * lrn->row_floats);
    for (size_t x = 0; x < lrn->in.shape.width; x++)
        differentiate(lrn, &rows, blocked_at(&lrn->in, image, 0, y) + x * LANES,
                      blocked_at(&lrn->out, image, 0, y) + x * LANES,
                      blocked_at(&to, image, 0, y) + x * LANES, call->accumulate[0]);
}

static void backward_lrn(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct blocked_lrn lrn = lrn_of(call);
    lrn.out = blocked_make(call->output_gradient, site->node->output, site->output_layout);
    if (call->input_gradients[0])
        run_tasks(call, site->batch * lrn.in.shape.height, gradient_task, &lrn);
}

static bool supports_lrn(const struct kernel_site *site, const char **reason)
{
    if (!KERNEL(blocked_supports)(site, reason))
        return false;
    *reason = N_("a wide window");
    return site->node->attributes.lrn.size / 2 <= MAX_HALF;
}

const struct kernel KERNEL(lrn_blocked) = {
    .name = "lrn blocked",
    .instruction_set = ISA_NAME,
    .op = &op_lrn,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = supports_lrn,
    .workspace_bytes = workspace_lrn,
    .forward = forward_lrn,
};

const struct kernel KERNEL(lrn_blocked_training) = {
    .name = "lrn blocked",
    .instruction_set = ISA_NAME,
    .op = &op_lrn,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_TRAINS_ONLY | KERNEL_BACKWARD_READS_INPUT,
    .supports = supports_lrn,
    .workspace_bytes = workspace_training,
    .forward = forward_lrn,
    .backward = backward_lrn,
};
