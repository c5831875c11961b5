/* Resizing is separable bilinear interpolation, from a table of taps for rows and one for columns.
 * Because bilinear interpolation reads only four pixels, large reductions first halve the image. */
#include "data/images/image.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- memory --- */

bool image_check_size(const char *path, size_t width, size_t height, struct error *error)
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

bool image_create(struct image *image, size_t width, size_t height, size_t channels,
                  struct error *error)
{
    *image = (struct image){.width = width, .height = height, .channels = channels};
    if (!image_check_size("an image", width, height, error))
        return false;
    image->pixels = memory_new(width * height, channels, "an image", error);
    return image->pixels != NULL;
}

bool image_create_deep(struct image *image, size_t width, size_t height, size_t channels,
                       struct error *error)
{
    *image = (struct image){.width = width, .height = height, .channels = channels};
    if (!image_check_size("an image", width, height, error))
        return false;
    image->deep = memory_new(width * height * channels, sizeof *image->deep, "an image", error);
    return image->deep != NULL;
}

/* Allocates an image with samples of the same kind as those of `like`. */
static bool create_like(struct image *image, const struct image *like, size_t width, size_t height,
                        size_t channels, struct error *error)
{
    return (like->deep ? image_create_deep : image_create)(image, width, height, channels, error);
}

void image_free(struct image *image)
{
    free(image->deep);
    free(image->pixels);
    *image = (struct image){0};
}

static void replace(struct image *image, struct image *by)
{
    image_free(image);
    *image = *by;
}

/* --- size and colours --- */

