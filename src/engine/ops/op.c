#include "engine/ops/op.h"

#include <string.h>

const struct op *const op_table[] = {
#define OPERATOR(name) &op_##name,
#include "engine/ops/operators.inc"
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
    size_t free_steps = size + 2 * pad - kernel;
    size_t output = free_steps / stride + 1;
    if (ceil_mode && free_steps % stride != 0 && output * stride < size + pad)
        output++;
    return output;
}
