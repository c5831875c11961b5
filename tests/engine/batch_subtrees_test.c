/* Tests which sums each rank takes and how they are joined, for all numbers of blocks up to 32 and
 * all ranks that divide them, against the definitions: a list of all subtrees, and a sum whose
 * value depends on every operand and on the order. */
#include "engine/graph/batch_subtrees.h"

#include "engine/graph/micro_batch.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MOST_BLOCKS = 32 };

/* --- the definitions --- */

/* Returns the number of blocks in the left half of a tree: the largest power of two below. */
static size_t half(size_t count)
{
    size_t power = MOST_BLOCKS;
    while (power >= count)
        power /= 2;
    return power;
}

/* Returns a number for a sum that is taken in this order. */
static uint64_t combine(uint64_t a, uint64_t b)
{
    const uint64_t both = a * 0x9e3779b97f4a7c15u + (b ^ 0x1234567) * 0xc2b2ae3d27d4eb4fu;
    return both ^ both >> 29;
}

static uint64_t tree(size_t begin, size_t count)
{
    if (count == 1)
        return begin + 1;
    return combine(tree(begin, half(count)), tree(begin + half(count), count - half(count)));
}

/* The subtrees of a tree, and the one that each is a half of. */
struct subtree {
    size_t begin, count, parent;
};

static size_t list_subtrees(struct subtree *list, size_t used, struct subtree root)
{
    const size_t own = used;
    list[used++] = root;
    if (root.count == 1)
        return used;
    const size_t left = half(root.count);
    used = list_subtrees(list, used, (struct subtree){root.begin, left, own});
    return list_subtrees(list, used, (struct subtree){root.begin + left, root.count - left, own});
}

static bool inside(const struct subtree *tree_of, size_t first, size_t each)
{
    return tree_of->begin >= first && tree_of->begin + tree_of->count <= first + each;
}

/* Writes the subtrees of a rank's blocks that are no part of larger ones, from left to right.
 * Returns their number. */
static size_t largest_subtrees(const struct subtree *all, size_t count, size_t first, size_t each,
                               const struct subtree **largest)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (inside(&all[i], first, each) && (i == 0 || !inside(&all[all[i].parent], first, each)))
            largest[found++] = &all[i];
    return found; /* a subtree is listed before those on its right */
}

/* --- the subtrees --- */

static bool lists_agree(const struct batch_subtrees *subtrees, size_t rank)
{
    struct subtree all[2 * MOST_BLOCKS];
    const struct subtree *largest[MOST_BLOCKS];
    struct batch_subtree list[BATCH_SUBTREES_LIMIT];
    const size_t each = subtrees->blocks / subtrees->ranks;
    const size_t listed = list_subtrees(all, 0, (struct subtree){0, subtrees->blocks, 0});
    const size_t expected = largest_subtrees(all, listed, rank * each, each, largest);
    const size_t found = batch_subtrees_list(subtrees, rank, list);
    bool good = found == expected && batch_subtrees_list(subtrees, rank, NULL) == found;
    for (size_t p = 0; good && p < found; p++)
        good = list[p].rank == rank && list[p].number == p && list[p].count == largest[p]->count &&
               rank * each + list[p].begin == largest[p]->begin;
    return good && found <= subtrees->most;
}

/* The sums of all subtrees, while they are joined. */
struct joining {
    uint64_t values[MOST_BLOCKS][MOST_BLOCKS]; /* by rank and number */
    bool used[MOST_BLOCKS][MOST_BLOCKS];       /* its sum was added to another one */
    size_t joins;
    bool good;
};

static void join(void *context, const struct batch_subtree *to, const struct batch_subtree *from)
{
    struct joining *joining = context;
    joining->good &=
        !joining->used[to->rank][to->number] && !joining->used[from->rank][from->number];
    joining->used[from->rank][from->number] = true;
    joining->values[to->rank][to->number] =
        combine(joining->values[to->rank][to->number], joining->values[from->rank][from->number]);
    joining->joins++;
}

