/* Walks the tree of blocks from left to right, and goes no deeper than to the subtrees. */
#include "engine/graph/batch_subtrees.h"

#include "engine/graph/image_blocks.h"

#include <stdbool.h>

/* --- the subtrees of a rank --- */

/* A rank's blocks, and the subtrees that were found so far. */
struct range {
    size_t rank, begin, end;
    struct batch_subtree *list; /* NULL: they are only counted */
    size_t found;
};

/* Finds the rank's subtrees below a node of the tree. */
static void find_subtrees(struct range *range, size_t begin, size_t count)
{
    if (begin >= range->end || begin + count <= range->begin)
        return;
    if (range->begin <= begin && begin + count <= range->end) {
        if (range->list)
            range->list[range->found] =
                (struct batch_subtree){range->rank, range->found, begin - range->begin, count};
        range->found++;
        return;
    }
    const size_t left = image_blocks_left(count);
    find_subtrees(range, begin, left);
    find_subtrees(range, begin + left, count - left);
}

size_t batch_subtrees_list(const struct batch_subtrees *subtrees, size_t rank,
                           struct batch_subtree *list)
{
    const size_t each = subtrees->blocks / subtrees->ranks;
    struct range range = {rank, rank * each, (rank + 1) * each, list, 0};
    find_subtrees(&range, 0, subtrees->blocks);
    return range.found;
}

struct batch_subtrees batch_subtrees_divide(size_t blocks, size_t ranks)
{
    struct batch_subtrees subtrees = {blocks, ranks, 0};
    for (size_t r = 0; r < ranks; r++) {
        const size_t found = batch_subtrees_list(&subtrees, r, NULL);
        subtrees.most = found > subtrees.most ? found : subtrees.most;
    }
    return subtrees;
}

/* --- joining --- */

struct walk {
    size_t each; /* blocks of a rank */
    bool begun;
    struct batch_subtree last; /* the subtree that was passed last */
    void (*join)(void *context, const struct batch_subtree *to, const struct batch_subtree *from);
    void *context;
};

/* Returns the subtree that comes after the last one. */
static struct batch_subtree pass_subtree(struct walk *walk, size_t begin, size_t count)
{
    const size_t rank = begin / walk->each;
    const size_t number = walk->begun && walk->last.rank == rank ? walk->last.number + 1 : 0;
    walk->begun = true;
    walk->last = (struct batch_subtree){rank, number, begin - rank * walk->each, count};
    return walk->last;
}

/* Joins the subtrees below a node of the tree. Returns the first of them. */
static struct batch_subtree join_tree(struct walk *walk, size_t begin, size_t count)
{
    if (begin / walk->each == (begin + count - 1) / walk->each)
        return pass_subtree(walk, begin, count);
    const size_t left = image_blocks_left(count);
    const struct batch_subtree to = join_tree(walk, begin, left);
    const struct batch_subtree from = join_tree(walk, begin + left, count - left);
    walk->join(walk->context, &to, &from);
    return to;
}

void batch_subtrees_join(const struct batch_subtrees *subtrees,
                         void (*join)(void *context, const struct batch_subtree *to,
                                      const struct batch_subtree *from),
                         void *context)
{
    struct walk walk = {
        .each = subtrees->blocks / subtrees->ranks, .join = join, .context = context};
    join_tree(&walk, 0, subtrees->blocks);
}
