/* Draws the windows of training images. */
#include "data/loader/augment.h"

#include "base/random.h"
#include "data/dataset/dataset_source.h"

#include <math.h>

/* Returns whether the set's images may be mirrored. */
static bool may_flip(const struct dataset *dataset, const struct augmentation *augmentation)
{
    return augmentation->flip == AUGMENT_FLIP_ALWAYS ||
           (augmentation->flip == AUGMENT_FLIP_USUAL && dataset_source(dataset)->flips);
}

struct crop crop_for_training(const struct dataset *dataset, const struct image *image,
                              const struct crop_draw *draw, uint64_t number)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    const struct augmentation *augmentation = draw->augmentation;
    const size_t pad = augmentation->pad, width = facts->width, height = facts->height;
    struct crop crop = crop_centre(image, width, height);
    struct random_stream draws =
        random_stream_at(draw->seed, RANDOM_AUGMENT, (uint32_t)draw->epoch, number << 8);
    if (augmentation->crop != AUGMENT_CROP_NONE) {
        const uint32_t across = (uint32_t)(image->width + 2 * pad - width);
        const uint32_t down = (uint32_t)(image->height + 2 * pad - height);
        crop.x = (ptrdiff_t)random_next_below(&draws, across + 1) - (ptrdiff_t)pad;
        crop.y = (ptrdiff_t)random_next_below(&draws, down + 1) - (ptrdiff_t)pad;
    }
    crop.flip = may_flip(dataset, augmentation) && (random_next(&draws) & 1);
    return crop;
}

/* Windows are cropped, mirrored and normalised, or their samples copied, in one pass over the
 * pixels, row by row. */

void sample_table_fill(struct sample_table *table, const struct normalisation *normalisation)
{
    for (int c = 0; c < 3; c++) {
        table->mean[c] = normalisation->mean[c];
        table->deviation[c] = normalisation->deviation[c];
        for (int sample = 0; sample < 256; sample++)
            table->value[c][sample] =
                ((float)sample - normalisation->mean[c]) / normalisation->deviation[c];
    }
}

struct crop crop_centre(const struct image *image, size_t width, size_t height)
{
    return (struct crop){.x = ((ptrdiff_t)image->width - (ptrdiff_t)width) / 2,
                         .y = ((ptrdiff_t)image->height - (ptrdiff_t)height) / 2,
                         .width = width,
                         .height = height};
}

/* Finds the columns [*first, *last) of a window that lie inside the image. */
static void inside_columns(const struct image *image, const struct crop *crop, ptrdiff_t *first,
                           ptrdiff_t *last)
{
    ptrdiff_t width = (ptrdiff_t)crop->width, right = (ptrdiff_t)image->width - crop->x;
    *first = crop->x >= 0 ? 0 : -crop->x < width ? -crop->x : width;
    *last = right < width ? right : width;
}

static void write_row(float *out, const uint8_t *row, size_t channels, const struct crop *crop,
                      ptrdiff_t first, ptrdiff_t last, const float *value)
{
    ptrdiff_t width = (ptrdiff_t)crop->width, step = crop->flip ? -1 : 1;
    float *target = crop->flip ? out + width - 1 : out;
    for (ptrdiff_t x = 0; x < first; x++, target += step)
        *target = value[0];
    const uint8_t *in = row + (crop->x + first) * (ptrdiff_t)channels;
    for (ptrdiff_t x = first; x < last; x++, target += step, in += channels)
        *target = value[*in];
    for (ptrdiff_t x = last > first ? last : first; x < width; x++, target += step)
        *target = value[0];
}

/* Writes a window of deep samples. Whole numbers give the values of the table. */
static void write_deep(float *out, const struct image *image, const struct crop *crop,
                       const struct sample_table *table)
{
    for (size_t c = 0; c < image->channels; c++)
        for (size_t y = 0; y < crop->height; y++)
            for (size_t x = 0; x < crop->width; x++) {
                const ptrdiff_t from_y = crop->y + (ptrdiff_t)y;
                const ptrdiff_t from_x =
                    crop->x + (ptrdiff_t)(crop->flip ? crop->width - 1 - x : x);
                const bool inside = from_y >= 0 && from_x >= 0 &&
                                    from_y < (ptrdiff_t)image->height &&
                                    from_x < (ptrdiff_t)image->width;
                const size_t pixel = inside ? (size_t)from_y * image->width + (size_t)from_x : 0;
                const float sample = inside ? image->deep[pixel * image->channels + c] : 0;
                *out++ = (sample - table->mean[c]) / table->deviation[c];
            }
}

