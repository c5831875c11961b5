/* ranking.h: the order of classes by their logits.
 *
 * Logits with a NaN among them have no order: the image is predicted as no class, whatever its
 * label is, and counts neither in top-1 nor in top-5 nor for a class. Equal logits rank by number.
 */
#ifndef TINCA_MODELS_SAVED_RANKING_H
#define TINCA_MODELS_SAVED_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of ranking_of and ranking_first for logits without an order, since one is NaN. */
#define RANKING_NONE UINT32_MAX

/* Returns whether the logits have an order: none is NaN. */
bool ranking_exists(const float *logits, size_t classes);

/* Returns how many classes rank before `label`. */
uint32_t ranking_of(const float *logits, size_t classes, size_t label);

/* Returns the class that ranks first. */
uint32_t ranking_first(const float *logits, size_t classes);

/* The softmax of logits that have an order, computed in double without overflow. Infinite logits
 * share the probability evenly. */
struct class_shares {
    float largest;
    double sum; /* of exp(logit - largest) over the logits */
};

/* Returns the softmax of logits, which must have an order. */
struct class_shares ranking_shares(const float *logits, size_t classes);

/* Returns the probability of the class with this logit. */
double ranking_share(const struct class_shares *shares, float logit);

#endif
