/* A loop that reaches the limit of AMX's products of bf16; cpu.c times it. */
#include "engine/devices/cpu/amx.h"
#include "engine/devices/cpu/cpu.h"

/* Each thread has several tasks, with independent chains of additions, as in limit_loops.c. */
enum { TASKS_A_THREAD = 8, ROUNDS = 1 << 14, CHAINS = 4 };

static void multiply_add_task(void *context, size_t task, size_t thread)
{
    (void)context;
    (void)task;
    (void)thread;
    amx_configure(TILE_ROWS_MAX, TILE_PAIRS); /* all tiles are 0 then */
    for (size_t round = 0; round < ROUNDS; round++) {
        _tile_dpbf16ps(SUMS_0, VALUES_0, WEIGHTS_0);
        _tile_dpbf16ps(SUMS_1, VALUES_0, WEIGHTS_1);
        _tile_dpbf16ps(SUMS_2, VALUES_1, WEIGHTS_0);
        _tile_dpbf16ps(SUMS_3, VALUES_1, WEIGHTS_1);
    }
    amx_release();
}

double KERNEL(multiply_add)(struct pool *pool);

double KERNEL(multiply_add)(struct pool *pool)
{
    const size_t tasks = TASKS_A_THREAD * pool_threads(pool);
    pool_run(pool, tasks, multiply_add_task, NULL);
    return 2.0 * (double)tasks * ROUNDS * CHAINS * TILE_ROWS_MAX * LANES * 2 * TILE_PAIRS;
}
