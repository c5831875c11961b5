/* blocked_arrays.h: channel-blocked arrays (struct tensor_layout) of float32 and bf16 for tests,
 * next to guard pages. */
#ifndef TINCA_TESTS_BLOCKED_ARRAYS_H
#define TINCA_TESTS_BLOCKED_ARRAYS_H

#include "guarded_memory.h"

#include "base/float16.h"
#include "base/memory.h"
#include "engine/graph/tensor.h"

#include <math.h>
#include <string.h>

/* Returns the number of value (n, c, y, x) in a channel-blocked or plain array. */
static inline size_t blocked_place(struct tensor_layout layout, struct shape shape, size_t n,
                                   size_t c, size_t y, size_t x)
{
    const size_t block = layout.block ? layout.block : 1;
    return n * tensor_image(layout, shape) + c / block * tensor_plane(layout, shape) +
           tensor_origin(layout, shape) + y * tensor_row(layout, shape) + x * block + c % block;
}

/* Returns value number i of an array. */
static inline float blocked_value(const void *array, struct tensor_layout layout, size_t i)
{
    return layout.bf16 ? bf16_to_float(((const uint16_t *)array)[i]) : ((const float *)array)[i];
}

/* Sets value number i of an array. */
static inline void blocked_set(void *array, struct tensor_layout layout, size_t i, float value)
{
    if (layout.bf16)
        ((uint16_t *)array)[i] = bf16_from_float(value);
    else
        ((float *)array)[i] = value;
}

/* Returns the bytes of an array. */
static inline size_t blocked_bytes(struct tensor_layout layout, struct shape shape, size_t batch)
{
    return batch * tensor_image(layout, shape) * tensor_value_bytes(layout);
}

/* Returns a copy of a plain array in a layout; its padding and its unused channels are 0. */
static inline void *blocked_copy(const float *plain, struct tensor_layout layout,
                                 struct shape shape, size_t batch, enum guarded_side side,
                                 const char *name)
{
    const size_t bytes = blocked_bytes(layout, shape, batch);
    void *array = guarded_new(bytes, MEMORY_ALIGNMENT, side, name);
    memset(array, 0, bytes);
    for (size_t i = 0; i < batch * shape_count(shape); i++) {
        const size_t area = shape_area(shape), place = i % area, plane = i / area;
        blocked_set(array, layout,
                    blocked_place(layout, shape, plane / shape.channels, plane % shape.channels,
                                  place / shape.width, place % shape.width),
                    plain[i]);
    }
    return array;
}

/* Copies an array in a layout to a plain one. */
static inline void blocked_to_plain(const void *array, struct tensor_layout layout,
                                    struct shape shape, size_t batch, float *plain)
{
    for (size_t i = 0; i < batch * shape_count(shape); i++) {
        const size_t area = shape_area(shape), place = i % area, plane = i / area;
        plain[i] = blocked_value(array, layout,
                                 blocked_place(layout, shape, plane / shape.channels,
                                               plane % shape.channels, place / shape.width,
                                               place % shape.width));
    }
}

/* Rounds values to bf16. */
static inline void blocked_round(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = bf16_round(values[i]);
}

/* Returns how much values of bf16 differ from wanted ones of float32, beyond one place of bf16, as
 * a part of the largest. */
static inline double blocked_bf16_difference(const float *got, const float *wanted, size_t count)
{
    double largest = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(got[i]) || !isfinite(wanted[i]))
            return INFINITY;
        largest = fmax(largest, fabs(wanted[i]));
        difference = fmax(difference, fabs((double)got[i] - wanted[i]) - fabs(wanted[i]) / 256);
    }
    return difference / (largest + 1e-2);
}

#endif
