/* Greedy by size: the largest block first, each at the lowest-waste gap between the blocks already
 * placed that share a moment with it (Pisarchyk & Lee, "Efficient memory management for deep neural
 * net inference", 2020, section 5). For chains such as networks this comes within a few per cent of
 * the lower bound, the largest sum of what lives at one moment. */
#include "engine/plan_memory.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int largest_first(const void *a, const void *b)
{
    const struct memory_block *x = *(struct memory_block *const *)a;
    const struct memory_block *y = *(struct memory_block *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y; /* array order, so that a plan does not depend on qsort */
}

static bool live_together(const struct memory_block *a, const struct memory_block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The offset for `block` among `placed`, which is sorted by offset. */
static size_t find_gap(const struct memory_block *block, struct memory_block *const *placed,
                       size_t count)
{
    size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct memory_block *other = placed[i];
        if (!live_together(block, other))
            continue;
        size_t gap = other->offset > end ? other->offset - end : 0;
        if (gap == block->bytes) /* none is smaller */
            return end;
        if (gap >= block->bytes && gap < best_size) {
            best = end;
            best_size = gap;
        }
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    return best != SIZE_MAX ? best : end;
}

static void insert_by_offset(struct memory_block **placed, size_t count, struct memory_block *block)
{
    size_t at = count;
    for (; at > 0 && placed[at - 1]->offset > block->offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = block;
}

bool memory_pack(struct memory_block *blocks, size_t count, size_t *total, struct error *error)
{
    struct memory_block **order = memory_new(count, 2 * sizeof *order, "the plan", error);
    if (!order)
        return false;
    struct memory_block **placed = order + count;
    for (size_t i = 0; i < count; i++) {
        order[i] = &blocks[i];
        blocks[i].bytes = memory_round_up(blocks[i].bytes);
    }
    qsort(order, count, sizeof *order, largest_first);
    *total = 0;
    bool fits = true;
    for (size_t i = 0; fits && i < count; i++) {
        struct memory_block *block = order[i];
        if (block->bytes == 0) { /* as are all that follow: blocks that share another's place */
            block->offset = 0;
            continue;
        }
        block->offset = find_gap(block, placed, i);
        fits = block->bytes <= SIZE_MAX / 2 - block->offset;
        insert_by_offset(placed, i, block);
        if (fits && block->offset + block->bytes > *total)
            *total = block->offset + block->bytes;
    }
    free(order);
    return fits || error_set(error, ERROR_MEMORY, "the plan", "choose a smaller batch",
                             "the activations do not fit the address space");
}

size_t memory_most_at_once(const struct memory_block *blocks, size_t count, int64_t *live,
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
