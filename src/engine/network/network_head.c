/* The head of a network file: its name, input, classes and normalisation, and the choices that it
 * leaves to the request: the size of the input, the groups of shuffle, "widths" and "activation".
 */
#include "engine/network/internal.h"

#include "base/character.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "engine/ops/class_outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 65536 };

static bool read_input_shape(struct builder *builder, const struct json *root,
                             const struct network_request *request)
{
    const struct json *input = json_member(root, "input");
    struct shape *shape = &builder->network->input;
    size_t *sides[] = {&shape->channels, &shape->height, &shape->width};
    const struct json *side = json_first(input);
    for (size_t i = 0; i < 3; i++, side = side ? json_next(side) : NULL)
        if (!json_count(side, sides[i]) || *sides[i] < 1 || *sides[i] > MAX_SIDE)
            return builder_fail(
                builder, input ? input : root,
                "\"input\": [channels, height, width] was expected, each 1 to 65536");
    if (request->input_height)
        shape->height = request->input_height;
    if (request->input_width)
        shape->width = request->input_width;
    return true;
}

static void copy_member(const struct json *root, const char *key, const char *fallback, char *out,
                        size_t size)
{
    const char *text = json_string(json_member(root, key));
    snprintf(out, size, "%s", text ? text : fallback);
    character_replace_hidden(out);
}

static bool check_keys(const struct builder *builder, const struct json *root)
{
    static const char *const known[] = {
        "name",       "title",       "input",           "classes",        "normalise",
        "loss",       "layers",      "discriminator",   "shuffle_groups", "widths",
        "activation", "compression", "input_quantized", "crc32"}; /* in a run's network.json */
    for (const struct json *value = json_first_member(root); value; value = json_next(value)) {
        bool found = false;
        char why[256];
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |= strcmp(json_key(value), known[i]) == 0;
        snprintf(why, sizeof why, _("\"%.60s\": no such key"), json_key(value));
        if (!found)
            return builder_fail(builder, value, why);
    }
    return true;
}

/* Sets the groups of shuffle: those of the request, else of the file, else NETWORK_GROUPS. */
static bool read_groups(struct builder *builder, const struct json *root)
{
    struct network *network = builder->network;
    struct variation *variation = &builder->variation;
    const struct json *given = json_member(root, "shuffle_groups");
    network->usual_groups = NETWORK_GROUPS;
    if (given && (!json_count(given, &network->usual_groups) || network->usual_groups < 1 ||
                  network->usual_groups > NETWORK_MAX_GROUPS))
        return builder_fail(builder, given,
                            "\"shuffle_groups\": a number of 1 to 4096 was expected");
    if (variation->groups == 0)
        variation->groups = network->usual_groups;
    bool shuffled = variation->technique == TECHNIQUE_SHUFFLE;
    variation->width_multiple = shuffled ? variation->groups : 1;
    network->groups = shuffled ? variation->groups : 0;
    return true;
}

static bool has_no_choice(const struct builder *builder, const char *option, const char *what)
{
    char text[160];
    snprintf(text, sizeof text, _("leave out --%s: the network mlp has %s"), option, what);
    return error_set(builder->error, ERROR_USAGE, builder->network->name, text,
                     "this network has no %s that can be chosen", what);
}

static bool read_file_widths(const struct builder *builder, const struct json *list,
                             struct network_widths *widths)
{
    static const char expected[] =
        N_("\"widths\": a list of 1 to 16 numbers of 1 to 65536 was expected");
    *widths = (struct network_widths){0};
    if (!json_is_array(list) || json_length(list) < 1 || json_length(list) > NETWORK_MAX_WIDTHS)
        return builder_fail(builder, list, expected);
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        size_t width;
        if (!json_count(item, &width) || width < 1 || width > NETWORK_MAX_WIDTH)
            return builder_fail(builder, item, expected);
        widths->each[widths->count++] = width;
    }
    return true;
}

static bool read_widths(struct builder *builder, const struct json *root,
                        const struct network_widths *asked)
{
    struct network *network = builder->network;
    const struct json *list = json_member(root, "widths");
    struct network_widths of_file;
    if (!list)
        return asked->count == 0 || has_no_choice(builder, "widths", _("widths"));
    if (!read_file_widths(builder, list, &of_file))
        return false;
    network->widths = asked->count ? *asked : of_file;
    network->widths_chosen = memcmp(&network->widths, &of_file, sizeof of_file) != 0;
    return true;
}

static bool read_activation(struct builder *builder, const struct json *root, const char *asked)
{
    struct network *network = builder->network;
    const struct json *named = json_member(root, "activation");
    const char *given = json_string(named);
    if (!named)
        return !asked || !*asked || has_no_choice(builder, "activation", _("activation"));
    if (!given || !activation_find(given)) {
        char names[ACTIVATION_LIST_SIZE], why[ACTIVATION_LIST_SIZE + 64];
        snprintf(why, sizeof why, _("\"activation\": one of %s was expected"),
                 activation_list(names, sizeof names));
        return builder_fail(builder, named, why);
    }
    snprintf(network->activation, sizeof network->activation, "%s",
             asked && *asked ? asked : given);
    network->activation_chosen = strcmp(network->activation, given) != 0;
    return true;
}

