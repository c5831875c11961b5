#include "picture.h"

#include "data/formats/image_file.h"
#include "fuzz.h"

/* Larger pictures are refused elsewhere; here they would only be slow. */
enum { MAX_PIXELS = 1 << 20 };

void picture_walk(const char *name, const uint8_t *data, size_t size)
{
    struct error error;
    struct image image;
    const char *path = scratch_write(name, data, size);
    if (!image_file_probe(&image, path, &error) || image.width * image.height > MAX_PIXELS)
        return;
    if (image_file_read(&image, path, 3, &error))
        image_free(&image);
    if (image_file_read(&image, path, 1, &error))
        image_free(&image);
    const struct preprocessing how = {
        .channels = 3, .height = 16, .width = 16, .stored_height = 16, .stored_width = 16};
    if (image_file_prepare(&image, path, &how, &error))
        image_free(&image);
}
