/* blocked_arrays.h: channel-blocked arrays (struct tensor_layout) for tests, next to guard pages.
 */
#ifndef TINCA_TESTS_BLOCKED_ARRAYS_H
#define TINCA_TESTS_BLOCKED_ARRAYS_H

#include "guarded_memory.h"

#include "base/memory.h"
#include "engine/graph/tensor.h"

#include <string.h>

/* Returns where value (n, c, y, x) of a channel-blocked or plain array lies. */
static inline float *blocked_place(float *array, struct tensor_layout layout, struct shape shape,
                                   size_t n, size_t c, size_t y, size_t x)
{
    const size_t block = layout.block ? layout.block : 1;
    return array + n * tensor_image(layout, shape) + c / block * tensor_plane(layout, shape) +
           tensor_origin(layout, shape) + y * tensor_row(layout, shape) + x * block + c % block;
}

/* Returns a copy of a plain array in a layout; its padding and its unused channels are 0. */
static inline float *blocked_copy(const float *plain, struct tensor_layout layout,
                                  struct shape shape, size_t batch, enum guarded_side side,
                                  const char *name)
{
    const size_t floats = batch * tensor_image(layout, shape);
    float *array = guarded_new(floats * sizeof(float), MEMORY_ALIGNMENT, side, name);
    memset(array, 0, floats * sizeof *array);
    for (size_t i = 0; i < batch * shape_count(shape); i++) {
        const size_t area = shape_area(shape), place = i % area, plane = i / area;
        *blocked_place(array, layout, shape, plane / shape.channels, plane % shape.channels,
                       place / shape.width, place % shape.width) = plain[i];
    }
    return array;
}

/* Copies an array in a layout to a plain one. */
static inline void blocked_to_plain(const float *array, struct tensor_layout layout,
                                    struct shape shape, size_t batch, float *plain)
{
    for (size_t i = 0; i < batch * shape_count(shape); i++) {
        const size_t area = shape_area(shape), place = i % area, plane = i / area;
        plain[i] = *blocked_place((float *)array, layout, shape, plane / shape.channels,
                                  plane % shape.channels, place / shape.width, place % shape.width);
    }
}

#endif
