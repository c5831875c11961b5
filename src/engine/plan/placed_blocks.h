/* placed_blocks.h: the blocks of an arena that have their place, and the gaps between those that
 * live at the same time. */
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
    size_t group_count, size_count; /* size_count: how many sizes have groups */
    struct occupied_range *ranges;  /* scratch of a search */
    size_t visits;                  /* nodes and ranges that all searches have read, for tests */
};

/* Makes room for `most` blocks; placed_blocks_free releases it. */
bool placed_blocks_create(struct placed_blocks *placed, size_t most, struct error *error);
void placed_blocks_free(struct placed_blocks *placed);

/* Returns the offset of the smallest gap that holds `block` between the placed blocks that live at
 * the same time, the lowest among equals; where there is none, the end of the highest of them. */
size_t placed_blocks_find_gap(struct placed_blocks *placed, const struct arena_block *block);

/* Adds a block that has its offset and is not empty. A search is fast if blocks come in the order
 * of their sizes. */
void placed_blocks_add(struct placed_blocks *placed, const struct arena_block *block);

#endif
