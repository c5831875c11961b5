/* Resizing with filters that are as wide as the reduction, so that fine patterns become grey
 * instead of other patterns.
 *
 * An output pixel is a weighted mean of the input pixels below the filter, which is stretched by
 * the reduction (and not for an enlargement). It is separable: first all rows that are needed are
 * made narrower, then the columns shorter, with a table of weights for each direction. Samples of 8
 * bits are rounded after each of the two, from sums of integers: weights have 22 bits behind the
 * point, so that the result has the bits of Pillow's Image.resize (libImaging/Resample.c), on which
 * torchvision's transforms of pictures are built. */
#include "data/images/image.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINT = 22 }; /* bits behind the point of a weight */

const char *const image_filter_names[IMAGE_FILTERS + 1] = {"bilinear", "bicubic", "bilinear2",
                                                           NULL};

bool image_filter_parse(const char *name, enum image_filter *filter)
{
    for (int i = 0; i < IMAGE_FILTERS; i++)
        if (strcmp(name, image_filter_names[i]) == 0) {
            *filter = (enum image_filter)i;
            return true;
        }
    return false;
}

/* --- weights --- */

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static const struct curve {
    double (*value)(double x);
    double reach; /* it is 0 beyond */
} curves[] = {[IMAGE_BILINEAR] = {triangle, 1}, [IMAGE_BICUBIC] = {cubic, 2}};

/* The weights of one direction: output pixel i is the sum of the `count[i]` input pixels from
 * first[i] on, times the weights from most * i on. */
struct weights {
    size_t out, most;
    size_t *first, *count; /* [out] */
    double *exact;         /* [out * most] */
    int32_t *rounded;      /* [out * most], in units of 2^-POINT */
};

static void free_weights(struct weights *weights)
{
    free(weights->first);
    free(weights->count);
    free(weights->exact);
    free(weights->rounded);
}

/* Fills the weights of one output pixel, whose sum is 1. */
static void fill_pixel(struct weights *weights, size_t i, size_t in, const struct curve *curve)
{
    const double scale = (double)in / (double)weights->out, stretch = scale > 1 ? scale : 1;
    const double reach = curve->reach * stretch, centre = ((double)i + 0.5) * scale;
    const double low = centre - reach + 0.5, high = centre + reach + 0.5;
    const size_t first = low > 0 ? (size_t)low : 0;
    const size_t end = high < (double)in ? (size_t)high : in;
    double *exact = weights->exact + i * weights->most, sum = 0;
    weights->first[i] = first;
    weights->count[i] = end - first;
    for (size_t k = 0; k < end - first; k++) {
        exact[k] = curve->value(((double)(k + first) - centre + 0.5) * (1 / stretch));
        sum += exact[k];
    }
    for (size_t k = 0; k < end - first; k++) {
        exact[k] /= sum;
        const double scaled = exact[k] * (1 << POINT);
        weights->rounded[i * weights->most + k] =
            (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    }
}

static bool make_weights(struct weights *weights, size_t in, size_t out, enum image_filter filter,
                         struct error *error)
{
    const struct curve *curve = &curves[filter];
    const double scale = (double)in / (double)out;
    const size_t most = (size_t)ceil(curve->reach * (scale > 1 ? scale : 1)) * 2 + 1;
    *weights = (struct weights){.out = out, .most = most};
    weights->first = memory_new(out, sizeof *weights->first, "an image", error);
    weights->count = memory_new(out, sizeof *weights->count, "an image", error);
    weights->exact = memory_new(out * most, sizeof *weights->exact, "an image", error);
    weights->rounded = memory_new(out * most, sizeof *weights->rounded, "an image", error);
    if (!weights->first || !weights->count || !weights->exact || !weights->rounded) {
        free_weights(weights);
        return false;
    }
    for (size_t i = 0; i < out; i++)
        fill_pixel(weights, i, in, curve);
    return true;
}

/* --- rows become narrower or wider --- */

static inline uint8_t clip(int32_t sum)
{
    const int32_t sample = sum >> POINT;
    return sample < 0 ? 0 : sample > 255 ? 255 : (uint8_t)sample;
}

static void colour_row(uint8_t *out, const uint8_t *in, const struct weights *weights)
{
    for (size_t x = 0; x < weights->out; x++, out += 3) {
        const uint8_t *pixel = in + 3 * weights->first[x];
        const int32_t *weight = weights->rounded + x * weights->most;
        int32_t red = 1 << (POINT - 1), green = red, blue = red;
        for (size_t k = 0; k < weights->count[x]; k++, pixel += 3) {
            red += pixel[0] * weight[k];
            green += pixel[1] * weight[k];
            blue += pixel[2] * weight[k];
        }
        out[0] = clip(red);
        out[1] = clip(green);
        out[2] = clip(blue);
    }
}

static void grey_row(uint8_t *out, const uint8_t *in, const struct weights *weights)
{
    for (size_t x = 0; x < weights->out; x++) {
        const uint8_t *pixel = in + weights->first[x];
        const int32_t *weight = weights->rounded + x * weights->most;
        int32_t sum = 1 << (POINT - 1);
        for (size_t k = 0; k < weights->count[x]; k++)
            sum += pixel[k] * weight[k];
        out[x] = clip(sum);
    }
}

static void deep_row(float *out, const float *in, const struct weights *weights, size_t channels)
{
    for (size_t x = 0; x < weights->out; x++)
        for (size_t c = 0; c < channels; c++) {
            const float *sample = in + weights->first[x] * channels + c;
            const double *weight = weights->exact + x * weights->most;
            double sum = 0;
            for (size_t k = 0; k < weights->count[x]; k++)
                sum += (double)sample[k * channels] * weight[k];
            *out++ = (float)sum;
        }
}

/* --- columns become shorter or longer --- */

/* Adds a row times a weight to sums. */
static void add_row(int32_t *restrict sums, const uint8_t *restrict row, size_t count,
                    int32_t weight)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += row[i] * weight;
}

