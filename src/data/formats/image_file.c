/* Recognises the format of a picture file and calls its decoder. */
#include "data/formats/image_file.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "data/formats/internal.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- how a camera held a picture that it stored ---
 *
 * EXIF data are a TIFF directory in a segment APP1 of a JPEG file, or in the chunk eXIf of a PNG
 * file, before the pixels. Only the entry of the orientation is read, where it lies in the file, so
 * that a false length costs no memory. */

enum { UPRIGHT = 1, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, ENTRY = 12, MAX_PARTS = 10000 };

struct tiff {
    FILE *stream;
    long start, size; /* of the data in the file */
    bool little;      /* numbers begin with their lowest byte */
};

/* Reads bytes at an offset of the data. */
static bool read_at(const struct tiff *tiff, long offset, uint8_t *bytes, long count)
{
    return offset >= 0 && offset <= tiff->size - count &&
           fseek(tiff->stream, tiff->start + offset, SEEK_SET) == 0 &&
           fread(bytes, 1, (size_t)count, tiff->stream) == (size_t)count;
}

static unsigned short_of(const struct tiff *tiff, const uint8_t *bytes)
{
    return tiff->little ? bytes[0] | (unsigned)bytes[1] << 8 : (unsigned)bytes[0] << 8 | bytes[1];
}

static uint32_t long_of(const struct tiff *tiff, const uint8_t *bytes)
{
    const uint32_t first = short_of(tiff, bytes), second = short_of(tiff, bytes + 2);
    return tiff->little ? first | second << 16 : first << 16 | second;
}

/* Returns the orientation that the first directory names. */
static unsigned read_directory(const struct tiff *tiff, long offset)
{
    uint8_t bytes[ENTRY];
    if (!read_at(tiff, offset, bytes, 2))
        return UPRIGHT;
    const unsigned entries = short_of(tiff, bytes);
    for (unsigned i = 0; i < entries; i++) {
        if (!read_at(tiff, offset + 2 + (long)i * ENTRY, bytes, ENTRY))
            return UPRIGHT;
        if (short_of(tiff, bytes) != TAG_ORIENTATION)
            continue;
        const unsigned value = short_of(tiff, bytes + 8);
        const bool valid = short_of(tiff, bytes + 2) == TYPE_SHORT && value >= 1 && value <= 8;
        return valid ? value : UPRIGHT;
    }
    return UPRIGHT;
}

static unsigned read_tiff(FILE *stream, long start, long size)
{
    struct tiff tiff = {stream, start, size, false};
    uint8_t head[8];
    if (!read_at(&tiff, 0, head, sizeof head))
        return UPRIGHT;
    tiff.little = memcmp(head, "II", 2) == 0;
    if ((!tiff.little && memcmp(head, "MM", 2) != 0) || short_of(&tiff, head + 2) != 42)
        return UPRIGHT;
    const uint32_t directory = long_of(&tiff, head + 4);
    return directory <= (uint32_t)size ? read_directory(&tiff, (long)directory) : UPRIGHT;
}

/* Looks for APP1 with EXIF data among the segments before the pixels. */
static unsigned read_jpeg(FILE *stream)
{
    enum { FILL = 0xff, APP1 = 0xe1, SOS = 0xda, EOI = 0xd9 };
    long at = 2; /* behind the SOI */
    for (int i = 0; i < MAX_PARTS; i++) {
        uint8_t head[10];
        if (fseek(stream, at, SEEK_SET) != 0 || fread(head, 1, 4, stream) != 4 || head[0] != FILL)
            break;
        if (head[1] == FILL) { /* a segment may have any number of these bytes before it */
            at++;
            continue;
        }
        const long length = head[2] << 8 | head[3];
        if (head[1] == SOS || head[1] == EOI || length < 2)
            break;
        if (head[1] == APP1 && length >= 8 && fread(head + 4, 1, 6, stream) == 6 &&
            memcmp(head + 4, "Exif\0", 6) == 0)
            return read_tiff(stream, at + 10, length - 8);
        at += 2 + length;
    }
    return UPRIGHT;
}

