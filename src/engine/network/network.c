/* A network file is read in one pass: each layer becomes one node or, through a block, several; a
 * layer reads the one before it unless it says "from". "repeat" builds a layer, or a group of
 * "layers", several times, the names numbered from 1. Files with "widths" and "activation" leave
 * these to the request: "repeat": "widths" builds once for each width, and the operator
 * "activation" is the one that was chosen. */
#include "engine/network/network.h"

#include "base/character.h"
#include "base/files/file.h"
#include "base/json/json_checksum.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/blocks/block.h"
#include "engine/graph/layer_reader.h"
#include "engine/network/network_name.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 4 << 20, MAX_SIDE = 65536, MAX_REPEAT = 1000, MAX_NODES = 20000 };

static const struct block *const block_table[] = {&block_fire, &block_inception, &block_residual,
                                                  &block_unet, NULL};

/* A layer that became several nodes: the last of them is what "from" means by its name. */
struct compound {
    char name[NODE_NAME_SIZE];
    size_t node;
};

struct builder {
    const struct json_document *document;
    struct network *network;
    struct graph *graph; /* the network's, or its discriminator's */
    struct variation variation;
    const struct json *last_weights; /* the last layer with weights, which no variation changes */
    size_t last;                     /* the node that the next layer reads */
    size_t unnamed;                  /* layers that got a number for a name */
    size_t width;                    /* of the repetition over the widths; 0: outside of it */
    const char *prefix;              /* "" or the enclosing repetition's "name.N." */
    struct compound *compounds;
    size_t compound_count, compound_capacity;
    struct name_index compound_names;
    bool used_technique, used_width_rate, used_block_rate; /* they changed some layer */
    bool used_widths, used_activation;
    struct error *error;
};

/* --- layers --- */

static bool fail_at(const struct builder *builder, const struct json *value, const char *why)
{
    return error_set(builder->error, ERROR_INPUT, builder->document->name,
                     "see the manual page tinca-network(5)", "line %zu: %s",
                     json_line(builder->document, value), language_text(why));
}

/* Says where in the file a node was refused. */
static bool wrap_error(const struct builder *builder, const struct json *layer)
{
    struct error inner = builder->error ? *builder->error : (struct error){0};
    return error_set(builder->error, inner.kind, builder->document->name, inner.advice,
                     "line %zu: %s: %s", json_line(builder->document, layer), inner.what,
                     inner.why);
}

static const char *compound_name(const void *compounds, size_t number)
{
    return ((const struct compound *)compounds)[number].name;
}

static bool find_node(const struct builder *builder, const char *name, size_t *found)
{
    size_t compound;
    if (!name_index_find(&builder->compound_names, builder->compounds, compound_name, name,
                         &compound))
        return graph_find(builder->graph, name, found);
    *found = builder->compounds[compound].node;
    return true;
}

static bool resolve(const struct builder *builder, const struct json *name, size_t *node)
{
    char why[256];
    const char *text = json_string(name);
    char full[2 * NODE_NAME_SIZE];
    if (!text)
        return fail_at(builder, name, "\"from\" names layers: a text or a list of texts");
    snprintf(full, sizeof full, "%s%s", builder->prefix, text);
    if (find_node(builder, full, node) || find_node(builder, text, node))
        return true;
    snprintf(why, sizeof why, _("\"from\": there is no layer \"%.60s\" before this one"), text);
    return fail_at(builder, name, why);
}

static bool read_inputs(struct builder *builder, struct layer_reader *reader, size_t *inputs,
                        size_t *count)
{
    inputs[0] = builder->last;
    *count = 1;
    if (!layer_has(reader, "from"))
        return true;
    const struct json *from = json_member(reader->layer, "from");
    if (!json_is_array(from))
        return resolve(builder, from, &inputs[0]);
    *count = 0;
    for (const struct json *name = json_first(from); name; name = json_next(name)) {
        if (*count == NODE_MAX_INPUTS)
            return fail_at(builder, name, "\"from\": too many layers");
        if (!resolve(builder, name, &inputs[(*count)++]))
            return false;
    }
    return *count > 0 || fail_at(builder, from, "\"from\": an empty list");
}

