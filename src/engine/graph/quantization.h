/* quantization.h: integers of 8 bits in place of float32, and the one definition of their rounding.
 *
 * A node's output may lie on the grid of its quantization: value = scale * (q - zero_point) with q
 * in 0..255. Zero is on every grid. The weights of a quantized layer lie on the grid of their
 * output channel o: weight = weight_scale[o] * q with q in -127..127.
 *
 * Simulated quantization shows the rounded values of such a node to all its readers. A plan of
 * precision int8 rounds a value that was computed in float32 only for readers in integers. Layers
 * that only move or select values (relu, max_pool, concat, ...) have the quantization of their
 * input, so that there is nothing to round; a layer whose values are read by a relu alone, perhaps
 * after a max_pool, has that of the relu, whose zero point is 0: the lowest integer is the relu's
 * zero.
 *
 * In memory weights are float32 and exactly weight_scale[o] * q, so that every device computes with
 * the values that a device with integers sees. A plan of precision float32 does not round outputs.
 */
#ifndef TINCA_ENGINE_GRAPH_QUANTIZATION_H
#define TINCA_ENGINE_GRAPH_QUANTIZATION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { QUANTIZED_MAX = 255, QUANTIZED_WEIGHT_MAX = 127 };

/* The grid of an array of unsigned integers. */
struct quantization {
    float scale;    /* above 0; 0: the values are not quantized */
    int zero_point; /* 0..255 */
};

static inline bool quantization_is_set(struct quantization quantization)
{
    return quantization.scale > 0;
}

static inline bool quantization_equal(struct quantization a, struct quantization b)
{
    return a.scale == b.scale && a.zero_point == b.zero_point;
}

/* Returns the integer of a value before it is clamped to 0..255, as a float: it multiplies by the
 * scale's reciprocal and rounds halves to even, as in PyTorch. NaN becomes the zero point. */
static inline float quantization_position(struct quantization quantization, float value)
{
    const float position = rintf(value * (1 / quantization.scale));
    return (isnan(position) ? 0 : position) + (float)quantization.zero_point;
}

/* Returns the integer of a value. */
static inline uint8_t quantization_round(struct quantization quantization, float value)
{
    return (uint8_t)fminf(fmaxf(quantization_position(quantization, value), 0), QUANTIZED_MAX);
}

/* Returns the value of an integer. */
static inline float quantization_value(struct quantization quantization, uint8_t q)
{
    return quantization.scale * (float)(q - quantization.zero_point);
}

/* Returns the integer of a weight. NaN becomes 0. */
static inline int8_t quantization_round_weight(float scale, float weight)
{
    const float position = rintf(weight / scale);
    return (int8_t)(isnan(position)
                        ? 0
                        : fminf(fmaxf(position, -QUANTIZED_WEIGHT_MAX), QUANTIZED_WEIGHT_MAX));
}

struct graph;
struct parameter;

/* Returns the scales, one for each output, of a quantized layer's weights; NULL if the parameter is
 * not the weights of such a layer. */
const struct parameter *graph_weight_scale(const struct graph *graph,
                                           const struct parameter *parameter);

/* Returns whether the parameter holds the weight scales of a quantized layer. */
bool parameter_is_weight_scale(const struct parameter *parameter);

/* Returns whether any node or weight of the graph is quantized. */
bool graph_is_quantized(const struct graph *graph);

#endif
