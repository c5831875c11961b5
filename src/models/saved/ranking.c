/* A NaN compares false with everything, so its place would depend on the method of sorting. */
#include "models/saved/ranking.h"

#include <math.h>

bool ranking_exists(const float *logits, size_t classes)
{
    for (size_t c = 0; c < classes; c++)
        if (isnan(logits[c]))
            return false;
    return classes > 0;
}

uint32_t ranking_of(const float *logits, size_t classes, size_t label)
{
    uint32_t before = 0;
    if (!ranking_exists(logits, classes))
        return RANKING_NONE;
    for (size_t c = 0; c < classes; c++)
        before += logits[c] > logits[label] || (logits[c] == logits[label] && c < label);
    return before;
}

uint32_t ranking_first(const float *logits, size_t classes)
{
    uint32_t first = 0;
    if (!ranking_exists(logits, classes))
        return RANKING_NONE;
    for (uint32_t c = 1; c < classes; c++)
        first = logits[c] > logits[first] ? c : first;
    return first;
}

/* Returns exp(logit - largest). */
static double weight_of(float logit, float largest)
{
    return logit == largest ? 1 : exp((double)logit - (double)largest);
}

struct class_shares ranking_shares(const float *logits, size_t classes)
{
    struct class_shares shares = {.largest = logits[ranking_first(logits, classes)]};
    for (size_t c = 0; c < classes; c++)
        shares.sum += weight_of(logits[c], shares.largest);
    return shares;
}

double ranking_share(const struct class_shares *shares, float logit)
{
    return weight_of(logit, shares->largest) / shares->sum;
}
