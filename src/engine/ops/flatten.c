#include "engine/ops/op.h"
#include "engine/ops/rules.h"

static bool infer_flatten(struct graph *graph, struct node *node, const struct shape *inputs,
                          struct error *error)
{
    (void)graph;
    return rule_set_output(node, (struct shape){shape_count(inputs[0]), 1, 1}, error);
}

const struct op op_flatten = {
    .name = "flatten",
    .description = "the image as one vector of channels",
    .min_inputs = 1,
    .max_inputs = 1,
    .traits = OP_VIEW,
    .infer = infer_flatten,
};
