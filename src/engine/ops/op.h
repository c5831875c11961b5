/* op.h: the table of operators. An operator is one file in this folder and one line in
 * operators.inc; graph/operator.h says what the file defines.
 */
#ifndef TINCA_ENGINE_OPS_OP_H
#define TINCA_ENGINE_OPS_OP_H

#include "engine/graph/operator.h"

#define OPERATOR(name) extern const struct op op_##name;
#include "engine/ops/operators.inc"

/* All operators except the input, in the order of operators.inc; NULL-terminated. */
extern const struct op *const op_table[];

/* Returns the operator of that name, or NULL if there is none. */
const struct op *op_find(const char *name);

/* Returns whether the node leaves its input unchanged in inference, so that the plan can make it a
 * view there. */
bool op_is_identity_in_inference(const struct node *node);

#endif
