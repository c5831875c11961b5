#include "engine/ops/op.h"

#include <string.h>

const struct op *const op_table[] = {
    &op_conv,
    &op_conv_transpose,
    &op_linear,
    &op_max_pool,
    &op_average_pool,
    &op_relu,
    &op_leaky_relu,
    &op_sigmoid,
    &op_tanh,
    &op_softmax,
    &op_batch_norm,
    &op_lrn,
    &op_dropout,
    &op_concat,
    &op_add,
    &op_flatten,
    &op_channel_shuffle,
    &op_channel_shift,
    &op_softmax_cross_entropy,
    &op_binary_cross_entropy,
    &op_l1_loss,
    &op_l2_loss,
    NULL,
};

const struct op *op_find(const char *name)
{
    for (const struct op *const *op = op_table; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return *op;
    return NULL;
}

bool op_is_identity_in_inference(const struct node *node)
{
    return (node->op->traits & OP_IDENTITY_IN_INFERENCE) &&
           !(node->op == &op_dropout && node->attributes.dropout.always);
}

size_t window_output(size_t size, size_t kernel, size_t stride, size_t pad, bool ceil_mode)
{
    if (!kernel || !stride || pad > (SIZE_MAX - size) / 2 || size + 2 * pad < kernel)
        return 0;
    size_t room = size + 2 * pad - kernel;
    size_t output = room / stride + 1;
    if (ceil_mode && room % stride != 0 && output * stride < size + pad)
        output++;
    return output;
}
