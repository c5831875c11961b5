/* rules.h: the shape rules and the keys that several operators share. Only the operators use it.
 *
 * Each shape rule sets node->output and returns true, or sets `error` and returns false.
 */
#ifndef TINCA_ENGINE_OPS_RULES_H
#define TINCA_ENGINE_OPS_RULES_H

#include "base/json/json.h"
#include "engine/graph/attributes.h"
#include "engine/graph/graph.h"
#include "engine/graph/layer_reader.h"

#include <stdbool.h>

/* Implements `infer` for operators whose output has the shape of input 0. */
bool rule_same_shape(struct graph *graph, struct node *node, const struct shape *inputs,
                     struct error *error);

/* Sets node->output. Refuses sizes of zero and images so large that a byte count could overflow. */
bool rule_set_output(struct node *node, struct shape output, struct error *error);

/* Returns whether inputs[0] and inputs[1] have the same shape; if not, sets the error. */
bool rule_equal_inputs(const struct node *node, const struct shape *inputs, struct error *error);

/* Returns the output size of a sliding window along one axis: (size + 2 pad - kernel) / stride + 1,
 * rounded down, or up in ceil mode, which drops a window that would start in the far padding.
 * Returns 0 if no window fits. */
size_t window_output(size_t size, size_t kernel, size_t stride, size_t pad, bool ceil_mode);

/* Sets the output of a window that slides over `input`, with `channels` output channels. */
bool rule_slide_window(struct node *node, const struct window *window, bool ceil_mode,
                       struct shape input, size_t channels, struct error *error);

/* Implements `infer` for pooling: completes the window of global pooling and slides it. Refuses
 * padding of more than half the kernel. */
bool rule_pool(struct graph *graph, struct node *node, const struct shape *inputs,
               struct error *error);

/* Sets the output of a loss, [1,1,1]. Refuses a weight of 0 or less, which would train nothing. */
bool rule_loss(struct node *node, struct error *error);

/* Declares the parameter NODE.weight with these dimensions, of which dims[0] is the number of
 * outputs, and NODE.bias [dims[0]] unless `bias_init` is NULL. */
bool rule_weight_and_bias(struct graph *graph, struct node *node, const size_t *dims, size_t rank,
                          struct initialiser weight_init, const struct initialiser *bias_init,
                          struct error *error);

/* Declares NODE.weight_scale, with one value for each of `outputs`, if the weights are quantized.
 */
bool rule_weight_scale(struct graph *graph, struct node *node, bool int8_weights, size_t outputs,
                       struct error *error);

/* Returns whether the key "weights" is "int8"; any other text is an error. */
bool rule_read_int8_weights(struct layer_reader *reader);

/* Implement `read` and `write` for pooling layers. */
void rule_read_pool(struct layer_reader *reader, union attributes *attributes);
bool rule_write_pool(const union attributes *attributes, struct json *layer);

/* Implement `read` and `write` for losses whose only key is "weight". */
void rule_read_loss(struct layer_reader *reader, union attributes *attributes);
bool rule_write_loss(const union attributes *attributes, struct json *layer);

/* --- the values that several operators write into a layer of a network file ---
 *
 * graph/layer_reader.h reads back the same attributes. Each function returns false when memory runs
 * out. */

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
