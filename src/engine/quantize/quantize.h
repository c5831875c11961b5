/* quantize.h: makes a quantized network (graph/quantization.h) of a trained one without batch norms
 * (fold_batch_norm.h).
 *
 * The layers whose weights are quantized determine which nodes are computed in integers: also a
 * sum, an average pooling, or a layer that only moves values, if one of its inputs is. A node's
 * output gets a grid if a node that is computed in integers reads it; so the network's output has
 * none, nor has a value that only layers in float32 read. A layer that only moves values has the
 * grid of its inputs: such nodes form a group with one grid.
 */
#ifndef TINCA_ENGINE_QUANTIZE_QUANTIZE_H
#define TINCA_ENGINE_QUANTIZE_QUANTIZE_H

#include "engine/network/network.h"
#include "engine/quantize/calibration.h"
#include "engine/weights/weights.h"

#define QUANTIZE_NONE SIZE_MAX

struct quantize_plan {
    const struct graph *graph;
    bool *wanted;  /* by node: the output needs it */
    bool *int8;    /* by node: it is computed in integers */
    size_t *group; /* by node: the first node of its group; QUANTIZE_NONE: no grid */
    /* By node: only a relu reads it and clips negative values, so its own range does not count. */
    bool *clipped;
};

/* Returns whether a layer has weights that can be quantized. */
bool quantize_has_weights(const struct node *node);

/* Plans a network in which the weights of layers[] (by node) are quantized. With `alone`, nothing
 * but these layers is computed in integers. Call quantize_plan_free afterwards. Returns false with
 * an error if memory runs out. */
bool quantize_plan_make(struct quantize_plan *plan, const struct graph *graph, const bool *layers,
                        bool alone, struct error *error);
void quantize_plan_free(struct quantize_plan *plan); /* may be {0} */

/* Sets grids[] (by node) from the ranges of the nodes' values, of which those of clipped nodes and
 * of nodes without a grid are not read. */
void quantize_set_grids(const struct quantize_plan *plan, const struct sample_range *ranges,
                        struct quantization *grids);

/* Returns whether all weights are finite; sets an error that names those that are not. */
bool quantize_check_weights(const struct weights *weights, struct error *error);

/* Returns the quantized network, with `step` at the end of its chain of techniques (NULL: none),
 * which network_free frees, and its weights, which weights_free frees. With `per_channel` each
 * output channel of a layer has its own scale; otherwise the layer has one. With `quantized` NULL
 * only the network is made, and `weights` is not read. Returns NULL with an error. */
struct network *quantize_network(const struct quantize_plan *plan, const struct network *network,
                                 const struct weights *weights, const struct quantization *grids,
                                 bool per_channel, const char *step, struct weights *quantized,
                                 struct error *error);

#endif
