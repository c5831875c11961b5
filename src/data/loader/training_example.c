#include "data/loader/training_example.h"

#include "data/dataset/dataset_source.h"
#include "data/loader/augment.h"

/* Reads an image and, of a paired set, its target, and draws the window. */
static bool read_window(const struct example_style *style, const struct example_draw *draw,
                        struct image *image, struct image *target, struct crop *crop,
                        struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(style->dataset);
    const struct augmentation *augmentation = style->augmentation;
    if (!dataset_image_for(style->dataset, draw->index, augmentation->crop == AUGMENT_CROP_NONE,
                           image, facts->paired ? target : NULL, error))
        return false;
    const struct crop_draw window = {augmentation, style->seed, draw->epoch};
    *crop = crop_for_training(style->dataset, image, &window, draw->number);
    return true;
}

bool training_example_read(const struct example_style *style, const struct example_draw *draw,
                           float *image, float *target, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(style->dataset);
    struct image read = {0}, read_target = {0};
    struct crop crop;
    if (!read_window(style, draw, &read, &read_target, &crop, error))
        return false;
    const struct picture_change change = picture_change_draw(
        style->augmentation, style->seed, draw->epoch, draw->number, facts->width, facts->height);
    picture_change_write(image, &read, &crop, &change, style->normalisation, style->table,
                         style->mask);
    if (facts->paired)
        picture_change_write(target, &read_target, &crop, &change, style->normalisation,
                             style->table, style->mask);
    image_free(&read);
    image_free(&read_target);
    return true;
}

bool training_example_read_samples(const struct example_style *style,
                                   const struct example_draw *draw, uint8_t *image, uint8_t *target,
                                   struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(style->dataset);
    struct image read = {0}, read_target = {0};
    struct crop crop;
    char origin[512];
    if (!read_window(style, draw, &read, &read_target, &crop, error))
        return false;
    const bool bytes = read.pixels && (!facts->paired || read_target.pixels);
    if (bytes)
        crop_copy(image, &read, &crop);
    if (bytes && facts->paired)
        crop_copy(target, &read_target, &crop);
    image_free(&read);
    image_free(&read_target);
    dataset_origin(style->dataset, draw->index, origin, sizeof origin);
    return bytes || error_set(error, ERROR_INPUT, origin, "start again with the set as it is now",
                              "its samples have 16 bits, but had 8 when the set was opened");
}