static bool sums_agree(const struct batch_subtrees *subtrees)
{
    static struct joining joining;
    size_t total = 0;
    joining = (struct joining){.good = true};
    for (size_t r = 0; r < subtrees->ranks; r++) {
        struct batch_subtree list[BATCH_SUBTREES_LIMIT];
        const size_t found = batch_subtrees_list(subtrees, r, list);
        for (size_t p = 0; p < found; p++)
            joining.values[r][p] =
                tree(r * (subtrees->blocks / subtrees->ranks) + list[p].begin, list[p].count);
        total += found;
    }
    batch_subtrees_join(subtrees, join, &joining);
    return joining.good && joining.joins == total - 1 &&
           joining.values[0][0] == tree(0, subtrees->blocks);
}

static void test_subtrees(void)
{
    bool lists = true, sums = true, one = true, few = true;
    size_t divisions = 0;
    for (size_t blocks = 1; blocks <= MOST_BLOCKS; blocks++)
        for (size_t ranks = 1; ranks <= blocks; ranks++) {
            if (blocks % ranks)
                continue;
            const struct batch_subtrees subtrees = batch_subtrees_divide(blocks, ranks);
            const size_t each = blocks / ranks;
            size_t most = 0;
            for (size_t r = 0; r < ranks; r++) {
                const size_t found = batch_subtrees_list(&subtrees, r, NULL);
                lists &= lists_agree(&subtrees, r);
                most = found > most ? found : most;
            }
            lists &= most == subtrees.most;
            sums &= sums_agree(&subtrees);
            one &= ((each & (each - 1)) != 0 && ranks > 1) || most == 1;
            few &= each == 1 || (double)most <= 2 * floor(log2((double)each));
            divisions++;
        }
    tap_ok(lists, "subtrees are the largest subtrees of a rank's blocks (%zu divisions)",
           divisions);
    tap_ok(sums, "  joined, they are the sum in the order of the tree");
    tap_ok(one, "  a rank that is alone or has 2^n blocks has one");
    tap_ok(few, "  others have at most 2 log2 of their blocks");
}

static void test_example(void)
{
    const struct batch_subtrees six = batch_subtrees_divide(6, 2);
    struct batch_subtree list[BATCH_SUBTREES_LIMIT];
    size_t found = batch_subtrees_list(&six, 0, list);
    tap_ok(six.most == 2 && found == 2 && list[0].count == 2 && list[1].begin == 2 &&
               list[1].count == 1,
           "rank 0 of two has (0 1) and 2 of six blocks");
    found = batch_subtrees_list(&six, 1, list);
    tap_ok(found == 2 && list[0].begin == 0 && list[0].count == 1 && list[1].begin == 1 &&
               list[1].count == 2,
           "  and rank 1 has 3 and (4 5)");
}

static void test_limit(void)
{
    const size_t each = SIZE_MAX >> 5; /* no power of two, and ranks begin at all kinds of blocks */
    size_t most = 0;
    for (size_t ranks = 2; ranks < 7; ranks++) {
        const struct batch_subtrees subtrees = batch_subtrees_divide(each * ranks, ranks);
        most = subtrees.most > most ? subtrees.most : most;
    }
    tap_ok(most > 50 && most <= BATCH_SUBTREES_LIMIT,
           "%zu subtrees of 2^59 blocks are no more than %d", most, (int)BATCH_SUBTREES_LIMIT);
}

/* --- sums of all ranks --- */

enum { CHANNELS = 3, VALUES = 3 * CHANNELS };

static double value_of(size_t block, size_t i)
{
    return sin((double)(block * 37 + i * 11)) * (double)(1 + block % 5);
}

static struct moments moments_of(size_t block, size_t channel)
{
    return (struct moments){(double)(1 + block % 3), value_of(block, channel),
                            fabs(value_of(block, channel + 7))};
}

static double sum(size_t begin, size_t count, size_t i)
{
    return count == 1
               ? value_of(begin, i)
               : sum(begin, half(count), i) + sum(begin + half(count), count - half(count), i);
}

