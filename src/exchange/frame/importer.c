/* A network file has one main loss, and before it the heads that help in training. Both files are
 * checked before the long work, and written after it: a model that cannot be imported leaves none.
 */
#include "exchange/frame/importer.h"

#include "base/character.h"
#include "base/escape/visible.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/network/network_write.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plain_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

void importer_free(struct importer *im)
{
    graph_free(&im->graph);
    free(im->missing);
    free(im->model_path);
    free(im->network_path);
}

/* --- errors, and what tinca lacks --- */

bool importer_fail(struct importer *im)
{
    im->failed = true;
    return false;
}

bool importer_damaged(struct importer *im, size_t line, const char *what, const char *why)
{
    if (!im->failed && line > 0)
        error_set(im->error, ERROR_INPUT, im->path, im->words->advice, "line %zu: %s: %s", line,
                  what, language_text(why));
    else if (!im->failed)
        error_set(im->error, ERROR_INPUT, im->path, im->words->advice, "%.100s: %s", what,
                  language_text(why));
    return importer_fail(im);
}

bool importer_lacks(struct importer *im, const char *node, const char *type, const char *why)
{
    if (im->failed)
        return false;
    if (!memory_grow(&im->missing, &im->missing_capacity, im->missing_count + 1,
                     sizeof *im->missing, im->words->what, im->error))
        return importer_fail(im);
    struct importer_missing *missing = &im->missing[im->missing_count++];
    snprintf(missing->node, sizeof missing->node, "%s", node);
    snprintf(missing->type, sizeof missing->type, "%s", type);
    snprintf(missing->why, sizeof missing->why, "%s", language_text(why));
    character_replace_hidden(missing->node);
    character_replace_hidden(missing->type);
    return false;
}

bool importer_is_complete(struct importer *im, size_t count)
{
    return im->missing_count == 0 ||
           error_set(im->error, ERROR_UNSUPPORTED, im->path, im->words->change, im->words->lacking,
                     im->missing_count, count);
}

/* --- names --- */

/* Returns a copy of `base` with another ending, which the caller frees; NULL with an error. */
static char *with_ending(const char *base, const char *ending, struct error *error)
{
    const char *dot = strrchr(base, '.'), *slash = strrchr(base, '/');
    const size_t length = dot && dot != base && dot > slash ? (size_t)(dot - base) : strlen(base);
    char *path = memory_new(length + strlen(ending) + 1, 1, "a path", error);
    if (path)
        sprintf(path, "%.*s%s", (int)length, base, ending);
    return path;
}

bool importer_name_files(struct importer *im, const char *output, bool model)
{
    const char *wanted = model ? ".safetensors" : ".json";
    const char *advice = model ? "give -o FILE.safetensors" : "give -o FILE.json";
    const char *base = output ? output : file_base_name(im->path), *dot = strrchr(base, '.');
    if (output && (!dot || strcmp(dot, wanted) != 0))
        return error_set(im->error, ERROR_USAGE, output, advice,
                         "the file that is written has the ending %s", wanted);
    im->model_path = model ? with_ending(base, ".safetensors", im->error) : NULL;
    im->network_path = with_ending(base, ".json", im->error);
    if ((model && !im->model_path) || !im->network_path)
        return false;
    for (size_t i = 0; !output && i < 2; i++) {
        const char *path = i ? im->network_path : im->model_path;
        if (path && file_exists(path))
            return error_set(im->error, ERROR_INPUT, path, advice,
                             "this file exists, and is not replaced unless it is named");
    }
    return (!model || output_file_check(im->model_path, OUTPUT_BINARY, im->error)) &&
           output_file_check(im->network_path, OUTPUT_TEXT, im->error);
}

void importer_choose_name(const struct importer *im, const char *wanted, const char *suffix,
                          char *name)
{
    char base[NODE_NAME_SIZE];
    size_t length = 0, other;
    wanted += strspn(wanted, "/");
    const size_t most = sizeof base - 1 - strlen(suffix), size = strlen(wanted);
    for (const char *c = size > most ? wanted + size - most : wanted; *c; c++)
        base[length++] = *c == '/' ? '.' : strchr(plain_characters, *c) ? *c : '_';
    base[length] = '\0';
    snprintf(name, NODE_NAME_SIZE, "%.*s%s", (int)most, length > 0 ? base : "layer", suffix);
    const bool reserved = strcmp(name, "loss") == 0 || strcmp(name, "target") == 0;
    for (unsigned k = 2;
         k < 99999 && (graph_find(&im->graph, name, &other) || (reserved && k == 2)); k++)
        snprintf(name, NODE_NAME_SIZE, "%.*s%s_%u", (int)(50 - strlen(suffix)),
                 length > 0 ? base : "layer", suffix, k);
}

