/* Makes the network's input of a picture in memory, by the steps of model_read_image. */
#include "library/library.h"

#include "data/images/image.h"

#include <string.h>

/* Copies the picture, in the channels of the network. */
static bool copy_picture(struct image *image, const uint8_t *picture, const struct image *size,
                         size_t wanted, struct error *error)
{
    if (!image_check_size("the picture", size->width, size->height, error) ||
        !image_create(image, size->width, size->height, size->channels, error))
        return false;
    memcpy(image->pixels, picture, size->width * size->height * size->channels);
    return image_convert(image, wanted, error);
}

/* Writes the normalised middle of the image, which it resizes. */
static bool fit(const struct tinca_model *model, struct image *image, float *values,
                struct error *error)
{
    const struct preprocessing *preprocessing = &model->saved.preprocessing;
    if (!preprocessing_fit(preprocessing, image, error))
        return false;
    const struct crop crop = crop_centre(image, preprocessing->width, preprocessing->height);
    crop_write(values, image, &crop, &model->table);
    return true;
}

TINCA_EXPORT enum tinca_status tinca_model_fit_picture(const tinca_model *model,
                                                       const uint8_t *picture, size_t height,
                                                       size_t width, size_t channels, float *values,
                                                       struct tinca_error *out)
{
    static const char function[] = "tinca_model_fit_picture";
    const struct image size = {.width = width, .height = height, .channels = channels};
    struct image image = {0};
    struct error error;
    if (!model || !picture || !values)
        return library_refuse(out, function, "the model or an array is NULL");
    if (channels != 1 && channels != 3)
        return library_refuse(out, function, "a picture has 1 or 3 channels");
    const size_t wanted = model->saved.network->input.channels;
    if (wanted != 1 && wanted != 3)
        return library_refuse(out, function,
                              "the network reads neither 1 nor 3 channels; use tinca_run");
    const bool made =
        copy_picture(&image, picture, &size, wanted, &error) && fit(model, &image, values, &error);
    image_free(&image);
    if (made)
        return TINCA_OK;
    if (error.kind == ERROR_INPUT) /* the size of the picture, an argument here */
        error.kind = ERROR_USAGE;
    return library_fail(out, &error);
}
