/* A network file becomes a network in these steps: the request is completed by its name
 * (network_name.c), the head of the file is read (network_head.c), a look ahead finds what
 * variations depend on, the layers become nodes (network_layers.c), and the loss is added. A
 * variation or choice that changed no layer is an error. The discriminator, if there is one, is
 * built likewise. */
#include "engine/network/network.h"

#include "base/files/file.h"
#include "base/json/json_checksum.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/network/internal.h"
#include "engine/ops/op.h"
#include "engine/weights/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 4 << 20 };

/* --- the loss --- */

/* Appends the main loss, and an input for its targets if it does not read labels. The loss is the
 * last node but the first in graph->losses. An error names the line of `layer`. */
static bool add_loss(struct builder *builder, const struct json *layer, const struct op *op)
{
    struct graph *graph = builder->graph;
    size_t inputs[2] = {builder->last}, count = 1, added;
    if (!(op->traits & OP_READS_LABELS)) {
        /* such a loss compares with the batch's target images */
        const struct shape shape = graph->nodes[builder->last].output;
        if (!graph_add_input(graph, "target", shape, &inputs[1], builder->error))
            return builder_fail_node(builder, layer);
        count = 2;
    }
    union attributes attributes = {.loss = {.weight = 1}};
    if (!graph_add(graph, op, "loss", inputs, count, &attributes, &added, builder->error))
        return builder_fail_node(builder, layer);
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
        return builder_fail(
            builder, named ? named : root,
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

/* Finds the values that variations depend on: the least common multiple of the groups of all
 * convolutions, of which every changed width must be a multiple, and the last layer with weights.
 */
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

/* Refuses a variation that changes nothing: two runs would have different names for the same
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

/* Refuses a variation of a quantized network: its ranges hold only for its present layers. */
static bool check_quantized(const struct builder *builder)
{
    const struct variation *variation = &builder->variation;
    const bool varied = variation->technique != TECHNIQUE_NONE || variation->width_rate > 0 ||
                        variation->block_rate > 0;
    return !varied || !graph_is_quantized(builder->graph) ||
           error_set(builder->error, ERROR_UNSUPPORTED, builder->network->name,
                     "change the network that was quantized, train it, and quantize that",
                     "the layers of a quantized network cannot be changed");
}

static bool read_input_quantization(struct builder *builder)
{
    const struct json *value = json_member(builder->document->root, "input_quantized");
    return !value || quantization_from_json(value, &builder->graph->nodes[0].quantization) ||
           builder_fail(builder, value,
                        "\"input_quantized\": [scale, zero point] was expected: a number above 0 "
                        "and an integer of 0 to 255");
}

/* Refuses a choice that no layer reads: it would give one network two names. */
static bool check_choices_used(const struct builder *builder)
{
    const struct json *root = builder->document->root;
    if (builder->network->widths.count && !builder->used_widths)
        return builder_fail(builder, json_member(root, "widths"),
                            "\"widths\": no layer says \"repeat\": \"widths\"");
    if (builder->network->activation[0] && !builder->used_activation)
        return builder_fail(builder, json_member(root, "activation"),
                            "\"activation\": no layer says \"op\": \"activation\"");
    return true;
}

/* --- the network --- */

static bool build_graph(struct builder *builder)
{
    struct network *network = builder->network;
    const struct json *layers = json_member(builder->document->root, "layers");
    survey_layers(builder, layers);
    return graph_create(&network->graph, network->input, builder->error) &&
           read_input_quantization(builder) && builder_add_layers(builder, layers) &&
           add_main_loss(builder) && graph_finish(&network->graph, builder->error) &&
           builder_count_classes(builder) && check_variation_used(builder) &&
           check_choices_used(builder) && check_quantized(builder);
}

/* Builds the discriminator. No variation changes it, because only training needs it. */
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
    if (!json_is_array(layers) || json_member_count(section) != 1)
        return builder_fail(generator, section,
                            "\"discriminator\": {\"layers\": [...]} was expected");
    if (network->classes || image.height != network->input.height ||
        image.width != network->input.width)
        return builder_fail(
            generator, section,
            "\"discriminator\": only for networks that make images of their input's size");
    struct shape pair = network->input;
    pair.channels += image.channels;
    bool built = graph_create(builder.graph, pair, builder.error) &&
                 builder_add_layers(&builder, layers) &&
                 add_loss(&builder, section, &op_binary_cross_entropy) &&
                 graph_finish(builder.graph, builder.error);
    builder_free(&builder);
    return built;
}

/* Returns whether the output layers are to have another number of outputs than they have. */
static bool must_remake(const struct network *network, const struct network_request *request)
{
    const size_t classes = builder_classes(network, request);
    return request->remake_outputs && classes > 0 && network->classes > 0 &&
           network->classes != classes;
}

/* Builds the network of a document. `request` must be complete (network_name_complete). If the
 * output layers must be made anew, it sets *remade to the text of the changed file, which the
 * caller frees; the network is then that of the file as it was. */
static struct network *build_from(const struct json_document *document,
                                  const struct network_request *request, char **remade,
                                  struct error *error)
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
    bool built = network->source && builder_read_head(&builder, request) && build_graph(&builder) &&
                 (!section || build_discriminator(&builder, section));
    if (built && must_remake(network, request)) {
        *remade = builder_remake_outputs(&builder, builder_classes(network, request));
        built = *remade;
    }
    builder_free(&builder);
    if (built)
        return network;
    network_free(network);
    return NULL;
}

