#include "engine/graph/operator.h"

static bool infer_input(struct graph *graph, struct node *node, const struct shape *inputs,
                        struct error *error)
{
    (void)graph, (void)inputs;
    return error_set(error, ERROR_INPUT, node->name, "remove this layer",
                     "a network has one input, declared before its layers");
}

const struct op op_input = {
    .name = "input",
    .description = "the images of a batch",
    .infer = infer_input,
};
