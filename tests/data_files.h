/* data_files.h: small files for the tests of data/, in a folder that is removed at the end. */
#ifndef TINCA_TESTS_DATA_FILES_H
#define TINCA_TESTS_DATA_FILES_H

#include "base/files/file.h"
#include "data/formats/image_file.h"
#include "data/images/image.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
/* after stdio.h */
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static char files_root[64];

static inline int files_remove(const char *path, const struct stat *status, int kind,
                               struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static inline void files_end(void)
{
    nftw(files_root, files_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline bool files_begin(void)
{
    snprintf(files_root, sizeof files_root, "/tmp/tinca-test-XXXXXX");
    return mkdtemp(files_root) && atexit(files_end) == 0;
}

/* Returns a path below the folder, in one of four buffers that are used in turn. */
__attribute__((format(printf, 1, 2), unused)) static char *files_path(const char *format, ...)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ & 3];
    char below[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(below, sizeof below, format, arguments);
    va_end(arguments);
    snprintf(path, sizeof paths[0], "%s/%s", files_root, below);
    return path;
}

static inline bool files_write(const char *path, const void *bytes, size_t size)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    return file_make_directories(folder, NULL) && file_write(path, bytes, size, false, NULL);
}

static inline bool files_write_gzip(const char *path, const void *bytes, size_t size)
{
    gzFile file = gzopen(path, "wb");
    bool written = file && gzwrite(file, bytes, (unsigned)size) == (int)size;
    return file && gzclose(file) == Z_OK && written;
}

/* Writes a picture of one colour with a diagonal of a second one, so that crops differ. */
static inline struct image files_picture(size_t width, size_t height, uint8_t red, uint8_t green,
                                         uint8_t blue)
{
    struct image image = {0};
    if (!image_create(&image, width, height, 3, NULL))
        return image;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            uint8_t *pixel = image.pixels + (y * width + x) * 3;
            pixel[0] = x == y ? (uint8_t)~red : red;
            pixel[1] = green;
            pixel[2] = blue;
        }
    return image;
}

static inline bool files_write_png(const char *path, size_t width, size_t height, uint8_t red,
                                   uint8_t green, uint8_t blue)
{
    struct image image = files_picture(width, height, red, green, blue);
    bool written = files_write(path, "", 0) && image_file_write_png(&image, path, NULL);
    image_free(&image);
    return written;
}

/* `components` 1, 3 or 4 (CMYK, written as Adobe does). */
static inline bool files_write_jpeg(const char *path, const uint8_t *samples, size_t width,
                                    size_t height, int components, bool progressive)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    jpeg.err = jpeg_std_error(&manager);
    FILE *stream = files_write(path, "", 0) ? fopen(path, "wb") : NULL;
    if (!stream)
        return false;
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, stream);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = components;
    jpeg.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 95, TRUE);
    if (progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = (JSAMPROW)(samples + jpeg.next_scanline * width * (size_t)components);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return fclose(stream) == 0;
}

/* EXIF data of the orientation 6, with numbers from their lowest byte on. */
static const uint8_t files_exif[] = {'I', 'I', 42, 0, 8, 0,    0, 0, 2, 0, 0x0f, 1, 2, 0, 1, 0, 0,
                                     0,   0,   0,  0, 0, 0x12, 1, 3, 0, 1, 0,    0, 0, 6, 0, 0, 0};

/* Puts them into a JPEG file, behind its first two bytes. */
static inline bool files_add_exif(const char *path)
{
    const uint8_t head[] = {0xff, 0xd8, 0xff, 0xe1, 0, sizeof files_exif + 8,
                            'E',  'x',  'i',  'f',  0, 0};
    const size_t before = sizeof head + sizeof files_exif;
    size_t length;
    char *old = file_read(path, 1 << 20, &length, NULL);
    uint8_t *whole = old ? malloc(before + length) : NULL;
    bool written = false;
    if (whole) {
        memcpy(whole, head, sizeof head);
        memcpy(whole + sizeof head, files_exif, sizeof files_exif);
        memcpy(whole + before, old + 2, length - 2);
        written = files_write(path, whole, before + length - 2);
    }
    free(whole);
    free(old);
    return written;
}

/* Returns the folder of real data sets, or NULL. */
static inline const char *files_real(const char *below)
{
    static char path[1024];
    const char *given = getenv("TINCA_DATA"), *source = getenv("srcdir");
    if (given)
        snprintf(path, sizeof path, "%s/%s", given, below);
    else
        snprintf(path, sizeof path, "%s/../shared/data/%s", source ? source : ".", below);
    return file_is_directory(path) ? path : NULL;
}

#endif
