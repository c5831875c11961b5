/* A search collects the ranges of the arena that are occupied during the lifetime of a block, and
 * then takes the best gap between them. The blocks lie in treaps (Seidel & Aragon, "Randomized
 * search trees", 1996) in the order of time. Every node sums up its subtree, so that a search
 * passes over a subtree as a whole
 * - if none of its blocks lives at that time,
 * - if it lies inside the range that was found last,
 * - or if all its blocks live at that time and no gap between them holds the block: they are one
 *   range.
 * Values that live until their backward pass are stacked in the order of time and are thus found as
 * one range, but not if blocks of another size or gradients, which live for a moment, come between
 * them. Each size has therefore its own groups, a treap each, for short, longer and long lifetimes.
 * A network has few sizes; if it has many, the smallest share their groups. */
#include "engine/plan/placed_blocks.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>

#define NO_NODE SIZE_MAX
enum {
    MOST_SIZES = 32,      /* with groups of their own */
    LIFETIME_FACTOR = 16, /* between the lifetimes of one group */
    MOST_LIFETIMES = 16   /* the logarithm of SIZE_MAX to this base */
};

struct placed_node {
    size_t offset, end, first, last; /* of the block */
    size_t left, right;
    uint32_t priority;
    struct {
        size_t begin, end; /* of all blocks */
        size_t earliest_first, latest_first, earliest_last, latest_last;
        size_t largest_gap; /* between all blocks, as if all lived at the same time */
    } subtree;
};

struct placed_group {
    size_t bytes;      /* of its first block */
    unsigned lifetime; /* the logarithm */
    size_t root;
};

struct occupied_range {
    size_t begin, end;
};

bool placed_blocks_create(struct placed_blocks *placed, size_t most, struct error *error)
{
    *placed = (struct placed_blocks){0};
    placed->nodes = memory_new(most, sizeof *placed->nodes, "the plan", error);
    placed->ranges = memory_new(most, sizeof *placed->ranges, "the plan", error);
    placed->groups =
        memory_new((size_t)MOST_SIZES * MOST_LIFETIMES, sizeof *placed->groups, "the plan", error);
    if (placed->nodes && placed->ranges && placed->groups)
        return true;
    placed_blocks_free(placed);
    return false;
}

