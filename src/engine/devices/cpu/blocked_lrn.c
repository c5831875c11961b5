/* Local response normalisation of channel-blocked arrays, for inference (formulas in ops/lrn.c).
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

/* Writes `vectors` vectors of scale^-beta into values[]. */
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
static void normalise(const struct blocked_lrn *lrn, const float *from, float *to, float *squares)
{
    const size_t planes = blocked_planes(&lrn->in);
    const float alpha = lrn->attributes.alpha / (float)lrn->attributes.size;
    for (size_t b = 0; b < planes; b++) {
        const vector value = vector_load(from + b * lrn->in.plane);
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
        vector_store(to + b * lrn->out.plane,
                     vector_load(from + b * lrn->in.plane) * vector_load(scale));
    }
}

/* A task is a row of an image, in all its channels. */
static void lrn_task(void *context, size_t task, size_t thread)
{
    const struct blocked_lrn *lrn = context;
    const size_t height = lrn->in.shape.height, image = task / height, y = task % height;
    float *squares = (float *)lrn->call->workspace + thread * lrn->row_floats;
    blocked_clear(squares, lrn->row_floats);
    for (size_t x = 0; x < lrn->in.shape.width; x++)
        normalise(lrn, blocked_at(&lrn->in, image, 0, y) + x * LANES,
                  blocked_at(&lrn->out, image, 0, y) + x * LANES, squares);
    for (size_t b = 0; b < blocked_planes(&lrn->out); b++)
        blocked_pad(&lrn->out, image, b, y, y + 1);
}

static void forward_lrn(const struct kernel_call *call)
{
    struct blocked_lrn lrn = {.call = call,
                              .attributes = call->site->node->attributes.lrn,
                              .in = blocked_input(call, 0),
                              .out = blocked_output(call),
                              .row_floats = row_floats(call->site)};
    lrn.half = lrn.attributes.size / 2;
    run_tasks(call, call->site->batch * lrn.in.shape.height, lrn_task, &lrn);
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
    .traits = KERNEL_BLOCKED,
    .supports = supports_lrn,
    .workspace_bytes = workspace_lrn,
    .forward = forward_lrn,
};
