/* tensor.h: shapes. Activations are float32, [N, C, H, W], dense, width fastest. */
#ifndef TINCA_ENGINE_TENSOR_H
#define TINCA_ENGINE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

/* One image's activation: [channels, height, width]. A vector is [channels, 1, 1]. The batch is not
 * part of it: a plan multiplies. */
struct shape {
    size_t channels, height, width;
};

static inline size_t shape_count(struct shape shape)
{
    return shape.channels * shape.height * shape.width;
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
