/* Recognises the format of a picture file and calls its decoder. */
#include "data/formats/image_file.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/decode.h"
#include "data/formats/orientation.h"

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

size_t decode_scale(size_t width, size_t height, size_t shorter_side)
{
    const size_t shorter = width < height ? width : height;
    size_t scale = 1;
    while (shorter_side && scale < 8 && shorter / (2 * scale) >= shorter_side)
        scale *= 2;
    return scale;
}

/* Returns the shorter side that the decoder may shrink the picture to; 0: it must not. Its shrunken
 * pictures are not those of a filter. */
static size_t shrunken_side(const struct preprocessing *p)
{
    const bool may = p && p->filter == IMAGE_BILINEAR2;
    return !may ? 0 : p->stored_height < p->stored_width ? p->stored_height : p->stored_width;
}

/* One copy has the new width, and one the new height, too. Halving, the way of bilinear2, works in
 * place. */
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
