/* int8_results.h: the results of a layer of integers, as its kernels store them: as integers, with
 * the fused epilogue, or as float32. */
#ifndef TINCA_ENGINE_DEVICES_CPU_INT8_RESULTS_H
#define TINCA_ENGINE_DEVICES_CPU_INT8_RESULTS_H

#include "engine/devices/cpu/int8.h"

struct int8_results {
    const struct int8_column *columns;
    struct int8_epilogue epilogue;
    struct int8_array out, summand; /* without values: the results are float32; nothing is added */
    float *floats;
    struct shape shape;
};

/* Returns the results of a call, whose columns `prepare` has written. */
static inline struct int8_results int8_results_of(const struct kernel_call *call,
                                                  const struct int8_column *columns)
{
    struct int8_results results = {.columns = columns,
                                   .epilogue = int8_epilogue_of(call->site),
                                   .floats = call->output,
                                   .shape = call->site->node->output};
    if (call->site->output_layout.u8)
        results.out = int8_output_array(call);
    if (call->site->fused_add)
        results.summand = int8_input(call, 1);
    return results;
}

/* Neighbouring positions of the channels of a column in one image. */
struct int8_place {
    size_t image, column, first, channels; /* output channels [first, first + channels) */
    size_t position;                       /* the first one */
};

/* Returns the place of a column that is a block of the output's channels. */
static inline struct int8_place int8_place_of(const struct int8_results *r, size_t image,
                                              size_t column, size_t position)
{
    const size_t first = column * INT8_BLOCK;
    return (struct int8_place){image, column, first,
                               min_size(INT8_BLOCK, r->shape.channels - first), position};
}

/* Returns the address of a place's block of channels in an array. */
static inline uint8_t *int8_place_at(const struct int8_array *array, const struct int8_place *place)
{
    return array->values + place->image * array->image + place->first / INT8_BLOCK * array->plane +
           place->position * INT8_BLOCK;
}

/* Stores `count` positions, whose sums lie `step` vectors apart. Integers fill a block of channels,
 * or are those of the last one. */
static inline void int8_store(const struct int8_results *r, const struct int8_place *place,
                              size_t count, const sums *blocks, size_t step)
{
    const struct int8_column *column = r->columns + place->column;
    if (r->out.values) {
        int8_finish_row(&r->epilogue, column, blocks, step, count,
                        int8_place_at(&r->summand, place), int8_place_at(&r->out, place));
        return;
    }
    const size_t area = shape_area(r->shape);
    float *to =
        r->floats + (place->image * r->shape.channels + place->first) * area + place->position;
    for (size_t p = 0; p < count; p++) {
        float values[INT8_BLOCK];
        int8_finish_floats(column, blocks + p * step, values);
        for (size_t i = 0; i < place->channels; i++)
            to[i * area + p] = values[i];
    }
}

#endif
