#include "data/image.h"

#include "base/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/output_file.h"
#include "data/decode.h"

#include <fcntl.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- memory --- */

bool image_create(struct image *image, size_t width, size_t height, size_t channels,
                  struct error *error)
{
    *image = (struct image){.width = width, .height = height, .channels = channels};
    if (!decode_check_size("an image", width, height, error))
        return false;
    image->pixels = memory_new(width * height, channels, "an image", error);
    return image->pixels != NULL;
}

void image_free(struct image *image)
{
    free(image->pixels);
    *image = (struct image){0};
}

static void replace(struct image *image, struct image *by)
{
    image_free(image);
    *image = *by;
}

/* --- reading --- */

bool decode_check_size(const char *path, size_t width, size_t height, struct error *error)
{
    if (width == 0 || height == 0)
        return error_set(error, ERROR_INPUT, path, NULL, "the picture is %zux%zu pixels: empty",
                         width, height);
    if (width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE || width * height > IMAGE_MAX_PIXELS)
        return error_set(error, ERROR_INPUT, path, "scale the picture down, or leave it out",
                         "%zux%zu pixels; at most %d a side and %d in all are read", width, height,
                         IMAGE_MAX_SIDE, IMAGE_MAX_PIXELS);
    return true;
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
    bool read = decode_stream(image, stream, request, error);
    fclose(stream);
    return read;
}

bool image_read(struct image *image, const char *path, size_t channels, struct error *error)
{
    struct decode_request request = {.path = path, .channels = channels};
    return read_picture(image, &request, error);
}

bool image_probe(struct image *image, const char *path, struct error *error)
{
    struct decode_request request = {.path = path, .channels = 3, .header_only = true};
    return read_picture(image, &request, error);
}

bool image_probe_cost(struct image_cost *cost, const char *path, size_t channels,
                      struct error *error)
{
    struct image image;
    struct decode_request request = {
        .path = path, .channels = channels, .header_only = true, .cost = cost};
    *cost = (struct image_cost){0};
    if (!read_picture(&image, &request, error))
        return false;
    cost->width = (uint32_t)image.width;
    cost->height = (uint32_t)image.height;
    return true;
}

size_t decode_scale(size_t width, size_t height, size_t shorter_side)
{
    const size_t shorter = width < height ? width : height;
    size_t scale = 1;
    while (shorter_side && scale < 8 && shorter / (2 * scale) >= shorter_side)
        scale *= 2;
    return scale;
}

/* The decoded picture, and beside it the resized one; halving needs no memory. */
uint64_t image_reading_bytes(const struct image_cost *cost, size_t channels, size_t shorter_side)
{
    const size_t scale = cost->shrinks ? decode_scale(cost->width, cost->height, shorter_side) : 1;
    const uint64_t decoded = ((uint64_t)cost->width + scale - 1) / scale *
                             (((uint64_t)cost->height + scale - 1) / scale) * channels;
    const double shorter = cost->width < cost->height ? cost->width : cost->height;
    const double fitted = shorter_side ? (double)shorter_side / shorter * (double)shorter_side /
                                             shorter * cost->width * cost->height * (double)channels
                                       : 0;
    const uint64_t beside = (uint64_t)cost->beside << 10;
    return decoded + (beside > (uint64_t)fitted ? beside : (uint64_t)fitted);
}

bool image_read_fitted(struct image *image, const char *path, size_t channels, size_t shorter_side,
                       struct error *error)
{
    struct decode_request request = {
        .path = path, .channels = channels, .shorter_side = shorter_side};
    if (!read_picture(image, &request, error))
        return false;
    struct error reason;
    if (image_fit(image, shorter_side, &reason))
        return true;
    image_free(image);
    return error_set(error, reason.kind, path, reason.advice, "%s", reason.why);
}

/* --- size and colours --- */

/* Where output position i falls between two input positions. */
struct tap {
    size_t low, high;
    float weight; /* of `high` */
};

static void place_taps(struct tap *taps, size_t count, size_t in)
{
    float step = (float)in / (float)count;
    for (size_t i = 0; i < count; i++) {
        float position = ((float)i + 0.5f) * step - 0.5f;
        float last = (float)(in - 1);
        position = position < 0.0f ? 0.0f : position > last ? last : position;
        taps[i].low = (size_t)position;
        taps[i].high = taps[i].low + 1 < in ? taps[i].low + 1 : taps[i].low;
        taps[i].weight = position - (float)taps[i].low;
    }
}

static void resize_row(uint8_t *out, const uint8_t *upper, const uint8_t *lower, float down,
                       const struct tap *columns, size_t width, size_t channels)
{
    for (size_t x = 0; x < width; x++) {
        size_t left = columns[x].low * channels, right = columns[x].high * channels;
        float across = columns[x].weight;
        for (size_t c = 0; c < channels; c++) {
            float top =
                (float)upper[left + c] + across * (float)(upper[right + c] - upper[left + c]);
            float bottom =
                (float)lower[left + c] + across * (float)(lower[right + c] - lower[left + c]);
            *out++ = (uint8_t)(top + down * (bottom - top) + 0.5f);
        }
    }
}