/* Reads the chain of techniques that were applied after training. */
static bool read_compression(struct builder *builder, const struct json *root)
{
    struct network *network = builder->network;
    const struct json *given = json_member(root, "compression");
    const char *chain = json_string(given);
    if (given && (!chain || !compression_is_valid(chain)))
        return builder_fail(builder, given,
                            "\"compression\": techniques such as \"prune:0.5+quantize\" were "
                            "expected, of letters, digits and - _ . : joined by +");
    snprintf(network->compression, sizeof network->compression, "%s", chain ? chain : "");
    return true;
}

size_t builder_classes(const struct network *network, const struct network_request *request)
{
    return request->keep_compressed && network->compression[0] ? request->kept_classes
                                                               : request->classes;
}

bool builder_read_head(struct builder *builder, const struct network_request *request)
{
    struct network *network = builder->network;
    const struct json *root = builder->document->root;
    if (!json_is_object(root))
        return builder_fail(builder, root, "a network is an object { }");
    if (!check_keys(builder, root) || !read_input_shape(builder, root, request))
        return false;
    const struct json *given = json_member(root, "classes");
    if (given && (!json_count(given, &network->classes) || network->classes < 1 ||
                  network->classes > 1000000))
        return builder_fail(builder, given, "\"classes\": a number of 1 to 1000000 was expected");
    if (!read_groups(builder, root))
        return false;
    copy_member(root, "name", "network", network->name, sizeof network->name);
    copy_member(root, "title", network->name, network->title, sizeof network->title);
    if (!read_widths(builder, root, &request->widths) ||
        !read_activation(builder, root, request->activation))
        return false;
    if (!read_compression(builder, root))
        return false;
    const size_t classes = builder_classes(network, request);
    if (classes && network->classes)
        network->classes = classes;
    copy_member(root, "normalise", "measured", network->normalisation,
                sizeof network->normalisation);
    if (!json_is_array(json_member(root, "layers")))
        return builder_fail(builder, root, "\"layers\": a list was expected");
    return true;
}

/* The number of classes of a network: counted in the finished graph, and changed in the file. */

bool builder_count_classes(struct builder *builder)
{
    const struct graph *graph = builder->graph;
    size_t other;
    builder->network->classes = graph_classes(graph);
    return graph_classes_agree(graph, &other) ||
           error_set(builder->error, ERROR_INPUT, builder->document->name,
                     "give all layers that losses over classes read as many outputs",
                     "its main loss reads %zu classes, but an auxiliary one %zu",
                     builder->network->classes, other);
}

static bool refuse(const struct builder *builder, size_t classes, const char *why)
{
    const struct network *network = builder->network;
    return error_set(builder->error, ERROR_UNSUPPORTED, builder->document->name,
                     "write \"output\": \"classes\" in the layers that compute its outputs",
                     "its %zu outputs cannot be made %zu: %s", network->classes, classes,
                     language_text(why));
}

/* Returns the layer of the file that became the node and no other one; NULL: there is none. */
static struct json *layer_of(const struct builder *builder, size_t node)
{
    const struct json *layer = NULL;
    for (size_t i = 0; i < builder->counted_count; i++)
        if (builder->counted[i].node == node)
            layer = builder->counted[i].layer;
    for (size_t i = 0; i < builder->counted_count; i++)
        if (builder->counted[i].layer == layer && builder->counted[i].node != node)
            return NULL;
    return (struct json *)layer; /* a part of the document, which the caller lets change */
}

static bool open_layers(struct builder *builder, const bool *outputs, size_t classes)
{
    for (size_t i = 0; i < builder->graph->node_count; i++) {
        if (!outputs[i] || !graph_counts_outputs(&builder->graph->nodes[i]))
            continue;
        struct json *layer = layer_of(builder, i);
        if (!layer)
            return refuse(builder, classes, N_("a block or a repetition computes them"));
        if (!network_open_outputs(layer))
            return error_set_memory(builder->error, "the network file", 0);
    }
    return true;
}

char *builder_remake_outputs(struct builder *builder, size_t classes)
{
    struct json *root = (struct json *)builder->document->root;
    bool *outputs =
        memory_new(builder->graph->node_count, sizeof *outputs, "the network file", builder->error);
    char *text = NULL;
    if (outputs && !graph_mark_outputs(builder->graph, outputs))
        refuse(builder, classes, N_("no single layer computes them"));
    else if (outputs && open_layers(builder, outputs, classes)) {
        json_remove(root, "classes");
        json_remove(root, "crc32");
        if (json_add_count(root, "classes", classes))
            text = json_print(root, true, builder->error);
        else
            error_set_memory(builder->error, "the network file", 0);
    }
    free(outputs);
    return text;
}
