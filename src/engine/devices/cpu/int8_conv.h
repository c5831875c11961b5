/* int8_conv.h: the geometry of a convolution of integers, which int8_conv.c (copies the source,
 * divides the work) and int8_tiles.h (multiplies) share. */
#ifndef TINCA_ENGINE_DEVICES_CPU_INT8_CONV_H
#define TINCA_ENGINE_DEVICES_CPU_INT8_CONV_H

#include "engine/devices/cpu/int8.h"

/* The rows of the source that a strip of output rows reads are copied to a buffer, with their
 * padding: [row][position][channel], of which all factors under a row of the window are neighbours,
 * unless the window is dilated or the convolution has groups.
 *
 * A run is a number of neighbouring terms. The window has kernel_height * row_runs runs. */
struct int8_conv {
    struct shape in, out;
    struct window w;
    size_t dilation_height, dilation_width;
    size_t groups, group_inputs, group_outputs;
    /* Groups of the layer that are one here, with weights of 0 between them. */
    size_t merged_groups;
    /* --- the buffer --- */
    size_t group_factors;    /* factors of a group's channels: whole terms */
    size_t position_factors; /* of all channels */
    size_t row_positions;    /* positions of a row */
    size_t row_factors;
    size_t read_step_height,
        read_step_width;            /* source rows and positions between neighbouring copied ones */
    size_t step_height, step_width; /* buffer rows and positions from output to output */
    size_t span;                    /* rows under one output row */
    size_t strip_rows;              /* output rows of a strip */
    size_t buffer_bytes;            /* a strip's factors and, from at_bytes on, their addresses */
    size_t at_bytes;
    bool gathers; /* channels must be moved one by one */
    /* --- the terms --- */
    size_t row_runs, run_step; /* runs of a window's row, factors from one to the next */
    size_t run_terms;
    size_t terms; /* of a window */
    /* --- the outputs --- */
    size_t group_columns, columns; /* blocks of output channels of a group, of all groups */
};

/* Returns the values of packed weights of a column. */
static inline size_t int8_conv_column_weights(const struct int8_conv *c)
{
    return c->terms * TERM_FACTORS * INT8_BLOCK;
}

/* Returns the first output channel of a column. */
static inline size_t int8_conv_channel(const struct int8_conv *c, size_t column)
{
    return column / c->group_columns * c->group_outputs + column % c->group_columns * INT8_BLOCK;
}

/* Returns the output channels of a column, of which there may be fewer than INT8_BLOCK. */
static inline size_t int8_conv_channels(const struct int8_conv *c, size_t column)
{
    return min_size(INT8_BLOCK, c->group_outputs - column % c->group_columns * INT8_BLOCK);
}

#endif
