/* A share of Beta(a, a) is g / (g + h) with two numbers g and h of the distribution Gamma(a), which
 * are drawn by the method of Marsaglia and Tsang (2000). For a below 1, Gamma(a) is Gamma(a + 1)
 * times u^(1/a), which underflows for small a; so the share is computed from logarithms. */
#include "data/loader/mix.h"

#include "base/random.h"

#include <math.h>

enum { BLOCK_MIX = 64 }; /* the first block of an image's random numbers that mixing uses */

/* Returns a number of (0, 1]. */
static double draw_unit(struct random_stream *draws)
{
    return 1 - (double)random_next_unit(draws);
}

static double draw_gaussian(struct random_stream *draws)
{
    const double radius = sqrt(-2 * log(draw_unit(draws)));
    return radius * cos(2 * acos(-1.0) * draw_unit(draws));
}

/* Returns the logarithm of a number of the distribution Gamma(a). */
static double draw_log_gamma(struct random_stream *draws, double a)
{
    const double less = a < 1 ? log(draw_unit(draws)) / a : 0;
    const double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = draw_gaussian(draws), root = 1 + c * x;
        const double cube = root * root * root;
        if (root > 0 && log(draw_unit(draws)) < 0.5 * x * x + d * (1 - cube + log(cube)))
            return log(d * cube) + less;
    }
}

static double draw_share(struct random_stream *draws, double alpha)
{
    const double g = draw_log_gamma(draws, alpha), h = draw_log_gamma(draws, alpha);
    return 1 / (1 + exp(h - g));
}

/* Sets the range of `side` pixels, at most, around a drawn centre within 0..size. */
static void cut_range(struct random_stream *draws, size_t size, double side, size_t *begin,
                      size_t *end)
{
    const ptrdiff_t half = (ptrdiff_t)((double)size * side) / 2, most = (ptrdiff_t)size;
    const ptrdiff_t centre = (ptrdiff_t)random_next_below(draws, (uint32_t)size);
    *begin = centre > half ? (size_t)(centre - half) : 0;
    *end = (size_t)(centre + half < most ? centre + half : most);
}

struct mix mix_draw(const struct augmentation *augmentation, uint64_t seed, uint64_t epoch,
                    uint64_t number, size_t width, size_t height)
{
    struct random_stream draws =
        random_stream_at(seed, RANDOM_AUGMENT, (uint32_t)epoch, (number << 8) + BLOCK_MIX);
    const bool other = random_next(&draws) & 1;
    struct mix mix = {.cuts = augmentation->cutmix > 0 && (augmentation->mixup <= 0 || other)};
    const double share = draw_share(&draws, mix.cuts ? augmentation->cutmix : augmentation->mixup);
    mix.share = (float)share;
    if (mix.cuts) {
        cut_range(&draws, width, sqrt(1 - share), &mix.left, &mix.right);
        cut_range(&draws, height, sqrt(1 - share), &mix.top, &mix.bottom);
        const double area = (double)((mix.right - mix.left) * (mix.bottom - mix.top));
        mix.share = (float)(1 - area / (double)(width * height));
    }
    return mix;
}

/* Returns the pixel at (x, y) of an image, `own`, that is mixed with `other`. */
static float mixed(const struct mix *mix, size_t x, size_t y, float own, float other)
{
    if (!mix->cuts)
        return mix->share * own + (1 - mix->share) * other;
    const bool inside = x >= mix->left && x < mix->right && y >= mix->top && y < mix->bottom;
    return inside ? other : own;
}

void mix_pair(float *first, const struct mix *of_first, float *second, const struct mix *of_second,
              size_t channels, size_t height, size_t width)
{
    for (size_t c = 0; c < channels; c++)
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++) {
                const size_t i = (c * height + y) * width + x;
                const float a = first[i], b = second[i];
                first[i] = mixed(of_first, x, y, a, b);
                second[i] = mixed(of_second, x, y, b, a);
            }
}
