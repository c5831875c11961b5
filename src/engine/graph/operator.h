/* operator.h: what an operator is: its shape rule, its FLOPs, its parameters and how a network file
 * writes it, plus the plain-C kernel that other devices are compared with. The operators themselves
 * are in ops/.
 */
#ifndef TINCA_ENGINE_GRAPH_OPERATOR_H
#define TINCA_ENGINE_GRAPH_OPERATOR_H

#include "engine/graph/graph.h"
#include "engine/graph/kernel.h"
#include "engine/graph/layer_reader.h"

enum op_traits {
    OP_LOSS = 1 << 0, /* output is [1,1,1]: each image's loss; backward starts here */
    OP_VIEW = 1 << 1, /* output is input 0's memory under another shape; kernels are not called */
    OP_IDENTITY_IN_INFERENCE = 1 << 2, /* a view outside training: dropout that is
                                       not always on */
    OP_READS_LABELS = 1 << 3,          /* class labels come with the batch */
    OP_MOVES_CHANNELS = 1 << 4, /* values only change place: what follows may read through it */
};

struct op {
    const char *name;        /* as in network files: "conv", "max_pool" */
    const char *description; /* one line */
    size_t min_inputs, max_inputs;
    unsigned traits;
    /* Reads this operator's keys from a layer of a network file; NULL: it has none. Errors stay in
     * the reader. */
    void (*read)(struct layer_reader *reader, union attributes *attributes);
    /* Writes what `read` reads into a layer of a network file; false when memory runs out. NULL: no
     * attributes. */
    bool (*write)(const union attributes *attributes, struct json *layer);
    /* Sets node->output (and completes attributes), declares parameters; refuses with a reason. */
    bool (*infer)(struct graph *graph, struct node *node, const struct shape *inputs,
                  struct error *error);
    /* Multiply-adds x 2 for one image; NULL: none that the studies count. */
    uint64_t (*flops)(const struct node *node, const struct shape *inputs);
    const struct kernel *reference; /* NULL for OP_VIEW and the input */
};

/* The operator of node 0, the images of a batch. It has no kernel and no layer. */
extern const struct op op_input;

#endif
