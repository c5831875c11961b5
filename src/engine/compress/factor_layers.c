/* A spatial factorization divides the window by axis: the first convolution has the height of the
 * kernel with its stride, padding and dilation, the second the width with its own. The first has no
 * bias, so the zeros that the second pads with are what the first would compute outside of the
 * image. A tucker factorization leaves the whole window to the middle convolution.
 *
 * The operators themselves count the parameters and FLOPs of layers, in a graph of these alone. */
#include "base/memory.h"
#include "engine/compress/factorize.h"
#include "engine/network/network_write.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct window no_window = {
    .kernel_height = 1, .kernel_width = 1, .stride_height = 1, .stride_width = 1};

bool factor_layers_fit(const struct node *node)
{
    return node->op == &op_linear || node->op == &op_conv;
}

struct factor_kernel factor_layers_kernel(const struct graph *graph, const struct node *node,
                                          const float *values)
{
    const struct parameter *weight = &graph->parameters[node->parameters[0]];
    const struct conv_attributes *conv = &node->attributes.conv;
    struct factor_kernel kernel = {.weight = values ? values + weight->offset : NULL,
                                   .groups = 1,
                                   .outputs = weight->dims[0],
                                   .inputs = weight->dims[1],
                                   .height = 1,
                                   .width = 1};
    if (node->op == &op_conv) {
        kernel.groups = conv->groups;
        kernel.outputs /= conv->groups;
        kernel.height = conv->window.kernel_height;
        kernel.width = conv->window.kernel_width;
    }
    return kernel;
}

/* --- the layers of each method --- */

/* Returns a 1 x 1 convolution with the old layer's groups. */
static struct factor_layer pointwise(const struct node *node, size_t group_outputs, size_t part)
{
    struct factor_layer layer = {.op = &op_conv, .attributes = node->attributes, .part = part};
    struct conv_attributes *conv = &layer.attributes.conv;
    conv->window = no_window;
    conv->dilation_height = conv->dilation_width = 1;
    conv->outputs = conv->groups * group_outputs;
    conv->bias = false;
    return layer;
}

static size_t make_linear(const struct node *node, size_t rank, struct factor_layer *layers)
{
    for (size_t i = 0; i < 2; i++)
        layers[i] =
            (struct factor_layer){.op = &op_linear, .attributes = node->attributes, .part = i};
    layers[0].attributes.linear.outputs = rank;
    layers[0].attributes.linear.bias = false;
    return 2;
}

/* Makes a kh x 1 and a 1 x kw convolution. If kw is 1 the first does all that the window does, so
 * that the second has fewer positions to compute. */
static size_t make_spatial(const struct node *node, const struct factor *factor, size_t rank,
                           struct factor_layer *layers)
{
    const struct conv_attributes *old = &node->attributes.conv;
    layers[0] = pointwise(node, rank, 0);
    layers[1] = pointwise(node, factor->kernel.outputs, 1);
    struct conv_attributes *first = &layers[0].attributes.conv;
    struct conv_attributes *second = &layers[1].attributes.conv;
    struct conv_attributes *across = old->window.kernel_width == 1 ? first : second;
    first->window.kernel_height = old->window.kernel_height;
    first->window.stride_height = old->window.stride_height;
    first->window.pad_height = old->window.pad_height;
    first->dilation_height = old->dilation_height;
    across->window.kernel_width = old->window.kernel_width;
    across->window.stride_width = old->window.stride_width;
    across->window.pad_width = old->window.pad_width;
    across->dilation_width = old->dilation_width;
    second->bias = old->bias;
    return 2;
}

static size_t make_tucker(const struct node *node, const struct factor *factor, const size_t *ranks,
                          struct factor_layer *layers)
{
    size_t count = 0;
    if (ranks[1] < factor->kernel.inputs)
        layers[count++] = pointwise(node, ranks[1], 0);
    struct factor_layer *core = &layers[count++];
    *core = (struct factor_layer){.op = &op_conv, .attributes = node->attributes, .part = 1};
    core->attributes.conv.outputs = core->attributes.conv.groups * ranks[0];
    if (ranks[0] < factor->kernel.outputs) {
        core->attributes.conv.bias = false;
        layers[count] = pointwise(node, factor->kernel.outputs, 2);
        layers[count++].attributes.conv.bias = node->attributes.conv.bias;
    }
    return count;
}

size_t factor_layers_make(const struct node *node, const struct factor *factor, const size_t *ranks,
                          struct factor_layer layers[FACTOR_PARTS])
{
    if (node->op == &op_linear)
        return make_linear(node, ranks[0], layers);
    return factor->method == FACTOR_TUCKER ? make_tucker(node, factor, ranks, layers)
                                           : make_spatial(node, factor, ranks[0], layers);
}

/* --- cost --- */

bool factor_layers_cost(const struct graph *graph, const struct node *node,
                        const struct factor_layer *layers, size_t count, struct layer_cost *cost,
                        struct error *error)
{
    struct graph alone;
    char name[FACTOR_LAYER_NAME_SIZE];
    size_t last = 0;
    *cost = (struct layer_cost){0};
    if (!graph_create(&alone, graph->nodes[node->inputs[0]].output, error))
        return false;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = graph_add(&alone, layers[i].op, factor_layers_name(node, i, name), &last, 1,
                         &layers[i].attributes, &last, error);
        if (good) {
            cost->parameters += graph_node_parameter_count(&alone, last);
            cost->flops += graph_node_flops(&alone, last);
        }
    }
    graph_free(&alone);
    return good;
}

/* --- the new network --- */

char *factor_layers_name(const struct node *node, size_t i, char name[FACTOR_LAYER_NAME_SIZE])
{
    snprintf(name, FACTOR_LAYER_NAME_SIZE, "%s.%zu", node->name, i);
    return name;
}

bool factor_layers_write(const struct node *node, const struct factor_layer *layers, size_t count,
                         struct rewritten_layer *rewritten)
{
    char name[FACTOR_LAYER_NAME_SIZE], before[FACTOR_LAYER_NAME_SIZE];
    for (size_t i = 0; i < count; i++) {
        struct json *layer = json_add_object(rewritten->layers, NULL);
        struct json *from = i == 0 ? json_copy(rewritten->from) : NULL;
        if (!json_add_string(layer, "op", layers[i].op->name) ||
            !json_add_string(layer, "name", factor_layers_name(node, i, name)) ||
            !(i == 0 ? json_add_tree(layer, "from", from)
                     : json_add_string(layer, "from", before)) ||
            !layers[i].op->write(&layers[i].attributes, layer))
            return false;
        snprintf(before, sizeof before, "%s", name);
    }
    snprintf(rewritten->output, sizeof rewritten->output, "%.*s", NODE_NAME_SIZE - 1, name);
    return true;
}

/* The new tree gets the head of the old one as it is, and its list of layers anew: each old layer
 * is copied with the inputs that "from" names translated, or replaced. The layers of a written
 * network are one node each and name all of their inputs, so a table of new names by node is
 * enough. */

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
