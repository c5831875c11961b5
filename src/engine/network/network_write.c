/* A layer of the file is a node of the graph, in the graph's order. The main loss is not among
 * them, nor is the input of its targets: the file names the loss, and the builder adds both at the
 * end. Each operator's function writes what that operator's `read` (ops/op.h) reads. */
#include "engine/network/network_write.h"

#include "engine/ops/op.h"

#include <stdio.h>

/* --- attributes --- */

static bool add_pair(struct json *layer, const char *key, size_t height, size_t width)
{
    if (height == width)
        return json_add_count(layer, key, height);
    struct json *pair = json_add_array(layer, key);
    return json_add_count(pair, NULL, height) && json_add_count(pair, NULL, width);
}

static bool add_window(struct json *layer, const struct window *window)
{
    return add_pair(layer, "kernel", window->kernel_height, window->kernel_width) &&
           add_pair(layer, "stride", window->stride_height, window->stride_width) &&
           add_pair(layer, "pad", window->pad_height, window->pad_width);
}

static bool add_initialiser(struct json *layer, const char *key, const struct initialiser *init)
{
    switch (init->kind) {
    case INITIALISE_XAVIER:
        return json_add_string(layer, key, "xavier");
    case INITIALISE_HE:
        return json_add_string(layer, key, "he");
    case INITIALISE_GAUSSIAN:
        return json_add_float(json_add_object(layer, key), "gaussian", init->value);
    case INITIALISE_CONSTANT:
        break;
    }
    return json_add_float(json_add_object(layer, key), "constant", init->value);
}

static bool add_weights(struct json *layer, bool bias, const struct initialiser *weight_init,
                        const struct initialiser *bias_init)
{
    return json_add_bool(layer, "bias", bias) && add_initialiser(layer, "init", weight_init) &&
           (!bias || add_initialiser(layer, "bias_init", bias_init));
}

static bool write_conv(const union attributes *attributes, struct json *layer)
{
    const struct conv_attributes *conv = &attributes->conv;
    return json_add_count(layer, "output", conv->outputs) && add_window(layer, &conv->window) &&
           json_add_count(layer, "groups", conv->groups) &&
           add_weights(layer, conv->bias, &conv->weight_init, &conv->bias_init);
}

static bool write_linear(const union attributes *attributes, struct json *layer)
{
    const struct linear_attributes *linear = &attributes->linear;
    return json_add_count(layer, "output", linear->outputs) &&
           add_weights(layer, linear->bias, &linear->weight_init, &linear->bias_init);
}

static bool write_pool(const union attributes *attributes, struct json *layer)
{
    const struct pool_attributes *pool = &attributes->pool;
    if (pool->global)
        return json_add_bool(layer, "global", true);
    return add_window(layer, &pool->window) && json_add_bool(layer, "ceil", pool->ceil_mode);
}

static bool write_leaky_relu(const union attributes *attributes, struct json *layer)
{
    return json_add_float(layer, "slope", attributes->leaky_relu.slope);
}

static bool write_batch_norm(const union attributes *attributes, struct json *layer)
{
    const struct batch_norm_attributes *norm = &attributes->batch_norm;
    return json_add_float(layer, "epsilon", norm->epsilon) &&
           json_add_float(layer, "momentum", norm->momentum) &&
           json_add_bool(layer, "instance", norm->instance);
}

static bool write_lrn(const union attributes *attributes, struct json *layer)
{
    const struct lrn_attributes *lrn = &attributes->lrn;
    return json_add_count(layer, "size", lrn->size) && json_add_float(layer, "alpha", lrn->alpha) &&
           json_add_float(layer, "beta", lrn->beta) && json_add_float(layer, "k", lrn->k);
}

static bool write_dropout(const union attributes *attributes, struct json *layer)
{
    return json_add_float(layer, "rate", attributes->dropout.rate) &&
           json_add_bool(layer, "always", attributes->dropout.always);
}

static bool write_shuffle(const union attributes *attributes, struct json *layer)
{
    return json_add_count(layer, "groups", attributes->shuffle.groups);
}

static bool write_loss(const union attributes *attributes, struct json *layer)
{
    const struct loss_attributes *loss = &attributes->loss;
    return json_add_float(layer, "weight", loss->weight) &&
           (!loss->has_target || json_add_float(layer, "target", loss->target));
}

/* An operator that is not listed has no attributes. */
static const struct writer {
    const struct op *op;
    bool (*write)(const union attributes *attributes, struct json *layer);
} writers[] = {{&op_conv, write_conv},
               {&op_conv_transpose, write_conv},
               {&op_linear, write_linear},
               {&op_max_pool, write_pool},
               {&op_average_pool, write_pool},
               {&op_leaky_relu, write_leaky_relu},
               {&op_batch_norm, write_batch_norm},
               {&op_lrn, write_lrn},
               {&op_dropout, write_dropout},
               {&op_channel_shuffle, write_shuffle},
               {&op_softmax_cross_entropy, write_loss},
               {&op_binary_cross_entropy, write_loss},
               {&op_l1_loss, write_loss},
               {&op_l2_loss, write_loss}};

static bool add_attributes(struct json *layer, const struct node *node)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (writers[i].op == node->op)
            return writers[i].write(&node->attributes, layer);
    return true;
}

/* --- layers --- */

static bool add_inputs(struct json *layer, const struct graph *graph, const struct node *node)
{
    if (node->input_count == 1)
        return json_add_string(layer, "from", graph->nodes[node->inputs[0]].name);
    struct json *from = json_add_array(layer, "from");
    for (size_t i = 0; i < node->input_count; i++)
        if (!json_add_string(from, NULL, graph->nodes[node->inputs[i]].name))
            return false;
    return from;
}

static bool add_layers(struct json *parent, const struct graph *graph)
{
    struct json *layers = json_add_array(parent, "layers");
    for (size_t i = 1; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        if (i == graph->losses[0] || node->op == &op_input)
            continue;
        struct json *layer = json_add_object(layers, NULL);
        if (!json_add_string(layer, "op", node->op->name) ||
            !json_add_string(layer, "name", node->name) || !add_inputs(layer, graph, node) ||
            !add_attributes(layer, node))
            return false;
    }
    return layers;
}

/* --- the whole --- */

static bool add_head(struct json *root, const struct network *network)
{
    char name[sizeof network->name + 64];
    network_full_name(network, name, sizeof name);
    struct json *input = NULL;
    return json_add_string(root, "name", name) && json_add_string(root, "title", network->title) &&
           (input = json_add_array(root, "input")) &&
           json_add_count(input, NULL, network->input.channels) &&
           json_add_count(input, NULL, network->input.height) &&
           json_add_count(input, NULL, network->input.width) &&
           (!network->classes || json_add_count(root, "classes", network->classes)) &&
           json_add_string(root, "normalise", network->normalisation) &&
           json_add_string(root, "loss", network->graph.nodes[network->graph.losses[0]].op->name);
}

struct json *network_to_json(const struct network *network)
{
    struct json *root = json_new_object();
    if (root && add_head(root, network) && add_layers(root, &network->graph) &&
        (!network_has_discriminator(network) ||
         add_layers(json_add_object(root, "discriminator"), &network->discriminator)))
        return root;
    json_free(root);
    return NULL;
}
