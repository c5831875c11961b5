/* Gives each channel of every layer that makes channels a value by the criterion; a layer that has
 * none by it is left out. The values are divided by their mean in the layer, and the importance of
 * a group is the mean over the channels of all layers in it, so that neither large layers nor long
 * groups weigh more. */
#include "engine/compress/channel_importance.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>

const char *const channel_criterion_names[] = {"l1", "bn", "taylor", NULL};

/* --- layers --- */

static bool has_weights(const struct node *node)
{
    return node->op == &op_conv || node->op == &op_conv_transpose || node->op == &op_linear;
}

/* Returns whether the node is read, and by batch norms only. */
static bool is_normalised(const struct graph *graph, size_t number)
{
    bool normalised = false;
    for (size_t i = number + 1; i < graph->node_count; i++)
        for (size_t k = 0; k < graph->nodes[i].input_count; k++)
            if (graph->nodes[i].inputs[k] == number) {
                if (graph->nodes[i].op != &op_batch_norm)
                    return false;
                normalised = true;
            }
    return normalised;
}

/* Returns whether a node has values of its own by this criterion. */
static bool counts(const struct graph *graph, size_t number, enum channel_criterion criterion)
{
    const struct node *node = &graph->nodes[number];
    if (criterion == CRITERION_L1)
        return has_weights(node);
    if (criterion == CRITERION_BN || node->op == &op_batch_norm)
        return node->op == &op_batch_norm;
    return has_weights(node) && !is_normalised(graph, number);
}

/* Returns the channel that value `i` of a parameter makes. */
static size_t channel_of(const struct node *node, const struct parameter *parameter, size_t i)
{
    if (parameter->rank < 4 || node->op != &op_conv_transpose)
        return i / (parameter->count / parameter->dims[0]);
    const size_t inner = parameter->dims[2] * parameter->dims[3], columns = parameter->dims[1];
    const size_t group_rows = parameter->dims[0] / node->attributes.conv.groups;
    const size_t row = i / (columns * inner);
    return row / group_rows * columns + i / inner % columns;
}

/* --- values of channels --- */

static void sum_magnitudes(const struct graph *graph, size_t number, const float *values,
                           double *sums)
{
    const struct node *node = &graph->nodes[number];
    const struct parameter *weight = &graph->parameters[node->parameters[0]];
    for (size_t i = 0; i < weight->count; i++)
        sums[channel_of(node, weight, i)] += fabs((double)values[weight->offset + i]);
}

/* Adds gradient * value of a node's parameters to the sums of its channels. */
static void add_products(const struct graph *graph, size_t number, const float *values,
                         const float *gradients, double *sums)
{
    const struct node *node = &graph->nodes[number];
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[node->parameters[p]];
        const size_t at = parameter->offset;
        for (size_t i = 0; parameter->learnable && i < parameter->count; i++)
            sums[channel_of(node, parameter, i)] +=
                (double)gradients[at + i] * (double)values[at + i];
    }
}

bool channel_importance_add_taylor(const struct channel_groups *groups, const float *values,
                                   const float *gradients, double *sums, struct error *error)
{
    const struct graph *graph = groups->graph;
    double *batch = memory_new(groups->channel_count, sizeof *batch, "importance", error);
    if (!batch)
        return false;
    for (size_t n = 0; n < graph->node_count; n++)
        if (counts(graph, n, CRITERION_TAYLOR))
            add_products(graph, n, values, gradients, batch + groups->first[n]);
    for (size_t i = 0; i < groups->channel_count; i++)
        sums[i] += fabs(batch[i]);
    free(batch);
    return true;
}

/* --- groups --- */

/* Divides a node's values by their mean. All zero stay zero. */
static void normalise(double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    for (size_t i = 0; i < count && sum > 0; i++)
        values[i] /= sum / (double)count;
}

static void fill_node(const struct channel_groups *groups, size_t number, const float *values,
                      enum channel_criterion criterion, const double *sums, double *out)
{
    const struct graph *graph = groups->graph;
    const struct node *node = &graph->nodes[number];
    if (criterion == CRITERION_TAYLOR) {
        for (size_t c = 0; c < node->output.channels; c++)
            out[c] = sums[groups->first[number] + c];
    } else
        sum_magnitudes(graph, number, values, out);
    normalise(out, node->output.channels);
}

bool channel_importance(const struct channel_groups *groups, const struct weights *weights,
                        enum channel_criterion criterion, const double *sums, double *importance,
                        struct error *error)
{
    const struct graph *graph = groups->graph;
    double *channels = memory_new(groups->channel_count, sizeof *channels, "importance", error);
    bool *counted = memory_new(graph->node_count, sizeof *counted, "importance", error);
    const bool done = channels && counted && weights_fetch(weights, error);
    for (size_t n = 0; done && n < graph->node_count; n++) {
        counted[n] = counts(graph, n, criterion);
        if (counted[n])
            fill_node(groups, n, weights->values, criterion, sums, channels + groups->first[n]);
    }
    for (size_t g = 0; done && g < groups->count; g++) {
        const struct channel_group *group = &groups->groups[g];
        double sum = 0;
        size_t count = 0;
        for (size_t i = group->begin; i < group->begin + group->size; i++)
            if (counted[groups->node_of[groups->channels[i]]]) {
                sum += channels[groups->channels[i]];
                count++;
            }
        importance[g] = count ? sum / (double)count : (double)NAN;
    }
    free(channels);
    free(counted);
    return done;
}
