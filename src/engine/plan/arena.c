/* The packing is greedy by size: the largest block comes first, and each goes into the smallest gap
 * that holds it between the blocks already placed whose live ranges overlap its own (Pisarchyk &
 * Lee, "Efficient memory management for deep neural net inference", 2020, section 5). For networks,
 * which are nearly chains, the result is within a few per cent of arena_lower_bound. */
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

/* Places one block and updates the arena's size. Returns false if the offset overflows. */
static bool place_block(struct placed_blocks *placed, struct arena_block *block, size_t *total)
{
    if (block->bytes == 0) { /* it was merged into another block */
        block->offset = 0;
        return true;
    }
    block->offset = placed_blocks_find_gap(placed, block);
    if (block->bytes > SIZE_MAX / 2 - block->offset)
        return false;
    placed_blocks_add(placed, block);
    if (block->offset + block->bytes > *total)
        *total = block->offset + block->bytes;
    return true;
}

bool arena_pack(struct arena_block *blocks, size_t count, size_t *total, struct error *error)
{
    struct placed_blocks placed = {0};
    struct arena_block **by_size = memory_new(count, sizeof *by_size, "the plan", error);
    if (!by_size || !placed_blocks_create(&placed, count, error)) {
        free(by_size);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        by_size[i] = &blocks[i];
        blocks[i].bytes = memory_round_up(blocks[i].bytes);
    }
    qsort(by_size, count, sizeof *by_size, largest_first);
    *total = 0;
    bool fits = true;
    for (size_t i = 0; fits && i < count; i++)
        fits = place_block(&placed, by_size[i], total);
    placed_blocks_free(&placed);
    free(by_size);
    return fits || error_set(error, ERROR_MEMORY, "the plan", "choose a smaller batch",
                             "the activations do not fit the address space");
}

size_t arena_lower_bound(const struct arena_block *blocks, size_t count, int64_t *scratch,
                         size_t last)
{
    int64_t in_use = 0, most = 0;
    memset(scratch, 0, (last + 2) * sizeof *scratch);
    for (size_t i = 0; i < count; i++) {
        const int64_t bytes = (int64_t)memory_round_up(blocks[i].bytes);
        scratch[blocks[i].first] += bytes;
        scratch[blocks[i].last + 1] -= bytes;
    }
    for (size_t position = 0; position <= last; position++) {
        in_use += scratch[position];
        most = in_use > most ? in_use : most;
    }
    return (size_t)most;
}