/* Computes a row of `count` samples from the rows below the filter. */
static void lower_row(uint8_t *out, const uint8_t *in, const struct weights *weights, size_t y,
                      size_t count, int32_t *sums)
{
    const int32_t *weight = weights->rounded + y * weights->most;
    for (size_t i = 0; i < count; i++)
        sums[i] = 1 << (POINT - 1);
    for (size_t k = 0; k < weights->count[y]; k++)
        add_row(sums, in + (weights->first[y] + k) * count, count, weight[k]);
    for (size_t i = 0; i < count; i++)
        out[i] = clip(sums[i]);
}

static void lower_deep_row(float *out, const float *in, const struct weights *weights, size_t y,
                           size_t count)
{
    const double *weight = weights->exact + y * weights->most;
    for (size_t i = 0; i < count; i++) {
        const float *sample = in + weights->first[y] * count + i;
        double sum = 0;
        for (size_t k = 0; k < weights->count[y]; k++)
            sum += (double)sample[k * count] * weight[k];
        out[i] = (float)sum;
    }
}

/* --- both --- */

static bool create(struct image *out, const struct image *like, size_t width, size_t height,
                   struct error *error)
{
    return (like->deep ? image_create_deep : image_create)(out, width, height, like->channels,
                                                           error);
}

static bool change_width(struct image *out, const struct image *in, size_t width,
                         enum image_filter filter, struct error *error)
{
    struct weights weights;
    const size_t from = in->width * in->channels, to = width * in->channels;
    if (!make_weights(&weights, in->width, width, filter, error))
        return false;
    const bool made = create(out, in, width, in->height, error);
    for (size_t y = 0; made && y < in->height; y++)
        if (in->deep)
            deep_row(out->deep + y * to, in->deep + y * from, &weights, in->channels);
        else
            (in->channels == 3 ? colour_row : grey_row)(out->pixels + y * to, in->pixels + y * from,
                                                        &weights);
    free_weights(&weights);
    return made;
}

static bool change_height(struct image *out, const struct image *in, size_t height,
                          enum image_filter filter, struct error *error)
{
    struct weights weights;
    const size_t row = in->width * in->channels;
    if (!make_weights(&weights, in->height, height, filter, error))
        return false;
    int32_t *sums = memory_new(row, sizeof *sums, "an image", error);
    const bool made = sums && create(out, in, in->width, height, error);
    for (size_t y = 0; made && y < height; y++)
        if (in->deep)
            lower_deep_row(out->deep + y * row, in->deep, &weights, y, row);
        else
            lower_row(out->pixels + y * row, in->pixels, &weights, y, row, sums);
    free(sums);
    free_weights(&weights);
    return made;
}

bool image_resample(struct image *image, size_t width, size_t height, enum image_filter filter,
                    struct error *error)
{
    struct image out;
    if (filter == IMAGE_BILINEAR2)
        return image_scale(image, width, height, error);
    if (image->width != width) {
        if (!change_width(&out, image, width, filter, error))
            return false;
        image_free(image);
        *image = out;
    }
    if (image->height != height) {
        if (!change_height(&out, image, height, filter, error))
            return false;
        image_free(image);
        *image = out;
    }
    return true;
}
