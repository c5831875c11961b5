/* magnitude.h: unstructured pruning by magnitude (Han et al. 2015): the smallest weights of the
 * whole network become zero. The network keeps its shape.
 */
#ifndef TINCA_ENGINE_COMPRESS_MAGNITUDE_H
#define TINCA_ENGINE_COMPRESS_MAGNITUDE_H

#include "engine/weights/weights.h"

#include <stdint.h>

/* Sets the `share` (0 to 1) of the weights of all convolutions and linear layers with the smallest
 * magnitude to zero; biases and batch norms stay. Of equal ones the first are taken. The weights
 * must be in host memory (weights_fetch). Writes their number and how many are zero afterwards.
 * Returns false with an error if memory runs out. */
bool magnitude_prune(struct weights *weights, double share, uint64_t *count, uint64_t *zeros,
                     struct error *error);

#endif
