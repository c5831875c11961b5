/* fold_batch_norm.h: makes batch norms part of the layer before them.
 *
 * In inference a batch norm is y = a x + b for each channel, with a = weight / sqrt(running_var +
 * epsilon) and b = bias - a running_mean. A convolution or linear layer that only the norm reads
 * takes it over: its weights times a, its bias times a, plus b. Any other batch norm becomes a 1x1
 * convolution of each channel by itself, with the weight a and the bias b, of the same name. Batch
 * norms that use the statistics of each image stay as they are.
 */
#ifndef TINCA_ENGINE_QUANTIZE_FOLD_BATCH_NORM_H
#define TINCA_ENGINE_QUANTIZE_FOLD_BATCH_NORM_H

#include "engine/network/network.h"
#include "engine/weights/weights.h"

/* Returns the network without batch norms, which network_free frees, and its weights in *folded,
 * which weights_free frees. The outputs differ from the original ones by rounding alone. Auxiliary
 * heads are left out. Returns NULL with an error. */
struct network *fold_batch_norm(const struct network *network, const struct weights *weights,
                                struct weights *folded, struct error *error);

#endif
