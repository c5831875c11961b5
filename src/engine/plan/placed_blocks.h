/* placed_blocks.h: the blocks of an arena that already have an offset, and a fast search for gaps
 * between those whose live ranges overlap. */
#ifndef TINCA_ENGINE_PLAN_PLACED_BLOCKS_H
#define TINCA_ENGINE_PLAN_PLACED_BLOCKS_H

#include "engine/plan/arena.h"

struct placed_node;
struct placed_group;
struct occupied_range;

struct placed_blocks {
    struct placed_node *nodes;
    size_t count;
    struct placed_group *groups;
    size_t group_count, size_count; /* size_count: block sizes that have groups of their own */
    struct occupied_range *ranges;  /* scratch of a search */
    size_t visits;                  /* nodes and ranges that all searches have read, for tests */
};

/* Allocates room for `capacity` blocks; placed_blocks_free releases it. Returns false with an error
 * if out of memory. */
bool placed_blocks_create(struct placed_blocks *placed, size_t capacity, struct error *error);

/* Frees everything and leaves `placed` empty. */
void placed_blocks_free(struct placed_blocks *placed);

/* Returns the offset of the smallest gap that holds `block` between the placed blocks whose live
 * ranges overlap its own, the lowest among equals. Without such a gap, returns the end of the
 * highest of these blocks. */
size_t placed_blocks_find_gap(struct placed_blocks *placed, const struct arena_block *block);

/* Adds a block, which has an offset and is not empty. Searches are fast if blocks are added in the
 * order of their sizes. */
void placed_blocks_add(struct placed_blocks *placed, const struct arena_block *block);

#endif
