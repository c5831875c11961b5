/* graph_add checks each node before it appends it, so a graph is always valid: the operator's shape
 * rule computes the output's shape and declares parameters. graph_finish assigns the parameters'
 * offsets in one array, the learnable ones first, so that a solver updates a single range. */
#include "engine/graph/graph.h"

#include "base/memory.h"
#include "engine/graph/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every parameter starts at a cache line, so that kernels can load whole vectors. */
enum { PARAMETER_ALIGNMENT = MEMORY_ALIGNMENT / sizeof(float) };

/* 4 TiB of float32 per parameter, so that the sum over all layers stays far below SIZE_MAX. */
#define MAX_PARAMETER_VALUES ((uint64_t)1 << 40)

bool graph_create(struct graph *graph, struct shape input, struct error *error)
{
    *graph = (struct graph){0};
    if (!shape_is_countable(input))
        return error_set(error, ERROR_INPUT, "input", "choose smaller sides",
                         "an input of %zu x %zu x %zu values is too large", input.channels,
                         input.height, input.width);
    if (!shape_count(input))
        return error_set(error, ERROR_INPUT, "input", "give every side a size of 1 or more",
                         "an input of %zu x %zu x %zu has no values", input.channels, input.height,
                         input.width);
    if (!memory_grow(&graph->nodes, &graph->node_capacity, 1, sizeof *graph->nodes, "the network",
                     error))
        return false;
    graph->nodes[0] = (struct node){.name = "input", .op = &op_input, .output = input};
    graph->node_count = 1;
    return name_index_add(&graph->names, "input", 0, error);
}

void graph_free(struct graph *graph)
{
    free(graph->nodes);
    free(graph->parameters);
    free(graph->losses);
    name_index_free(&graph->names);
    *graph = (struct graph){0};
}

static bool copy_array(void *to, size_t *capacity, const void *from, size_t count, size_t size,
                       struct error *error)
{
    void *array = memory_new(count > 0 ? count : 1, size, "the network", error);
    if (!array)
        return false;
    if (count > 0)
        memcpy(array, from, count * size);
    *(void **)to = array;
    *capacity = count;
    return true;
}

bool graph_copy(struct graph *copy, const struct graph *graph, struct error *error)
{
    *copy = *graph;
    copy->nodes = NULL;
    copy->parameters = NULL;
    copy->losses = NULL;
    copy->names = (struct name_index){0};
    bool copied = copy_array(&copy->nodes, &copy->node_capacity, graph->nodes, graph->node_count,
                             sizeof *copy->nodes, error) &&
                  copy_array(&copy->parameters, &copy->parameter_capacity, graph->parameters,
                             graph->parameter_count, sizeof *copy->parameters, error) &&
                  copy_array(&copy->losses, &copy->loss_capacity, graph->losses, graph->loss_count,
                             sizeof *copy->losses, error);
    for (size_t n = 0; copied && n < graph->node_count; n++)
        copied = name_index_add(&copy->names, graph->nodes[n].name, n, error);
    if (!copied)
        graph_free(copy);
    return copied;
}

void graph_input_shapes(const struct graph *graph, const struct node *node, struct shape *shapes)
{
    for (size_t i = 0; i < node->input_count; i++)
        shapes[i] = graph->nodes[node->inputs[i]].output;
}

static const char *node_name(const void *graph, size_t number)
{
    return ((const struct graph *)graph)->nodes[number].name;
}

bool graph_find(const struct graph *graph, const char *name, size_t *number)
{
    return name_index_find(&graph->names, graph, node_name, name, number);
}

static bool check_node(const struct graph *graph, const struct node *node, struct error *error)
{
    size_t other;
    if (node->input_count < node->op->min_inputs || node->input_count > node->op->max_inputs)
        return error_set(error, ERROR_INPUT, node->name, "correct the layer's \"from\"",
                         "%s takes %zu to %zu inputs, not %zu", node->op->name,
                         node->op->min_inputs, node->op->max_inputs, node->input_count);
    return !graph_find(graph, node->name, &other) ||
           error_set(error, ERROR_INPUT, node->name, "give each layer a different name",
                     "there are two layers with this name");
}

/* Appends a node that check_node() has accepted. */
static bool append_node(struct graph *graph, const struct node *node, struct error *error)
{
    if (!memory_grow(&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                     sizeof *graph->nodes, "the network", error) ||
        !name_index_add(&graph->names, node->name, graph->node_count, error))
        return false;
    graph->nodes[graph->node_count++] = *node;
    return true;
}

static bool append_loss(struct graph *graph, size_t number, struct error *error)
{
    if (!memory_grow(&graph->losses, &graph->loss_capacity, graph->loss_count + 1,
                     sizeof *graph->losses, "the network", error))
        return false;
    graph->losses[graph->loss_count++] = number;
    return true;
}

bool graph_add(struct graph *graph, const struct op *op, const char *name, const size_t *inputs,
               size_t input_count, const union attributes *attributes, size_t *added,
               struct error *error)
{
    size_t number = graph->node_count;
    struct node node = {.op = op, .input_count = input_count};
    if (strlen(name) >= sizeof node.name || input_count > NODE_MAX_INPUTS)
        return error_set(error, ERROR_INPUT, name, "shorten it",
                         "a name has at most %d characters and a layer at most %d inputs",
                         NODE_NAME_SIZE - 1, NODE_MAX_INPUTS);
    snprintf(node.name, sizeof node.name, "%s", name);
    memcpy(node.inputs, inputs, input_count * sizeof *inputs);
    if (attributes)
        node.attributes = *attributes;
    struct shape shapes[NODE_MAX_INPUTS];
    graph_input_shapes(graph, &node, shapes);
    if (!check_node(graph, &node, error) || !op->infer(graph, &node, shapes, error) ||
        !append_node(graph, &node, error))
        return false;
    if (added)
        *added = number;
    return !(op->traits & OP_LOSS) || append_loss(graph, number, error);
}

