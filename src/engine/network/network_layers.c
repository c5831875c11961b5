/* The layers of a network file, read in one pass. Each layer becomes one node or, through a block,
 * several; it reads the layer before it unless it has "from". "repeat" builds a layer, or a group
 * of "layers", several times, with names numbered from 1; "repeat": "widths" builds once for each
 * width of the file. The operator "activation" is the one that the file or the request chose. */
#include "engine/network/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/graph/layer_reader.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPEAT = 1000, MAX_NODES = 20000 };

/* --- errors and names --- */

bool builder_fail(const struct builder *builder, const struct json *value, const char *why)
{
    return error_set(builder->error, ERROR_INPUT, builder->document->name,
                     "see the manual page tinca-network(5)", "line %zu: %s",
                     json_line(builder->document, value), language_text(why));
}

bool builder_fail_node(const struct builder *builder, const struct json *layer)
{
    struct error inner = builder->error ? *builder->error : (struct error){0};
    return error_set(builder->error, inner.kind, builder->document->name, inner.advice,
                     "line %zu: %s: %s", json_line(builder->document, layer), inner.what,
                     inner.why);
}

void builder_free(struct builder *builder)
{
    free(builder->compounds);
    free(builder->counted);
    name_index_free(&builder->compound_names);
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
        return builder_fail(builder, name, "\"from\" names layers: a text or a list of texts");
    snprintf(full, sizeof full, "%s%s", builder->prefix, text);
    if (find_node(builder, full, node) || find_node(builder, text, node))
        return true;
    snprintf(why, sizeof why, _("\"from\": there is no layer \"%.60s\" before this one"), text);
    return builder_fail(builder, name, why);
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
            return builder_fail(builder, name, "\"from\": too many layers");
        if (!resolve(builder, name, &inputs[(*count)++]))
            return false;
    }
    return *count > 0 || builder_fail(builder, from, "\"from\": an empty list");
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

/* --- one layer --- */

/* Applies the width rate to a linear layer, which no technique changes. */
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
        return builder_fail_node(builder, reader->layer);
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
    snprintf(compound->name, sizeof compound->name, "%.*s", NODE_NAME_SIZE - 1, name);
    compound->node = node;
    return true;
}

/* Notes which layer became the last node, if that has a number of outputs. */
static bool note_counted(struct builder *builder, const struct json *layer)
{
    const size_t node = builder->graph->node_count - 1;
    if (!graph_counts_outputs(&builder->graph->nodes[node]))
        return true;
    if (!memory_grow(&builder->counted, &builder->counted_capacity, builder->counted_count + 1,
                     sizeof *builder->counted, "the network", builder->error))
        return false;
    builder->counted[builder->counted_count++] = (struct built_layer){node, layer};
    return true;
}

/* Builds a block, or a convolution outside blocks if `block` is NULL. */
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
        return builder_fail_node(builder, reader->layer);
    builder->last = output;
    builder->used_technique |= site.used_technique;
    builder->used_width_rate |= site.used_width_rate;
    builder->used_block_rate |= site.used_block_rate;
    return strcmp(builder->graph->nodes[output].name, name) == 0 ||
           note_compound(builder, name, output);
}

/* Returns the operator of that name; "activation" stands for the chosen activation. NULL: none. */
static const struct op *find_op(struct builder *builder, const char *name)
{
    if (strcmp(name, "activation") != 0)
        return op_find(name);
    builder->used_activation = true;
    return op_find(builder->network->activation);
}

/* Builds a layer once. `number` counts the repetitions from 1; it is 0 outside a repetition. */
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
        return builder_fail(builder, layer, "a layer has either an \"op\" or a \"block\"");
    const struct op *op = op_name ? find_op(builder, op_name) : NULL;
    const struct block *block = block_name ? block_find(block_name) : NULL;
    if (!op && !block) {
        snprintf(why, sizeof why,
                 op_name ? _("there is no operator \"%.60s\"") : _("there is no block \"%.60s\""),
                 kind);
        return builder_fail(builder, layer, why);
    }
    if (builder->graph->node_count > MAX_NODES)
        return builder_fail(builder, layer, "the network has too many layers");
    layer_has(&reader, "repeat");
    name_layer(builder, &reader, kind, number, name, sizeof name);
    if (strlen(name) >= NODE_NAME_SIZE)
        return builder_fail(builder, layer, "the layer's name is too long");
    if (find_node(builder, name, &(size_t){0})) {
        snprintf(why, sizeof why, _("there are two layers of the name \"%.60s\""), name);
        return builder_fail(builder, layer, why);
    }
    if (!read_inputs(builder, &reader, inputs, &count))
        return false;
    const struct quantization quantization = op && !(op->traits & OP_LOSS)
                                                 ? layer_quantization(&reader, "quantized")
                                                 : (struct quantization){0};
    if (op && op != &op_conv) {
        if (!build_op(builder, &reader, op, name, inputs, count))
            return false;
    } else if (count > 1) {
        return builder_fail(builder, layer, "\"from\": this layer reads one layer");
    } else if (!build_block(builder, &reader, block, name, inputs[0])) {
        return false;
    }
    builder->graph->nodes[builder->graph->node_count - 1].quantization = quantization;
    return !op || note_counted(builder, layer);
}

/* --- repetitions and lists --- */

static bool build_group(struct builder *builder, const struct json *group, size_t number)
{
    const char *name = json_string(json_member(group, "name"));
    const char *outer = builder->prefix;
    char prefix[3 * NODE_NAME_SIZE];
    if (!name || strlen(name) >= NODE_NAME_SIZE)
        return builder_fail(builder, group, "repeated \"layers\" need a short \"name\"");
    if (!json_first(
            json_member(group, "layers"))) /* nested empty repetitions would take for ever */
        return builder_fail(builder, group, "repeated \"layers\" need one layer at least");
    snprintf(prefix, sizeof prefix, "%.*s%s.%zu.", NODE_NAME_SIZE, outer, name, number);
    builder->prefix = prefix;
    bool built = builder_add_layers(builder, json_member(group, "layers"));
    builder->prefix = outer;
    return built;
}

/* Reads how often a layer or group is built: a number, or once for each width. */
static bool read_repeat(struct builder *builder, const struct json *repeat, size_t *times,
                        bool *over_widths)
{
    const char *word = json_string(repeat);
    *over_widths = word && strcmp(word, "widths") == 0;
    *times = *over_widths ? builder->network->widths.count : 1;
    if (*over_widths)
        return *times > 0 ||
               builder_fail(builder, repeat, "\"repeat\": the file has no \"widths\"");
    return !repeat || (json_count(repeat, times) && *times >= 1 && *times <= MAX_REPEAT) ||
           builder_fail(builder, repeat,
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

bool builder_add_layers(struct builder *builder, const struct json *layers)
{
    for (const struct json *layer = json_first(layers); layer; layer = json_next(layer)) {
        if (!json_is_object(layer))
            return builder_fail(builder, layer, "a layer is an object { }");
        if (!build_repeated(builder, layer))
            return false;
    }
    return true;
}
