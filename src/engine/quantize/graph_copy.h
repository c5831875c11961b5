/* graph_copy.h: copies a graph node by node, with changes. A caller leaves nodes out, changes their
 * attributes, or adds nodes between those that it copies.
 *
 * By default, the nodes that the network's output needs and the main loss are copied: auxiliary
 * heads, which only training uses, are left out. The names of nodes and parameters stay, so that
 * the values of the parameters can be copied by name.
 */
#ifndef TINCA_ENGINE_QUANTIZE_GRAPH_COPY_H
#define TINCA_ENGINE_QUANTIZE_GRAPH_COPY_H

#include "engine/network/network.h"
#include "engine/weights/weights.h"

struct graph_copy {
    const struct graph *from;
    struct graph graph;
    size_t *map;  /* by node of `from`: the node of `graph` that has its output */
    bool *wanted; /* by node of `from`, except the input: whether the caller should copy it */
};

/* Begins a copy, which has the input only. Returns false with an error; call graph_copy_free in
 * either case. */
bool graph_copy_begin(struct graph_copy *copy, const struct graph *from, struct error *error);
void graph_copy_free(struct graph_copy *copy);

/* Copies node `i`, whose inputs have been mapped, with these attributes (NULL: its own), and maps
 * it. Returns false with an error. */
bool graph_copy_add(struct graph_copy *copy, size_t i, const union attributes *attributes,
                    struct error *error);

/* Writes the name NAME.suffix of a node that is added after the node NAME. */
void graph_copy_name(const char *name, const char *suffix, char out[NODE_NAME_SIZE]);

/* Adds a node that reads the node that `i` is mapped to, and maps `i` to it. It is called
 * NAME.suffix. Returns false with an error. */
bool graph_copy_append(struct graph_copy *copy, size_t i, const struct op *op, const char *suffix,
                       const union attributes *attributes, struct error *error);

/* Completes the copy. Returns false with an error. */
bool graph_copy_finish(struct graph_copy *copy, struct error *error);

/* Returns the number of nodes of the graph, among those marked in `wanted`, that read node `i`;
 * their last one in *reader unless that is NULL. */
size_t graph_count_readers(const struct graph *graph, const bool *wanted, size_t i, size_t *reader);

/* Returns the network of a copy, as a network file describes it, which network_free frees. It has
 * the head of `of`, with `step` at the end of its chain of techniques (NULL: none). Returns NULL
 * with an error. */
struct network *graph_copy_network(const struct graph_copy *copy, const struct network *of,
                                   const char *step, struct error *error);

#endif
