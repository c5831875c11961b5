/* mix.h: mixup and cutmix, which mix the images of a batch in pairs, and their labels.
 *
 * Image i of a batch of n is mixed with image n - 1 - i (the pairs of timm's Mixup); the order of
 * an epoch is random, so the partner is, too. Each image draws its own share s from Beta(A, A):
 *
 * - mixup (Zhang et al., ICLR 2018): s x_i + (1 - s) x_j;
 * - cutmix (Yun et al., ICCV 2019): a rectangle of x_j replaces that of x_i. Its sides are
 *   sqrt(1 - s) times those of the image, its centre is uniform; the part outside of the image is
 *   cut off, and s becomes the share of the image that is left.
 *
 * With both, each image has one of them, with equal chances. The target of the mixed image is s
 * times the label of i and 1 - s times that of j (execution.h, soft targets).
 */
#ifndef TINCA_DATA_LOADER_MIX_H
#define TINCA_DATA_LOADER_MIX_H

#include "data/loader/augmentation.h"

/* The mixture of an image with its partner. */
struct mix {
    float share; /* of its own label */
    bool cuts;   /* the rectangle below comes from the partner; else all pixels are mixed */
    size_t left, top, right, bottom; /* without the column `right` and the row `bottom` */
};

/* Draws how a training image of this size is mixed. It depends on (seed, epoch, number) alone. */
struct mix mix_draw(const struct augmentation *augmentation, uint64_t seed, uint64_t epoch,
                    uint64_t number, size_t width, size_t height);

/* Mixes two images [C,H,W] of a pair with each other, in place. */
void mix_pair(float *first, const struct mix *of_first, float *second, const struct mix *of_second,
              size_t channels, size_t height, size_t width);

/* Returns the place of the partner of a place in a batch. */
static inline size_t mix_partner(size_t place, size_t count)
{
    return count - 1 - place;
}

#endif