void placed_blocks_free(struct placed_blocks *placed)
{
    free(placed->nodes);
    free(placed->ranges);
    free(placed->groups);
    *placed = (struct placed_blocks){0};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* --- adding --- */

static size_t gap_between(size_t end, size_t begin)
{
    return begin > end ? begin - end : 0;
}

/* Extends what `node` sums up by the subtree of a child. */
static void include(struct placed_node *node, const struct placed_node *child)
{
    const size_t gap = most(gap_between(node->subtree.end, child->subtree.begin),
                            gap_between(child->subtree.end, node->subtree.begin));
    node->subtree.largest_gap =
        most(node->subtree.largest_gap, most(gap, child->subtree.largest_gap));
    node->subtree.begin = least(node->subtree.begin, child->subtree.begin);
    node->subtree.end = most(node->subtree.end, child->subtree.end);
    node->subtree.earliest_first =
        least(node->subtree.earliest_first, child->subtree.earliest_first);
    node->subtree.latest_first = most(node->subtree.latest_first, child->subtree.latest_first);
    node->subtree.earliest_last = least(node->subtree.earliest_last, child->subtree.earliest_last);
    node->subtree.latest_last = most(node->subtree.latest_last, child->subtree.latest_last);
}

static void sum_up(struct placed_blocks *placed, size_t n)
{
    struct placed_node *node = &placed->nodes[n];
    node->subtree.begin = node->offset;
    node->subtree.end = node->end;
    node->subtree.earliest_first = node->subtree.latest_first = node->first;
    node->subtree.earliest_last = node->subtree.latest_last = node->last;
    node->subtree.largest_gap = 0;
    if (node->left != NO_NODE)
        include(node, &placed->nodes[node->left]);
    if (node->right != NO_NODE)
        include(node, &placed->nodes[node->right]);
}

static bool lies_before(const struct placed_node *a, const struct placed_node *b)
{
    return a->first < b->first;
}

/* Divides the subtree of `n` into the nodes that lie before `at` and the others. */
static void split(struct placed_blocks *placed, size_t n, const struct placed_node *at,
                  size_t *before, size_t *behind)
{
    if (n == NO_NODE) {
        *before = *behind = NO_NODE;
        return;
    }
    struct placed_node *node = &placed->nodes[n];
    if (lies_before(node, at)) {
        *before = n;
        split(placed, node->right, at, &node->right, behind);
    } else {
        *behind = n;
        split(placed, node->left, at, before, &node->left);
    }
    sum_up(placed, n);
}

/* Returns the root of the subtree of `n` with node `added` in it. */
static size_t insert(struct placed_blocks *placed, size_t n, size_t added)
{
    struct placed_node *node = &placed->nodes[added];
    if (n == NO_NODE || placed->nodes[n].priority < node->priority) {
        split(placed, n, node, &node->left, &node->right);
        n = added;
    } else if (lies_before(&placed->nodes[n], node)) {
        placed->nodes[n].right = insert(placed, placed->nodes[n].right, added);
    } else {
        placed->nodes[n].left = insert(placed, placed->nodes[n].left, added);
    }
    sum_up(placed, n);
    return n;
}

/* Scatters the numbers 0, 1, 2... (the finaliser of MurmurHash3): the tree's shape is that of a
 * random one, and the same in every plan. */
static uint32_t priority_of(uint32_t number)
{
    number = (number ^ number >> 16) * 0x85ebca6bu;
    number = (number ^ number >> 13) * 0xc2b2ae35u;
    return number ^ number >> 16;
}

static unsigned lifetime_of(const struct arena_block *block)
{
    unsigned lifetime = 0;
    for (size_t length = block->last - block->first; length >= LIFETIME_FACTOR;
         length /= LIFETIME_FACTOR)
        lifetime++;
    return lifetime;
}

/* Returns the group that `block` belongs to, a new one if it is the first there. */
static struct placed_group *group_for(struct placed_blocks *placed, const struct arena_block *block)
{
    const unsigned lifetime = lifetime_of(block);
    size_t bytes = placed->group_count ? placed->groups[placed->group_count - 1].bytes : 0;
    if (bytes != block->bytes && placed->size_count < MOST_SIZES) {
        bytes = block->bytes;
        placed->size_count++;
    }
    for (size_t i = placed->group_count; i-- > 0 && placed->groups[i].bytes == bytes;)
        if (placed->groups[i].lifetime == lifetime)
            return &placed->groups[i];
    struct placed_group *group = &placed->groups[placed->group_count++];
    *group = (struct placed_group){.bytes = bytes, .lifetime = lifetime, .root = NO_NODE};
    return group;
}

void placed_blocks_add(struct placed_blocks *placed, const struct arena_block *block)
{
    const size_t n = placed->count++;
    struct placed_group *group = group_for(placed, block);
    placed->nodes[n] = (struct placed_node){.offset = block->offset,
                                            .end = block->offset + block->bytes,
                                            .first = block->first,
                                            .last = block->last,
                                            .left = NO_NODE,
                                            .right = NO_NODE,
                                            .priority = priority_of((uint32_t)n)};
    group->root = insert(placed, group->root, n);
}

/* --- searching --- */

struct gap_search {
    struct placed_blocks *placed;
    const struct arena_block *block;
    struct occupied_range *range; /* the last one of this group, NULL before the first */
    size_t count;
};

/* Adds a range of the arena that is occupied, gaps apart that are too small for the block. */
static void occupy(struct gap_search *search, size_t begin, size_t end)
{
    if (search->range && gap_between(search->range->end, begin) < search->block->bytes &&
        gap_between(end, search->range->begin) < search->block->bytes) {
        search->range->begin = least(search->range->begin, begin);
        search->range->end = most(search->range->end, end);
        return;
    }
    search->range = &search->placed->ranges[search->count++];
    *search->range = (struct occupied_range){begin, end};
}

static void visit(struct gap_search *search, size_t n)
{
    if (n == NO_NODE)
        return;
    const struct placed_node *node = &search->placed->nodes[n];
    const struct arena_block *block = search->block;
    search->placed->visits++;
    if ((search->range && node->subtree.end <= search->range->end &&
         node->subtree.begin >= search->range->begin) ||
        node->subtree.earliest_first > block->last || node->subtree.latest_last < block->first)
        return;
    if (node->subtree.latest_first <= block->last && node->subtree.earliest_last >= block->first &&
        node->subtree.largest_gap < block->bytes) {
        occupy(search, node->subtree.begin, node->subtree.end);
        return;
    }
    visit(search, node->left);
    if (node->first <= block->last && node->last >= block->first)
        occupy(search, node->offset, node->end);
    visit(search, node->right);
}

static int lowest_first(const void *a, const void *b)
{
    const struct occupied_range *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

size_t placed_blocks_find_gap(struct placed_blocks *placed, const struct arena_block *block)
{
    struct gap_search search = {.placed = placed, .block = block};
    for (size_t i = 0; i < placed->group_count; i++) {
        search.range = NULL;
        visit(&search, placed->groups[i].root);
    }
    placed->visits += search.count;
    qsort(placed->ranges, search.count, sizeof *placed->ranges, lowest_first);
    size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
    for (size_t i = 0; i < search.count; i++) {
        const size_t gap = gap_between(end, placed->ranges[i].begin);
        if (gap >= block->bytes && gap < best_size) {
            best = end;
            best_size = gap;
        }
        end = most(end, placed->ranges[i].end);
    }
    return best != SIZE_MAX ? best : end;
}
