/* Draws the windows of training images. */
#include "data/loader/augment.h"

#include "base/random.h"
#include "data/dataset/dataset_source.h"

/* Returns whether the set's images are mirrored if this is drawn. */
static bool may_flip(const struct dataset *dataset, const struct augmentation *augmentation)
{
    return augmentation->flip == AUGMENT_FLIP_ALWAYS ||
           (augmentation->flip == AUGMENT_FLIP_USUAL && dataset_source(dataset)->flips);
}

struct crop crop_for_training(const struct dataset *dataset, const struct image *image,
                              const struct crop_draw *draw, uint64_t number)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    const struct augmentation *augmentation = draw->augmentation;
    const size_t pad = augmentation->pad, width = facts->width, height = facts->height;
    struct crop crop = crop_centre(image, width, height);
    struct random_stream draws =
        random_stream_at(draw->seed, RANDOM_AUGMENT, (uint32_t)draw->epoch, number << 8);
    if (augmentation->crop != AUGMENT_CROP_NONE) {
        const uint32_t across = (uint32_t)(image->width + 2 * pad - width);
        const uint32_t down = (uint32_t)(image->height + 2 * pad - height);
        crop.x = (ptrdiff_t)random_next_below(&draws, across + 1) - (ptrdiff_t)pad;
        crop.y = (ptrdiff_t)random_next_below(&draws, down + 1) - (ptrdiff_t)pad;
    }
    crop.flip = may_flip(dataset, augmentation) && (random_next(&draws) & 1);
    return crop;
}
