/* The layers that the losses need become a network file, and with weights a saved model. If the
 * file has no loss, the last layer that nothing reads is the output. */
#include "exchange/caffe/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/network/network_write.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"
#include "models/saved/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the output and the losses --- */

static bool is_read(const struct caffe_importer *im, size_t node)
{
    return node < im->read_capacity && im->read[node];
}

/* Returns the node whose values are the prediction. */
static size_t find_output(struct caffe_importer *im)
{
    size_t output = 0;
    if (im->loss_count > 0) {
        im->result->auxiliary = im->loss_count - 1;
        return im->losses[im->loss_count - 1].node;
    }
    for (size_t i = 1; i < im->graph.node_count; i++)
        if (!is_read(im, i)) {
            im->result->left_out += output > 0;
            output = i;
        }
    if (output == 0) /* a layer that changes nothing reads the last one */
        output = im->graph.node_count - 1;
    im->result->softmax_left_out = graph_leave_out_softmax(&im->graph, &output);
    return output;
}

/* Adds the losses of the auxiliary heads. Their weights are relative to that of the main loss. */
static bool add_heads(struct caffe_importer *im)
{
    for (size_t i = 0; i + 1 < im->loss_count; i++) {
        const float whole = im->losses[im->loss_count - 1].weight;
        const union attributes attributes = {.loss = {.weight = im->losses[i].weight / whole}};
        char name[NODE_NAME_SIZE];
        snprintf(name, sizeof name, "auxiliary_loss%zu", i + 1);
        if (!graph_add(&im->graph, &op_softmax_cross_entropy, name, &im->losses[i].node, 1,
                       &attributes, NULL, im->error))
            return false;
    }
    return true;
}

/* Adds the main loss, which comes first in the list of losses. */
static bool add_losses(struct caffe_importer *im, size_t output)
{
    struct graph *graph = &im->graph;
    const struct shape shape = graph->nodes[output].output;
    const struct op *kept = im->loss_count > 0 ? NULL : graph_probabilities(graph, output);
    const bool classes = shape_area(shape) == 1 && !kept;
    const union attributes attributes = {.loss = {.weight = 1}};
    size_t inputs[2] = {output}, added;
    im->result->kept = kept ? kept->name : NULL;
    im->result->picture = !classes && !kept;
    if (!add_heads(im) ||
        (!classes && !graph_add_input(graph, "target", shape, &inputs[1], im->error)) ||
        !graph_add(graph, classes ? &op_softmax_cross_entropy : &op_l2_loss, "loss", inputs,
                   classes ? 1 : 2, &attributes, &added, im->error))
        return false;
    graph->losses[graph->loss_count - 1] = graph->losses[0];
    graph->losses[0] = added;
    return graph_finish(graph, im->error);
}

/* Copies the nodes that the losses need. The last layer of a network file is the one that the main
 * loss reads, so that one comes last. */
static bool copy_nodes(struct caffe_importer *im, struct graph_copy *copy, size_t output)
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
                return caffe_damaged(im, NULL, graph->nodes[i].name,
                                     N_("an auxiliary head reads the network's output"));
        if (!graph_copy_add(copy, i, NULL, im->error))
            return false;
    }
    return graph_copy_add(copy, output, NULL, im->error) &&
           graph_copy_add(copy, loss, NULL, im->error);
}

/* Returns the network of the nodes that the losses need; NULL with an error. */
static struct network *make_network(struct caffe_importer *im, const struct network *head,
                                    size_t output)
{
    struct graph_copy copy;
    struct network *network = NULL;
    if (graph_copy_begin(&copy, &im->graph, im->error) && copy_nodes(im, &copy, output) &&
        graph_copy_finish(&copy, im->error))
        network = graph_copy_network(&copy, head, NULL, im->error);
    graph_copy_free(&copy);
    return network;
}

/* --- what the file says of its images --- */

/* Reads mean_value and scale of a transformation: tinca subtracts a mean and divides by a
 * deviation. Returns whether there are some. */
