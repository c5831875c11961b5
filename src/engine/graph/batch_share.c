/* Joins the sums of all ranks where they were gathered. */
#include "engine/graph/batch_share.h"

/* The values that were gathered, `count` of each piece. */
struct gathered {
    const struct batch_share *share;
    size_t count;
};

/* Returns the values of a piece. */
static double *values_of(const struct gathered *gathered, const struct image_piece *piece)
{
    const struct batch_share *share = gathered->share;
    return share->all + (piece->rank * share->pieces.most + piece->number) * gathered->count;
}

static void add(void *context, const struct image_piece *to, const struct image_piece *from)
{
    const struct gathered *gathered = context;
    double *sums = values_of(gathered, to);
    const double *more = values_of(gathered, from);
    for (size_t i = 0; i < gathered->count; i++)
        sums[i] += more[i];
}

static void add_float(void *context, const struct image_piece *to, const struct image_piece *from)
{
    const struct gathered *gathered = context;
    double *sums = values_of(gathered, to);
    const double *more = values_of(gathered, from);
    for (size_t i = 0; i < gathered->count; i++)
        sums[i] = (double)((float)sums[i] + (float)more[i]);
}

static void join(void *context, const struct image_piece *to, const struct image_piece *from)
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

/* Gathers the sums of all pieces and joins them. */
static void gather(const struct batch_share *share, size_t count,
                   void (*join_two)(void *context, const struct image_piece *to,
                                    const struct image_piece *from))
{
    struct gathered gathered = {share, count};
    share->gather(share, count);
    image_pieces_join(&share->pieces, join_two, &gathered);
}

void batch_share_add(const struct batch_share *share, size_t count)
{
    gather(share, count, add);
}

void batch_share_add_float(const struct batch_share *share, size_t count)
{
    gather(share, count, add_float);
}

void batch_share_join_moments(const struct batch_share *share, size_t channels)
{
    gather(share, 3 * channels, join);
}
