/* class_outputs.h: how many classes a graph predicts, and which of its layers have as many outputs.
 *
 * This is the only place that knows the number: losses, accuracy, confusion and names of classes
 * follow it, not what a file or a data set says. The output layers are the convolution or linear
 * layer before each loss over classes, with what lies between them: other classes make them anew.
 */
#ifndef TINCA_ENGINE_OPS_CLASS_OUTPUTS_H
#define TINCA_ENGINE_OPS_CLASS_OUTPUTS_H

#include "engine/graph/graph.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns how many values the main loss compares with a label: the classes. 0: the main loss reads
 * no labels, or the graph has no loss. */
size_t graph_classes(const struct graph *graph);

/* Returns whether all losses over classes read as many values as the main loss, if that reads
 * labels. If not, *other is the number that an auxiliary loss reads. */
bool graph_classes_agree(const struct graph *graph, size_t *other);

/* Sets marks[node_count] of the output layers. Returns false, and marks nothing, if other layers
 * read their values too, or no single layer computes the outputs. */
bool graph_mark_outputs(const struct graph *graph, bool *marks);

/* Writes the names of the output layers that have "output", with commas between them; "" if they
 * are not known. Returns `text`. */
char *graph_output_names(const struct graph *graph, char *text, size_t size);

/* Removes the softmax that computes the outputs, the values of node *output, if these are
 * probabilities, because the loss contains one. Its readers, *output or layers that only pass its
 * values on, then read its input. Returns false, and changes nothing, if the outputs are no softmax
 * over all of them. */
bool graph_leave_out_softmax(struct graph *graph, size_t *output);

/* Returns the softmax or sigmoid whose values are those of node `output`, for a graph that ends in
 * probabilities which are not those of one class an image: a vector of sigmoids, of labels that do
 * not exclude each other, or a softmax of the classes of each pixel. NULL: it ends in something
 * else, such as a picture. */
const struct op *graph_probabilities(const struct graph *graph, size_t output);

/* Returns the same for the values that the main loss reads. NULL if it reads labels, or there is no
 * loss. */
const struct op *graph_main_probabilities(const struct graph *graph);

/* Returns whether the node's layer has the key "output": it is a convolution or linear. */
bool graph_counts_outputs(const struct node *node);

#endif
