/* Recognises the format of a picture file and calls its decoder. */
#include "data/formats/image_file.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/decode.h"

#include <stdio.h>
#include <string.h>

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

bool image_file_read(struct image *image, const char *path, size_t channels, struct error *error)
{
    struct decode_request request = {.path = path, .channels = channels};
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

size_t decode_scale(size_t width, size_t height, size_t shorter_side)
{
    const size_t shorter = width < height ? width : height;
    size_t scale = 1;
    while (shorter_side && scale < 8 && shorter / (2 * scale) >= shorter_side)
        scale *= 2;
    return scale;
}

/* Counts the decoded picture and the larger of the decoder's extra memory and the resized picture.
 * Halving works in place. */
uint64_t image_file_decode_bytes(const struct image_file_cost *cost, size_t channels,
                                 size_t shorter_side)
{
    const size_t scale = cost->shrinks ? decode_scale(cost->width, cost->height, shorter_side) : 1;
    const uint64_t decoded = ((uint64_t)cost->width + scale - 1) / scale *
                             (((uint64_t)cost->height + scale - 1) / scale) * channels;
    const double shorter = cost->width < cost->height ? cost->width : cost->height;
    const double fitted = shorter_side ? (double)shorter_side / shorter * (double)shorter_side /
                                             shorter * cost->width * cost->height * (double)channels
                                       : 0;
    const uint64_t extra = (uint64_t)cost->extra_kib << 10;
    const uint64_t sample = cost->deep && channels == 1 ? sizeof(float) : 1;
    const uint64_t resized = (uint64_t)fitted * sample;
    return decoded * sample + (extra > resized ? extra : resized);
}

bool image_file_read_fitted(struct image *image, const char *path, size_t channels,
                            size_t shorter_side, struct error *error)
{
    struct decode_request request = {
        .path = path, .channels = channels, .shorter_side = shorter_side, .deep = channels == 1};
    if (!read_picture(image, &request, error))
        return false;
    struct error reason;
    if (shorter_side == 0 || image_fit(image, shorter_side, &reason))
        return true;
    image_free(image);
    return error_set(error, reason.kind, path, reason.advice, "%s", reason.why);
}
