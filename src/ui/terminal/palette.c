/* A box is a contiguous part of the array of bins. The box with the largest weight (pixels times
 * the length of its longest side) is cut in two at the median of that side, until there are
 * PALETTE_MAX boxes or none can be cut. A box then becomes one colour: the mean of its pixels. */
#include "ui/terminal/palette.h"

#include "base/memory.h"

#include <stdlib.h>

struct bin {
    uint16_t code;
    uint64_t pixels, sum[3];
};

struct box {
    struct bin *bins;
    size_t count;
    int side;      /* the longest: 0 red, 1 green, 2 blue */
    double weight; /* pixels times the length of that side; 0: it cannot be cut */
};

static int level(const struct bin *bin, int side)
{
    return bin->code >> (10 - 5 * side) & 31;
}

static int by_red(const void *a, const void *b)
{
    return level(a, 0) - level(b, 0);
}

static int by_green(const void *a, const void *b)
{
    return level(a, 1) - level(b, 1);
}

static int by_blue(const void *a, const void *b)
{
    return level(a, 2) - level(b, 2);
}

/* Sets the longest side and the weight. */
static void measure(struct box *box)
{
    uint64_t pixels = 0;
    int widest = 0;
    for (size_t i = 0; i < box->count; i++)
        pixels += box->bins[i].pixels;
    for (int side = 0; side < 3; side++) {
        int low = 31, high = 0;
        for (size_t i = 0; i < box->count; i++) {
            int at = level(&box->bins[i], side);
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        if (high - low > widest) {
            widest = high - low;
            box->side = side;
        }
    }
    box->weight = (double)pixels * widest;
}

/* Cuts a box in two, with at least one bin in each. Returns the upper part. */
static struct box cut(struct box *box)
{
    static int (*const orders[3])(const void *, const void *) = {by_red, by_green, by_blue};
    uint64_t pixels = 0, before = 0;
    size_t first = 1;
    qsort(box->bins, box->count, sizeof *box->bins, orders[box->side]);
    for (size_t i = 0; i < box->count; i++)
        pixels += box->bins[i].pixels;
    for (before = box->bins[0].pixels; first + 1 < box->count && 2 * before < pixels; first++)
        before += box->bins[first].pixels;
    struct box upper = {.bins = box->bins + first, .count = box->count - first};
    box->count = first;
    measure(box);
    measure(&upper);
    return upper;
}

static size_t cut_all(struct box boxes[PALETTE_MAX], struct bin *bins, size_t count)
{
    size_t boxes_made = 1;
    boxes[0] = (struct box){.bins = bins, .count = count};
    for (measure(&boxes[0]); boxes_made < PALETTE_MAX; boxes_made++) {
        size_t heaviest = 0;
        for (size_t i = 1; i < boxes_made; i++)
            heaviest = boxes[i].weight > boxes[heaviest].weight ? i : heaviest;
        if (boxes[heaviest].weight == 0)
            break;
        boxes[boxes_made] = cut(&boxes[heaviest]);
    }
    return boxes_made;
}

/* Makes a box the colour `index`. */
static void set_colour(struct palette *palette, size_t index, const struct box *box)
{
    uint64_t pixels = 0, sum[3] = {0};
    for (size_t i = 0; i < box->count; i++) {
        pixels += box->bins[i].pixels;
        for (int c = 0; c < 3; c++)
            sum[c] += box->bins[i].sum[c];
        palette->of_bin[box->bins[i].code] = (uint8_t)index;
    }
    for (int c = 0; c < 3; c++)
        palette->colours[index][c] = (uint8_t)((sum[c] + pixels / 2) / pixels);
}

/* Counts the picture's pixels into the bins and moves the bins in use to the front. Returns how
 * many there are. */
static size_t count_pixels(struct bin *bins, const struct image *image)
{
    size_t used = 0;
    for (size_t i = 0; i < image->width * image->height; i++) {
        const uint8_t *pixel = image->pixels + 3 * i;
        struct bin *bin = &bins[palette_bin(pixel)];
        bin->pixels++;
        for (int c = 0; c < 3; c++)
            bin->sum[c] += pixel[c];
    }
    for (size_t i = 0; i < PALETTE_BINS; i++)
        if (bins[i].pixels) {
            bins[i].code = (uint16_t)i;
            bins[used++] = bins[i];
        }
    return used;
}

bool palette_make(struct palette *palette, const struct image *image, struct error *error)
{
    struct box boxes[PALETTE_MAX];
    struct bin *bins = memory_new(PALETTE_BINS, sizeof *bins, "a palette", error);
    if (!bins)
        return false;
    palette->count = cut_all(boxes, bins, count_pixels(bins, image));
    for (size_t i = 0; i < palette->count; i++)
        set_colour(palette, i, &boxes[i]);
    free(bins);
    return true;
}
