/* The search for a share of the parameters bisects the price of a parameter, on a logarithmic
 * scale. The number of parameters never grows with the price, because each layer by itself
 * minimises its loss plus the price of its size. So the layers together lose least for their size,
 * and a layer that is replaced at some price is replaced at every higher one. */
#include "engine/compress/factorize.h"

#include "base/memory.h"
#include "engine/graph/name_pattern.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prices are 2^-PRICE_RANGE to 2^PRICE_RANGE. */
enum { PRICE_RANGE = 40, BISECTIONS = 60 };

/* --- which layers --- */

static bool has_kernel(const struct node *node)
{
    return node->op == &op_linear || node->op == &op_conv || node->op == &op_conv_transpose;
}

static const char *weight_name(const struct graph *graph, const struct node *node)
{
    return graph->parameters[node->parameters[0]].name;
}

static enum factor_state choose_state(const struct graph *graph, const struct node *node,
                                      bool needed, const struct factorize_settings *settings)
{
    const char *name = weight_name(graph, node);
    if (!needed)
        return FACTOR_TRAINING;
    if (settings->keep && name_pattern_matches(settings->keep, name))
        return FACTOR_KEPT;
    if (settings->layers && !name_pattern_matches(settings->layers, name))
        return FACTOR_NOT_CHOSEN;
    if (!factor_layers_fit(node))
        return FACTOR_TRANSPOSED;
    if (node->op == &op_linear ? !settings->linear : settings->convolutions == CONVOLUTIONS_NONE)
        return FACTOR_NOT_CHOSEN;
    return FACTOR_NOT_SMALLER;
}

static enum factor_method choose_method(const struct factor_kernel *kernel,
                                        const struct factorize_settings *settings)
{
    if (kernel->height == 1 && kernel->width == 1)
        return FACTOR_SVD;
    return settings->convolutions == CONVOLUTIONS_TUCKER ? FACTOR_TUCKER : FACTOR_SPATIAL;
}

/* Returns the number of parameters of the network as it was, without those that only training uses.
 */
static size_t used_parameters(const struct factorization *factorization)
{
    return graph_parameter_count(&factorization->network->graph) -
           factorization->training_parameters;
}

static void add_layer(struct factorization *factorization, size_t n, bool needed,
                      const struct factorize_settings *settings)
{
    const struct graph *graph = &factorization->network->graph;
    struct factorized_layer *layer = &factorization->layers[factorization->count++];
    layer->node = n;
    layer->state = choose_state(graph, &graph->nodes[n], needed, settings);
    layer->candidate = layer->state == FACTOR_NOT_SMALLER;
    layer->before = (struct layer_cost){.parameters = graph_node_parameter_count(graph, n),
                                        .flops = graph_node_flops(graph, n)};
    layer->after = layer->before;
    if (layer->state == FACTOR_TRAINING)
        factorization->training_parameters += layer->before.parameters;
}

/* Lists the layers, and sets *candidates to the number of those that can be factorized. */
static bool list_layers(struct factorization *factorization,
                        const struct factorize_settings *settings, size_t *candidates,
                        struct error *error)
{
    const struct graph *graph = &factorization->network->graph;
    bool *needed = memory_new(graph->node_count, sizeof *needed, "the layers", error);
    factorization->layers =
        memory_new(graph->node_count, sizeof *factorization->layers, "the layers", error);
    if (needed && factorization->layers) {
        graph_mark_ancestors(graph, graph->output, needed);
        for (size_t n = 0; n < graph->node_count; n++)
            if (has_kernel(&graph->nodes[n]))
                add_layer(factorization, n, needed[n], settings);
    }
    const bool listed = needed && factorization->layers;
    free(needed);
    if (!listed)
        return false;
    for (size_t i = 0; i < factorization->count; i++) {
        struct factorized_layer *layer = &factorization->layers[i];
        layer->size = (double)layer->before.parameters / (double)used_parameters(factorization);
        *candidates += layer->candidate;
    }
    return *candidates > 0 ||
           error_set(error, ERROR_USAGE, factorization->network->name,
                     "tinca info NETWORK lists the layers; see --layers, --keep, --convolutions "
                     "and --linear",
                     "no layer is left that could be factorized");
}

uint64_t factorization_bytes(const struct network *network,
                             const struct factorize_settings *settings)
{
    struct factorization listed = {.network = network};
    uint64_t bytes = 0, most = 0, working;
    size_t candidates = 0;
    const bool any = list_layers(&listed, settings, &candidates, NULL);
    for (size_t i = 0; any && i < listed.count; i++) {
        const struct node *node = &network->graph.nodes[listed.layers[i].node];
        if (!listed.layers[i].candidate)
            continue;
        const struct factor_kernel kernel = factor_layers_kernel(&network->graph, node, NULL);
        const uint64_t kept = factor_bytes(choose_method(&kernel, settings), &kernel, &working);
        if (bytes + kept + working > most)
            most = bytes + kept + working;
        bytes += kept;
    }
    factorization_free(&listed);
    return most;
}

