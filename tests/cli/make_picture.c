/* make_picture KIND WIDTH HEIGHT FILE: writes a picture of a kind that tinca can read but not
 * write: a progressive JPEG, an interlaced PNG, or the JPEG of a phone that was held upright, whose
 * EXIF data say that it is to be turned to the right (orientation 6). */
#include "data_files.h"

#include <png.h>

static struct image make_gradient(size_t width, size_t height)
{
    struct image image = {0};
    if (!image_create(&image, width, height, 3, NULL))
        return image;
    for (size_t i = 0; i < width * height; i++) {
        const size_t x = i % width, y = i / width;
        image.pixels[3 * i] = (uint8_t)(x * 255 / width);
        image.pixels[3 * i + 1] = (uint8_t)(y * 255 / height);
        image.pixels[3 * i + 2] = (uint8_t)((x ^ y) & 0xff);
    }
    return image;
}

static bool write_rows(png_structp png, png_infop info, const struct image *image, FILE *stream)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_init_io(png, stream);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    const int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < image->height; y++)
            png_write_row(png, image->pixels + y * image->width * 3);
    png_write_end(png, info);
    return true;
}

static bool write_interlaced(const char *path, const struct image *image)
{
    FILE *stream = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const bool written = stream && info && write_rows(png, info, image, stream);
    png_destroy_write_struct(&png, &info);
    return stream && fclose(stream) == 0 && written;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    struct image image = make_gradient(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    const bool written =
        image.pixels &&
        (strcmp(argv[1], "progressive") == 0
             ? files_write_jpeg(argv[4], image.pixels, image.width, image.height, 3, true)
         : strcmp(argv[1], "phone") == 0
             ? files_write_jpeg(argv[4], image.pixels, image.width, image.height, 3, false) &&
                   files_add_exif(argv[4])
             : strcmp(argv[1], "interlaced") == 0 && write_interlaced(argv[4], &image));
    image_free(&image);
    return written ? 0 : 1;
}
