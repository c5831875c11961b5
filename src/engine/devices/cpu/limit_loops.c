/* Loops that reach one limit of the machine each: multiply-adds that access no memory, and passes
 * over memory with next to no arithmetic. cpu.c times them. */
#include "engine/devices/cpu/cpu.h"
#include "engine/devices/cpu/simd.h"

/* --- arithmetic --- */

/* Several tasks for each thread, so that other threads take over the tasks of a delayed one. */
enum { TASKS_A_THREAD = 8, ROUNDS = 1 << 16, CHAINS = TILE_ROWS * TILE_VECTORS };

struct line {
    float slope, intercept;
};

/* Computes multiply-adds in as many independent chains as a convolution's tile has accumulators,
 * which hides that each step waits for the one before. The values converge to intercept / (1 -
 * slope). */
static void multiply_add_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct line *line = context;
    const vector slope = (vector){0} + line->slope, intercept = (vector){0} + line->intercept;
    vector value[CHAINS];
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        value[i] = (vector){0} + (float)(task + (size_t)i);
    for (size_t round = 0; round < ROUNDS; round++)
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++)
            value[i] = value[i] * slope + intercept;
    vector sum = {0};
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        sum += value[i];
    volatile float kept = vector_sum(sum); /* without it the compiler would drop the loop */
    (void)kept;
}

double KERNEL(multiply_add)(struct pool *pool);

double KERNEL(multiply_add)(struct pool *pool)
{
    struct line line = {0.5f, 1};
    const size_t tasks = TASKS_A_THREAD * pool_threads(pool);
    pool_run(pool, tasks, multiply_add_task, &line);
    return 2.0 * (double)tasks * ROUNDS * CHAINS * LANES;
}

/* --- memory --- */

struct arrays {
    float *a;
    const float *b, *c;
    size_t count;
};

/* Floats of a task: enough for the hardware to prefetch. */
enum { STRETCH = 64 * BLOCK };

static size_t stretch_end(const struct arrays *arrays, size_t task)
{
    return min_size(arrays->count, (task + 1) * STRETCH);
}

static void triad_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct arrays *arrays = context;
    const float *restrict b = arrays->b, *restrict c = arrays->c;
    float *restrict a = arrays->a;
    const size_t end = stretch_end(arrays, task);
#pragma omp simd
    for (size_t i = task * STRETCH; i < end; i++)
        a[i] = b[i] + 3.0f * c[i];
}

void KERNEL(triad)(struct pool *pool, float *a, const float *b, const float *c, size_t count);

void KERNEL(triad)(struct pool *pool, float *a, const float *b, const float *c, size_t count)
{
    struct arrays arrays = {a, b, c, count};
    pool_run(pool, divide_up(count, STRETCH), triad_task, &arrays);
}

static void read_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct arrays *arrays = context;
    const size_t end = stretch_end(arrays, task);
    volatile float kept = 0;
    for (size_t at = task * STRETCH; at < end; at += BLOCK)
        kept = sum_floats(arrays->b + at, min_size(BLOCK, end - at));
    (void)kept;
}

void KERNEL(read)(struct pool *pool, const float *values, size_t count);

void KERNEL(read)(struct pool *pool, const float *values, size_t count)
{
    struct arrays arrays = {.b = values, .count = count};
    pool_run(pool, divide_up(count, STRETCH), read_task, &arrays);
}
