/* Dropout: draws the mask of ops/dropout.c in vectors.
 *
 * Element i keeps its value if word i % 4 of Philox block i / 4 is large enough (random.h). BLOCKS
 * generators run side by side; each lane does the same integer arithmetic as random_philox. */
#include "engine/devices/cpu/simd.h"

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

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t end = block_end(output_values(call), task);
    float factors[DRAWN];
    for (size_t at = task * BLOCK; at < end; at += DRAWN) {
        const float *x = call->inputs[0] + at;
        float *y = call->output + at;
        draw_factors(call, at, factors);
#pragma omp simd
        for (size_t i = 0; i < min_size(DRAWN, end - at); i++)
            y[i] = x[i] * factors[i];
    }
}

static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t end = block_end(output_values(call), task);
    float factors[DRAWN];
    for (size_t at = task * BLOCK; at < end; at += DRAWN) {
        const size_t count = min_size(DRAWN, end - at);
        const float *g = call->output_gradient + at;
        draw_factors(call, at, factors);
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

const struct kernel KERNEL(dropout) = {
    .name = "dropout simd",
    .instruction_set = ISA_NAME,
    .op = &op_dropout,
    .traits = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_dropout,
    .backward = backward_dropout,
};
