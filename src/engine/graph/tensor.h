/* tensor.h: the shape of an activation. Activations are dense float32 arrays [N, C, H, W], with the
 * width varying fastest. */
#ifndef TINCA_ENGINE_GRAPH_TENSOR_H
#define TINCA_ENGINE_GRAPH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest number of values per image: 16 GiB of float32, more than any use needs and far below what
 * overflows size_t. */
#define SHAPE_MAX_VALUES ((uint64_t)1 << 32)

/* The activation of one image: [channels, height, width]. A vector is [channels, 1, 1]. The batch
 * size is not part of the shape. */
struct shape {
    size_t channels, height, width;
};

/* Returns the number of values. */
static inline size_t shape_count(struct shape shape)
{
    return shape.channels * shape.height * shape.width;
}

/* Returns whether shape_count does not overflow and is at most SHAPE_MAX_VALUES. */
static inline bool shape_is_countable(struct shape shape)
{
    if (!shape.channels || !shape.height || !shape.width)
        return true;
    return shape.channels <= SHAPE_MAX_VALUES / shape.height &&
           (uint64_t)shape.channels * shape.height <= SHAPE_MAX_VALUES / shape.width;
}

/* Returns the number of positions: height * width. */
static inline size_t shape_area(struct shape shape)
{
    return shape.height * shape.width;
}

/* Returns whether two shapes are the same. */
static inline bool shape_equal(struct shape a, struct shape b)
{
    return a.channels == b.channels && a.height == b.height && a.width == b.width;
}

#endif
