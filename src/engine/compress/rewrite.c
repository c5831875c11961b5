/* The new tree gets the head of the old one as it is, and its list of layers anew: each old layer
 * is copied with the inputs that "from" names translated, or replaced. The layers of a written
 * network are one node each and name all of their inputs, so a table of new names by node is
 * enough. */
#include "engine/compress/rewrite.h"

#include "base/memory.h"
#include "engine/network/network_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rewriting {
    const struct graph *graph;
    rewrite_layer *rewrite;
    void *context;
    char (*names)[NODE_NAME_SIZE]; /* by node: the layer that others read instead; "": itself */
    struct error *error;
};

static const char *new_name(const struct rewriting *rewriting, const char *name)
{
    size_t node;
    const bool renamed =
        name && graph_find(rewriting->graph, name, &node) && rewriting->names[node][0];
    return renamed ? rewriting->names[node] : name;
}

/* Adds the layer's "from" with the new names. */
static bool add_from(const struct rewriting *rewriting, const struct json *from, struct json *layer)
{
    if (!json_is_array(from))
        return json_add_string(layer, "from", new_name(rewriting, json_string(from)));
    struct json *list = json_add_array(layer, "from");
    for (const struct json *name = json_first(from); name; name = json_next(name))
        if (!json_add_string(list, NULL, new_name(rewriting, json_string(name))))
            return false;
    return list;
}

static bool copy_layer(const struct rewriting *rewriting, const struct json *layer,
                       struct json *layers)
{
    struct json *copy = json_add_object(layers, NULL);
    for (const struct json *value = json_first_member(layer); value; value = json_next(value)) {
        const char *key = json_key(value);
        struct json *tree = NULL;
        if (strcmp(key, "from") == 0
                ? !add_from(rewriting, value, copy)
                : !(tree = json_copy(value)) || !json_add_tree(copy, key, tree))
            return false;
    }
    return copy;
}

static bool out_of_memory(const struct rewriting *rewriting)
{
    return error_set_memory(rewriting->error, "the new network", 0);
}

/* Appends the layer, or what replaces it, to `layers`. */
static bool rewrite_one(const struct rewriting *rewriting, const struct json *layer,
                        struct json *layers)
{
    size_t node;
    struct json *holder = json_new_object();
    struct rewritten_layer made = {.layers = layers};
    const char *name = json_string(json_member(layer, "name"));
    if (!holder || !name || !graph_find(rewriting->graph, name, &node) ||
        !add_from(rewriting, json_member(layer, "from"), holder)) {
        json_free(holder);
        return out_of_memory(rewriting);
    }
    made.from = json_member(holder, "from");
    const enum rewrite decision =
        rewriting->rewrite(rewriting->context, node, &made, rewriting->error);
    json_free(holder);
    if (decision == REWRITE_FAIL)
        return false;
    if (decision == REWRITE_REPLACE) {
        snprintf(rewriting->names[node], NODE_NAME_SIZE, "%s", made.output);
        return true;
    }
    return copy_layer(rewriting, layer, layers) || out_of_memory(rewriting);
}

static bool rewrite_layers(const struct rewriting *rewriting, const struct json *old,
                           struct json *root)
{
    struct json *layers = json_add_array(root, "layers");
    if (!layers)
        return out_of_memory(rewriting);
    for (const struct json *layer = json_first(old); layer; layer = json_next(layer))
        if (!rewrite_one(rewriting, layer, layers))
            return false;
    return true;
}

/* Returns the tree that the old one becomes; NULL with an error. */
static struct json *rewrite_tree(const struct rewriting *rewriting, const struct json *old)
{
    struct json *root = json_new_object();
    bool good = root || out_of_memory(rewriting);
    for (const struct json *value = json_first_member(old); good && value;
         value = json_next(value)) {
        const char *key = json_key(value);
        struct json *tree;
        if (strcmp(key, "layers") == 0)
            good = rewrite_layers(rewriting, value, root);
        else
            good = ((tree = json_copy(value)) && json_add_tree(root, key, tree)) ||
                   out_of_memory(rewriting);
    }
    if (good)
        return root;
    json_free(root);
    return NULL;
}

struct json *rewrite_network(const struct network *network, rewrite_layer *rewrite, void *context,
                             struct error *error)
{
    struct rewriting rewriting = {
        .graph = &network->graph, .rewrite = rewrite, .context = context, .error = error};
    struct json *old = network_to_json(network), *made = NULL;
    rewriting.names =
        memory_new(network->graph.node_count, sizeof *rewriting.names, "the new network", error);
    if (!old)
        out_of_memory(&rewriting);
    else if (rewriting.names)
        made = rewrite_tree(&rewriting, old);
    free(rewriting.names);
    json_free(old);
    return made;
}
