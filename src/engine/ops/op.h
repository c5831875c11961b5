/* op.h: the operator table.
 *
 * An operator is its shape rule, its FLOPs, its parameters and how a network file writes it, plus
 * the plain-C kernel that is the readable truth (device `reference`). Adding one is one file here
 * and one line in op.c.
 */
#ifndef TINCA_ENGINE_OPS_OP_H
#define TINCA_ENGINE_OPS_OP_H

#include "engine/graph.h"
#include "engine/kernel.h"
#include "engine/layer_reader.h"

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
    /* Sets node->output (and completes attributes), declares parameters; refuses with a reason. */
    bool (*infer)(struct graph *graph, struct node *node, const struct shape *inputs,
                  struct error *error);
    /* Multiply-adds x 2 for one image; NULL: none that the studies count. */
    uint64_t (*flops)(const struct node *node, const struct shape *inputs);
    const struct kernel *reference; /* NULL for OP_VIEW and the input */
};

extern const struct op op_input, op_conv, op_conv_transpose, op_linear, op_max_pool,
    op_average_pool, op_relu, op_leaky_relu, op_sigmoid, op_tanh, op_softmax, op_batch_norm, op_lrn,
    op_dropout, op_concat, op_add, op_flatten, op_channel_shuffle, op_channel_shift,
    op_softmax_cross_entropy, op_binary_cross_entropy, op_l1_loss, op_l2_loss;

/* All operators but the input; NULL-terminated. */
extern const struct op *const op_table[];

const struct op *op_find(const char *name); /* NULL: none of that name */

/* Whether a node does nothing to its input in inference, so that it is a view there. */
bool op_is_identity_in_inference(const struct node *node);

/* Output size of a sliding window along one axis: (size + 2 pad - kernel) / stride + 1, rounded
 * down, or up in ceil mode, where a window that would start in the far padding is dropped. 0: none
 * fits. */
size_t window_output(size_t size, size_t kernel, size_t stride, size_t pad, bool ceil_mode);

#endif
