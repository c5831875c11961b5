/* graph.h: a network as nodes in topological order, and its parameters.
 *
 * Node 0 is the input. A node's inputs have smaller numbers than itself, so that the order of the
 * array is an order of execution. The graph knows nothing of batches, devices or memory: see
 * plan.h. It owns its arrays; nodes point at the constant operator table.
 */
#ifndef TINCA_ENGINE_GRAPH_GRAPH_H
#define TINCA_ENGINE_GRAPH_GRAPH_H

#include "base/error.h"
#include "engine/graph/attributes.h"
#include "engine/graph/name_index.h"
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
};

/* One array of values: a weight, a bias, or a running statistic (not learnable, not counted). */
struct parameter {
    char name[NODE_NAME_SIZE + 16]; /* "conv1.weight", as PyTorch's state_dict would call it */
    size_t node;
    size_t dims[4], rank; /* PyTorch's layout: [O, I / groups, KH, KW], [O, I], [C] */
    size_t count;
    size_t offset; /* floats from the start of the weights; a multiple of 16 */
    size_t fan_in;
    struct initialiser init;
    bool learnable;
};

struct graph {
    struct node *nodes;
    size_t node_count, node_capacity;
    struct parameter *parameters;
    size_t parameter_count, parameter_capacity;
    size_t *losses; /* loss nodes; the first is the main one, whose input 0 is the output */
    size_t loss_count, loss_capacity;
    size_t output;           /* the node whose values a prediction reads: logits or an image */
    size_t learnable_floats; /* parameters lie learnable first: [0, learnable_floats), padded */
    size_t total_floats;
    struct name_index names; /* of the nodes */
};

bool graph_create(struct graph *graph, struct shape input, struct error *error);
void graph_free(struct graph *graph); /* leaves it {0} */

/* Appends a node, infers its shape and declares its parameters. `attributes` is NULL for operators
 * without any. Returns the node's number in *added. Errors name the node and its shapes. */
bool graph_add(struct graph *graph, const struct op *op, const char *name, const size_t *inputs,
               size_t input_count, const union attributes *attributes, size_t *added,
               struct error *error);

/* Appends a second input, which the batch's targets are bound to. */
bool graph_add_input(struct graph *graph, const char *name, struct shape shape, size_t *added,
                     struct error *error);

/* For an operator's shape rule: declares the next parameter of `node` as NODE.`suffix`. */
bool graph_add_parameter(struct graph *graph, struct node *node, const char *suffix,
                         const size_t *dims, size_t rank, size_t fan_in, struct initialiser init,
                         bool learnable, struct error *error);

/* To be called once after the last node: lays out the parameters, finds losses and output. */
bool graph_finish(struct graph *graph, struct error *error);

/* Learnable values: what the studies count. */
size_t graph_parameter_count(const struct graph *graph);
size_t graph_node_parameter_count(const struct graph *graph, size_t node);

/* Multiply-adds x 2 of one image's forward pass through the nodes that the output needs. */
uint64_t graph_flops(const struct graph *graph);
uint64_t graph_node_flops(const struct graph *graph, size_t node);

/* Returns whether there is a node of this name, and its number in *number. */
bool graph_find(const struct graph *graph, const char *name, size_t *number);

/* Marks in needed[0..node_count) the nodes that `node` depends on, itself included. */
void graph_mark_ancestors(const struct graph *graph, size_t node, bool *needed);

/* Marks what the marked nodes depend on as well. */
void graph_complete_ancestors(const struct graph *graph, bool *needed);

/* The node's input shapes into shapes[0..input_count). */
void graph_input_shapes(const struct graph *graph, const struct node *node, struct shape *shapes);

#endif
