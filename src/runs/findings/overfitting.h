/* overfitting.h: a test of whether a run overfits: its validation loss has risen by more than noise
 * while its training loss fell.
 *
 * The test compares the median loss of the last five validations with the lowest median of five
 * earlier ones. Two kinds of noise can make such a rise: the loss moves from one validation to the
 * next, since the weights do; and the images are a sample, on which a rise may be chance. The rise
 * counts if it exceeds certain multiples of both standard errors; overfitting.c says which and why.
 */
#ifndef TINCA_RUNS_FINDINGS_OVERFITTING_H
#define TINCA_RUNS_FINDINGS_OVERFITTING_H

#include "runs/values/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OVERFITTING_WINDOW = 5 }; /* validations of a median; odd */

/* The loss of each image at the validation with the lowest loss. Initialise it with {0}. */
struct lowest_losses {
    float *values;      /* NULL: none */
    size_t images;      /* elements of `values` */
    uint64_t iteration; /* of that validation */
};

struct overfitting_rise {
    size_t lowest, last;           /* the first of the validations of the two medians, by number */
    double loss_lowest, loss_last; /* the medians */
    double train_lowest, train_last; /* the mean training loss of the same epochs */
    double error;                    /* standard error of loss_last - loss_lowest */
};

/* Call it after each validation with the losses of its images, in a fixed order; the series already
 * has the validation. Returns the standard error that the choice of the images gives to the rise
 * since the validation with the lowest loss: from the differences of the single images or, if their
 * losses at that validation are unknown (the run was resumed), from the standard errors of both
 * validations, which is larger. Returns NaN if those are unknown, and if there is no rise. */
double lowest_losses_compare(struct lowest_losses *lowest, const struct series *series,
                             const float *losses, size_t images);
/* Frees the losses. */
void lowest_losses_free(struct lowest_losses *lowest);

/* Returns whether the series shows overfitting at its last validation, and fills *rise then.
 * `image_error` comes from lowest_losses_compare; if it is NaN, the noise is estimated from the
 * differences of consecutive validations alone, and more validations are required. */
bool overfitting_test(const struct series *series, double image_error,
                      struct overfitting_rise *rise);

#endif
