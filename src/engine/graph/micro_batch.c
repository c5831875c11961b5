/* Joins the sums of all ranks where they were gathered. */
#include "engine/graph/micro_batch.h"

/* The values that were gathered, `count` of each subtree. */
struct gathered {
    const struct micro_batch *micro_batch;
    size_t count;
};

/* Returns the values of a subtree. */
static double *values_of(const struct gathered *gathered, const struct batch_subtree *subtree)
{
    const struct micro_batch *micro_batch = gathered->micro_batch;
    return micro_batch->all +
           (subtree->rank * micro_batch->subtrees.most + subtree->number) * gathered->count;
}

static void add(void *context, const struct batch_subtree *to, const struct batch_subtree *from)
{
    const struct gathered *gathered = context;
    double *sums = values_of(gathered, to);
    const double *more = values_of(gathered, from);
    for (size_t i = 0; i < gathered->count; i++)
        sums[i] += more[i];
}

static void add_float(void *context, const struct batch_subtree *to,
                      const struct batch_subtree *from)
{
    const struct gathered *gathered = context;
    double *sums = values_of(gathered, to);
    const double *more = values_of(gathered, from);
    for (size_t i = 0; i < gathered->count; i++)
        sums[i] = (double)((float)sums[i] + (float)more[i]);
}

static void join(void *context, const struct batch_subtree *to, const struct batch_subtree *from)
{
    const struct gathered *gathered = context;
    double *sums = values_of(gathered, to);
    const double *more = values_of(gathered, from);
    for (size_t i = 0; i < gathered->count; i += 3) {
        const struct moments joined =
            moments_join((struct moments){sums[i], sums[i + 1], sums[i + 2]},
                         (struct moments){more[i], more[i + 1], more[i + 2]});
        sums[i] = joined.count;
        sums[i + 1] = joined.mean;
        sums[i + 2] = joined.squares;
    }
}

/* Gathers the sums of all subtrees and joins them. */
static void gather(const struct micro_batch *micro_batch, size_t count,
                   void (*join_two)(void *context, const struct batch_subtree *to,
                                    const struct batch_subtree *from))
{
    struct gathered gathered = {micro_batch, count};
    micro_batch->gather(micro_batch, count);
    batch_subtrees_join(&micro_batch->subtrees, join_two, &gathered);
}

void micro_batch_add(const struct micro_batch *micro_batch, size_t count)
{
    gather(micro_batch, count, add);
}

void micro_batch_add_float(const struct micro_batch *micro_batch, size_t count)
{
    gather(micro_batch, count, add_float);
}

void micro_batch_join_moments(const struct micro_batch *micro_batch, size_t channels)
{
    gather(micro_batch, 3 * channels, join);
}
