/* soft_target.h: the target of an image that is not its label alone: images that were mixed with
 * others, and weights of classes.
 *
 * With labels a and b, their shares s and 1 - s, and class weights w, the loss of a batch is
 *
 *     sum_i [ s_i w(a_i) CE(x_i, a_i) + (1 - s_i) w(b_i) CE(x_i, b_i) ] / sum_i W_i
 *     with W_i = s_i w(a_i) + (1 - s_i) w(b_i)
 *
 * which is PyTorch's CrossEntropyLoss(weight=w) if all shares are 1, and the loss of the papers on
 * mixup and cutmix if all weights are 1. With label smoothing e, (1 - e) times that is added to e /
 * classes times the sum over i and all classes c of w(c) CE(x_i, c), divided by sum_i W_i, as in
 * PyTorch.
 *
 * The loss of image i is its summand times the number of images, so that the mean over the batch is
 * that quotient.
 */
#ifndef TINCA_ENGINE_GRAPH_SOFT_TARGET_H
#define TINCA_ENGINE_GRAPH_SOFT_TARGET_H

#include <stdint.h>

struct soft_target {
    int32_t partner;  /* b; a is the image's label */
    float own, other; /* s w(a) and (1 - s) w(b), times `scale` */
    float scale;      /* images / sum_i W_i */
};

#endif
