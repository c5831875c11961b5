/* int8_weights.h: trains with weights that are rounded to integers (ops/fake_quantize.c says how
 * the values between the layers are). Internal to engine/execution.
 *
 * The weights that the solver changes stay float32. The kernels of both passes read a copy, rounded
 * to the multiples of the layer's scales, which is made anew when the weights have changed. The
 * gradient of the copy is taken for that of the weights, except where a weight lies beyond the
 * range: there it is 0.
 */
#ifndef TINCA_ENGINE_EXECUTION_INT8_WEIGHTS_H
#define TINCA_ENGINE_EXECUTION_INT8_WEIGHTS_H

#include "engine/execution/backend.h"

/* Allocates the copy if it is needed. Returns false with an error if memory runs out. */
bool int8_weights_create(struct execution *execution, struct error *error);
void int8_weights_free(struct execution *execution);

/* Returns where kernels read a parameter: in the copy, or in `weights`. */
float *int8_weights_at(const struct execution *execution, const struct parameter *parameter,
                       float *weights);

/* Rounds the weights if they have changed. */
void int8_weights_round(struct execution *execution);

/* Sets the gradients of weights beyond their range to 0. */
void int8_weights_mask(struct execution *execution);

#endif
