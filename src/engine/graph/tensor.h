/* tensor.h: shapes. Activations are float32, [N, C, H, W], dense, width fastest. */
#ifndef TINCA_ENGINE_GRAPH_TENSOR_H
#define TINCA_ENGINE_GRAPH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values an image: 16 GiB of float32 are beyond any machine's use, and far from where size_t
 * overflows. */
#define SHAPE_MAX_VALUES ((uint64_t)1 << 32)

/* One image's activation: [channels, height, width]. A vector is [channels, 1, 1]. The batch is not
 * part of it: a plan multiplies. */
struct shape {
    size_t channels, height, width;
};

static inline size_t shape_count(struct shape shape)
{
    return shape.channels * shape.height * shape.width;
}

/* Whether shape_count is exact and at most SHAPE_MAX_VALUES; a shape with an empty side is. */
static inline bool shape_is_countable(struct shape shape)
{
    if (!shape.channels || !shape.height || !shape.width)
        return true;
    return shape.channels <= SHAPE_MAX_VALUES / shape.height &&
           (uint64_t)shape.channels * shape.height <= SHAPE_MAX_VALUES / shape.width;
}

static inline size_t shape_area(struct shape shape)
{
    return shape.height * shape.width;
}

static inline bool shape_equal(struct shape a, struct shape b)
{
    return a.channels == b.channels && a.height == b.height && a.width == b.width;
}

#endif
