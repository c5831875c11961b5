/* confusion.h: a confusion matrix, counted from outcomes (evaluate.h). Not thread safe. */
#ifndef TINCA_SESSION_MODEL_CONFUSION_H
#define TINCA_SESSION_MODEL_CONFUSION_H

#include "base/error.h"
#include "session/model/evaluate.h"

#include <stddef.h>
#include <stdint.h>

struct confusion {
    size_t classes, images;
    uint32_t *counts;  /* [true class][predicted class] */
    uint32_t *totals;  /* images by true class */
    uint32_t *guessed; /* images by predicted class */
    uint32_t *none;    /* by true class: images whose output was NaN or infinite */
    size_t right;      /* images that were classified correctly */
};

/* Creates an empty matrix. Returns false with an error if out of memory. */
bool confusion_create(struct confusion *confusion, size_t classes, struct error *error);
void confusion_free(struct confusion *confusion); /* leaves it {0} */

/* Counts an outcome, unless its label or guess is not one of the classes. */
void confusion_add(struct confusion *confusion, const struct outcome *outcome);

/* Returns how many images of class `label` were predicted as class `guess`. */
uint32_t confusion_count(const struct confusion *confusion, size_t label, size_t guess);

/* Returns the percentage of the images of a class that were classified correctly; NaN if there are
 * none. */
double confusion_accuracy(const struct confusion *confusion, size_t label);

#endif