bool graph_add_input(struct graph *graph, const char *name, struct shape shape, size_t *added,
                     struct error *error)
{
    struct node node = {.op = &op_input, .output = shape};
    snprintf(node.name, sizeof node.name, "%s", name);
    *added = graph->node_count;
    return check_node(graph, &node, error) && append_node(graph, &node, error);
}

bool graph_add_parameter(struct graph *graph, struct node *node, const char *suffix,
                         const size_t *dims, size_t rank, size_t fan_in, struct initialiser init,
                         bool learnable, struct error *error)
{
    struct parameter parameter = {.node = graph->node_count, /* the node is added next */
                                  .rank = rank,
                                  .count = 1,
                                  .fan_in = fan_in,
                                  .init = init,
                                  .learnable = learnable};
    snprintf(parameter.name, sizeof parameter.name, "%s.%s", node->name, suffix);
    for (size_t i = 0; i < rank; i++) {
        parameter.dims[i] = dims[i];
        if (dims[i] == 0 || parameter.count > MAX_PARAMETER_VALUES / dims[i])
            return error_set(error, ERROR_INPUT, parameter.name, "choose other sizes",
                             "its size is zero or does not fit the address space");
        parameter.count *= dims[i];
    }
    if (!memory_grow(&graph->parameters, &graph->parameter_capacity, graph->parameter_count + 1,
                     sizeof *graph->parameters, "the network", error))
        return false;
    node->parameters[node->parameter_count++] = graph->parameter_count;
    graph->parameters[graph->parameter_count++] = parameter;
    return true;
}

/* Sets the offsets of the learnable parameters or of the others, from `offset` on. Returns the end
 * of the last one. */
static size_t lay_out(struct graph *graph, bool learnable, size_t offset)
{
    for (size_t i = 0; i < graph->parameter_count; i++) {
        struct parameter *parameter = &graph->parameters[i];
        if (parameter->learnable != learnable)
            continue;
        parameter->offset = offset;
        offset += (parameter->count + PARAMETER_ALIGNMENT - 1) / PARAMETER_ALIGNMENT *
                  PARAMETER_ALIGNMENT;
    }
    return offset;
}

bool graph_finish(struct graph *graph, struct error *error)
{
    if (graph->node_count < 2)
        return error_set(error, ERROR_INPUT, "layers", "add at least one layer",
                         "the network is empty");
    graph->learnable_floats = lay_out(graph, true, 0);
    graph->total_floats = lay_out(graph, false, graph->learnable_floats);
    graph->output =
        graph->loss_count ? graph->nodes[graph->losses[0]].inputs[0] : graph->node_count - 1;
    return true;
}

size_t graph_node_parameter_count(const struct graph *graph, size_t node)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->nodes[node].parameter_count; i++) {
        const struct parameter *parameter = &graph->parameters[graph->nodes[node].parameters[i]];
        count += parameter->learnable ? parameter->count : 0;
    }
    return count;
}

size_t graph_parameter_count(const struct graph *graph)
{
    size_t count = 0;
    for (size_t node = 0; node < graph->node_count; node++)
        count += graph_node_parameter_count(graph, node);
    return count;
}

uint64_t graph_node_flops(const struct graph *graph, size_t node)
{
    const struct node *n = &graph->nodes[node];
    struct shape shapes[NODE_MAX_INPUTS];
    graph_input_shapes(graph, n, shapes);
    return n->op->flops ? n->op->flops(n, shapes) : 0;
}

void graph_mark_ancestors(const struct graph *graph, size_t node, bool *needed)
{
    memset(needed, 0, graph->node_count * sizeof *needed);
    needed[node] = true;
    graph_complete_ancestors(graph, needed);
}

void graph_complete_ancestors(const struct graph *graph, bool *needed)
{
    for (size_t i = graph->node_count; i-- > 0;)
        for (size_t k = 0; needed[i] && k < graph->nodes[i].input_count; k++)
            needed[graph->nodes[i].inputs[k]] = true;
}

uint64_t graph_flops(const struct graph *graph)
{
    uint64_t total = 0;
    bool *needed = memory_new(graph->node_count, sizeof *needed, "the network", NULL);
    if (needed)
        graph_mark_ancestors(graph, graph->output, needed);
    for (size_t node = 0; needed && node < graph->node_count; node++)
        total += needed[node] ? graph_node_flops(graph, node) : 0;
    free(needed);
    return total;
}

const struct parameter *graph_find_parameter(const struct graph *graph, const char *name)
{
    char layer[NODE_NAME_SIZE];
    size_t number;
    const char *suffix = strrchr(name, '.'); /* graph_add_parameter puts it after the node's name */
    const size_t length = suffix ? (size_t)(suffix - name) : sizeof layer;
    if (length >= sizeof layer)
        return NULL;
    memcpy(layer, name, length);
    layer[length] = '\0';
    if (!graph_find(graph, layer, &number))
        return NULL;
    const struct node *node = &graph->nodes[number];
    for (size_t p = 0; p < node->parameter_count; p++)
        if (strcmp(graph->parameters[node->parameters[p]].name, name) == 0)
            return &graph->parameters[node->parameters[p]];
    return NULL;
}

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
