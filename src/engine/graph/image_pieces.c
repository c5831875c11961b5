/* Walks the tree of blocks from left to right, and goes no deeper than to the pieces. */
#include "engine/graph/image_pieces.h"

#include "engine/graph/image_blocks.h"

#include <stdbool.h>

/* --- the pieces of a rank --- */

/* A rank's blocks, and the pieces that were found so far. */
struct range {
    size_t rank, begin, end;
    struct image_piece *list; /* NULL: they are only counted */
    size_t found;
};

/* Finds the pieces in a subtree. */
static void find_pieces(struct range *range, size_t begin, size_t count)
{
    if (begin >= range->end || begin + count <= range->begin)
        return;
    if (range->begin <= begin && begin + count <= range->end) {
        if (range->list)
            range->list[range->found] =
                (struct image_piece){range->rank, range->found, begin - range->begin, count};
        range->found++;
        return;
    }
    const size_t left = image_blocks_left(count);
    find_pieces(range, begin, left);
    find_pieces(range, begin + left, count - left);
}

size_t image_pieces_list(const struct image_pieces *pieces, size_t rank, struct image_piece *list)
{
    const size_t each = pieces->blocks / pieces->ranks;
    struct range range = {rank, rank * each, (rank + 1) * each, list, 0};
    find_pieces(&range, 0, pieces->blocks);
    return range.found;
}

struct image_pieces image_pieces_divide(size_t blocks, size_t ranks)
{
    struct image_pieces pieces = {blocks, ranks, 0};
    for (size_t r = 0; r < ranks; r++) {
        const size_t found = image_pieces_list(&pieces, r, NULL);
        pieces.most = found > pieces.most ? found : pieces.most;
    }
    return pieces;
}

/* --- joining --- */

struct walk {
    size_t each; /* blocks of a rank */
    bool begun;
    struct image_piece last; /* the piece that was passed last */
    void (*join)(void *context, const struct image_piece *to, const struct image_piece *from);
    void *context;
};

/* Returns the piece that comes after the last one. */
static struct image_piece pass_piece(struct walk *walk, size_t begin, size_t count)
{
    const size_t rank = begin / walk->each;
    const size_t number = walk->begun && walk->last.rank == rank ? walk->last.number + 1 : 0;
    walk->begun = true;
    walk->last = (struct image_piece){rank, number, begin - rank * walk->each, count};
    return walk->last;
}

/* Joins the pieces of a subtree. Returns its first one. */
static struct image_piece join_tree(struct walk *walk, size_t begin, size_t count)
{
    if (begin / walk->each == (begin + count - 1) / walk->each)
        return pass_piece(walk, begin, count);
    const size_t left = image_blocks_left(count);
    const struct image_piece to = join_tree(walk, begin, left);
    const struct image_piece from = join_tree(walk, begin + left, count - left);
    walk->join(walk->context, &to, &from);
    return to;
}

void image_pieces_join(const struct image_pieces *pieces,
                       void (*join)(void *context, const struct image_piece *to,
                                    const struct image_piece *from),
                       void *context)
{
    struct walk walk = {.each = pieces->blocks / pieces->ranks, .join = join, .context = context};
    join_tree(&walk, 0, pieces->blocks);
}
