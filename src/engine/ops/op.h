/* op.h: the table of operators. Adding an operator is one file in this folder and one line in op.c;
 * graph/operator.h says what the file defines.
 */
#ifndef TINCA_ENGINE_OPS_OP_H
#define TINCA_ENGINE_OPS_OP_H

#include "engine/graph/operator.h"

extern const struct op op_conv, op_conv_transpose, op_linear, op_max_pool, op_average_pool, op_relu,
    op_leaky_relu, op_sigmoid, op_tanh, op_softmax, op_batch_norm, op_lrn, op_dropout, op_concat,
    op_add, op_flatten, op_channel_shuffle, op_channel_shift, op_softmax_cross_entropy,
    op_binary_cross_entropy, op_l1_loss, op_l2_loss;

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
