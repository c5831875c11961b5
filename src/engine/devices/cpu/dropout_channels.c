/* Dropout of whole channels (ops/dropout.c): one number is drawn for each channel of each image, so
 * the masks cost little, and the loops multiply a plane by its factor. */
#include "base/language.h"
#include "engine/devices/cpu/blocked_frame.h"
#include "engine/graph/micro_batch.h"

#include "base/random.h"

/* Returns the factor of channel number `i` of the batch: 0 or 1 / (1 - rate); 1 in inference unless
 * dropout is always on. */
static float factor_of(const struct kernel_call *call, size_t i)
{
    const struct dropout_attributes *dropout = &call->site->node->attributes.dropout;
    if (!call->site->training && !dropout->always)
        return 1;
    i += micro_batch_first(call->micro_batch) * call->site->node->output.channels;
    const struct random_block block = random_philox(
        call->seed, RANDOM_DROPOUT, (uint32_t)call->node_number, call->iteration << 32 | i / 4);
    return random_to_unit(block.word[i % 4]) >= dropout->rate ? 1.0f / (1.0f - dropout->rate) : 0;
}

/* --- plain arrays --- */

struct masked {
    const struct kernel_call *call;
    const float *from;
    float *to;
    bool accumulate;
};

static void plain_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct masked *m = context;
    const struct shape shape = m->call->site->inputs[0];
    const size_t area = shape_area(shape), some = planes_in_task(area);
    const size_t end = min_size(m->call->site->batch * shape.channels, (task + 1) * some);
    for (size_t plane = task * some; plane < end; plane++) {
        const float factor = factor_of(m->call, plane);
        const float *from = m->from + plane * area;
        float *to = m->to + plane * area;
        if (m->accumulate) {
#pragma omp simd
            for (size_t i = 0; i < area; i++)
                to[i] += from[i] * factor;
        } else {
#pragma omp simd
            for (size_t i = 0; i < area; i++)
                to[i] = from[i] * factor;
        }
    }
}

static void run_plain(const struct masked *m)
{
    const struct shape shape = m->call->site->inputs[0];
    run_tasks(m->call,
              divide_up(m->call->site->batch * shape.channels, planes_in_task(shape_area(shape))),
              plain_task, m);
}

static void forward_plain(const struct kernel_call *call)
{
    const struct masked m = {.call = call, .from = call->inputs[0], .to = call->output};
    run_plain(&m);
}

static void backward_plain(const struct kernel_call *call)
{
    const struct masked m = {.call = call,
                             .from = call->output_gradient,
                             .to = call->input_gradients[0],
                             .accumulate = call->accumulate[0]};
    if (m.to)
        run_plain(&m);
}

/* --- channel-blocked arrays, in training --- */

struct blocked_masked {
    const struct kernel_call *call;
    struct blocked from, to;
    bool accumulate;
};

/* Multiplies one block of one image by the factors of its channels. */
static void blocked_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_masked *m = context;
    const size_t planes = blocked_planes(&m->to), image = task / planes, plane = task % planes;
    const size_t all = m->to.shape.channels, channels = min_size(LANES, all - plane * LANES);
    vector factors = {0};
    for (size_t lane = 0; lane < channels; lane++)
        factors[lane] = factor_of(m->call, image * all + plane * LANES + lane);
    for (size_t y = 0; y < m->to.shape.height; y++) {
        const element *from = blocked_at(&m->from, image, plane, y);
        element *to = blocked_at(&m->to, image, plane, y);
        for (size_t i = 0; i < m->to.shape.width * LANES; i += LANES) {
            const vector masked = element_load(from + i) * factors;
            element_store(to + i, m->accumulate ? element_load(to + i) + masked : masked);
        }
    }
}

static void run_blocked(const struct blocked_masked *m)
{
    run_tasks(m->call, m->call->site->batch * blocked_planes(&m->to), blocked_task, m);
}

static void forward_blocked(const struct kernel_call *call)
{
    const struct blocked_frame frame = blocked_frame_forward(call);
    const struct blocked_masked m = {.call = call, .from = frame.in, .to = frame.out};
    run_blocked(&m);
}

static void backward_blocked(const struct kernel_call *call)
{
    const struct blocked_frame frame = blocked_frame_backward(call);
    const struct blocked_masked m = {
        .call = call, .from = frame.gradient, .to = frame.out, .accumulate = call->accumulate[0]};
    if (call->input_gradients[0])
        run_blocked(&m);
}

/* --- the kernels --- */

static bool supports_channels(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a mask of single values");
    return site->node->attributes.dropout.channels;
}

static bool supports_blocked(const struct kernel_site *site, const char **reason)
{
    return KERNEL(blocked_supports)(site, reason) && supports_channels(site, reason);
}

enum { TRAITS = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE };

const struct kernel KERNEL(dropout_channels_blocked_training) = {
    .name = "dropout channels blocked",
    .instruction_set = ISA_NAME,
    .op = &op_dropout,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_TRAINS_ONLY | TRAITS,
    .supports = supports_blocked,
    .forward = forward_blocked,
    .backward = backward_blocked,
};

const struct kernel KERNEL(dropout_channels) = {
    .name = "dropout channels",
    .instruction_set = ISA_NAME,
    .op = &op_dropout,
    .traits = TRAITS,
    .supports = supports_channels,
    .forward = forward_plain,
    .backward = backward_plain,
};