static void name_layer(struct builder *builder, struct layer_reader *reader, const char *kind,
                       size_t number, char *name, size_t size)
{
    const char *given = layer_text(reader, "name", NULL);
    if (given && number)
        snprintf(name, size, "%s%s.%zu", builder->prefix, given, number);
    else if (given)
        snprintf(name, size, "%s%s", builder->prefix, given);
    else
        snprintf(name, size, "%s%s%zu", builder->prefix, kind, ++builder->unnamed);
}

/* Linear layers follow the width rate; they know no techniques. */
static bool vary_linear(struct builder *builder, struct layer_reader *reader,
                        struct linear_attributes *linear)
{
    double rate = builder->variation.width_rate;
    bool kept = layer_flag(reader, "keep", false) || reader->layer == builder->last_weights ||
                layer_value_is_classes(reader, "output");
    if (kept || rate <= 0 || reader->failed)
        return true;
    size_t width = (size_t)((double)linear->outputs / rate);
    if (width == 0)
        layer_fail(reader, "output", "of %zu leaves nothing at this width rate", linear->outputs);
    linear->outputs = width;
    builder->used_width_rate = true;
    return width > 0;
}

static bool build_op(struct builder *builder, struct layer_reader *reader, const struct op *op,
                     const char *name, const size_t *inputs, size_t count)
{
    union attributes attributes = {0};
    size_t added = 0;
    if (op->read)
        op->read(reader, &attributes);
    if (op == &op_linear && !vary_linear(builder, reader, &attributes.linear))
        return false;
    if (!layer_reader_finish(reader))
        return false;
    if (!graph_add(builder->graph, op, name, inputs, count, &attributes, &added, builder->error))
        return wrap_error(builder, reader->layer);
    if (!(op->traits & OP_LOSS))
        builder->last = added;
    return true;
}

static bool note_compound(struct builder *builder, const char *name, size_t node)
{
    if (!memory_grow(&builder->compounds, &builder->compound_capacity, builder->compound_count + 1,
                     sizeof *builder->compounds, "the network", builder->error) ||
        !name_index_add(&builder->compound_names, name, builder->compound_count, builder->error))
        return false;
    struct compound *compound = &builder->compounds[builder->compound_count++];
    snprintf(compound->name, sizeof compound->name, "%s", name);
    compound->node = node;
    return true;
}

/* `block` is NULL for a convolution outside of blocks. */
static bool build_block(struct builder *builder, struct layer_reader *reader,
                        const struct block *block, const char *name, size_t input)
{
    struct block_site site = {.graph = builder->graph,
                              .variation = &builder->variation,
                              .name = name,
                              .input = input,
                              .error = builder->error};
    bool last = reader->layer == builder->last_weights;
    size_t output =
        block ? block->build(&site, reader) : block_build_plain_conv(&site, reader, last);
    if (!layer_reader_finish(reader))
        return false;
    if (site.failed)
        return wrap_error(builder, reader->layer);
    builder->last = output;
    builder->used_technique |= site.used_technique;
    builder->used_width_rate |= site.used_width_rate;
    builder->used_block_rate |= site.used_block_rate;
    return strcmp(builder->graph->nodes[output].name, name) == 0 ||
           note_compound(builder, name, output);
}

static void free_compounds(struct builder *builder)
{
    free(builder->compounds);
    name_index_free(&builder->compound_names);
}

static const struct block *find_block(const char *name)
{
    for (size_t i = 0; block_table[i]; i++)
        if (strcmp(block_table[i]->name, name) == 0)
            return block_table[i];
    return NULL;
}

/* An operator by its name, or the activation that was chosen. */
static const struct op *find_op(struct builder *builder, const char *name)
{
    if (strcmp(name, "activation") != 0)
        return op_find(name);
    builder->used_activation = true;
    return op_find(builder->network->activation);
}

