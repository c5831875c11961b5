/* arena.h: packing arrays with live ranges into one arena. */
#ifndef TINCA_ENGINE_PLAN_ARENA_H
#define TINCA_ENGINE_PLAN_ARENA_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A block of memory that is in use from position `first` of the execution order to position `last`,
 * both included. */
struct arena_block {
    size_t bytes;
    size_t first, last;
    size_t offset; /* result of arena_pack, a multiple of MEMORY_ALIGNMENT */
};

/* Sets the offset of each block so that no two blocks that are in use at the same time overlap, and
 * rounds their sizes up to the alignment. Returns the arena's bytes in *total. Returns false with
 * an error if out of memory or the arena does not fit the address space. */
bool arena_pack(struct arena_block *blocks, size_t count, size_t *total, struct error *error);

/* Returns the largest number of bytes that are in use at one position; no packing needs less. All
 * positions are at most `last`; `scratch` has room for last + 2 numbers. */
size_t arena_lower_bound(const struct arena_block *blocks, size_t count, int64_t *scratch,
                         size_t last);

#endif
