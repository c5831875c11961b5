/* graph.h: a network as nodes in topological order, and its parameters.
 *
 * Node 0 is the input. A node's inputs have smaller numbers than the node, so the nodes can be
 * executed in the order of the array. A graph is independent of batch size, device and memory,
 * which are the plan's (plan.h). It owns its arrays; its nodes point to constant operators
 * (operator.h).
 */
#ifndef TINCA_ENGINE_GRAPH_GRAPH_H
#define TINCA_ENGINE_GRAPH_GRAPH_H

#include "base/error.h"
#include "engine/graph/attributes.h"
#include "engine/graph/name_index.h"
#include "engine/graph/quantization.h"
#include "engine/graph/tensor.h"

#include <stddef.h>
#include <stdint.h>

enum { NODE_MAX_INPUTS = 8, NODE_MAX_PARAMETERS = 4, NODE_NAME_SIZE = 64 };

struct op;

struct node {
    char name[NODE_NAME_SIZE]; /* unique within the graph */
    const struct op *op;
    size_t inputs[NODE_MAX_INPUTS]; /* node numbers */
    size_t input_count;
    struct shape output;
    size_t parameters[NODE_MAX_PARAMETERS]; /* numbers in graph->parameters */
    size_t parameter_count;
    union attributes attributes;
    struct quantization quantization; /* of the output; scale 0: none */
};

/* An array of values: a weight, a bias, or a running statistic, which is not learnable and does not
 * count as a parameter. */
struct parameter {
    char name[NODE_NAME_SIZE + 16]; /* "conv1.weight", as in PyTorch's state_dict */
    size_t node;
    size_t dims[4], rank; /* PyTorch's layout: [O, I / groups, KH, KW], [O, I], [C] */
    size_t count;
    size_t offset; /* floats from the start of the weights; a multiple of 16 */
    size_t fan_in; /* inputs of one output value, for the initial values */
    struct initialiser init;
    bool learnable;
};

struct graph {
    struct node *nodes;
    size_t node_count, node_capacity;
    struct parameter *parameters;
    size_t parameter_count, parameter_capacity;
    size_t *losses; /* loss nodes; input 0 of the first, the main loss, is the network's output */
    size_t loss_count, loss_capacity;
    size_t output;           /* the node whose values are the prediction: logits or an image */
    size_t learnable_floats; /* learnable parameters come first, with padding */
    size_t total_floats;     /* then the running statistics */
    struct name_index names; /* finds nodes by name */
};

/* Creates a graph with its input node; graph_free releases it. Returns false with an error if the
 * shape is empty or too large, or if out of memory. */
bool graph_create(struct graph *graph, struct shape input, struct error *error);

/* Makes a copy, which graph_free releases. More nodes without parameters may be added to it; its
 * parameters have the offsets of the original. Returns false with an error if out of memory. */
bool graph_copy(struct graph *copy, const struct graph *graph, struct error *error);

/* Frees the arrays and leaves the graph zeroed. */
void graph_free(struct graph *graph);

/* Appends a node, infers its shape and declares its parameters. `attributes` may be NULL if the
 * operator has none. Returns the node's number in *added, unless that is NULL. Returns false with
 * an error that names the node and its shapes if they do not fit. */
bool graph_add(struct graph *graph, const struct op *op, const char *name, const size_t *inputs,
               size_t input_count, const union attributes *attributes, size_t *added,
               struct error *error);

/* Appends a second input, for the targets of a batch. Returns its number in *added. */
bool graph_add_input(struct graph *graph, const char *name, struct shape shape, size_t *added,
                     struct error *error);

/* Declares the next parameter of `node`, called "NODE.suffix". Only an operator's infer() calls it,
 * before the node is appended. */
bool graph_add_parameter(struct graph *graph, struct node *node, const char *suffix,
                         const size_t *dims, size_t rank, size_t fan_in, struct initialiser init,
                         bool learnable, struct error *error);

/* Sets the offsets of the parameters and the output node. Call it once, after the last node.
 * Returns false with an error if there is no layer. */
bool graph_finish(struct graph *graph, struct error *error);

/* Returns the number of learnable values in the graph, and in one node. */
size_t graph_parameter_count(const struct graph *graph);
size_t graph_node_parameter_count(const struct graph *graph, size_t node);

/* Returns the multiply-adds x 2 of the forward pass of one image, for all nodes that the output
 * needs. */
uint64_t graph_flops(const struct graph *graph);

/* Returns the same for one node. */
uint64_t graph_node_flops(const struct graph *graph, size_t node);

/* Returns whether there is a node with this name, and its number in *number. */
bool graph_find(const struct graph *graph, const char *name, size_t *number);

/* Returns the parameter with this name, or NULL. */
const struct parameter *graph_find_parameter(const struct graph *graph, const char *name);

/* Sets needed[] (by node) to true for `node` and the nodes that it depends on, to false for others.
 */
void graph_mark_ancestors(const struct graph *graph, size_t node, bool *needed);

/* Sets needed[] to true for all nodes that the nodes with needed[] depend on. */
void graph_complete_ancestors(const struct graph *graph, bool *needed);

/* Writes the shapes of the node's inputs into shapes[0..input_count). */
void graph_input_shapes(const struct graph *graph, const struct node *node, struct shape *shapes);

#endif