static bool read_transform(struct caffe_importer *im, struct normalisation *normalisation)
{
    const struct caffe_field *transform = im->transform;
    const size_t means = caffe_count(transform, "mean_value");
    const float scale = caffe_get_float(im, transform, "scale", 1);
    if (!transform || (means == 0 && !caffe_first(transform, "scale")) || !(scale > 0))
        return false;
    if (means > 3 || means == 2)
        return caffe_damaged(im, transform, "mean_value", N_("one or three values were expected"));
    for (size_t c = 0; c < 3; c++) {
        const size_t from = means < 3 ? 0 : im->request->rgb ? c : 2 - c;
        const struct caffe_field *field = caffe_nth(transform, "mean_value", from);
        double mean = 0;
        if (field && (!caffe_read_number(field, &mean) || fabs(mean) > 1e6))
            return caffe_damaged(im, field, "mean_value", N_("a number was expected"));
        normalisation->mean[c] = (float)mean;
        normalisation->deviation[c] = 1 / scale;
    }
    snprintf(normalisation->name, sizeof normalisation->name, "measured");
    return true;
}

/* Chooses how images are normalised. */
static bool choose_normalisation(struct caffe_importer *im, const struct network *network,
                                 struct normalisation *normalisation)
{
    struct caffe_import_result *result = im->result;
    const char *chosen = im->request->normalise;
    if (!normalisation_choose(normalisation, chosen[0] ? chosen : network->normalisation, NULL,
                              im->error))
        return false;
    if (!chosen[0] && !read_transform(im, normalisation) && im->failed)
        return false;
    result->normalisation = *normalisation;
    snprintf(result->mean_file, sizeof result->mean_file, "%s",
             chosen[0] ? "" : caffe_text(im->transform, "mean_file", ""));
    return true;
}

/* --- files --- */

static bool name_classes(struct model *origin, struct error *error)
{
    const size_t count = origin->network->classes;
    origin->class_names = memory_new(count, sizeof *origin->class_names, "class names", error);
    for (size_t i = 0; origin->class_names && i < count; i++)
        snprintf(origin->class_names[i], sizeof *origin->class_names, "%zu", i);
    return origin->class_names;
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

static bool write_files(struct caffe_importer *im, struct model *origin)
{
    struct model_facts facts = {.network = origin->network, .origin = origin};
    struct network *network = origin->network;
    origin->preprocessing = model_preprocessing(network);
    if (!choose_normalisation(im, network, &origin->preprocessing.normalisation))
        return false;
    im->result->layers = network->graph.node_count;
    im->result->channels = network->input.channels;
    im->result->parameters = graph_parameter_count(&network->graph);
    facts.preprocessing = origin->preprocessing;
    if (im->model &&
        (!weights_create(&origin->weights, &network->graph, im->error) ||
         !name_classes(origin, im->error) || !caffe_fill_weights(im, &origin->weights) ||
         !model_file_save(&facts, &origin->weights, WEIGHTS_FLOAT32, im->request->model,
                          im->error)))
        return false;
    return write_network(network, im->request->file, im->error);
}

/* Fills name and normalisation. The name is the file's "name", or that of the file. */
static void describe(const struct caffe_importer *im, struct network *head)
{
    const char *given = caffe_text(&im->tree.root, "name", "");
    const char *base = given[0] ? given : file_base_name(im->path), *end = strrchr(base, '.');
    const size_t length = !given[0] && end && end != base ? (size_t)(end - base) : strlen(base);
    snprintf(head->name, sizeof head->name, "%.*s",
             (int)(length < NETWORK_NAME - 1 ? length : NETWORK_NAME - 1), base);
    for (char *c = head->name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c))
            *c = '_';
    snprintf(head->title, sizeof head->title, "%s", head->name);
    head->input = im->graph.nodes[0].output;
    snprintf(head->normalisation, sizeof head->normalisation, "%s",
             im->request->normalise[0]   ? im->request->normalise
             : head->input.channels == 3 ? "caffe"
                                         : "unit256"); /* the scale of Caffe's LeNet */
}

bool caffe_import_save(struct caffe_importer *im)
{
    struct network head = {0};
    struct model origin = {0};
    const size_t output = find_output(im);
    if (output == 0)
        return caffe_damaged(im, NULL, "output", N_("no layer computes the network's output"));
    describe(im, &head);
    if (!add_losses(im, output) || !(origin.network = make_network(im, &head, output)))
        return false;
    network_short_name(origin.network, im->result->network, sizeof im->result->network);
    const bool saved = write_files(im, &origin);
    model_free(&origin);
    return saved;
}
