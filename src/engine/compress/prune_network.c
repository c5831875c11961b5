/* The pruned network is the network's own file with other widths, built again. A value of a
 * parameter remains if the channel that it makes and the channel that it reads remain. */
#include "engine/compress/prune_network.h"

#include "base/json/json.h"
#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "engine/ops/op.h"

#include <stdlib.h>
#include <string.h>

/* --- the network --- */

/* Returns a separate network with the same graph. */
static struct network *copy_network(const struct network *network, struct error *error)
{
    struct json *root = network_to_json(network);
    if (!root) {
        error_set_memory(error, network->name, 0);
        return NULL;
    }
    struct network *copy = network_from_json(root, error);
    json_free(root);
    return copy;
}

static void narrow(struct network *network, const size_t *kept)
{
    const struct graph *graph = &network->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct shape inputs[NODE_MAX_INPUTS];
        graph->nodes[i].attributes = prune_node(graph, kept, i, inputs).attributes;
    }
}

/* Checks that every node has the channels that the selection says. */
static bool check_widths(const struct network *pruned, const struct network *network,
                         const size_t *kept, struct error *error)
{
    const struct graph *after = &pruned->graph, *before = &network->graph;
    for (size_t i = 0; i < before->node_count; i++)
        if (i >= after->node_count || after->nodes[i].output.channels != kept[i] ||
            strcmp(after->nodes[i].name, before->nodes[i].name) != 0)
            return error_set(error, ERROR_UNSUPPORTED, before->nodes[i].name,
                             "keep this layer (--keep), and report the network",
                             "the pruned network has other channels than were selected");
    return true;
}

struct network *prune_network(const struct network *network,
                              const struct prune_selection *selection, const char *step,
                              bool replaces, struct error *error)
{
    struct network *copy = copy_network(network, error), *pruned = NULL;
    if (!copy)
        return NULL;
    narrow(copy, selection->kept);
    struct json *root = network_to_json(copy);
    if (!root || (replaces && !compression_remove_last(root)))
        error_set_memory(error, network->name, 0);
    else if (!step || compression_append(root, step, error))
        pruned = network_from_json(root, error);
    json_free(root);
    network_free(copy);
    if (pruned && !check_widths(pruned, network, selection->kept, error)) {
        network_free(pruned);
        return NULL;
    }
    return pruned;
}

/* --- the weights --- */

/* A parameter and the meaning of its first two indices. */
struct places {
    const struct channel_groups *groups;
    const struct prune_selection *selection;
    const struct node *node;
    const struct parameter *parameter;
    size_t outputs, inputs; /* the first channel of the node, and that of its input 0 */
    size_t columns, inner;  /* second dimension, and values for each pair of indices */
};

static struct places places_of(const struct channel_groups *groups,
                               const struct prune_selection *selection, size_t number)
{
    const struct graph *graph = groups->graph;
    const struct parameter *parameter = &graph->parameters[number];
    const struct node *node = &graph->nodes[parameter->node];
    struct places places = {.groups = groups,
                            .selection = selection,
                            .node = node,
                            .parameter = parameter,
                            .outputs = groups->first[parameter->node],
                            .inputs = groups->first[node->inputs[0]],
                            .columns = parameter->rank > 1 ? parameter->dims[1] : 1};
    places.inner = parameter->count / (parameter->dims[0] * places.columns);
    return places;
}

static bool stays(const struct places *places, size_t channel)
{
    return !places->selection->removed[places->groups->group_of[channel]];
}

/* Returns whether the values with these indices remain. */
static bool remains(const struct places *places, size_t row, size_t column)
{
    const struct parameter *parameter = places->parameter;
    const struct conv_attributes *conv = &places->node->attributes.conv;
    size_t output = row, input = column;
    if (parameter->rank == 1)
        return stays(places, places->outputs + row);
    if (places->node->op == &op_linear) {
        const struct shape shape = places->groups->graph->nodes[places->node->inputs[0]].output;
        input = column / shape_area(shape);
    } else if (places->node->op == &op_conv) {
        input = row / (conv->outputs / conv->groups) * places->columns + column;
    } else { /* the rows of a transposed convolution are its inputs */
        const size_t group_rows = parameter->dims[0] / conv->groups;
        input = row;
        output = row / group_rows * places->columns + column;
    }
    return stays(places, places->outputs + output) && stays(places, places->inputs + input);
}

/* Copies the remaining values to `out`, of `room` values. Returns their number. */
static size_t copy_values(const struct places *places, const float *values, float *out, size_t room)
{
    size_t count = 0;
    for (size_t row = 0; row < places->parameter->dims[0]; row++)
        for (size_t column = 0; column < places->columns; column++) {
            if (!remains(places, row, column))
                continue;
            if (count + places->inner <= room)
                memcpy(out + count, values + (row * places->columns + column) * places->inner,
                       places->inner * sizeof *out);
            count += places->inner;
        }
    return count;
}

bool prune_copy_weights(const struct channel_groups *groups,
                        const struct prune_selection *selection, const struct weights *weights,
                        struct weights *pruned, struct error *error)
{
    const struct graph *from = groups->graph, *to = pruned->graph;
    if (!weights_fetch(weights, error))
        return false;
    for (size_t i = 0; i < from->parameter_count; i++) {
        const struct parameter *before = &from->parameters[i];
        const struct parameter *after = i < to->parameter_count ? &to->parameters[i] : NULL;
        const struct places places = places_of(groups, selection, i);
        if (!after || strcmp(after->name, before->name) != 0 ||
            copy_values(&places, weights->values + before->offset, pruned->values + after->offset,
                        after->count) != after->count)
            return error_set(error, ERROR_UNSUPPORTED, before->name,
                             "keep this layer (--keep), and report the network",
                             "the pruned network has another shape than what remains of it");
    }
    weights_mark_changed(pruned);
    return true;
}

void prune_mask_weights(const struct channel_groups *groups,
                        const struct prune_selection *selection, struct weights *weights)
{
    const struct graph *graph = groups->graph;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const struct places places = places_of(groups, selection, i);
        float *values = weights->values + graph->parameters[i].offset;
        for (size_t row = 0; graph->parameters[i].learnable && row < places.parameter->dims[0];
             row++)
            for (size_t column = 0; column < places.columns; column++)
                if (!remains(&places, row, column))
                    memset(values + (row * places.columns + column) * places.inner, 0,
                           places.inner * sizeof *values);
    }
    weights_mark_changed(weights);
}
