/* augmentation.h: the random changes of training images, by name and strength.
 *
 * A text names them, separated by commas:
 *
 *     crop=N        a random window of the image with a border of N black pixels; without N, the
 *                   usual border (4 for photographs of 32x32, else 0)
 *     flip          every second image is mirrored left to right
 *     rotate=D      turned by an angle of [-D, D] degrees (augment.h)
 *     color=S       brightness, contrast and saturation, each by a factor of [1 - S, 1 + S];
 *                   brightness=S, contrast=S and saturation=S choose them one by one
 *     cutout=N      a square of N x N pixels is masked (DeVries and Taylor 2017)
 *     mixup=A       mixed with another image by a share of the distribution Beta(A, A)
 *                   (Zhang et al. 2018; mix.h)
 *     cutmix=A      a rectangle comes from another image (Yun et al. 2019; mix.h)
 *
 * "yes" is crop and flip as they are usual for the data set: digits, for example, are never
 * mirrored. "no" is none. The changes are made in this order, whatever the order of the names.
 */
#ifndef TINCA_DATA_LOADER_AUGMENTATION_H
#define TINCA_DATA_LOADER_AUGMENTATION_H

#include "data/dataset/dataset.h"

enum { AUGMENTATION_TEXT = 160 }; /* bytes of the longest text, with its NUL */

enum augment_crop { AUGMENT_CROP_NONE, AUGMENT_CROP_USUAL, AUGMENT_CROP_GIVEN };
enum augment_flip { AUGMENT_FLIP_NONE, AUGMENT_FLIP_USUAL, AUGMENT_FLIP_ALWAYS };

/* All zeros: no change. */
struct augmentation {
    enum augment_crop crop;
    enum augment_flip flip;
    size_t pad;    /* AUGMENT_CROP_GIVEN: pixels of the border */
    double rotate; /* degrees; 0: none, as in the members below */
    double brightness, contrast, saturation;
    size_t cutout; /* pixels */
    double mixup, cutmix;
};

/* Reads a text. Returns false with an error that names the wrong part. */
bool augmentation_parse(struct augmentation *augmentation, const char *text, struct error *error);

/* Writes the text of an augmentation; each has one text only. Returns `text`. */
char *augmentation_format(const struct augmentation *augmentation, char *text, size_t size);

/* Returns the augmentation with the border that is usual for a data set, if none was given. */
struct augmentation augmentation_for(const struct augmentation *augmentation,
                                     const struct dataset_facts *facts);

/* Returns whether images are mixed in pairs. */
static inline bool augmentation_mixes(const struct augmentation *augmentation)
{
    return augmentation->mixup > 0 || augmentation->cutmix > 0;
}

/* Returns whether the samples of changed images are samples of the stored ones: windows and mirror
 * images only. */
static inline bool augmentation_keeps_samples(const struct augmentation *augmentation)
{
    return augmentation->rotate <= 0 && augmentation->brightness <= 0 &&
           augmentation->contrast <= 0 && augmentation->saturation <= 0 &&
           augmentation->cutout == 0 && !augmentation_mixes(augmentation);
}

/* Returns false with an error if the augmentation is not possible with these images and batches. */
bool augmentation_check(const struct augmentation *augmentation, const struct dataset_facts *facts,
                        size_t batch, struct error *error);

#endif
