/* Dropout of single values: draws the mask of ops/dropout.c in vectors.
 *
 * Element i keeps its value if word i % 4 of Philox block i / 4 is large enough (random.h). BLOCKS
 * generators run side by side; each lane does the same integer arithmetic as random_philox. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/graph/micro_batch.h"

#include "base/random.h"

enum { BLOCKS = 64, DRAWN = 4 * BLOCKS };

/* Writes the factors of elements [first, first + DRAWN); `first` must be a multiple of 4. */
static void draw_factors(const struct kernel_call *call, size_t first, float *factors)
{
    const float rate = call->site->node->attributes.dropout.rate, keep = 1.0f / (1.0f - rate);
    const uint32_t stream = (uint32_t)call->node_number;
    uint32_t c0[BLOCKS], c1[BLOCKS], c2[BLOCKS], c3[BLOCKS];
    for (size_t b = 0; b < BLOCKS; b++) {
        const uint64_t index = call->iteration << 32 | (first / 4 + b);
        c0[b] = (uint32_t)index;
        c1[b] = (uint32_t)(index >> 32);
        c2[b] = RANDOM_DROPOUT;
        c3[b] = stream;
    }
    uint32_t k0 = (uint32_t)call->seed, k1 = (uint32_t)(call->seed >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
#pragma omp simd
        for (size_t b = 0; b < BLOCKS; b++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0[b], p1 = (uint64_t)0xCD9E8D57u * c2[b];
            c0[b] = (uint32_t)(p1 >> 32) ^ c1[b] ^ k0;
            c2[b] = (uint32_t)(p0 >> 32) ^ c3[b] ^ k1;
            c1[b] = (uint32_t)p1;
            c3[b] = (uint32_t)p0;
        }
    }
#pragma omp simd
    for (size_t b = 0; b < BLOCKS; b++) {
        factors[4 * b] = random_to_unit(c0[b]) >= rate ? keep : 0;
        factors[4 * b + 1] = random_to_unit(c1[b]) >= rate ? keep : 0;
        factors[4 * b + 2] = random_to_unit(c2[b]) >= rate ? keep : 0;
        factors[4 * b + 3] = random_to_unit(c3[b]) >= rate ? keep : 0;
    }
}

/* Returns the number of the array's first value in the whole batch. */
static size_t first_value(const struct kernel_call *call)
{
    return micro_batch_first(call->micro_batch) * shape_count(call->site->node->output);
}

enum { STRIP = DRAWN - 4 }; /* values that one draw has at least, wherever it begins */

/* Draws the factors of values [at, end), as many as one draw has; returns their number, and sets
 * *factors to where they are in drawn[DRAWN]. */
static size_t draw_at(const struct kernel_call *call, size_t at, size_t end, float *drawn,
                      float **factors)
{
    const size_t number = first_value(call) + at, lead = number % 4;
    draw_factors(call, number - lead, drawn);
    *factors = drawn + lead;
    return min_size(lead ? STRIP : DRAWN, end - at);
}

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t end = block_end(output_values(call), task);
    float drawn[DRAWN], *factors;
    for (size_t at = task * BLOCK, count; at < end; at += count) {
        const float *x = call->inputs[0] + at;
        float *y = call->output + at;
        count = draw_at(call, at, end, drawn, &factors);
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = x[i] * factors[i];
    }
}

static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t end = block_end(output_values(call), task);
    float drawn[DRAWN], *factors;
    for (size_t at = task * BLOCK, count; at < end; at += count) {
        const float *g = call->output_gradient + at;
        count = draw_at(call, at, end, drawn, &factors);
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            factors[i] *= g[i];
        store_or_add(call->input_gradients[0] + at, factors, count, call->accumulate[0]);
    }
}

/* Copies the input. Outside training the plan makes the node a view, so this runs only if a test
 * calls the kernel there. */
static void copy_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t begin = task * BLOCK, end = block_end(output_values(call), task);
    store_or_add(call->output + begin, call->inputs[0] + begin, end - begin, false);
}

static void forward_dropout(const struct kernel_call *call)
{
    const bool drops = call->site->training || call->site->node->attributes.dropout.always;
    run_tasks(call, block_count(output_values(call)), drops ? forward_task : copy_task, call);
}

