#include "picture.h"

#include "data/formats/image_file.h"
#include "fuzz.h"

/* Larger ones are refused by other means; here they would only take time. */
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
    if (image_file_read_fitted(&image, path, 3, 16, &error))
        image_free(&image);
}