/* One instance of a layer; `number` is its place in a repetition, 0 outside. */
static bool build_layer(struct builder *builder, const struct json *layer, size_t number)
{
    struct network *network = builder->network;
    struct layer_reader reader =
        layer_reader_at(builder->document, layer, network->classes, builder->error);
    reader.width = builder->width;
    const char *op_name = layer_text(&reader, "op", NULL);
    const char *block_name = layer_text(&reader, "block", NULL);
    const char *kind = op_name ? op_name : block_name;
    char name[3 * NODE_NAME_SIZE], why[256];
    size_t inputs[NODE_MAX_INPUTS], count;
    if (reader.failed)
        return false;
    if (!kind || (op_name && block_name))
        return fail_at(builder, layer, "a layer has either an \"op\" or a \"block\"");
    const struct op *op = op_name ? find_op(builder, op_name) : NULL;
    const struct block *block = block_name ? find_block(block_name) : NULL;
    if (!op && !block) {
        snprintf(why, sizeof why,
                 op_name ? _("there is no operator \"%.60s\"") : _("there is no block \"%.60s\""),
                 kind);
        return fail_at(builder, layer, why);
    }
    if (builder->graph->node_count > MAX_NODES)
        return fail_at(builder, layer, "the network has too many layers");
    layer_has(&reader, "repeat");
    name_layer(builder, &reader, kind, number, name, sizeof name);
    if (strlen(name) >= NODE_NAME_SIZE)
        return fail_at(builder, layer, "the layer's name is too long");
    if (find_node(builder, name, &(size_t){0})) {
        snprintf(why, sizeof why, _("there are two layers of the name \"%.60s\""), name);
        return fail_at(builder, layer, why);
    }
    if (!read_inputs(builder, &reader, inputs, &count))
        return false;
    if (op && op != &op_conv)
        return build_op(builder, &reader, op, name, inputs, count);
    if (count > 1)
        return fail_at(builder, layer, "\"from\": this layer reads one layer");
    return build_block(builder, &reader, block, name, inputs[0]);
}

static bool build_layers(struct builder *builder, const struct json *layers);

static bool build_group(struct builder *builder, const struct json *group, size_t number)
{
    const char *name = json_string(json_member(group, "name"));
    const char *outer = builder->prefix;
    char prefix[3 * NODE_NAME_SIZE];
    if (!name || strlen(name) >= NODE_NAME_SIZE)
        return fail_at(builder, group, "repeated \"layers\" need a short \"name\"");
    if (!json_first(json_member(group, "layers"))) /* nested, it would repeat nothing for ever */
        return fail_at(builder, group, "repeated \"layers\" need one layer at least");
    snprintf(prefix, sizeof prefix, "%.*s%s.%zu.", NODE_NAME_SIZE, outer, name, number);
    builder->prefix = prefix;
    bool built = build_layers(builder, json_member(group, "layers"));
    builder->prefix = outer;
    return built;
}

/* How often a layer or group is built: a number, or once for each width. */
static bool read_repeat(struct builder *builder, const struct json *repeat, size_t *times,
                        bool *over_widths)
{
    const char *word = json_string(repeat);
    *over_widths = word && strcmp(word, "widths") == 0;
    *times = *over_widths ? builder->network->widths.count : 1;
    if (*over_widths)
        return *times > 0 || fail_at(builder, repeat, "\"repeat\": the file has no \"widths\"");
    return !repeat || (json_count(repeat, times) && *times >= 1 && *times <= MAX_REPEAT) ||
           fail_at(builder, repeat,
                   "\"repeat\": a number of 1 to 1000, or \"widths\", was expected");
}

static bool build_repeated(struct builder *builder, const struct json *layer)
{
    const struct json *repeat = json_member(layer, "repeat");
    const bool group = json_member(layer, "layers");
    const size_t outer = builder->width;
    size_t times;
    bool over_widths, built = true;
    if (!read_repeat(builder, repeat, &times, &over_widths))
        return false;
    builder->used_widths |= over_widths;
    for (size_t i = 1; built && i <= times; i++) {
        if (over_widths)
            builder->width = builder->network->widths.each[i - 1];
        built =
            group ? build_group(builder, layer, i) : build_layer(builder, layer, repeat ? i : 0);
    }
    builder->width = outer;
    return built;
}

static bool build_layers(struct builder *builder, const struct json *layers)
{
    for (const struct json *layer = json_first(layers); layer; layer = json_next(layer)) {
        if (!json_is_object(layer))
            return fail_at(builder, layer, "a layer is an object { }");
        if (!build_repeated(builder, layer))
            return false;
    }
    return true;
}

/* --- the head of the file --- */

