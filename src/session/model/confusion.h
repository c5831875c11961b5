/* confusion.h: which class was taken for which, counted from outcomes (evaluate.h).
 *
 * The caller's thread only. Outcomes are added as they come in, each once. */
#ifndef TINCA_SESSION_MODEL_CONFUSION_H
#define TINCA_SESSION_MODEL_CONFUSION_H

#include "base/error.h"
#include "session/model/evaluate.h"

#include <stddef.h>
#include <stdint.h>

struct confusion {
    size_t classes, images;
    uint32_t *counts;  /* [true class][guess] */
    uint32_t *totals;  /* images by true class */
    uint32_t *guessed; /* how often each class was the guess */
    uint32_t *none;    /* by true class: the output was no number */
    size_t right;
};

bool confusion_create(struct confusion *confusion, size_t classes, struct error *error);
void confusion_free(struct confusion *confusion); /* leaves it {0} */

/* Labels and guesses beyond the classes are not counted. */
void confusion_add(struct confusion *confusion, const struct outcome *outcome);

uint32_t confusion_count(const struct confusion *confusion, size_t label, size_t guess);

/* Percent of the images of a class that were told right; NaN: there are none. */
double confusion_accuracy(const struct confusion *confusion, size_t label);

#endif
