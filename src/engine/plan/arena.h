/* plan_memory.h: packing arrays with lifetimes into one arena. */
#ifndef TINCA_ENGINE_PLAN_ARENA_H
#define TINCA_ENGINE_PLAN_ARENA_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* An array that must keep its `bytes` from time `first` to time `last`, both included. */
struct arena_block {
    size_t bytes;
    size_t first, last;
    size_t offset; /* result, a multiple of MEMORY_ALIGNMENT */
};

/* Places the blocks so that no two that live at the same time overlap; *total is the arena's size.
 */
bool arena_pack(struct arena_block *blocks, size_t count, size_t *total, struct error *error);

/* The largest sum of what lives at one moment, which no packing gets below. `live` is scratch for
 * times + 2 numbers; all blocks end at `times` at the latest. */
size_t arena_lower_bound(const struct arena_block *blocks, size_t count, int64_t *live,
                         size_t times);

#endif