/* Builds the network of a document, with its output layers made anew if the request says so. */
static struct network *build_as_asked(const struct json_document *document,
                                      const struct network_request *request, struct error *error)
{
    struct json_document changed = {0};
    char *text = NULL;
    struct network *network = build_from(document, request, &text, error);
    if (!text)
        return network;
    const size_t before = network->classes;
    network_free(network);
    network = json_parse(&changed, text, strlen(text), document->name, error)
                  ? build_from(&changed, request, &text, error)
                  : NULL;
    if (network)
        network->remade = before;
    json_document_free(&changed);
    free(text);
    return network;
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

/* --- saved models --- */

/* A saved model carries the text of its network file and the variation, so that the same network
 * can be built again. Options cannot change that network; only the number of classes, which a data
 * set decides, and the size of the input can be others. */

bool network_refuse_metadata(const struct safetensors *file, const char *key, const char *why,
                             struct error *error)
{
    return error_set(error, ERROR_INPUT, file->path,
                     "use a file that tinca train --save has written", "its metadata %s %s", key,
                     language_text(why));
}

static bool read_variation(const struct safetensors *file, struct network_request *request,
                           struct error *error)
{
    const char *technique = safetensors_metadata(file, "tinca.technique");
    const char *groups = safetensors_metadata(file, "tinca.groups");
    const char *width_rate = safetensors_metadata(file, "tinca.width_rate");
    const char *block_rate = safetensors_metadata(file, "tinca.block_rate");
    const char *widths = safetensors_metadata(file, "tinca.widths");
    if (!technique || !technique_parse(technique, &request->technique))
        return network_refuse_metadata(file, "tinca.technique", N_("names no technique"), error);
    if (!groups || !text_to_size(groups, &request->groups))
        return network_refuse_metadata(file, "tinca.groups", N_("is not a number"), error);
    if (!width_rate || !text_to_double(width_rate, &request->width_rate))
        return network_refuse_metadata(file, "tinca.width_rate", N_("is not a number"), error);
    if (!block_rate || !text_to_double(block_rate, &request->block_rate))
        return network_refuse_metadata(file, "tinca.block_rate", N_("is not a number"), error);
    if (widths && *widths && !network_widths_parse(widths, ',', &request->widths))
        return network_refuse_metadata(file, "tinca.widths", N_("is not a list of widths"), error);
    request->activation = safetensors_metadata(file, "tinca.activation");
    return true;
}

/* Fills the request from the metadata, whose texts the file owns. */
static bool read_request(const struct safetensors *file, struct network_request *request,
                         struct error *error)
{
    const char *classes = safetensors_metadata(file, "tinca.classes");
    *request = (struct network_request){.network = safetensors_metadata(file, "tinca.network"),
                                        .text = safetensors_metadata(file, "tinca.network_text")};
    if (!request->network || !request->text)
        return network_refuse_metadata(
            file, "tinca.network", N_("is missing: it does not say which network it is"), error);
    if (!classes || !text_to_size(classes, &request->classes))
        return network_refuse_metadata(file, "tinca.classes", N_("is not a number"), error);
    return read_variation(file, request, error);
}

/* Builds the network. If it comes from a file, its name is that of the file. */
static struct network *build(const struct network_request *request, struct error *error)
{
    struct network *network = network_build(request, error);
    if (network)
        snprintf(network->name, sizeof network->name, "%s", request->network);
    return network;
}

struct network *network_of_model(const struct safetensors *file, struct error *error)
{
    struct network_request request;
    return read_request(file, &request, error) ? build(&request, error) : NULL;
}

bool network_head_of_model(const struct safetensors *file, struct shape *input, size_t *classes,
                           struct error *error)
{
    struct network_request request;
    struct json_document document;
    struct network network = {0};
    if (!read_request(file, &request, error) ||
        !json_parse(&document, request.text, strlen(request.text), request.network, error))
        return false;
    struct builder builder = {.document = &document, .network = &network, .error = error};
    const bool read = builder_read_head(&builder, &request);
    *input = network.input;
    *classes = request.classes;
    builder_free(&builder);
    json_document_free(&document);
    return read;
}

static bool same_text(const char *asked, const char *saved)
{
    return !asked || !*asked || (saved && strcmp(asked, saved) == 0);
}

/* Checks that the options do not contradict the saved network. */
static bool check_options(const struct network_request *asked, const struct network_request *saved,
                          struct error *error)
{
    const char *option =
        asked->technique != TECHNIQUE_NONE && asked->technique != saved->technique ? "--technique"
        : asked->groups && asked->groups != saved->groups                          ? "--groups"
        : asked->width_rate > 0 && asked->width_rate != saved->width_rate          ? "--width-rate"
        : asked->block_rate > 0 && asked->block_rate != saved->block_rate          ? "--block-rate"
        : asked->widths.count && memcmp(&asked->widths, &saved->widths, sizeof asked->widths) != 0
            ? "--widths"
        : !same_text(asked->activation, saved->activation) ? "--activation"
                                                           : NULL;
    return !option ||
           error_set(error, ERROR_USAGE, option,
                     "leave it out, or name the network instead of the saved model",
                     "%s is a saved model, whose network cannot be changed", asked->network);
}

/* Builds the network of the file request->network, with the request's classes and size of the
 * input. Returns NULL with an error, also if the request has a technique, a rate, widths or an
 * activation that differ from those of the model's network. */
static struct network *build_saved(const struct network_request *request, struct error *error)
{
    struct safetensors file;
    struct network_request saved;
    struct network *network = NULL;
    if (!safetensors_open(&file, request->network, error))
        return NULL;
    if (read_request(&file, &saved, error) && check_options(request, &saved, error)) {
        saved.kept_classes = saved.classes;
        if (request->classes)
            saved.classes = request->classes;
        saved.remake_outputs = request->remake_outputs;
        saved.keep_compressed = request->keep_compressed;
        saved.input_height = request->input_height;
        saved.input_width = request->input_width;
        network = build(&saved, error);
    }
    safetensors_close(&file);
    return network;
}

/* --- building --- */

struct network *network_build(const struct network_request *request, struct error *error)
{
    if (!request->text && network_is_model(request->network))
        return build_saved(request, error);
    struct json_document document = {0};
    struct network_request complete = *request;
    const struct network_builtin *builtin = NULL;
    struct network *network = NULL;
    if (network_name_complete(&complete, &builtin, error) &&
        open_document(&document, &complete, builtin, error))
        network = build_as_asked(&document, &complete, error);
    json_document_free(&document);
    return network;
}

enum technique network_request_technique(const struct network_request *request)
{
    struct network_request complete = *request;
    const struct network_builtin *builtin;
    return network_name_complete(&complete, &builtin, NULL) ? complete.technique
                                                            : request->technique;
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

bool network_set_label_smoothing(struct network *network, float smoothing)
{
    struct graph *graph = &network->graph;
    if (!network_has_cross_entropy(network))
        return false;
    for (size_t i = 0; i < graph->loss_count; i++) {
        struct node *node = &graph->nodes[graph->losses[i]];
        if (node->op == &op_softmax_cross_entropy)
            node->attributes.loss.smoothing = smoothing;
    }
    return true;
}

const char *network_class_loss(const struct network *network)
{
    const struct graph *graph = &network->graph;
    const char *found = NULL;
    for (size_t i = 0; i < graph->loss_count; i++) {
        const struct op *op = graph->nodes[graph->losses[i]].op;
        if (!(op->traits & OP_READS_LABELS))
            continue;
        if (op != &op_softmax_cross_entropy)
            return op->name;
        found = op->name;
    }
    return found;
}

bool network_has_cross_entropy(const struct network *network)
{
    const char *loss = network_class_loss(network);
    return loss && strcmp(loss, op_softmax_cross_entropy.name) == 0;
}

struct network *network_from_json(const struct json *root, struct error *error)
{
    const char *name = json_string(json_member(root, "name"));
    char *text = json_print(root, false, error);
    if (!text)
        return NULL;
    const struct network_request request = {.network = name ? name : "network", .text = text};
    struct network *network = network_build(&request, error);
    free(text);
    return network;
}