/* The two input positions that an output position lies between. */
struct tap {
    size_t low, high;
    float weight; /* weight of `high`; that of `low` is 1 - weight */
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

static void resize_deep_row(float *out, const float *upper, const float *lower, float down,
                            const struct tap *columns, size_t width, size_t channels)
{
    for (size_t x = 0; x < width; x++) {
        size_t left = columns[x].low * channels, right = columns[x].high * channels;
        float across = columns[x].weight;
        for (size_t c = 0; c < channels; c++) {
            float top = upper[left + c] + across * (upper[right + c] - upper[left + c]);
            float bottom = lower[left + c] + across * (lower[right + c] - lower[left + c]);
            *out++ = top + down * (bottom - top);
        }
    }
}

bool image_resize(struct image *out, const struct image *in, size_t width, size_t height,
                  struct error *error)
{
    if (!create_like(out, in, width, height, in->channels, error))
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
    for (size_t y = 0; in->deep && y < height; y++)
        resize_deep_row(out->deep + y * out_row, in->deep + rows[y].low * in_row,
                        in->deep + rows[y].high * in_row, rows[y].weight, taps, width,
                        in->channels);
    for (size_t y = 0; in->pixels && y < height; y++)
        resize_row(out->pixels + y * out_row, in->pixels + rows[y].low * in_row,
                   in->pixels + rows[y].high * in_row, rows[y].weight, taps, width, in->channels);
    free(taps);
    return true;
}

/* Returns unused memory to the system after an image became smaller in place. */
static void shrink_memory(struct image *image)
{
    const size_t samples = image->width * image->height * image->channels;
    if (image->deep) {
        float *deep = realloc(image->deep, samples * sizeof *deep);
        image->deep = deep ? deep : image->deep;
        return;
    }
    uint8_t *smaller = realloc(image->pixels, samples);
    image->pixels = smaller ? smaller : image->pixels;
}

/* Halves both sides in place: each pixel becomes the mean of four. Drops an odd last row or column.
 */
static void halve(struct image *image)
{
    const size_t channels = image->channels, row = image->width * channels;
    const size_t width = image->width / 2, height = image->height / 2;
    uint8_t *out = image->pixels; /* stays behind the pixels that are still to be read */
    float *deep = image->deep;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            for (size_t c = 0; c < channels; c++) {
                if (deep) {
                    const float *in = image->deep + 2 * y * row + 2 * x * channels + c;
                    *deep++ = (in[0] + in[channels] + in[row] + in[row + channels]) / 4;
                    continue;
                }
                const uint8_t *in = image->pixels + 2 * y * row + 2 * x * channels + c;
                *out++ = (uint8_t)((in[0] + in[channels] + in[row] + in[row + channels] + 2) / 4);
            }
    image->width = width;
    image->height = height;
    shrink_memory(image);
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

static void convert_pixel(struct image *out, const struct image *image, size_t i)
{
    const size_t from = i * image->channels, to = i * out->channels;
    if (image->deep && out->channels == 1)
        out->deep[i] = (19595 * image->deep[from] + 38470 * image->deep[from + 1] +
                        7471 * image->deep[from + 2]) /
                       65536;
    else if (image->deep)
        out->deep[to] = out->deep[to + 1] = out->deep[to + 2] = image->deep[from];
    else if (out->channels == 1)
        out->pixels[i] =
            image_grey(image->pixels[from], image->pixels[from + 1], image->pixels[from + 2]);
    else
        memset(out->pixels + to, image->pixels[from], 3);
}

bool image_convert(struct image *image, size_t channels, struct error *error)
{
    if (image->channels == channels)
        return true;
    struct image out;
    if (!create_like(&out, image, image->width, image->height, channels, error))
        return false;
    for (size_t i = 0; i < image->width * image->height; i++)
        convert_pixel(&out, image, i);
    replace(image, &out);
    return true;
}

bool image_to_bytes(struct image *image, struct error *error)
{
    struct image out;
    if (!image->deep)
        return true;
    if (!image_create(&out, image->width, image->height, image->channels, error))
        return false;
    for (size_t i = 0; i < image->width * image->height * image->channels; i++) {
        const float sample = image->deep[i];
        out.pixels[i] = sample >= 255 ? 255 : sample > 0 ? (uint8_t)(sample + 0.5f) : 0;
    }
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
    shrink_memory(image);
}

/* Returns which pixel, 0..count-1, appears at `position` of a row that is padded by reflection.
 * `before` is the number of padding pixels on the left. */
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

/* --- pictures that a camera stored turned become upright --- */

enum { TILE = 32 }; /* columns of the output stay in the cache while rows of the input are read */

/* The place of the pixel (x, y) of the upright picture in the stored one, by the orientation, which
 * EXIF counts from 1. */
struct turn {
    bool swapped;       /* its row is a column as stored */
    bool right, bottom; /* columns, rows as stored are counted from the right, the bottom */
};

static const struct turn turns[] = {
    [1] = {false, false, false}, [2] = {false, true, false}, [3] = {false, true, true},
    [4] = {false, false, true},  [5] = {true, false, false}, [6] = {true, false, true},
    [7] = {true, true, true},    [8] = {true, true, false}};

/* Copies a pixel of the stored picture to (x, y) of the upright one. */
static void copy_pixel(struct image *out, const struct image *in, const struct turn *turn, size_t x,
                       size_t y)
{
    size_t column = turn->swapped ? y : x, row = turn->swapped ? x : y;
    column = turn->right ? in->width - 1 - column : column;
    row = turn->bottom ? in->height - 1 - row : row;
    const size_t from = (row * in->width + column) * in->channels;
    const size_t to = (y * out->width + x) * in->channels;
    for (size_t c = 0; c < in->channels; c++)
        if (in->deep)
            out->deep[to + c] = in->deep[from + c];
        else
            out->pixels[to + c] = in->pixels[from + c];
}

static void copy_tile(struct image *out, const struct image *in, const struct turn *turn,
                      size_t left, size_t top)
{
    for (size_t y = top; y < top + TILE && y < out->height; y++)
        for (size_t x = left; x < left + TILE && x < out->width; x++)
            copy_pixel(out, in, turn, x, y);
}

bool image_turn(struct image *image, unsigned orientation, struct error *error)
{
    struct image out;
    if (orientation <= 1 || orientation >= sizeof turns / sizeof *turns)
        return true;
    const struct turn *turn = &turns[orientation];
    const size_t width = turn->swapped ? image->height : image->width;
    const size_t height = turn->swapped ? image->width : image->height;
    if (!(image->deep ? image_create_deep : image_create)(&out, width, height, image->channels,
                                                          error))
        return false;
    for (size_t y = 0; y < height; y += TILE)
        for (size_t x = 0; x < width; x += TILE)
            copy_tile(&out, image, turn, x, y);
    image_free(image);
    *image = out;
    return true;
}