void crop_write(float *out, const struct image *image, const struct crop *crop,
                const struct sample_table *table)
{
    ptrdiff_t first, last;
    if (image->deep) {
        write_deep(out, image, crop, table);
        return;
    }
    inside_columns(image, crop, &first, &last);
    for (size_t c = 0; c < image->channels; c++)
        for (size_t y = 0; y < crop->height; y++, out += crop->width) {
            ptrdiff_t line = crop->y + (ptrdiff_t)y;
            bool inside = line >= 0 && line < (ptrdiff_t)image->height;
            size_t start = inside ? (size_t)line * image->width * image->channels + c : 0;
            write_row(out, image->pixels + start, image->channels, crop, first,
                      inside ? last : first, table->value[c]);
        }
}

static void copy_row(uint8_t *out, const uint8_t *row, size_t channels, const struct crop *crop,
                     ptrdiff_t first, ptrdiff_t last)
{
    ptrdiff_t width = (ptrdiff_t)crop->width, step = crop->flip ? -1 : 1;
    uint8_t *target = crop->flip ? out + width - 1 : out;
    for (ptrdiff_t x = 0; x < first; x++, target += step)
        *target = 0;
    const uint8_t *in = row + (crop->x + first) * (ptrdiff_t)channels;
    for (ptrdiff_t x = first; x < last; x++, target += step, in += channels)
        *target = *in;
    for (ptrdiff_t x = last > first ? last : first; x < width; x++, target += step)
        *target = 0;
}

void crop_copy(uint8_t *out, const struct image *image, const struct crop *crop)
{
    ptrdiff_t first, last;
    inside_columns(image, crop, &first, &last);
    for (size_t c = 0; c < image->channels; c++)
        for (size_t y = 0; y < crop->height; y++, out += crop->width) {
            ptrdiff_t line = crop->y + (ptrdiff_t)y;
            bool inside = line >= 0 && line < (ptrdiff_t)image->height;
            size_t start = inside ? (size_t)line * image->width * image->channels + c : 0;
            copy_row(out, image->pixels + start, image->channels, crop, first,
                     inside ? last : first);
        }
}

/* An image that is neither turned nor recoloured is cropped and normalised in one pass (augment.c).
 * Otherwise its window is written as samples of 0..255 in float32, which each step changes:
 *
 * - Turning by a degrees. Output position p is sampled at R(a) (p - centre) + centre of the window,
 *   bilinearly. What lies outside of the image is black, and counts as such in the four neighbours:
 *   the rotate of torchvision for tensors, with bilinear interpolation and no fill. A window of a
 *   larger image takes its corners from that image.
 * - Brightness, contrast, saturation, in this order, with the formulas of torchvision for float
 *   tensors: f x; f x + (1 - f) mean(grey); f x + (1 - f) grey; each limited to 0..255. Grey is
 *   0.2989 R + 0.587 G + 0.114 B. A grey image has no saturation.
 *
 * The mask comes after normalisation, as in the paper, so that it has the value of the mean. */

/* The blocks of random numbers of an image that each change has; the window has those from 0 on. */
enum { BLOCK_TURN = 16, BLOCK_COLOR = 20, BLOCK_MASK = 24 };

static struct random_stream stream_of(uint64_t seed, uint64_t epoch, uint64_t number,
                                      unsigned block)
{
    return random_stream_at(seed, RANDOM_AUGMENT, (uint32_t)epoch, (number << 8) + block);
}

static float draw_factor(struct random_stream *draws, double strength)
{
    const double low = strength < 1 ? 1 - strength : 0;
    const double share = (double)random_next_unit(draws);
    return (float)(low + share * (1 + strength - low));
}

struct picture_change picture_change_draw(const struct augmentation *a, uint64_t seed,
                                          uint64_t epoch, uint64_t number, size_t width,
                                          size_t height)
{
    struct random_stream turn = stream_of(seed, epoch, number, BLOCK_TURN);
    struct random_stream color = stream_of(seed, epoch, number, BLOCK_COLOR);
    struct random_stream mask = stream_of(seed, epoch, number, BLOCK_MASK);
    struct picture_change change = {.turns = a->rotate > 0,
                                    .colors =
                                        a->brightness > 0 || a->contrast > 0 || a->saturation > 0,
                                    .masks = a->cutout > 0,
                                    .side = (ptrdiff_t)a->cutout};
    change.degrees = a->rotate * (2 * (double)random_next_unit(&turn) - 1);
    change.brightness = draw_factor(&color, a->brightness);
    change.contrast = draw_factor(&color, a->contrast);
    change.saturation = draw_factor(&color, a->saturation);
    change.left = (ptrdiff_t)random_next_below(&mask, (uint32_t)width) - change.side / 2;
    change.top = (ptrdiff_t)random_next_below(&mask, (uint32_t)height) - change.side / 2;
    return change;
}

/* --- turning --- */

static float sample_at(const struct image *image, ptrdiff_t x, ptrdiff_t y, size_t channel)
{
    if (x < 0 || y < 0 || x >= (ptrdiff_t)image->width || y >= (ptrdiff_t)image->height)
        return 0;
    const size_t pixel = (size_t)y * image->width + (size_t)x;
    const size_t sample = pixel * image->channels + channel;
    return image->deep ? image->deep[sample] : (float)image->pixels[sample];
}

