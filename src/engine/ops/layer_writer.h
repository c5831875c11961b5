/* layer_writer.h: the values that several operators write into a layer of a network file. It is the
 * counterpart of graph/layer_reader.h: what these functions write, that reader reads back to the
 * same attributes. Only the operators use it.
 *
 * Each function returns false when memory runs out.
 */
#ifndef TINCA_ENGINE_OPS_LAYER_WRITER_H
#define TINCA_ENGINE_OPS_LAYER_WRITER_H

#include "base/json/json.h"
#include "engine/graph/attributes.h"

#include <stdbool.h>

/* Writes "kernel", "stride" and "pad", each as one number or as [height, width]. */
bool layer_write_window(struct json *layer, const struct window *window);

/* Writes "dilation" unless it is 1 along both axes. */
bool layer_write_dilation(struct json *layer, size_t height, size_t width);

/* Writes "bias", "init" and, if there is a bias, "bias_init". */
bool layer_write_weights(struct json *layer, bool bias, const struct initialiser *weight_init,
                         const struct initialiser *bias_init);

/* Writes "weights": "int8" if the weights are quantized. */
bool layer_write_int8_weights(struct json *layer, bool int8_weights);

#endif
