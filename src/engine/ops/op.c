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
