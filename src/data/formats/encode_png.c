/* PNG files by libpng, which reports errors by longjmp: no frame between setjmp and longjmp has
 * locals that must survive. */
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "data/formats/image_file.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct png_writing {
    png_structp png;
    png_infop info;
    char complaint[160];
};

static void remember_error(png_structp png, png_const_charp message)
{
    struct png_writing *writing = png_get_error_ptr(png);
    snprintf(writing->complaint, sizeof writing->complaint, "%s", message);
    png_longjmp(png, 1);
}

static bool write_stream(struct png_writing *writing, const struct image *image, FILE *stream)
{
    if (setjmp(png_jmpbuf(writing->png)))
        return false;
    png_init_io(writing->png, stream);
    png_set_IHDR(writing->png, writing->info, (png_uint_32)image->width, (png_uint_32)image->height,
                 8, image->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(writing->png, writing->info);
    for (size_t y = 0; y < image->height; y++)
        png_write_row(writing->png, image->pixels + y * image->width * image->channels);
    png_write_end(writing->png, NULL);
    return true;
}

/* Writes the PNG to `stream`; errors name `path`. */
static bool put_png(const struct image *image, FILE *stream, const char *path, struct error *error)
{
    struct png_writing writing = {0};
    writing.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writing, remember_error, NULL);
    writing.info = writing.png ? png_create_info_struct(writing.png) : NULL;
    bool written = writing.info && write_stream(&writing, image, stream);
    png_destroy_write_struct(&writing.png, &writing.info);
    return written ||
           error_set(error, ERROR_SYSTEM, path, "free some space, or choose another place",
                     "cannot write: %s", writing.complaint[0] ? writing.complaint : _("no memory"));
}

bool image_file_write_png(const struct image *image, const char *path, struct error *error)
{
    struct file_writer writer;
    if (!file_writer_open(&writer, path, false, error))
        return false;
    if (put_png(image, writer.stream, path, error))
        return file_writer_commit(&writer, error);
    file_writer_abandon(&writer);
    return false;
}

bool image_file_export_png(const struct image *image, const char *path, struct error *error)
{
    struct output_file output;
    if (!output_file_open(&output, path, OUTPUT_BINARY, error))
        return false;
    if (put_png(image, output.stream, path, error))
        return output_file_commit(&output, error);
    output_file_abandon(&output);
    return false;
}

void *image_file_encode_png(const struct image *image, size_t *size, struct error *error)
{
    char *png = NULL;
    FILE *stream = open_memstream(&png, size);
    bool written = stream ? put_png(image, stream, "a picture", error)
                          : error_set_memory(error, "a picture", 0);
    if (stream && fclose(stream) != 0 && written)
        written = error_set_memory(error, "a picture", 0);
    if (written)
        return png;
    free(png);
    return NULL;
}