bool image_resize(struct image *out, const struct image *in, size_t width, size_t height,
                  struct error *error)
{
    if (!image_create(out, width, height, in->channels, error))
        return false;
    struct tap *taps = memory_new(width + height, sizeof *taps, "an image", error);
    if (!taps) {
        image_free(out);
        return false;
    }
    struct tap *rows = taps + width;
    size_t in_row = in->width * in->channels, out_row = width * in->channels;
    place_taps(taps, width, in->width);
    place_taps(rows, height, in->height);
    for (size_t y = 0; y < height; y++)
        resize_row(out->pixels + y * out_row, in->pixels + rows[y].low * in_row,
                   in->pixels + rows[y].high * in_row, rows[y].weight, taps, width, in->channels);
    free(taps);
    return true;
}

/* Gives memory back that a picture, which became smaller in place, no longer needs. */
static void give_back(struct image *image)
{
    uint8_t *smaller = realloc(image->pixels, image->width * image->height * image->channels);
    image->pixels = smaller ? smaller : image->pixels;
}

/* Each pixel becomes the mean of four, in place; an odd last row or column is dropped. */
static void halve(struct image *image)
{
    const size_t channels = image->channels, row = image->width * channels;
    const size_t width = image->width / 2, height = image->height / 2;
    uint8_t *out = image->pixels; /* never beyond what is still to be read */
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            for (size_t c = 0; c < channels; c++) {
                const uint8_t *in = image->pixels + 2 * y * row + 2 * x * channels + c;
                *out++ = (uint8_t)((in[0] + in[channels] + in[row] + in[row + channels] + 2) / 4);
            }
    image->width = width;
    image->height = height;
    give_back(image);
}

bool image_scale(struct image *image, size_t width, size_t height, struct error *error)
{
    while (image->width >= 2 * width && image->height >= 2 * height)
        halve(image);
    if (image->width == width && image->height == height)
        return true;
    struct image resized;
    if (!image_resize(&resized, image, width, height, error))
        return false;
    replace(image, &resized);
    return true;
}

bool image_fit(struct image *image, size_t shorter_side, struct error *error)
{
    size_t shorter = image->width < image->height ? image->width : image->height;
    double scale = (double)shorter_side / (double)shorter;
    size_t width = (size_t)((double)image->width * scale + 0.5);
    size_t height = (size_t)((double)image->height * scale + 0.5);
    return image_scale(image, width < shorter_side ? shorter_side : width,
                       height < shorter_side ? shorter_side : height, error);
}

bool image_convert(struct image *image, size_t channels, struct error *error)
{
    if (image->channels == channels)
        return true;
    struct image out;
    if (!image_create(&out, image->width, image->height, channels, error))
        return false;
    const uint8_t *in = image->pixels;
    for (size_t i = 0; i < image->width * image->height; i++, in += image->channels)
        if (channels == 1)
            out.pixels[i] = decode_grey(in[0], in[1], in[2]);
        else
            memset(out.pixels + 3 * i, *in, 3);
    replace(image, &out);
    return true;
}

bool image_cut(struct image *out, const struct image *in, size_t x, size_t y, size_t width,
               size_t height, struct error *error)
{
    if (!image_create(out, width, height, in->channels, error))
        return false;
    size_t bytes = width * in->channels;
    for (size_t row = 0; row < height; row++)
        memcpy(out->pixels + row * bytes, in->pixels + ((y + row) * in->width + x) * in->channels,
               bytes);
    return true;
}

void image_keep_left(struct image *image, size_t width)
{
    const size_t row = image->width * image->channels, kept = width * image->channels;
    for (size_t y = 1; y < image->height; y++)
        memmove(image->pixels + y * kept, image->pixels + y * row, kept);
    image->width = width;
    give_back(image);
}

/* Returns the position in 0..count-1 that lies at `position` once a row of `count` pixels, which
 * begins `before` pixels later, is reflected at its ends as often as needed. */
static size_t reflect(size_t position, size_t before, size_t count)
{
    const size_t period = count > 1 ? 2 * (count - 1) : 1;
    const size_t at = (position + period - before % period) % period;
    return at < count ? at : period - at;
}

bool image_pad_reflected(struct image *out, const struct image *in, size_t left, size_t top,
                         size_t width, size_t height, struct error *error)
{
    const size_t channels = in->channels;
    if (!image_create(out, width, height, channels, error))
        return false;
    uint8_t *pixel = out->pixels;
    for (size_t y = 0; y < height; y++) {
        const uint8_t *row = in->pixels + reflect(y, top, in->height) * in->width * channels;
        for (size_t x = 0; x < width; x++, pixel += channels)
            memcpy(pixel, row + reflect(x, left, in->width) * channels, channels);
    }
    return true;
}

/* --- writing --- */

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

/* `path` is named in the error. */
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

bool image_write_png(const struct image *image, const char *path, struct error *error)
{
    struct file_writer writer;
    if (!file_writer_open(&writer, path, false, error))
        return false;
    if (put_png(image, writer.stream, path, error))
        return file_writer_commit(&writer, error);
    file_writer_abandon(&writer);
    return false;
}

bool image_export_png(const struct image *image, const char *path, struct error *error)
{
    struct output_file output;
    if (!output_file_open(&output, path, OUTPUT_BINARY, error))
        return false;
    if (put_png(image, output.stream, path, error))
        return output_file_commit(&output, error);
    output_file_abandon(&output);
    return false;
}