/* Looks for the chunk eXIf, which comes before the pixels. */
static unsigned read_png(FILE *stream)
{
    long at = 8; /* behind the signature */
    for (int i = 0; i < MAX_PARTS; i++) {
        uint8_t head[8];
        if (fseek(stream, at, SEEK_SET) != 0 || fread(head, 1, sizeof head, stream) != sizeof head)
            break;
        const uint32_t length =
            (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
        if (length > INT32_MAX || memcmp(head + 4, "IDAT", 4) == 0)
            break;
        if (memcmp(head + 4, "eXIf", 4) == 0)
            return read_tiff(stream, at + 8, (long)length);
        at += 12 + (long)length;
    }
    return UPRIGHT;
}

/* Returns the orientation that EXIF data of a JPEG or PNG file name, 1 to 8; 1 (upright) if it has
 * none that can be read. `stream` is at the beginning of the file, and is again afterwards. */
static unsigned orientation_read(FILE *stream)
{
    uint8_t start[4] = {0};
    unsigned orientation = UPRIGHT;
    rewind(stream);
    if (fread(start, 1, sizeof start, stream) == sizeof start)
        orientation = memcmp(start, "\x89PNG", 4) == 0       ? read_png(stream)
                      : start[0] == 0xff && start[1] == 0xd8 ? read_jpeg(stream)
                                                             : UPRIGHT;
    rewind(stream);
    return orientation;
}

static bool decode_stream(struct image *image, FILE *stream, const struct decode_request *request,
                          struct error *error)
{
    static const uint8_t png[4] = {0x89, 'P', 'N', 'G'}, jpeg[2] = {0xff, 0xd8};
    uint8_t start[4] = {0};
    size_t got = fread(start, 1, sizeof start, stream);
    rewind(stream);
    if (got == sizeof png && memcmp(start, png, sizeof png) == 0)
        return decode_png(image, stream, request, error);
    if (got >= sizeof jpeg && memcmp(start, jpeg, sizeof jpeg) == 0)
        return decode_jpeg(image, stream, request, error);
    if (got == 0)
        return error_set(error, ERROR_INPUT, request->path, "replace the file or leave it out",
                         "the file is empty");
    return error_set(error, ERROR_INPUT, request->path, "convert it to PNG or JPEG",
                     "neither PNG nor JPEG: it begins with the bytes %02x %02x %02x %02x", start[0],
                     start[1], start[2], start[3]);
}

static bool read_picture(struct image *image, const struct decode_request *request,
                         struct error *error)
{
    *image = (struct image){0};
    FILE *stream = file_open_stream(request->path, error);
    if (!stream)
        return false;
    if (request->cost)
        request->cost->turned = orientation_read(stream) != 1;
    const unsigned orientation = request->upright ? orientation_read(stream) : 1;
    const bool read = decode_stream(image, stream, request, error);
    fclose(stream);
    if (!read || image_turn(image, orientation, error))
        return read;
    image_free(image);
    return false;
}

bool image_file_read(struct image *image, const char *path, size_t channels, struct error *error)
{
    struct decode_request request = {.path = path, .channels = channels};
    return read_picture(image, &request, error);
}

bool image_file_read_as(struct image *image, const char *path, size_t channels,
                        const struct preprocessing *p, struct error *error)
{
    struct decode_request request = {
        .path = path, .channels = channels, .upright = !p->as_stored, .luma = p->luma};
    return read_picture(image, &request, error);
}

bool image_file_probe(struct image *image, const char *path, struct error *error)
{
    struct decode_request request = {.path = path, .channels = 3, .header_only = true};
    return read_picture(image, &request, error);
}

bool image_file_probe_cost(struct image_file_cost *cost, const char *path, size_t channels,
                           struct error *error)
{
    struct image image;
    struct decode_request request = {
        .path = path, .channels = channels, .header_only = true, .cost = cost};
    *cost = (struct image_file_cost){0};
    if (!read_picture(&image, &request, error))
        return false;
    cost->width = (uint32_t)image.width;
    cost->height = (uint32_t)image.height;
    return true;
}

/* Returns the shorter side that the decoder may shrink the picture to; 0: it must not, because only
 * bilinear2 permits shrinking. */
static size_t shrunken_side(const struct preprocessing *p)
{
    const bool may = p && p->filter == IMAGE_BILINEAR2;
    return !may ? 0 : p->stored_height < p->stored_width ? p->stored_height : p->stored_width;
}

/* Counts a copy with the new width and one that also has the new height. Halving, the method of
 * bilinear2, works in place. */
double image_file_resized_samples(double width, double height, double new_width, double new_height,
                                  enum image_filter filter)
{
    const double narrowed = filter == IMAGE_BILINEAR2 ? 0 : new_width * height;
    const double resized = new_width * new_height;
    /* the decoded picture is freed before the second copy is made */
    return resized < width * height ? (narrowed > resized ? narrowed : resized)
                                    : narrowed + resized;
}

static double resized_samples(const struct image_file_cost *cost, const struct preprocessing *p)
{
    const double width = cost->width, height = cost->height;
    const double side =
        (double)(p->stored_height < p->stored_width ? p->stored_height : p->stored_width);
    const double scale = side / (width < height ? width : height);
    return image_file_resized_samples(width, height, scale * width, scale * height, p->filter);
}

/* Counts the decoded picture and the largest of the decoder's extra memory, the turned picture and
 * the resized one. */
uint64_t image_file_decode_bytes(const struct image_file_cost *cost, size_t channels,
                                 const struct preprocessing *p)
{
    const size_t side = shrunken_side(p);
    const size_t scale = cost->shrinks ? decode_scale(cost->width, cost->height, side) : 1;
    const uint64_t decoded = ((uint64_t)cost->width + scale - 1) / scale *
                             (((uint64_t)cost->height + scale - 1) / scale) * channels;
    const uint64_t sample = cost->deep && channels == 1 ? sizeof(float) : 1;
    const uint64_t turned = p && !p->as_stored && cost->turned ? decoded * sample : 0;
    const uint64_t resized =
        p ? (uint64_t)(resized_samples(cost, p) * (double)channels) * sample : 0;
    uint64_t extra = (uint64_t)cost->extra_kib << 10;
    extra = turned > extra ? turned : extra;
    return decoded * sample + (extra > resized ? extra : resized);
}

bool image_file_prepare(struct image *image, const char *path, const struct preprocessing *p,
                        struct error *error)
{
    struct decode_request request = {.path = path,
                                     .channels = p->channels,
                                     .shorter_side = shrunken_side(p),
                                     .upright = !p->as_stored,
                                     .luma = p->luma,
                                     .deep = p->channels == 1};
    struct error reason;
    if (!read_picture(image, &request, error))
        return false;
    if (preprocessing_fit(p, image, &reason))
        return true;
    image_free(image);
    return error_set(error, reason.kind, path, reason.advice, "%s", reason.why);
}

/* --- writing ---
 *
 * PNG files are written by libpng, which reports errors by longjmp: no frame between setjmp and
 * longjmp has locals that must survive. */

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
