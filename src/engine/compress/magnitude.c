/* Finds the threshold without sorting: the bits of a magnitude, read as an integer, have the order
 * of the magnitudes, so two passes, over the upper and then the lower half of the bits, count down
 * to the threshold that the wanted number of weights is below. */
#include "engine/compress/magnitude.h"

#include "base/memory.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HALF_VALUES = 1 << 16 };

static bool is_pruned(const struct graph *graph, size_t number)
{
    const struct parameter *parameter = &graph->parameters[number];
    const struct node *node = &graph->nodes[parameter->node];
    return parameter->rank > 1 && node->parameters[0] == number &&
           (node->op == &op_conv || node->op == &op_conv_transpose || node->op == &op_linear);
}

static uint32_t magnitude_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x7fffffff;
}

/* Counts the halves of the bits of all pruned weights: the upper ones or, if `upper` is given, the
 * lower ones of those with that upper half. */
static void count_halves(const struct weights *weights, const uint32_t *upper, uint64_t *counts)
{
    const struct graph *graph = weights->graph;
    memset(counts, 0, HALF_VALUES * sizeof *counts);
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        for (size_t i = 0; is_pruned(graph, p) && i < parameter->count; i++) {
            const uint32_t bits = magnitude_bits(weights->values[parameter->offset + i]);
            if (!upper)
                counts[bits >> 16]++;
            else if (bits >> 16 == *upper)
                counts[bits & 0xffff]++;
        }
    }
}

/* Returns the half at which the running sum of the counts exceeds *wanted, and subtracts the counts
 * before it. */
static uint32_t find_half(const uint64_t *counts, uint64_t *wanted)
{
    uint32_t half = 0;
    while (half < HALF_VALUES - 1 && counts[half] <= *wanted)
        *wanted -= counts[half++];
    return half;
}

/* Sets the weights below the threshold to zero, and the first `equal` weights that are equal to it.
 */
static uint64_t set_zeros(struct weights *weights, uint32_t threshold, uint64_t equal)
{
    const struct graph *graph = weights->graph;
    uint64_t zeros = 0;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        float *values = weights->values + parameter->offset;
        for (size_t i = 0; is_pruned(graph, p) && i < parameter->count; i++) {
            const uint32_t bits = magnitude_bits(values[i]);
            if (bits < threshold || (bits == threshold && equal > 0)) {
                equal -= bits == threshold;
                values[i] = 0;
            }
            zeros += values[i] == 0;
        }
    }
    return zeros;
}

bool magnitude_prune(struct weights *weights, double share, uint64_t *count, uint64_t *zeros,
                     struct error *error)
{
    uint64_t *counts = memory_new(HALF_VALUES, sizeof *counts, "the counts of weights", error);
    if (!counts)
        return false;
    const struct graph *graph = weights->graph;
    *count = 0;
    for (size_t p = 0; p < graph->parameter_count; p++)
        if (is_pruned(graph, p))
            *count += graph->parameters[p].count;
    uint64_t wanted = (uint64_t)floor(share * (double)*count);
    const bool all = wanted >= *count;
    count_halves(weights, NULL, counts);
    const uint32_t upper = find_half(counts, &wanted);
    count_halves(weights, &upper, counts);
    const uint32_t lower = find_half(counts, &wanted);
    *zeros = set_zeros(weights, all ? UINT32_MAX : upper << 16 | lower, wanted);
    weights_mark_changed(weights);
    free(counts);
    return true;
}
