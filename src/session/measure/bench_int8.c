#include "session/measure/bench_int8.h"

#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/quantize/fold_batch_norm.h"
#include "engine/quantize/quantize.h"
#include "engine/weights/weights.h"

#include <stdlib.h>

static const struct sample_range assumed = {-4, 4}, assumed_after_relu = {0, 4};

/* Quantizes a network without batch norms. */
static struct network *quantize(const struct network *network, const struct weights *weights,
                                struct error *error)
{
    const struct graph *graph = &network->graph;
    const size_t nodes = graph->node_count;
    bool *layers = memory_new(nodes, sizeof *layers, "the network", error);
    struct sample_range *ranges = memory_new(nodes, sizeof *ranges, "the network", error);
    struct quantization *grids = memory_new(nodes, sizeof *grids, "the network", error);
    struct quantize_plan plan = {0};
    struct weights quantized = {0};
    struct network *made = NULL;
    for (size_t i = 0; layers && ranges && i < nodes; i++) {
        layers[i] = quantize_has_weights(&graph->nodes[i]);
        ranges[i] = graph->nodes[i].op == &op_relu ? assumed_after_relu : assumed;
    }
    if (layers && ranges && grids && quantize_plan_make(&plan, graph, layers, false, error)) {
        quantize_set_grids(&plan, ranges, grids);
        made = quantize_network(&plan, network, weights, grids, true, NULL, &quantized, error);
    }
    if (made)
        weights_free(&quantized);
    quantize_plan_free(&plan);
    free(grids);
    free(ranges);
    free(layers);
    return made;
}

struct network *bench_quantize(const struct network *network, uint64_t seed, struct error *error)
{
    struct weights weights = {0}, folded = {0};
    struct network *without_norms = NULL, *made = NULL;
    if (weights_create(&weights, &network->graph, error)) {
        weights_initialise(&weights, seed, NULL);
        without_norms = fold_batch_norm(network, &weights, &folded, error);
    }
    if (without_norms) {
        made = quantize(without_norms, &folded, error);
        weights_free(&folded);
    }
    network_free(without_norms);
    weights_free(&weights);
    return made;
}
