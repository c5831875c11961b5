/* internal.h: the builder that the files of this folder share. */
#ifndef TINCA_ENGINE_NETWORK_INTERNAL_H
#define TINCA_ENGINE_NETWORK_INTERNAL_H

#include "base/json/json.h"
#include "engine/blocks/block.h"
#include "engine/graph/name_index.h"
#include "engine/network/network.h"

#include <stdbool.h>
#include <stddef.h>

/* The state while a network file becomes a graph, and the steps of doing so.
 * Only the files of this folder use it.
 */

/* A layer that became several nodes: "from" with the layer's name means the last of them. */
struct compound {
    char name[NODE_NAME_SIZE];
    size_t node;
};

/* The layer of the file that became a node with a number of outputs. */
struct built_layer {
    size_t node;
    const struct json *layer;
};

struct builder {
    const struct json_document *document;
    struct network *network;
    struct graph *graph; /* the network's, or its discriminator's */
    struct variation variation;
    const struct json *last_weights; /* the last layer with weights, which no variation changes */
    size_t last;                     /* the node that the next layer reads */
    size_t unnamed;                  /* layers that got a number for a name */
    size_t width;                    /* in a repetition over the widths: the width; else 0 */
    const char *prefix;              /* "" or the enclosing repetition's "name.N." */
    struct compound *compounds;
    size_t compound_count, compound_capacity;
    struct name_index compound_names;
    struct built_layer *counted; /* convolutions and linear layers outside blocks */
    size_t counted_count, counted_capacity;
    bool used_technique, used_width_rate,
        used_block_rate; /* these parts of the variation changed a layer */
    bool used_widths, used_activation;
    struct error *error;
};

/* Sets the error to the line of `value` and `why`, an English text that is translated; returns
 * false. */
bool builder_fail(const struct builder *builder, const struct json *value, const char *why);

/* Puts the line of `layer` in front of the error that graph_add left; returns false. */
bool builder_fail_node(const struct builder *builder, const struct json *layer);

/* Frees what the builder allocated; not the network. */
void builder_free(struct builder *builder);

/* network_head.c: checks the file's keys and reads all of them but the layers and the loss into
 * builder->network. The request's values replace those of the file. Returns false with an error. */
bool builder_read_head(struct builder *builder, const struct network_request *request);

/* network_head.c: returns the number of classes that the request asks for, once the head is read;
 * 0: those of the file. */
size_t builder_classes(const struct network *network, const struct network_request *request);

/* network_layers.c: appends the nodes of a list of layers to builder->graph. Returns false with an
 * error. */
bool builder_add_layers(struct builder *builder, const struct json *layers);

/* network_head.c: sets the network's number of classes from the finished graph. Returns false
 * with an error if its losses over classes read different numbers. */
bool builder_count_classes(struct builder *builder);

/* Returns the text of the file with `classes` outputs in the output layers of the built graph,
 * which the caller frees; NULL with an error. Changes the document's tree. */
char *builder_remake_outputs(struct builder *builder, size_t classes);

/* A network is named by a path, or by a name with suffixes. */

/* Completes the request by the suffixes of its name. Sets *builtin to the named network, or to NULL
 * if the request has a path or a text. Returns false with an error if there is no such network, if
 * a suffix contradicts the request, or if a value is out of range. */
bool network_name_complete(struct network_request *request, const struct network_builtin **builtin,
                           struct error *error);

/* Returns the entry of network_activations with this name, or NULL if there is none. */
const char *activation_find(const char *name);

enum { ACTIVATION_LIST_SIZE = 128 };

/* Writes the names of network_activations with commas between them. Returns `text`. */
char *activation_list(char *text, size_t size);

#endif