static float sum_float(size_t begin, size_t count, size_t i)
{
    return count == 1 ? (float)value_of(begin, i)
                      : sum_float(begin, half(count), i) +
                            sum_float(begin + half(count), count - half(count), i);
}

static struct moments join_all(size_t begin, size_t count, size_t channel)
{
    return count == 1 ? moments_of(begin, channel)
                      : moments_join(join_all(begin, half(count), channel),
                                     join_all(begin + half(count), count - half(count), channel));
}

enum kind { SUMS, FLOATS, MOMENTS };

/* The sums of all ranks' subtrees, as each would compute them. */
static void take_sums(const struct batch_subtrees *subtrees, size_t rank, enum kind kind,
                      double *mine)
{
    struct batch_subtree list[BATCH_SUBTREES_LIMIT];
    const size_t found = batch_subtrees_list(subtrees, rank, list);
    for (size_t p = 0; p < found; p++)
        for (size_t i = 0; i < VALUES; i++) {
            const size_t first = rank * (subtrees->blocks / subtrees->ranks) + list[p].begin;
            const struct moments moments = join_all(first, list[p].count, i / 3);
            const double parts[] = {moments.count, moments.mean, moments.squares};
            mine[p * VALUES + i] = kind == SUMS     ? sum(first, list[p].count, i)
                                   : kind == FLOATS ? (double)sum_float(first, list[p].count, i)
                                                    : parts[i % 3];
        }
    for (size_t i = found * VALUES; i < subtrees->most * VALUES; i++)
        mine[i] = NAN; /* what is no subtree of the rank does not matter */
}

static void gather(const struct micro_batch *micro_batch, size_t count)
{
    const enum kind *kind = micro_batch->context;
    for (size_t r = 0; r < micro_batch->subtrees.ranks; r++)
        take_sums(&micro_batch->subtrees, r, *kind,
                  micro_batch->all + r * micro_batch->subtrees.most * count);
}

static bool shared_sums_agree(const struct batch_subtrees *subtrees, enum kind kind)
{
    static double all[MOST_BLOCKS * MOST_BLOCKS * VALUES];
    const struct micro_batch micro_batch = {
        .subtrees = *subtrees, .all = all, .gather = gather, .context = &kind};
    bool good = true;
    if (kind == MOMENTS)
        micro_batch_join_moments(&micro_batch, CHANNELS);
    else if (kind == FLOATS)
        micro_batch_add_float(&micro_batch, VALUES);
    else
        micro_batch_add(&micro_batch, VALUES);
    for (size_t i = 0; i < VALUES; i++) {
        const struct moments moments = join_all(0, subtrees->blocks, i / 3);
        const double parts[] = {moments.count, moments.mean, moments.squares};
        const double expected = kind == SUMS     ? sum(0, subtrees->blocks, i)
                                : kind == FLOATS ? (double)sum_float(0, subtrees->blocks, i)
                                                 : parts[i % 3];
        good &= memcmp(&all[i], &expected, sizeof expected) == 0;
    }
    return good;
}

static void test_shared_sums(void)
{
    bool sums = true, floats = true, moments = true;
    for (size_t blocks = 1; blocks <= MOST_BLOCKS; blocks++)
        for (size_t ranks = 1; ranks <= blocks; ranks++) {
            if (blocks % ranks)
                continue;
            const struct batch_subtrees subtrees = batch_subtrees_divide(blocks, ranks);
            sums &= shared_sums_agree(&subtrees, SUMS);
            floats &= shared_sums_agree(&subtrees, FLOATS);
            moments &= shared_sums_agree(&subtrees, MOMENTS);
        }
    tap_ok(sums, "sums of all ranks have the bits of the tree");
    tap_ok(floats, "  also those that are rounded to float32");
    tap_ok(moments, "  and so have moments");
}

TEST_CASE(batch_subtrees_test)
{
    test_subtrees();
    test_example();
    test_limit();
    test_shared_sums();
    return tap_done();
}
