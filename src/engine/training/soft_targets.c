#include "engine/training/soft_targets.h"

#include <stdbool.h>

static float weight_of(const float *class_weights, int32_t label)
{
    return class_weights ? class_weights[label] : 1;
}

/* Fills the targets without a scale. Returns the sum of their weights, which are also written to
 * weights[count] unless that is NULL. */
static double fill(struct soft_target *targets, const int32_t *labels, const int32_t *partners,
                   const float *shares, const float *class_weights, size_t count, double *weights)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t partner = partners ? partners[i] : labels[i];
        const float share = shares ? shares[i] : 1;
        targets[i] = (struct soft_target){.partner = partner,
                                          .own = share * weight_of(class_weights, labels[i]),
                                          .other = (1 - share) * weight_of(class_weights, partner)};
        const double weight = (double)targets[i].own + (double)targets[i].other;
        sum += weight;
        if (weights)
            weights[i] = weight;
    }
    return sum;
}

/* Scales targets of a batch of `images` images, whose weights have this sum. */
static void scale_by(struct soft_target *targets, size_t count, size_t images, double sum,
                     bool weighted)
{
    const float scale = weighted && sum > 0 ? (float)((double)images / sum) : 1;
    for (size_t i = 0; i < count; i++) {
        targets[i].own *= scale;
        targets[i].other *= scale;
        targets[i].scale = sum > 0 ? scale : 0;
    }
}

void soft_targets_fill(struct soft_target *targets, const int32_t *labels, const int32_t *partners,
                       const float *shares, const float *class_weights, size_t count)
{
    const double sum = fill(targets, labels, partners, shares, class_weights, count, NULL);
    scale_by(targets, count, count, sum, class_weights);
}

void soft_targets_fill_part(struct soft_target *targets, const int32_t *labels,
                            const int32_t *partners, const float *shares,
                            const float *class_weights, size_t count, double *weights)
{
    fill(targets, labels, partners, shares, class_weights, count, weights);
}

void soft_targets_scale(struct soft_target *targets, size_t count, const double *weights,
                        size_t images)
{
    double sum = 0;
    for (size_t i = 0; i < images; i++)
        sum += weights[i];
    scale_by(targets, count, images, sum, true);
}
