/* First the graph is copied: a folded norm adds no node, but is mapped to the node of its layer,
 * which gets a bias. Then the values are computed in double, once. */
#include "engine/quantize/fold_batch_norm.h"

#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VAR };

static bool is_foldable(const struct node *node)
{
    return node->op == &op_batch_norm && !node->attributes.batch_norm.instance;
}

/* Returns whether the batch norm `i` can become part of the layer that it reads. */
static bool joins_layer(const struct graph_copy *copy, size_t i)
{
    const struct graph *graph = copy->from;
    const size_t layer = graph->nodes[i].inputs[0];
    const struct op *op = graph->nodes[layer].op;
    return is_foldable(&graph->nodes[i]) && (op == &op_conv || op == &op_linear) &&
           layer != graph->output && graph_count_readers(graph, copy->wanted, layer, NULL) == 1;
}

/* Returns whether a batch norm is folded into layer `i`; sets *norm to its number. */
static bool takes_norm(const struct graph_copy *copy, size_t i, size_t *norm)
{
    return graph_count_readers(copy->from, copy->wanted, i, norm) == 1 &&
           is_foldable(&copy->from->nodes[*norm]) && joins_layer(copy, *norm);
}

/* Adds the 1x1 convolution that computes the batch norm `i`. */
static bool add_pointwise(struct graph_copy *copy, size_t i, struct error *error)
{
    const struct node *node = &copy->from->nodes[i];
    const struct initialiser zero = {INITIALISE_CONSTANT, 0}, one = {INITIALISE_CONSTANT, 1};
    const union attributes attributes = {.conv = {.window = {1, 1, 1, 1, 0, 0},
                                                  .outputs = node->output.channels,
                                                  .groups = node->output.channels,
                                                  .bias = true,
                                                  .weight_init = one,
                                                  .bias_init = zero}};
    return graph_add(&copy->graph, &op_conv, node->name, &copy->map[node->inputs[0]], 1,
                     &attributes, &copy->map[i], error);
}

static bool copy_node(struct graph_copy *copy, size_t i, struct error *error)
{
    const struct node *node = &copy->from->nodes[i];
    union attributes attributes = node->attributes;
    size_t norm;
    if (joins_layer(copy, i)) {
        copy->map[i] = copy->map[node->inputs[0]];
        return true;
    }
    if (is_foldable(node))
        return add_pointwise(copy, i, error);
    if (node->op == &op_conv && takes_norm(copy, i, &norm))
        attributes.conv.bias = true;
    if (node->op == &op_linear && takes_norm(copy, i, &norm))
        attributes.linear.bias = true;
    return graph_copy_add(copy, i, &attributes, error);
}

/* --- values --- */

/* Returns the values of a node's parameter. */
static float *values_of(const struct weights *weights, const struct node *node, size_t p)
{
    return weights->values + weights->graph->parameters[node->parameters[p]].offset;
}

/* Sets a and b of channel c of the batch norm: y = a x + b. */
static void find_line(const struct weights *weights, const struct node *norm, size_t c, double *a,
                      double *b)
{
    const double variance = (double)values_of(weights, norm, RUNNING_VAR)[c];
    *a = (double)values_of(weights, norm, WEIGHT)[c] /
         sqrt(variance + (double)norm->attributes.batch_norm.epsilon);
    *b = (double)values_of(weights, norm, BIAS)[c] -
         *a * (double)values_of(weights, norm, RUNNING_MEAN)[c];
}

/* Writes the values of a layer with its norm. `layer` is the layer in the original graph, NULL for
 * a norm that has become a layer by itself. */
static void fold(const struct weights *weights, const struct node *layer, const struct node *norm,
                 struct weights *folded, const struct node *to)
{
    const struct parameter *weight = &folded->graph->parameters[to->parameters[WEIGHT]];
    const size_t outputs = weight->dims[0], row = weight->count / outputs;
    const float *from = layer ? values_of(weights, layer, WEIGHT) : NULL;
    const float *bias =
        layer && layer->parameter_count > BIAS ? values_of(weights, layer, BIAS) : NULL;
    for (size_t o = 0; o < outputs; o++) {
        double a, b;
        find_line(weights, norm, o, &a, &b);
        for (size_t i = o * row; i < (o + 1) * row; i++)
            folded->values[weight->offset + i] = (float)(a * (from ? (double)from[i] : 1));
        values_of(folded, to, BIAS)[o] = (float)(b + (bias ? a * (double)bias[o] : 0));
    }
}

/* Computes the values of the layers into which norms are folded. */
static void fold_all(const struct graph_copy *copy, const struct weights *weights,
                     struct weights *folded)
{
    for (size_t i = 0; i < copy->from->node_count; i++) {
        const struct node *norm = &copy->from->nodes[i];
        if (!copy->wanted[i] || !is_foldable(norm))
            continue;
        const bool joins = joins_layer(copy, i);
        const struct node *layer = joins ? &copy->from->nodes[norm->inputs[0]] : NULL;
        fold(weights, layer, norm, folded, &folded->graph->nodes[copy->map[i]]);
    }
}

struct network *fold_batch_norm(const struct network *network, const struct weights *weights,
                                struct weights *folded, struct error *error)
{
    struct graph_copy copy;
    struct network *made = NULL;
    bool copied = graph_copy_begin(&copy, &network->graph, error);
    for (size_t i = 1; copied && i < network->graph.node_count; i++)
        copied = !copy.wanted[i] || copy_node(&copy, i, error);
    *folded = (struct weights){0};
    if (copied && graph_copy_finish(&copy, error))
        made = graph_copy_network(&copy, network, NULL, error);
    if (made && weights_create(folded, &made->graph, error) &&
        weights_copy_common(folded, weights, error)) {
        fold_all(&copy, weights, folded);
    } else {
        weights_free(folded);
        network_free(made);
        made = NULL;
    }
    graph_copy_free(&copy);
    return made;
}
