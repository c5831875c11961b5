/* operator.h: the description of an operator: its name in network files, its shape rule, its
 * parameters, its FLOPs, and a reference kernel in plain C that other devices are tested against.
 * The operators themselves are in ops/.
 */
#ifndef TINCA_ENGINE_GRAPH_OPERATOR_H
#define TINCA_ENGINE_GRAPH_OPERATOR_H

#include "engine/graph/graph.h"
#include "engine/graph/kernel.h"
#include "engine/graph/layer_reader.h"

enum op_traits {
    OP_LOSS = 1 << 0, /* the output is [1,1,1], the loss of each image; backward starts here */
    OP_VIEW = 1 << 1, /* the output is the memory of input 0 with another shape; no kernel runs */
    OP_IDENTITY_IN_INFERENCE = 1 << 2, /* a view outside training, such as dropout */
    OP_READS_LABELS = 1 << 3,          /* reads the class labels of the batch */
    OP_MOVES_CHANNELS = 1 << 4,    /* only moves values, so it can be fused into the next node */
    OP_READS_WHOLE_BATCH = 1 << 5, /* in training an image's output depends on the other images of
                                      the batch, or on its place in the batch */
};

struct op {
    const char *name;        /* as in network files: "conv", "max_pool" */
    const char *description; /* one line for people */
    size_t min_inputs, max_inputs;
    unsigned traits; /* enum op_traits */
    /* Reads this operator's keys from a layer of a network file; the reader holds the first error.
     * NULL: the operator has no keys. */
    void (*read)(struct layer_reader *reader, union attributes *attributes);
    /* Writes what `read` reads into a layer of a network file. Returns false when memory runs out.
     * NULL: no attributes. */
    bool (*write)(const union attributes *attributes, struct json *layer);
    /* Sets node->output, completes its attributes and declares its parameters. Returns false with
     * an error if the inputs' shapes do not fit. */
    bool (*infer)(struct graph *graph, struct node *node, const struct shape *inputs,
                  struct error *error);
    /* Returns the multiply-adds x 2 of a forward pass for one image. NULL: the studies count none.
     */
    uint64_t (*flops)(const struct node *node, const struct shape *inputs);
    const struct kernel *reference; /* NULL for OP_VIEW and the input */
};

/* The operator of node 0, the images of a batch. It has no kernel and no layer. */
extern const struct op op_input;

#endif
