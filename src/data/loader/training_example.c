#include "data/loader/training_example.h"

#include "data/dataset/dataset_source.h"
#include "data/loader/picture_change.h"

bool training_example_read(const struct example_style *style, const struct example_draw *draw,
                           float *image, float *target, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(style->dataset);
    const struct augmentation *augmentation = style->augmentation;
    struct image read = {0}, read_target = {0};
    if (!dataset_image_for(style->dataset, draw->index, augmentation->crop == AUGMENT_CROP_NONE,
                           &read, facts->paired ? &read_target : NULL, error))
        return false;
    const struct crop_draw window = {augmentation, style->seed, draw->epoch};
    const struct crop crop = crop_for_training(style->dataset, &read, &window, draw->number);
    const struct picture_change change = picture_change_draw(
        augmentation, style->seed, draw->epoch, draw->number, facts->width, facts->height);
    picture_change_write(image, &read, &crop, &change, style->normalisation, style->table,
                         style->mask);
    if (facts->paired)
        picture_change_write(target, &read_target, &crop, &change, style->normalisation,
                             style->table, style->mask);
    image_free(&read);
    image_free(&read_target);
    return true;
}