static bool decompose_layers(struct factorization *factorization,
                             const struct factorize_settings *settings, size_t candidates,
                             factorize_progress *progress, void *context, struct error *error)
{
    const struct graph *graph = &factorization->network->graph;
    size_t done = 0;
    for (size_t i = 0; i < factorization->count; i++) {
        struct factorized_layer *layer = &factorization->layers[i];
        const struct node *node = &graph->nodes[layer->node];
        if (!layer->candidate)
            continue;
        if (progress && !progress(context, node->name, done++, candidates, error))
            return false;
        const struct factor_kernel kernel =
            factor_layers_kernel(graph, node, factorization->weights->values);
        if (!factor_decompose(&layer->factor, choose_method(&kernel, settings), &kernel, node->name,
                              error))
            return false;
    }
    return true;
}

bool factorization_begin(struct factorization *factorization, const struct network *network,
                         const struct weights *weights, const struct factorize_settings *settings,
                         factorize_progress *progress, void *context, struct error *error)
{
    size_t candidates = 0;
    *factorization = (struct factorization){.network = network, .weights = weights};
    if ((!settings->layers ||
         name_pattern_check(settings->layers, &network->graph, "--layers", error)) &&
        (!settings->keep || name_pattern_check(settings->keep, &network->graph, "--keep", error)) &&
        weights_fetch(weights, error) && list_layers(factorization, settings, &candidates, error) &&
        decompose_layers(factorization, settings, candidates, progress, context, error))
        return true;
    factorization_free(factorization);
    return false;
}

void factorization_free(struct factorization *factorization)
{
    for (size_t i = 0; factorization->layers && i < factorization->count; i++)
        factor_free(&factorization->layers[i].factor);
    free(factorization->layers);
    *factorization = (struct factorization){0};
}

/* --- ranks --- */

/* Sets the layer's state and cost by its ranks. With `worth` false they lose too much. */
static bool weigh_layer(const struct graph *graph, struct factorized_layer *layer, bool worth,
                        struct error *error)
{
    struct factor_layer made[FACTOR_PARTS];
    struct layer_cost cost;
    const struct node *node = &graph->nodes[layer->node];
    const size_t count = factor_layers_make(node, &layer->factor, layer->ranks, made);
    if (!factor_layers_cost(graph, node, made, count, &cost, error))
        return false;
    layer->state = !worth ? FACTOR_NOT_WORTH
                   : cost.parameters >= layer->before.parameters || cost.flops > layer->before.flops
                       ? FACTOR_NOT_SMALLER
                   : layer->excluded ? FACTOR_SLOWER
                                     : FACTOR_REPLACED;
    layer->after = layer->state == FACTOR_REPLACED ? cost : layer->before;
    return true;
}

bool factorization_choose_energy(struct factorization *factorization, double energy,
                                 struct error *error)
{
    for (size_t i = 0; i < factorization->count; i++) {
        struct factorized_layer *layer = &factorization->layers[i];
        if (!layer->candidate)
            continue;
        factor_choose_ranks(&layer->factor, 1 - energy, layer->ranks);
        if (!weigh_layer(&factorization->network->graph, layer, true, error))
            return false;
    }
    return true;
}

bool factorization_choose_at(struct factorization *factorization, double price, struct error *error)
{
    factorization->price = price;
    for (size_t i = 0; i < factorization->count; i++) {
        struct factorized_layer *layer = &factorization->layers[i];
        if (!layer->candidate)
            continue;
        /* a layer that is not replaced loses nothing and pays for all of its weights */
        const struct factor_kernel *k = &layer->factor.kernel;
        const double weights = (double)(k->groups * k->outputs * k->inputs * k->height * k->width);
        const double whole = price * layer->size;
        const double parts = factor_choose_ranks_at(&layer->factor, whole / weights, layer->ranks);
        const bool worth = layer->pinned || parts < whole;
        if (!weigh_layer(&factorization->network->graph, layer, worth, error))
            return false;
    }
    return true;
}

size_t factorization_parameters(const struct factorization *factorization)
{
    size_t count = graph_parameter_count(&factorization->network->graph);
    for (size_t i = 0; i < factorization->count; i++)
        count -=
            factorization->layers[i].before.parameters - factorization->layers[i].after.parameters;
    return count;
}

size_t factorization_replaced(const struct factorization *factorization)
{
    size_t count = 0;
    for (size_t i = 0; i < factorization->count; i++)
        count += factorization->layers[i].state == FACTOR_REPLACED;
    return count;
}

void factorization_pin(struct factorization *factorization, bool pin)
{
    for (size_t i = 0; i < factorization->count; i++)
        factorization->layers[i].pinned = pin && factorization->layers[i].state == FACTOR_REPLACED;
}

/* Returns the number of parameters with the ranks chosen last, without those that only training
 * uses. */
