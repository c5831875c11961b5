/* A loop that reaches the limit of the processor's products of bf16; cpu.c times it. */
#include "engine/devices/cpu/cpu.h"
#include "engine/devices/cpu/elements.h"

/* Each thread has several tasks, as in limit_loops.c, with as many independent chains of additions
 * as a convolution's tile. */
enum { TASKS_A_THREAD = 8, ROUNDS = 1 << 16, CHAINS = TILE_ROWS * TILE_VECTORS };

struct factors {
    element weight, value; /* both small: sums stay finite */
};

static void multiply_add_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct factors *factors = context;
    element pair[TERM_VALUES] = {factors->weight, factors->weight};
    const vector weights = term_load(pair);
    pair[0] = pair[1] = factors->value;
    const vector values = term_load(pair);
    vector sums[CHAINS];
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        sums[i] = vector_splat((float)(task + (size_t)i));
    for (size_t round = 0; round < ROUNDS; round++)
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++)
            sums[i] = term_add(sums[i], weights, values);
    vector sum = {0};
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++)
        sum += sums[i];
    volatile float kept = vector_sum(sum); /* without it the compiler would drop the loop */
    (void)kept;
}

double KERNEL(multiply_add)(struct pool *pool);

double KERNEL(multiply_add)(struct pool *pool)
{
    struct factors factors = {element_of(0.5f), element_of(0.25f)};
    const size_t tasks = TASKS_A_THREAD * pool_threads(pool);
    pool_run(pool, tasks, multiply_add_task, &factors);
    return 2.0 * (double)tasks * ROUNDS * CHAINS * LANES * TERM_VALUES;
}
