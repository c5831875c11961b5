/* Each class has a quota; going through its n images with a quota of q left, each is kept with
 * probability q / n (selection sampling: Knuth, The Art of Computer Programming 2, 3.4.2, S). */
#include "data/dataset/selection.h"

#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>

struct draw {
    size_t left, quota; /* images that are still to come; that are still to be kept */
};

static size_t class_of(const struct source *source, bool labelled, uint32_t image)
{
    return labelled ? source->operations->label(source, image) : 0;
}

/* Shares `wanted` among the classes: each gets an equal part of what is left, or all it has. */
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

bool selection_draw(const struct source *source, bool labelled, uint32_t *chosen, size_t *count,
                    size_t wanted, struct error *error)
{
    const size_t classes = labelled ? source->classes : 1;
    struct random_stream random = random_stream_at(1, RANDOM_SAMPLE, 0, 0);
    size_t kept = 0;
    if (wanted >= *count)
        return true;
    struct draw *draws = memory_new(classes, sizeof *draws, "a selection", error);
    if (!draws)
        return false;
    for (size_t i = 0; i < *count; i++)
        draws[class_of(source, labelled, chosen[i])].left++;
    set_quotas(draws, classes, wanted);
    for (size_t i = 0; i < *count; i++) {
        struct draw *draw = &draws[class_of(source, labelled, chosen[i])];
        const bool keep = random_next_below(&random, (uint32_t)draw->left--) < draw->quota;
        draw->quota -= keep;
        if (keep)
            chosen[kept++] = chosen[i];
    }
    free(draws);
    *count = kept;
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