static void backward_dropout(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, block_count(output_values(call)), backward_task, call);
}

/* --- channel-blocked arrays, in training --- */

struct blocked_dropout {
    const struct kernel_call *call;
    struct blocked from, to;
    bool accumulate;
    struct blocked_tasks tasks;
};

/* Writes the factors of positions [begin, begin + count) of the channels of a block to
 * factors[position][lane]. An element's number is that in a plain array. */
static void draw_lanes(const struct blocked_dropout *d, size_t image, size_t plane, size_t begin,
                       size_t count, float *factors)
{
    const struct shape shape = d->to.shape;
    const size_t channels = min_size(LANES, shape.channels - plane * LANES);
    floats_clear(factors, count * LANES);
    for (size_t lane = 0; lane < channels; lane++) {
        float drawn[DRAWN];
        const size_t channel = image * shape.channels + plane * LANES + lane;
        const size_t first = first_value(d->call) + channel * shape_area(shape) + begin;
        const size_t at = first / 4 * 4;
        draw_factors(d->call, at, drawn);
        for (size_t i = 0; i < count; i++)
            factors[i * LANES + lane] = drawn[first - at + i];
    }
}

/* Applies the mask to some positions of a plane; in training, arrays have no padding, and the
 * positions of a plane are contiguous. */
static void blocked_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_dropout *d = context;
    const size_t area = shape_area(d->to.shape);
    struct row_block block = blocked_first(&d->tasks, task);
    while (blocked_next(&d->tasks, &block))
        for (size_t i = 0; i < area; i += STRIP) {
            const size_t count = min_size(STRIP, area - i);
            const element *from = blocked_at(&d->from, block.image, block.plane, 0) + i * LANES;
            element *to = blocked_at(&d->to, block.image, block.plane, 0) + i * LANES;
            float factors[STRIP * LANES];
            draw_lanes(d, block.image, block.plane, i, count, factors);
#pragma omp simd
            for (size_t k = 0; k < count * LANES; k++)
                factors[k] *= element_value(from[k]);
            elements_store(to, factors, count * LANES, d->accumulate);
        }
}

static void run_blocked(struct blocked_dropout *d)
{
    d->tasks = blocked_tasks_of(d->call, &d->to, 8 * d->to.shape.width);
    d->tasks.divides_rows = false;
    d->tasks.count = min_size(d->tasks.batch * d->tasks.planes, 8 * pool_threads(d->call->pool));
    run_tasks(d->call, d->tasks.count, blocked_task, d);
}

static void forward_blocked(const struct kernel_call *call)
{
    struct blocked_dropout d = {
        .call = call, .from = blocked_input(call, 0), .to = blocked_output(call)};
    run_blocked(&d);
}

static void backward_blocked(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct blocked_dropout d = {.call = call, .accumulate = call->accumulate[0]};
    if (!call->input_gradients[0])
        return;
    d.from = blocked_make(call->output_gradient, site->node->output, site->output_layout);
    d.to = blocked_make(call->input_gradients[0], site->inputs[0], site->layouts[0]);
    run_blocked(&d);
}

static bool supports_values(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a mask of whole channels");
    return !site->node->attributes.dropout.channels;
}

static bool supports_blocked(const struct kernel_site *site, const char **reason)
{
    return supports_values(site, reason) && KERNEL(blocked_supports)(site, reason);
}

const struct kernel KERNEL(dropout_blocked_training) = {
    .name = "dropout blocked",
    .instruction_set = ISA_NAME,
    .op = &op_dropout,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | KERNEL_TRAINS_ONLY | KERNEL_IN_PLACE |
              KERNEL_GRADIENT_IN_PLACE,
    .supports = supports_blocked,
    .forward = forward_blocked,
    .backward = backward_blocked,
};

const struct kernel KERNEL(dropout) = {
    .name = "dropout simd",
    .instruction_set = ISA_NAME,
    .op = &op_dropout,
    .traits = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE,
    .supports = supports_values,
    .forward = forward_dropout,
    .backward = backward_dropout,
};
