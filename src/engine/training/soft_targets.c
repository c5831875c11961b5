#include "engine/training/soft_targets.h"

static float weight_of(const float *class_weights, int32_t label)
{
    return class_weights ? class_weights[label] : 1;
}

void soft_targets_fill(struct soft_target *targets, const int32_t *labels, const int32_t *partners,
                       const float *shares, const float *class_weights, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t partner = partners ? partners[i] : labels[i];
        const float share = shares ? shares[i] : 1;
        targets[i] = (struct soft_target){.partner = partner,
                                          .own = share * weight_of(class_weights, labels[i]),
                                          .other = (1 - share) * weight_of(class_weights, partner)};
        sum += (double)targets[i].own + (double)targets[i].other;
    }
    const float scale = class_weights && sum > 0 ? (float)((double)count / sum) : 1;
    for (size_t i = 0; i < count; i++) {
        targets[i].own *= scale;
        targets[i].other *= scale;
        targets[i].scale = sum > 0 ? scale : 0;
    }
}