void importer_name_network(const struct importer *im, const char *given, struct network *head)
{
    const char *base = given[0] ? given : file_base_name(im->path), *end = strrchr(base, '.');
    const size_t length = !given[0] && end && end != base ? (size_t)(end - base) : strlen(base);
    snprintf(head->name, sizeof head->name, "%.*s",
             (int)(length < NETWORK_NAME - 1 ? length : NETWORK_NAME - 1), base);
    for (char *c = head->name; *c; c++)
        if (!strchr(plain_characters, *c))
            *c = '_';
    snprintf(head->title, sizeof head->title, "%s", head->name);
}

bool importer_number_classes(struct model *model, struct error *error)
{
    const size_t count = model->network->classes;
    model->class_names = memory_new(count + 1, sizeof *model->class_names, "class names", error);
    for (size_t i = 0; model->class_names && i < count; i++)
        snprintf(model->class_names[i], sizeof *model->class_names, "%zu", i);
    return model->class_names;
}

/* --- losses --- */

static bool add_heads(struct importer *im)
{
    for (size_t i = 0; i < im->head_count; i++) {
        const union attributes attributes = {.loss = {.weight = im->heads[i].weight}};
        char name[NODE_NAME_SIZE];
        snprintf(name, sizeof name, "auxiliary_loss%zu", i + 1);
        if (!graph_add(&im->graph, &op_softmax_cross_entropy, name, &im->heads[i].node, 1,
                       &attributes, NULL, im->error))
            return false;
    }
    return true;
}

/* Adds the losses of training; the main one comes first in the list of losses. `classified`: the
 * file has said that the output is one of classes. */
static bool add_losses(struct importer *im, size_t output, const char *given, bool classified)
{
    struct graph *graph = &im->graph;
    const struct shape shape = graph->nodes[output].output;
    const struct op *kept = given[0] || classified ? NULL : graph_probabilities(graph, output);
    const bool classes = shape_area(shape) == 1 && !kept;
    const struct op *op = given[0]  ? op_find(given)
                          : classes ? &op_softmax_cross_entropy
                                    : &op_l2_loss;
    const union attributes attributes = {.loss = {.weight = 1}};
    size_t inputs[2] = {output}, added;
    im->kept = kept ? kept->name : NULL;
    im->picture = !classes && !kept && !given[0];
    if (!op || !(op->traits & OP_LOSS))
        return importer_damaged(im, 0, given, N_("there is no such loss"));
    const bool labels = op->traits & OP_READS_LABELS;
    if (!add_heads(im) ||
        (!labels && !graph_add_input(graph, "target", shape, &inputs[1], im->error)) ||
        !graph_add(graph, op, "loss", inputs, labels ? 1 : 2, &attributes, &added, im->error))
        return false;
    graph->losses[graph->loss_count - 1] = graph->losses[0];
    graph->losses[0] = added;
    return graph_finish(graph, im->error);
}

/* --- the network --- */

/* Copies the nodes that the losses need. The last layer of a network file is the one that the main
 * loss reads, so that one comes last. */
static bool copy_nodes(struct importer *im, struct graph_copy *copy, size_t output)
{
    const struct graph *graph = &im->graph;
    const size_t loss = graph->losses[0];
    for (size_t i = 0; i < graph->loss_count; i++)
        copy->wanted[graph->losses[i]] = true;
    graph_complete_ancestors(graph, copy->wanted);
    for (size_t i = 1; i < graph->node_count; i++) {
        if (!copy->wanted[i] || i == output || i == loss)
            continue;
        for (size_t k = 0; k < graph->nodes[i].input_count; k++)
            if (graph->nodes[i].inputs[k] == output)
                return importer_damaged(im, 0, graph->nodes[i].name,
                                        N_("an auxiliary head reads the network's output"));
        if (!graph_copy_add(copy, i, NULL, im->error))
            return false;
    }
    return graph_copy_add(copy, output, NULL, im->error) &&
           graph_copy_add(copy, loss, NULL, im->error);
}

/* Returns the network of the nodes that the losses need; NULL with an error. */
static struct network *make_network(struct importer *im, const struct network *head, size_t output)
{
    struct graph_copy copy;
    struct network *network = NULL;
    if (graph_copy_begin(&copy, &im->graph, im->error) && copy_nodes(im, &copy, output) &&
        graph_copy_finish(&copy, im->error))
        network = graph_copy_network(&copy, head, NULL, im->error);
    graph_copy_free(&copy);
    return network;
}

/* --- files --- */

static bool fill_weights(struct importer *im, struct weights *weights)
{
    bool filled = true;
    weights_initialise(weights, 0, NULL);
    for (size_t p = 0; filled && p < weights->graph->parameter_count; p++) {
        const struct parameter *to = &weights->graph->parameters[p];
        const struct parameter *from = graph_find_parameter(&im->graph, to->name);
        filled = !from || im->fill(im, (size_t)(from - im->graph.parameters), to,
                                   weights->values + to->offset);
    }
    weights_mark_changed(weights);
    return filled;
}

