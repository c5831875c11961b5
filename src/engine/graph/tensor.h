/* tensor.h: the shape of an activation, and its layout in memory. Activations are float32 arrays
 * [N, C, H, W], with the width varying fastest, unless their layout is channel-blocked. A
 * channel-blocked array may hold bf16. In precision int8, plain and channel-blocked arrays may hold
 * integers of 8 bits without sign. */
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

/* The layout of an activation in memory. The plain layout, {0}, is [N, C, H, W]. A channel-blocked
 * layout is [N, C / block, H + 2 pad, W + 2 pad, block], with C / block rounded up: `block`
 * channels of a position are neighbours, so that they fill a vector register (the layout nChw16c of
 * oneDNN). The pad is filled with zeros, as are the unused channels of the last block.
 *
 * With `by_rows` it is [N, H + 2 pad, C / block, W + 2 pad, block]: a row block is one range of
 * memory. Without, it is a range of each block of channels. If threads share an image, most compute
 * row blocks, and the processor prefetches what follows a range, which another thread is computing.
 *
 * A channels-last layout is [N, H, W, C] without padding (NHWC): a GPU loads several channels of a
 * position at once. It has as many values as the plain one. */
struct tensor_layout {
    size_t block; /* 0: plain */
    size_t pad;
    bool by_rows; /* only channel-blocked float32 or bf16 in inference */
    bool bf16;    /* the values are bf16; only channel-blocked. Else they are float32 */
    bool u8;      /* the values are integers of a quantization (quantization.h) */
    /* The channels of the array that the tensor is a part of: the inputs of a concat can be written
     * where their concatenation lies. 0: it is no part. */
    size_t channels;
    bool channels_last; /* never with a block */
};

/* Returns whether two layouts are the same. */
static inline bool layout_equal(struct tensor_layout a, struct tensor_layout b)
{
    return a.block == b.block && a.pad == b.pad && a.by_rows == b.by_rows && a.bf16 == b.bf16 &&
           a.u8 == b.u8 && a.channels == b.channels && a.channels_last == b.channels_last;
}

/* Returns the bytes of a value. */
static inline size_t tensor_value_bytes(struct tensor_layout layout)
{
    return layout.u8 ? sizeof(uint8_t) : layout.bf16 ? sizeof(uint16_t) : sizeof(float);
}

/* Returns the planes of one image of the whole array: its channels or blocks of channels. */
static inline size_t tensor_planes(struct tensor_layout layout, struct shape shape)
{
    const size_t channels = layout.channels ? layout.channels : shape.channels;
    return layout.block ? (channels + layout.block - 1) / layout.block : channels;
}

/* Returns the values of one row of a plane. */
static inline size_t tensor_line(struct tensor_layout layout, struct shape shape)
{
    return layout.block ? (shape.width + 2 * layout.pad) * layout.block : shape.width;
}

/* Returns the values from one row of a plane to the next. */
static inline size_t tensor_row(struct tensor_layout layout, struct shape shape)
{
    return tensor_line(layout, shape) * (layout.by_rows ? tensor_planes(layout, shape) : 1);
}

/* Returns the values from one plane to the next. */
static inline size_t tensor_plane(struct tensor_layout layout, struct shape shape)
{
    const size_t rows = layout.by_rows ? 1 : shape.height + 2 * layout.pad;
    return rows * tensor_line(layout, shape);
}

/* Returns the values from one image to the next. */
static inline size_t tensor_image(struct tensor_layout layout, struct shape shape)
{
    return tensor_planes(layout, shape) * (shape.height + 2 * layout.pad) *
           tensor_line(layout, shape);
}

/* Returns the values from the start of a plane to its first position that is not padding. */
static inline size_t tensor_origin(struct tensor_layout layout, struct shape shape)
{
    return layout.pad * (tensor_row(layout, shape) + layout.block);
}

#endif
