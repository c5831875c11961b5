/* rules.h: what the shape rules of several operators share. Not for use outside this room. */
#ifndef TINCA_ENGINE_OPS_RULES_H
#define TINCA_ENGINE_OPS_RULES_H

#include "engine/graph/graph.h"
#include "engine/graph/layer_reader.h"

#include <stdbool.h>

/* The rule of operators whose output has the shape of input 0. */
bool rule_same_shape(struct graph *graph, struct node *node, const struct shape *inputs,
                     struct error *error);

/* Sets node->output, refusing zero sizes and images so large that byte counts could overflow. */
bool rule_set_output(struct node *node, struct shape output, struct error *error);

/* Refuses unless inputs[0] and inputs[1] have the same shape. */
bool rule_equal_inputs(const struct node *node, const struct shape *inputs, struct error *error);

/* The output of a window that slides over `input`, with `channels` channels. */
bool rule_slide_window(struct node *node, const struct window *window, bool ceil_mode,
                       struct shape input, size_t channels, struct error *error);

/* The rule of pooling: completes the window of global pooling, then slides it. */
bool rule_pool(struct graph *graph, struct node *node, const struct shape *inputs,
               struct error *error);

/* The rule of a loss: refuses a weight that would train nothing; the output is [1,1,1]. */
bool rule_loss(struct node *node, struct error *error);

/* Declares NODE.weight of these dimensions, of which dims[0] are outputs, and NODE.bias. */
bool rule_weight_and_bias(struct graph *graph, struct node *node, const size_t *dims, size_t rank,
                          struct initialiser weight_init, const struct initialiser *bias_init,
                          struct error *error);

/* The keys that pooling layers share. */
void rule_read_pool(struct layer_reader *reader, union attributes *attributes);

/* The key "weight" that losses share. */
void rule_read_loss(struct layer_reader *reader, union attributes *attributes);

#endif