/* Writes the pixel at (x, y) of the image, between pixels, to the planes at `out`. */
static void write_between(float *out, size_t plane, const struct image *image, double x, double y)
{
    const double left = floor(x), top = floor(y);
    const float across = (float)(x - left), down = (float)(y - top);
    const ptrdiff_t column = (ptrdiff_t)left, row = (ptrdiff_t)top;
    for (size_t c = 0; c < image->channels; c++) {
        const float above = (1 - across) * sample_at(image, column, row, c) +
                            across * sample_at(image, column + 1, row, c);
        const float below = (1 - across) * sample_at(image, column, row + 1, c) +
                            across * sample_at(image, column + 1, row + 1, c);
        out[c * plane] = (1 - down) * above + down * below;
    }
}

static void write_turned(float *out, const struct image *image, const struct crop *crop,
                         double degrees)
{
    const double angle = degrees * (acos(-1.0) / 180), cosine = cos(angle), sine = sin(angle);
    const double middle_x = 0.5 * ((double)crop->width - 1);
    const double middle_y = 0.5 * ((double)crop->height - 1);
    for (size_t row = 0; row < crop->height; row++)
        for (size_t column = 0; column < crop->width; column++) {
            const double dx = (double)column - middle_x, dy = (double)row - middle_y;
            double x = cosine * dx - sine * dy + middle_x;
            const double y = sine * dx + cosine * dy + middle_y;
            x = crop->flip ? 2 * middle_x - x : x;
            write_between(out + row * crop->width + column, crop->width * crop->height, image,
                          x + (double)crop->x, y + (double)crop->y);
        }
}

/* --- colour --- */

static float limit(float sample)
{
    return sample < 0 ? 0 : sample > 255 ? 255 : sample;
}

/* Returns the grey value of pixel i of planes. */
static float grey_at(const float *planes, size_t plane, size_t channels, size_t i)
{
    return channels == 1
               ? planes[i]
               : 0.2989f * planes[i] + 0.587f * planes[plane + i] + 0.114f * planes[2 * plane + i];
}

static float mean_grey(const float *planes, size_t plane, size_t channels)
{
    double sum = 0;
    for (size_t i = 0; i < plane; i++)
        sum += (double)grey_at(planes, plane, channels, i);
    return (float)(sum / (double)plane);
}

static void change_color(float *planes, size_t plane, size_t channels,
                         const struct picture_change *change)
{
    for (size_t i = 0; i < plane * channels; i++)
        planes[i] = limit(change->brightness * planes[i]);
    const float mean = mean_grey(planes, plane, channels), factor = change->saturation;
    for (size_t i = 0; i < plane * channels; i++)
        planes[i] = limit(change->contrast * planes[i] + (1 - change->contrast) * mean);
    for (size_t i = 0; channels > 1 && i < plane; i++) {
        const float grey = grey_at(planes, plane, channels, i);
        for (size_t c = 0; c < channels; c++)
            planes[c * plane + i] = limit(factor * planes[c * plane + i] + (1 - factor) * grey);
    }
}

/* --- all of it --- */

/* Writes the samples of the window, of 0..255. */
static void write_samples(float *out, const struct image *image, const struct crop *crop,
                          const struct picture_change *change)
{
    static const struct normalisation samples = {.name = "samples", .deviation = {1, 1, 1}};
    struct sample_table table;
    if (change->turns) {
        write_turned(out, image, crop, change->degrees);
        return;
    }
    sample_table_fill(&table, &samples);
    crop_write(out, image, crop, &table);
}

static void mask_square(float *out, const struct crop *crop, size_t channels,
                        const struct picture_change *change, float mask)
{
    const ptrdiff_t width = (ptrdiff_t)crop->width, height = (ptrdiff_t)crop->height;
    for (size_t c = 0; c < channels; c++)
        for (ptrdiff_t y = change->top; y < change->top + change->side; y++)
            for (ptrdiff_t x = change->left; x < change->left + change->side; x++)
                if (x >= 0 && y >= 0 && x < width && y < height)
                    out[((ptrdiff_t)c * height + y) * width + x] = mask;
}

void picture_change_write(float *out, const struct image *image, const struct crop *crop,
                          const struct picture_change *change,
                          const struct normalisation *normalisation,
                          const struct sample_table *table, float mask)
{
    const size_t plane = crop->width * crop->height;
    if (change->turns || change->colors) {
        write_samples(out, image, crop, change);
        if (change->colors)
            change_color(out, plane, image->channels, change);
        for (size_t c = 0; c < image->channels; c++)
            for (size_t i = c * plane; i < (c + 1) * plane; i++)
                out[i] = (out[i] - normalisation->mean[c]) / normalisation->deviation[c];
    } else {
        crop_write(out, image, crop, table);
    }
    if (change->masks)
        mask_square(out, crop, image->channels, change, mask);
}
