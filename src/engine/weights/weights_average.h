/* weights_average.h: an exponential moving average of the weights (Polyak & Juditsky 1992, in the
 * form of torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn).
 *
 * With w the weights after a step and d the decay: a = w after the first step, then
 * a = a + (1 - d)(w - a). Running statistics of batch norm are not averaged: the average has those
 * of the weights, as PyTorch's has without use_buffers. */
#ifndef TINCA_ENGINE_WEIGHTS_WEIGHTS_AVERAGE_H
#define TINCA_ENGINE_WEIGHTS_WEIGHTS_AVERAGE_H

#include "engine/weights/weights.h"

/* Makes the average a copy of the weights. Call it before the first step and after it. Both have
 * the same graph. If a device with memory of its own has a copy of the weights, it averages its
 * copies; call weights_on_device for the average before. */
void weights_average_begin(struct weights *average, const struct weights *weights);

/* Takes the weights after one more step into the average, on the host or device that
 * weights_average_begin used. The bits do not depend on `pool`. */
void weights_average_update(struct weights *average, const struct weights *weights, double decay,
                            struct pool *pool);

/* Copies the running statistics, which a checkpoint stores once, in host memory. */
void weights_average_restore(struct weights *average, const struct weights *weights);

#endif