static bool write_network(const struct network *network, const char *path, struct error *error)
{
    struct json *root = network_to_json(network);
    char *text = root ? json_print(root, true, error) : NULL;
    if (!root)
        error_set_memory(error, "the network file", 0);
    const bool written = text && output_file_write(path, text, strlen(text), OUTPUT_TEXT, error);
    json_free(root);
    free(text);
    return written;
}

static bool write_files(struct importer *im, const struct importer_end *end, struct model *origin)
{
    struct model_facts facts = {.network = origin->network,
                                .origin = origin,
                                .quantization = end->quantization,
                                .record = end->record};
    if (end->parent && strlen(end->parent) < sizeof origin->parent)
        snprintf(origin->parent, sizeof origin->parent, "%s", end->parent);
    origin->preprocessing = model_preprocessing(origin->network);
    if (!end->describe(im, origin))
        return false;
    facts.preprocessing = origin->preprocessing;
    im->layers = origin->network->graph.node_count;
    im->parameters = graph_parameter_count(&origin->network->graph);
    if (im->model_path &&
        (!weights_create(&origin->weights, &origin->network->graph, im->error) ||
         !fill_weights(im, &origin->weights) ||
         (end->finish && !end->finish(im, &origin->weights)) ||
         !model_file_save(&facts, &origin->weights, end->format, im->model_path, im->error)))
        return false;
    return write_network(origin->network, im->network_path, im->error);
}

bool importer_save(struct importer *im, struct importer_end *end)
{
    struct model origin = {0};
    end->head.input = im->graph.nodes[0].output;
    if (!add_losses(im, end->output, end->loss, end->classified) ||
        !(origin.network = make_network(im, &end->head, end->output)))
        return false;
    network_short_name(origin.network, im->network, sizeof im->network);
    const bool saved = write_files(im, end, &origin);
    model_free(&origin);
    return saved;
}

/* --- the report --- */

void exchange_report_free(struct exchange_report *report)
{
    text_free(&report->result);
    text_free(&report->notes);
    json_free(report->json);
    *report = (struct exchange_report){0};
}

void exchange_tell(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    visible_append_arguments(text, visible_append, format, arguments);
    va_end(arguments);
}

/* Says what the network's end became. */
static void note_end(const struct importer *im, struct text *notes)
{
    if (im->softmax_left_out)
        exchange_tell(notes,
                      _("tinca: %s: the softmax at the end was left out: loss and predictions have "
                        "it\n"),
                      im->path);
    if (im->kept)
        exchange_tell(
            notes,
            _("tinca: %s: the %s at the end is kept: its outputs are no classes of which "
              "an image has one, so that eval, predict and train take no labels for them; "
              "predict --raw writes them\n"),
            im->path, im->kept);
    if (im->picture)
        exchange_tell(notes,
                      _("tinca: %s: its output is taken as a picture: training and eval compare it "
                        "with the second one of pairs\n"),
                      im->path);
    if (im->left_out)
        exchange_tell(notes,
                      ngettext("tinca: %s: %zu more output was left out\n",
                               "tinca: %s: %zu more outputs were left out\n", im->left_out),
                      im->path, im->left_out);
}

static bool add_missing(const struct importer *im, struct json *root)
{
    struct json *list = json_add_array(root, "missing");
    bool added = list;
    for (size_t i = 0; i < im->missing_count; i++) {
        const struct importer_missing *missing = &im->missing[i];
        struct json *object = json_add_object(list, NULL);
        added = json_add_string(object, im->words->node, missing->node) &&
                json_add_string(object, im->words->type, missing->type) &&
                json_add_string(object, "why", missing->why) && added;
    }
    return added;
}

void importer_report(const struct importer *im, bool imported, struct exchange_report *report)
{
    char count[32];
    struct json *root = imported || im->missing_count > 0 ? json_new_object() : NULL;
    bool added = root;
    report->json = root;
    for (size_t i = 0; i < im->missing_count; i++)
        exchange_tell(&report->notes, "  %s %s: %s\n", im->missing[i].type, im->missing[i].node,
                      im->missing[i].why);
    if (imported) {
        exchange_tell(&report->result, _("%s: %zu layers, %s parameters\n"), im->network,
                      im->layers, text_count(im->parameters, count, sizeof count));
        if (im->model_path)
            exchange_tell(&report->result, _("  model    %s\n"), im->model_path);
        exchange_tell(&report->result, _("  network  %s\n"), im->network_path);
        note_end(im, &report->notes);
        added = json_add_string(root, "network", im->network) &&
                json_add_count(root, "layers", im->layers) &&
                json_add_count(root, "parameters", im->parameters) &&
                (!im->model_path || json_add_string(root, "model", im->model_path)) &&
                json_add_string(root, "file", im->network_path);
    }
    report->incomplete = root && (!added || !add_missing(im, root));
}
