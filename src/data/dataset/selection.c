/* Each class has a quota. Of a class with n images and a quota of q left, the next image is kept
 * with probability q / n (selection sampling: Knuth, The Art of Computer Programming 2, 3.4.2, S).
 */
#include "data/dataset/dataset_source.h"

#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>

struct draw {
    size_t left, quota; /* images that still follow; images still to keep */
    double remainder;   /* for a share: the fraction lost by rounding the quota down */
};

static size_t class_of(const struct source *source, bool labelled, uint32_t image)
{
    return labelled ? source->operations->label(source, image) : 0;
}

/* Divides `wanted` among the classes: each gets an equal part of the rest, or all it has. */
static void set_quotas(struct draw *draws, size_t classes, size_t wanted)
{
    for (size_t open = classes; wanted > 0 && open > 0;) {
        const size_t share = wanted / open, more = wanted % open;
        size_t place = 0;
        open = 0;
        for (size_t c = 0; c < classes; c++) {
            struct draw *draw = &draws[c];
            const size_t room = draw->left - draw->quota;
            if (room == 0)
                continue;
            const size_t part = share + (place++ < more);
            const size_t taken = part < room ? part : room;
            draw->quota += taken;
            wanted -= taken;
            open += draw->quota < draw->left;
        }
    }
}

/* Keeps each image with the probability of its class's quota, or keeps the others instead. Returns
 * how many are kept. */
static size_t keep_drawn(const struct source *source, bool labelled, uint32_t *chosen, size_t count,
                         struct draw *draws, struct random_stream random, bool rest)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct draw *draw = &draws[class_of(source, labelled, chosen[i])];
        const bool keep = random_next_below(&random, (uint32_t)draw->left--) < draw->quota;
        draw->quota -= keep;
        if (keep != rest)
            chosen[kept++] = chosen[i];
    }
    return kept;
}

static struct draw *count_images(const struct source *source, bool labelled, const uint32_t *chosen,
                                 size_t count, struct error *error)
{
    const size_t classes = labelled ? source->classes : 1;
    struct draw *draws = memory_new(classes, sizeof *draws, "a selection", error);
    for (size_t i = 0; draws && i < count; i++)
        draws[class_of(source, labelled, chosen[i])].left++;
    return draws;
}

bool selection_draw(const struct source *source, bool labelled, uint32_t *chosen, size_t *count,
                    size_t wanted, struct error *error)
{
    if (wanted >= *count)
        return true;
    struct draw *draws = count_images(source, labelled, chosen, *count, error);
    if (!draws)
        return false;
    set_quotas(draws, labelled ? source->classes : 1, wanted);
    *count = keep_drawn(source, labelled, chosen, *count, draws,
                        random_stream_at(1, RANDOM_SAMPLE, 0, 0), false);
    free(draws);
    return true;
}

/* Gives every class its share, rounded down; the images that are then missing go to the classes
 * that lost most by rounding, the first ones first (largest remainders). */
static void set_shares(struct draw *draws, size_t classes, size_t images, double share)
{
    size_t missing = (size_t)((double)images * share + 0.5);
    for (size_t c = 0; c < classes; c++) {
        draws[c].quota = (size_t)((double)draws[c].left * share);
        draws[c].remainder = (double)draws[c].left * share - (double)draws[c].quota;
        missing -= draws[c].quota < missing ? draws[c].quota : missing;
    }
    while (missing-- > 0) {
        struct draw *best = NULL;
        for (size_t c = 0; c < classes; c++)
            if (draws[c].quota + 1 < draws[c].left && draws[c].remainder > 0 &&
                (!best || draws[c].remainder > best->remainder))
                best = &draws[c];
        if (!best)
            return;
        best->quota++;
        best->remainder = 0;
    }
}

bool selection_divide(const struct source *source, bool labelled, uint32_t *chosen, size_t *count,
                      const struct selection_share *share, struct error *error)
{
    struct draw *draws = count_images(source, labelled, chosen, *count, error);
    if (!draws)
        return false;
    set_shares(draws, labelled ? source->classes : 1, *count, share->share);
    *count = keep_drawn(source, labelled, chosen, *count, draws,
                        random_stream_at(share->seed, RANDOM_SHARE, 0, 0), share->rest);
    free(draws);
    return true;
}

size_t selection_classes(const struct source *source, const uint32_t *chosen, size_t count)
{
    size_t found = 0;
    bool *seen = memory_new(source->classes, sizeof *seen, "a selection", NULL);
    for (size_t i = 0; seen && i < count; i++) {
        const size_t label = source->operations->label(source, chosen ? chosen[i] : i);
        found += !seen[label];
        seen[label] = true;
    }
    free(seen);
    return found;
}
