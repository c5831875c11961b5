/* factor_layers.h: the layers that take the place of a factorized one. */
#ifndef TINCA_ENGINE_COMPRESS_FACTOR_LAYERS_H
#define TINCA_ENGINE_COMPRESS_FACTOR_LAYERS_H

#include "engine/compress/factor.h"
#include "engine/compress/rewrite.h"
#include "engine/graph/graph.h"

#include <stdint.h>

/* One of the new layers. They are called NAME.0, NAME.1, ... after the old one, as PyTorch calls
 * the parts of a Sequential, and each reads the one before. */
struct factor_layer {
    const struct op *op;
    union attributes attributes;
    size_t part; /* of factor.h */
};

/* What layers cost. */
struct layer_cost {
    size_t parameters;
    uint64_t flops; /* of one image, forward */
};

/* Returns whether the node is a layer that factor.h can factorize: linear or a convolution that is
 * not transposed. */
bool factor_layers_fit(const struct node *node);

/* Returns the kernel of such a node, with the weights that `values` holds for the graph. */
struct factor_kernel factor_layers_kernel(const struct graph *graph, const struct node *node,
                                          const float *values);

/* Writes the layers for these ranks, in order, and returns their number: 2 or 3; 1 if tucker's
 * ranks are both full. */
size_t factor_layers_make(const struct node *node, const struct factor *factor, const size_t *ranks,
                          struct factor_layer layers[FACTOR_PARTS]);

/* Counts what the layers cost in the node's place. Returns false with an error if they do not fit
 * there or if out of memory. */
bool factor_layers_cost(const struct graph *graph, const struct node *node,
                        const struct factor_layer *layers, size_t count, struct layer_cost *cost,
                        struct error *error);

/* Appends the layers to a network that is rewritten. Returns false if out of memory. */
bool factor_layers_write(const struct node *node, const struct factor_layer *layers, size_t count,
                         struct rewritten_layer *rewritten);

enum { FACTOR_LAYER_NAME_SIZE = NODE_NAME_SIZE + 24 };

/* Writes the name of the new layer number `i`. Returns `name`. */
char *factor_layers_name(const struct node *node, size_t i, char name[FACTOR_LAYER_NAME_SIZE]);

#endif
