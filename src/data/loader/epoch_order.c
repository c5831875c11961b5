#include "data/loader/epoch_order.h"

#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>

/* Sets `ends` to the ends of all classes, empty ones included, and sorts the images by counting. */
static void sort_images(struct class_images *classes, const struct dataset *dataset, size_t *ends,
                        size_t all)
{
    for (size_t i = 0; i < classes->count; i++)
        ends[dataset_label(dataset, i)]++;
    for (size_t c = 1; c < all; c++)
        ends[c] += ends[c - 1];
    for (size_t i = classes->count; i-- > 0;)
        classes->images[--ends[dataset_label(dataset, i)]] =
            (uint32_t)i; /* `ends` now has the beginnings */
    for (size_t c = 0; c < all; c++)
        ends[c] = c + 1 < all ? ends[c + 1] : classes->count;
}

bool class_images_make(struct class_images *classes, const struct dataset *dataset,
                       struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    *classes = (struct class_images){.count = facts->images};
    classes->images =
        memory_new(facts->images, sizeof *classes->images, "balanced sampling", error);
    classes->ends = memory_new(facts->classes, sizeof *classes->ends, "balanced sampling", error);
    if (!classes->images || !classes->ends) {
        class_images_free(classes);
        return false;
    }
    sort_images(classes, dataset, classes->ends, facts->classes);
    for (size_t c = 0; c < facts->classes; c++) {
        const size_t begin = classes->classes ? classes->ends[classes->classes - 1] : 0;
        if (classes->ends[c] > begin)
            classes->ends[classes->classes++] = classes->ends[c];
    }
    return true;
}

void class_images_free(struct class_images *classes)
{
    free(classes->images);
    free(classes->ends);
    *classes = (struct class_images){0};
}

void epoch_order_fill(const struct class_images *classes, uint64_t seed, uint64_t epoch,
                      uint32_t *order, size_t images)
{
    if (!classes) {
        random_permutation(seed, RANDOM_ORDER, (uint32_t)epoch, order, images);
        return;
    }
    struct random_stream draws = random_stream_at(seed, RANDOM_BALANCE, (uint32_t)epoch, 0);
    for (size_t i = 0; i < images; i++) {
        const size_t c = random_next_below(&draws, (uint32_t)classes->classes);
        const size_t begin = c > 0 ? classes->ends[c - 1] : 0;
        const uint32_t count = (uint32_t)(classes->ends[c] - begin);
        order[i] = classes->images[begin + random_next_below(&draws, count)];
    }
}
