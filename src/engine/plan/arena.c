/* Greedy by size: the largest block first, each at the lowest-waste gap between the blocks already
 * placed that share a moment with it (Pisarchyk & Lee, "Efficient memory management for deep neural
 * net inference", 2020, section 5). For chains such as networks this comes within a few per cent of
 * the lower bound, the largest sum of what lives at one moment. */
#include "engine/plan/arena.h"

#include "base/memory.h"
#include "engine/plan/placed_blocks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int largest_first(const void *a, const void *b)
{
    const struct arena_block *x = *(struct arena_block *const *)a;
    const struct arena_block *y = *(struct arena_block *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y; /* array order, so that a plan does not depend on qsort */
}

bool arena_pack(struct arena_block *blocks, size_t count, size_t *total, struct error *error)
{
    struct placed_blocks placed = {0};
    struct arena_block **order = memory_new(count, sizeof *order, "the plan", error);
    if (!order || !placed_blocks_create(&placed, count, error)) {
        free(order);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = &blocks[i];
        blocks[i].bytes = memory_round_up(blocks[i].bytes);
    }
    qsort(order, count, sizeof *order, largest_first);
    *total = 0;
    bool fits = true;
    for (size_t i = 0; fits && i < count; i++) {
        struct arena_block *block = order[i];
        if (block->bytes == 0) { /* as are all that follow: blocks that share another's place */
            block->offset = 0;
            continue;
        }
        block->offset = placed_blocks_find_gap(&placed, block);
        fits = block->bytes <= SIZE_MAX / 2 - block->offset;
        if (fits)
            placed_blocks_add(&placed, block);
        if (fits && block->offset + block->bytes > *total)
            *total = block->offset + block->bytes;
    }
    placed_blocks_free(&placed);
    free(order);
    return fits || error_set(error, ERROR_MEMORY, "the plan", "choose a smaller batch",
                             "the activations do not fit the address space");
}

size_t arena_lower_bound(const struct arena_block *blocks, size_t count, int64_t *live,
                         size_t times)
{
    int64_t now = 0, most = 0;
    memset(live, 0, (times + 2) * sizeof *live);
    for (size_t i = 0; i < count; i++) {
        const int64_t bytes = (int64_t)memory_round_up(blocks[i].bytes);
        live[blocks[i].first] += bytes;
        live[blocks[i].last + 1] -= bytes;
    }
    for (size_t t = 0; t <= times; t++) {
        now += live[t];
        most = now > most ? now : most;
    }
    return (size_t)most;
}
