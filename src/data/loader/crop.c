/* Crops a window, mirrors it and normalises it, or copies its samples, in one pass over the pixels,
 * row by row. */
#include "data/loader/augment.h"

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