static size_t left_parameters(const struct factorization *factorization)
{
    return factorization_parameters(factorization) - factorization->training_parameters;
}

/* Chooses the ranks at the lowest price 2^exponent at which at most `most` parameters are left.
 * *exponent is a price that suffices; it is set to the one found. */
static bool bisect_price(struct factorization *factorization, double most, double *exponent,
                         struct error *error)
{
    double low = -PRICE_RANGE;
    for (size_t i = 0; i < BISECTIONS; i++) {
        const double middle = (low + *exponent) / 2;
        if (!factorization_choose_at(factorization, exp2(middle), error))
            return false;
        if ((double)left_parameters(factorization) <= most)
            *exponent = middle;
        else
            low = middle;
    }
    return factorization_choose_at(factorization, exp2(*exponent), error);
}

bool factorization_choose_parameters(struct factorization *factorization, double share,
                                     struct error *error)
{
    const double total = (double)used_parameters(factorization);
    double exponent = PRICE_RANGE;
    factorization_pin(factorization, false);
    if (!factorization_choose_at(factorization, exp2(exponent), error))
        return false;
    const double least = (double)left_parameters(factorization) / total;
    if (least > share)
        return error_set(error, ERROR_USAGE, "--parameters",
                         "ask for more, or let more layers be factorized",
                         "with rank 1 in every layer %.4g of the parameters are left, more than "
                         "%.4g",
                         least, share);
    if (!bisect_price(factorization, share * total, &exponent, error))
        return false;
    factorization_pin(factorization, true);
    return bisect_price(factorization, share * total, &exponent, error);
}

/* --- the new network --- */

static const struct factorized_layer *find_layer(const struct factorization *factorization,
                                                 size_t node)
{
    for (size_t i = 0; i < factorization->count; i++)
        if (factorization->layers[i].node == node)
            return &factorization->layers[i];
    return NULL;
}

static enum rewrite replace_layer(void *context, size_t n, struct rewritten_layer *rewritten,
                                  struct error *error)
{
    const struct factorization *factorization = context;
    const struct node *node = &factorization->network->graph.nodes[n];
    const struct factorized_layer *layer = find_layer(factorization, n);
    struct factor_layer made[FACTOR_PARTS];
    if (!layer || layer->state != FACTOR_REPLACED)
        return REWRITE_KEEP;
    const size_t count = factor_layers_make(node, &layer->factor, layer->ranks, made);
    if (factor_layers_write(node, made, count, rewritten))
        return REWRITE_REPLACE;
    error_set_memory(error, "the new network", 0);
    return REWRITE_FAIL;
}

struct json *factorization_tree(const struct factorization *factorization, struct error *error)
{
    return rewrite_network(factorization->network, replace_layer, (void *)factorization, error);
}

/* Returns the address of the parameter NAME.i.suffix of a replaced layer in the new network. */
static float *find_values(const struct weights *weights, const struct node *node, size_t i,
                          const char *suffix)
{
    char layer[FACTOR_LAYER_NAME_SIZE], name[FACTOR_LAYER_NAME_SIZE + 16];
    snprintf(name, sizeof name, "%s.%s", factor_layers_name(node, i, layer), suffix);
    const struct parameter *parameter = graph_find_parameter(weights->graph, name);
    return parameter ? weights->values + parameter->offset : NULL;
}

/* Writes the parts of a replaced layer, and its bias to the last of them. */
static bool write_layer(const struct factorization *factorization, struct factorized_layer *layer,
                        struct weights *weights, struct error *error)
{
    const struct graph *graph = &factorization->network->graph;
    const struct node *node = &graph->nodes[layer->node];
    struct factor_layer made[FACTOR_PARTS];
    float *parts[FACTOR_PARTS] = {NULL};
    const size_t count = factor_layers_make(node, &layer->factor, layer->ranks, made);
    bool found = true;
    for (size_t i = 0; found && i < count; i++)
        found = (parts[made[i].part] = find_values(weights, node, i, "weight"));
    if (found && node->parameter_count > 1) {
        const struct parameter *bias = &graph->parameters[node->parameters[1]];
        float *values = find_values(weights, node, count - 1, "bias");
        found = values;
        if (found)
            memcpy(values, factorization->weights->values + bias->offset,
                   bias->count * sizeof *values);
    }
    if (!found)
        return error_set(error, ERROR_INPUT, node->name,
                         "rename the layers of this network so that no name is another's with a "
                         "number",
                         "the new network has no layers of its parts");
    return factor_make(&layer->factor, layer->ranks, parts, &layer->fit, error);
}

bool factorization_weights(struct factorization *factorization, struct weights *weights,
                           struct error *error)
{
    if (!weights_copy_common(weights, factorization->weights, error))
        return false;
    for (size_t i = 0; i < factorization->count; i++)
        if (factorization->layers[i].state == FACTOR_REPLACED &&
            !write_layer(factorization, &factorization->layers[i], weights, error))
            return false;
    weights_mark_changed(weights);
    return true;
}