static bool read_input_shape(struct builder *builder, const struct json *root,
                             const struct network_request *request)
{
    const struct json *input = json_member(root, "input");
    struct shape *shape = &builder->network->input;
    size_t *sides[] = {&shape->channels, &shape->height, &shape->width};
    const struct json *side = json_first(input);
    for (size_t i = 0; i < 3; i++, side = side ? json_next(side) : NULL)
        if (!json_count(side, sides[i]) || *sides[i] < 1 || *sides[i] > MAX_SIDE)
            return fail_at(builder, input ? input : root,
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
    static const char *const known[] = {"name",           "title",
                                        "input",          "classes",
                                        "normalise",      "loss",
                                        "layers",         "discriminator",
                                        "shuffle_groups", "widths",
                                        "activation",     "crc32"}; /* of a run's network.json */
    for (const struct json *value = json_first(root); value; value = json_next(value)) {
        bool found = false;
        char why[256];
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |= strcmp(json_key(value), known[i]) == 0;
        snprintf(why, sizeof why, _("\"%.60s\": no such key"), json_key(value));
        if (!found)
            return fail_at(builder, value, why);
    }
    return true;
}

/* How many groups shuffle has where the request does not say. */
static bool read_groups(struct builder *builder, const struct json *root)
{
    struct network *network = builder->network;
    struct variation *variation = &builder->variation;
    const struct json *own = json_member(root, "shuffle_groups");
    network->usual_groups = NETWORK_GROUPS;
    if (own && (!json_count(own, &network->usual_groups) || network->usual_groups < 1 ||
                network->usual_groups > NETWORK_MAX_GROUPS))
        return fail_at(builder, own, "\"shuffle_groups\": a number of 1 to 4096 was expected");
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

static bool read_own_widths(const struct builder *builder, const struct json *list,
                            struct network_widths *own)
{
    static const char expected[] =
        N_("\"widths\": a list of 1 to 16 numbers of 1 to 65536 was expected");
    *own = (struct network_widths){0};
    if (!json_is_array(list) || json_length(list) < 1 || json_length(list) > NETWORK_MAX_WIDTHS)
        return fail_at(builder, list, expected);
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        size_t width;
        if (!json_count(item, &width) || width < 1 || width > NETWORK_MAX_WIDTH)
            return fail_at(builder, item, expected);
        own->each[own->count++] = width;
    }
    return true;
}

static bool read_widths(struct builder *builder, const struct json *root,
                        const struct network_widths *asked)
{
    struct network *network = builder->network;
    const struct json *list = json_member(root, "widths");
    struct network_widths own;
    if (!list)
        return asked->count == 0 || has_no_choice(builder, "widths", _("widths"));
    if (!read_own_widths(builder, list, &own))
        return false;
    network->widths = asked->count ? *asked : own;
    network->widths_chosen = memcmp(&network->widths, &own, sizeof own) != 0;
    return true;
}

static bool read_activation(struct builder *builder, const struct json *root, const char *asked)
{
    struct network *network = builder->network;
    const struct json *named = json_member(root, "activation");
    const char *own = json_string(named);
    if (!named)
        return !asked || !*asked || has_no_choice(builder, "activation", _("activation"));
    if (!own || !activation_find(own))
        return fail_at(builder, named, "\"activation\": relu, tanh or sigmoid was expected");
    snprintf(network->activation, sizeof network->activation, "%s", asked && *asked ? asked : own);
    network->activation_chosen = strcmp(network->activation, own) != 0;
    return true;
}

static bool read_head(struct builder *builder, const struct network_request *request)
{
    const size_t classes = request->classes;
    struct network *network = builder->network;
    const struct json *root = builder->document->root;
    if (!json_is_object(root))
        return fail_at(builder, root, "a network is an object { }");
    if (!check_keys(builder, root) || !read_input_shape(builder, root, request))
        return false;
    const struct json *own = json_member(root, "classes");
    if (own &&
        (!json_count(own, &network->classes) || network->classes < 1 || network->classes > 1000000))
        return fail_at(builder, own, "\"classes\": a number of 1 to 1000000 was expected");
    if (classes && network->classes)
        network->classes = classes;
    if (!read_groups(builder, root))
        return false;
    copy_member(root, "name", "network", network->name, sizeof network->name);
    copy_member(root, "title", network->name, network->title, sizeof network->title);
    if (!read_widths(builder, root, &request->widths) ||
        !read_activation(builder, root, request->activation))
        return false;
    copy_member(root, "normalise", "measured", network->normalisation,
                sizeof network->normalisation);
    if (!json_is_array(json_member(root, "layers")))
        return fail_at(builder, root, "\"layers\": a list was expected");
    return true;
}

/* The main loss comes last in the file's order and first in the graph's list. `layer` is what an
 * error names. */
static bool add_loss(struct builder *builder, const struct json *layer, const struct op *op)
{
    struct graph *graph = builder->graph;
    size_t inputs[2] = {builder->last}, count = 1, added;
    if (!(op->traits & OP_READS_LABELS)) {
        /* a dense loss compares with the batch's target images */
        const struct shape shape = graph->nodes[builder->last].output;
        if (!graph_add_input(graph, "target", shape, &inputs[1], builder->error))
            return wrap_error(builder, layer);
        count = 2;
    }
    union attributes attributes = {.loss = {.weight = 1}};
    if (!graph_add(graph, op, "loss", inputs, count, &attributes, &added, builder->error))
        return wrap_error(builder, layer);
    size_t first = graph->losses[0];
    graph->losses[0] = added;
    graph->losses[graph->loss_count - 1] = first;
    return true;
}

static bool add_main_loss(struct builder *builder)
{
    const struct json *root = builder->document->root;
    const struct json *named = json_member(root, "loss");
    const char *name = json_string(named);
    if (!name)
        name = builder->network->classes ? "softmax_cross_entropy" : NULL;
    const struct op *op = name ? op_find(name) : NULL;
    if (!op || !(op->traits & OP_LOSS))
        return fail_at(builder, named ? named : root,
                       "\"loss\": the name of a loss was expected (networks without \"classes\" "
                       "need one)");
    return add_loss(builder, root, op);
}

/* --- variations --- */

static size_t least_common_multiple(size_t a, size_t b)
{
    size_t x = a, y = b;
    while (y > 0) {
        size_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Looks ahead for what variations depend on: the groups of convolutions, which every changed width
 * must be a multiple of, and the last layer with weights. */
static void survey_layers(struct builder *builder, const struct json *layers)
{
    size_t *multiple = &builder->variation.width_multiple;
    for (const struct json *layer = json_first(layers); layer; layer = json_next(layer)) {
        const struct json *inner = json_member(layer, "layers");
        const char *op = json_string(json_member(layer, "op"));
        size_t groups = 1, outputs = 0;
        if (inner)
            survey_layers(builder, inner);
        if (!op || (strcmp(op, op_conv.name) != 0 && strcmp(op, op_linear.name) != 0))
            continue;
        builder->last_weights = layer;
        json_count(json_member(layer, "output"), &outputs);
        if (json_count(json_member(layer, "groups"), &groups) && groups > 0 && groups != outputs &&
            groups <= NETWORK_MAX_GROUPS && *multiple <= NETWORK_MAX_GROUPS)
            *multiple = least_common_multiple(*multiple, groups);
    }
}

static bool unused(const struct builder *builder, const char *what, const char *advice)
{
    return error_set(builder->error, ERROR_UNSUPPORTED, builder->network->name, advice,
                     "%s changes none of this network's layers", what);
}

/* A variation that changes nothing was a mistake: two runs would bear different names for the same
 * network. */
static bool check_variation_used(const struct builder *builder)
{
    const struct variation *variation = &builder->variation;
    char what[48];
    snprintf(what, sizeof what, _("the technique %s"), technique_name(variation->technique));
    if (variation->technique != TECHNIQUE_NONE && !builder->used_technique)
        return unused(builder, what, N_("choose the technique none"));
    if (variation->width_rate > 0 && !builder->used_width_rate)
        return unused(builder, _("the width rate"), N_("leave it out"));
    if (variation->block_rate > 0 && !builder->used_block_rate)
        return unused(builder, _("the block rate"), N_("leave it out: it is for residual blocks"));
    return true;
}

/* A choice that no layer reads would make two names for one network. */
static bool check_choices_used(const struct builder *builder)
{
    const struct json *root = builder->document->root;
    if (builder->network->widths.count && !builder->used_widths)
        return fail_at(builder, json_member(root, "widths"),
                       "\"widths\": no layer says \"repeat\": \"widths\"");
    if (builder->network->activation[0] && !builder->used_activation)
        return fail_at(builder, json_member(root, "activation"),
                       "\"activation\": no layer says \"op\": \"activation\"");
    return true;
}

/* --- the whole --- */

static bool build_graph(struct builder *builder)
{
    struct network *network = builder->network;
    const struct json *layers = json_member(builder->document->root, "layers");
    survey_layers(builder, layers);
    return graph_create(&network->graph, network->input, builder->error) &&
           build_layers(builder, layers) && add_main_loss(builder) &&
           graph_finish(&network->graph, builder->error) && check_variation_used(builder) &&
           check_choices_used(builder);
}

/* The discriminator is trained and thrown away: no variation changes it. */
static bool build_discriminator(const struct builder *generator, const struct json *section)
{
    struct network *network = generator->network;
    const struct shape image = network->graph.nodes[network->graph.output].output;
    const struct json *layers = json_member(section, "layers");
    struct builder builder = {.document = generator->document,
                              .network = network,
                              .graph = &network->discriminator,
                              .variation = {.width_multiple = 1},
                              .prefix = "",
                              .error = generator->error};
    if (!json_is_array(layers) || json_length(section) != 1)
        return fail_at(generator, section, "\"discriminator\": {\"layers\": [...]} was expected");
    if (network->classes || image.height != network->input.height ||
        image.width != network->input.width)
        return fail_at(
            generator, section,
            "\"discriminator\": only for networks that make images of their input's size");
    struct shape pair = network->input;
    pair.channels += image.channels;
    bool built = graph_create(builder.graph, pair, builder.error) &&
                 build_layers(&builder, layers) &&
                 add_loss(&builder, section, &op_binary_cross_entropy) &&
                 graph_finish(builder.graph, builder.error);
    free_compounds(&builder);
    return built;
}

/* `request` is complete: see network_name_complete. */
static struct network *build_from(const struct json_document *document,
                                  const struct network_request *request, struct error *error)
{
    struct network *network = memory_new(1, sizeof *network, "the network", error);
    if (!network)
        return NULL;
    network->technique = request->technique;
    network->width_rate = request->width_rate;
    network->block_rate = request->block_rate;
    network->source = memory_copy_text(document->source, error);
    struct builder builder = {
        .document = document,
        .network = network,
        .graph = &network->graph,
        .variation = {.technique = request->technique,
                      .groups = request->groups,
                      .width_rate = request->width_rate,
                      .block_rate = request->block_rate},
        .prefix = "",
        .error = error,
    };
    const struct json *section = json_member(document->root, "discriminator");
    bool built = network->source && read_head(&builder, request) && build_graph(&builder) &&
                 (!section || build_discriminator(&builder, section));
    free_compounds(&builder);
    if (built)
        return network;
    network_free(network);
    return NULL;
}

static bool open_document(struct json_document *document, const struct network_request *request,
                          const struct network_builtin *builtin, struct error *error)
{
    const char *name = request->network, *text = request->text;
    if (!text && !builtin)
        return json_read_file(document, name, FILE_LIMIT, error) &&
               json_verify_checksum(document, NULL, error);
    if (!text)
        text = builtin->text;
    return json_parse(document, text, strlen(text), name, error);
}

struct network *network_build(const struct network_request *request, struct error *error)
{
    struct json_document document = {0};
    struct network_request complete = *request;
    const struct network_builtin *builtin = NULL;
    struct network *network = NULL;
    if (network_name_complete(&complete, &builtin, error) &&
        open_document(&document, &complete, builtin, error))
        network = build_from(&document, &complete, error);
    json_document_free(&document);
    return network;
}

void network_free(struct network *network)
{
    if (!network)
        return;
    graph_free(&network->graph);
    graph_free(&network->discriminator);
    free(network->source);
    free(network);
}

void network_set_loss_weight(struct network *network, float weight)
{
    struct graph *graph = &network->graph;
    graph->nodes[graph->losses[0]].attributes.loss.weight = weight;
}
