/* Rounds float32 to bf16, for kernels of float32 in plans of bf16 (engine/execution/rounding.c). */
#include "engine/devices/cpu/elements.h"

enum { CHUNK = 1 << 14 }; /* values in a task */

struct rounding {
    const float *from;
    float *to;
    size_t count;
};

static void round_chunk(void *context, size_t task, size_t thread)
{
    const struct rounding *rounding = context;
    const size_t begin = task * CHUNK, end = min_size(rounding->count, begin + CHUNK);
    const float *from = rounding->from;
    float *to = rounding->to;
    (void)thread;
#pragma omp simd
    for (size_t i = begin; i < end; i++)
        to[i] = element_round(from[i]);
}

void KERNEL(round)(struct pool *pool, const float *from, float *to, size_t count);

void KERNEL(round)(struct pool *pool, const float *from, float *to, size_t count)
{
    struct rounding rounding = {from, to, count};
    pool_run(pool, divide_up(count, CHUNK), round_chunk, &rounding);
}
