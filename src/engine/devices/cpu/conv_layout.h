/* conv_layout.h: a layout of images with which convolution needs no im2col. Only the kernels of
 * this folder use it.
 *
 * A source image is copied once with its padding, and its rows and columns are sorted into stride x
 * stride phases. The value that window element (ky, kx) needs for output position (y, x) then lies
 * at offset(channel, ky, kx) + y * pitch + x, so that neighbouring positions are neighbours in
 * memory for any stride and padding. Where possible a row's padding on the right is also the next
 * row's padding on the left. Results for the positions between `width` and `pitch` are computed and
 * dropped.
 *
 * The copy is also where a fused channel_shift or channel_shuffle is applied: each channel is
 * copied from its place before the move (channel_moves.h).
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_CONV_LAYOUT_H
#define TINCA_ENGINE_DEVICES_CPU_CONV_LAYOUT_H

#include "engine/devices/cpu/channel_moves.h"
#include "engine/devices/cpu/simd.h"

#include <string.h>

/* One axis of a source and of its copy. */
struct conv_axis {
    size_t size;   /* size of the source */
    size_t stride; /* source positions between two neighbours in a phase */
    size_t phases;
    size_t pad;    /* zeros before the first value, counted in source positions */
    size_t length; /* length of one phase, in positions that are read */
};

struct layout {
    struct conv_axis y, x;
    size_t pitch, plane; /* floats from row to row of a phase; from channel to channel */
    float fill;          /* value of the padding; 0 unless it is set */
};

/* Floats that vectors may read beyond the last plane. They have the value `fill`, because the
 * padding on the right of the last row lies there. */
enum { LAYOUT_SLACK = 4 * LANES * TILE_VECTORS };

/* Returns a / stride, rounded up. The usual strides avoid a division, which would take as long as
 * copying a short row. */
static inline size_t divide_by_stride(size_t a, size_t stride)
{
    return stride == 1 ? a : stride == 2 ? (a + 1) / 2 : divide_up(a, stride);
}

/* Sets [*begin, *end) to the positions in `phase` that have a value, for a source that is moved by
 * `offset` within the image; values that leave the image are lost. */
static inline void axis_content(const struct conv_axis *axis, size_t phase, ptrdiff_t offset,
                                size_t *begin, size_t *end)
{
    const size_t first = axis->pad + (offset > 0); /* in padded positions, as `last` */
    const size_t last = axis->pad + axis->size - (offset < 0);
    *begin = first > phase ? divide_by_stride(first - phase, axis->stride) : 0;
    *end = last > phase ? divide_by_stride(last - phase, axis->stride) : 0;
    *begin = min_size(*begin, axis->length);
    *end = max_size(*begin, min_size(*end, axis->length));
}

/* Returns how many of a row's last zeros can be the first zeros of the next row. */
static inline size_t axis_shared(const struct conv_axis *axis)
{
    size_t shared = axis->length;
    for (size_t phase = 0; phase < axis->phases; phase++) {
        size_t begin, end;
        axis_content(axis, phase, 0, &begin, &end);
        shared = min_size(shared, min_size(begin, axis->length - end));
    }
    return shared;
}

/* Returns the layout of two axes. The pitch is at least `width`, the width of the results. */
static inline struct layout layout_make(struct conv_axis y, struct conv_axis x, size_t width)
{
    struct layout layout = {.y = y, .x = x};
    layout.pitch = max_size(x.length - axis_shared(&x), width);
    layout.plane = y.phases * x.phases * y.length * layout.pitch;
    if (layout.plane % 1024 < LANES) /* channels a page apart would compete for one cache set */
        layout.plane += LANES;
    return layout;
}

/* Returns the floats that a copy of `channels` channels needs. */
static inline size_t layout_floats(const struct layout *layout, size_t channels)
{
    return round_up(channels * layout->plane + layout->pitch + LAYOUT_SLACK, LANES);
}

/* Loads LANES values of stride 1 or 2 from the 1 or 2 vectors at `from`. */
static inline vector layout_load(const float *from, size_t stride)
{
    const vector first = vector_load(from);
    if (stride == 1)
        return first;
    vector_indices even;
    for (int i = 0; i < LANES; i++)
        even[i] = 2 * i;
    return vector_pick_two(first, vector_load(from + LANES), even);
}

/* Copies a row of values to positions [begin, end) and fills the rest. If `from_end` and `to_end`
 * leave space for the excess, whole vectors are copied, so that short rows need no scalar loop; the
 * fill of the row and later rows overwrite the excess. */
static inline void layout_copy_row(const struct layout *layout, size_t begin, size_t end,
                                   const float *from, const float *from_end, float *to,
                                   const float *to_end)
{
    const size_t stride = layout->x.stride, whole = round_up(end - begin, LANES);
    const bool whole_fits =
        whole * stride <= (size_t)(from_end - from) && begin + whole <= (size_t)(to_end - to);
    for (size_t i = 0; i < begin; i++)
        to[i] = layout->fill;
    if (whole_fits && stride == 1)
        for (size_t i = 0; i < whole; i += LANES)
            vector_store(to + begin + i, layout_load(from + i, 1));
    else if (whole_fits && stride == 2)
        for (size_t i = 0; i < whole; i += LANES)
            vector_store(to + begin + i, layout_load(from + 2 * i, 2));
    else
        for (size_t i = 0; i < end - begin; i++)
            to[begin + i] = from[i * stride];
    for (size_t i = end; i < layout->pitch; i++)
        to[i] = layout->fill;
}

/* Copies one phase of a channel, moved. */
static inline void layout_copy_phase(const struct layout *layout, size_t py, size_t px,
                                     const struct channel_move *move, const float *from,
                                     const float *from_end, float *to, const float *to_end)
{
    const struct conv_axis *y = &layout->y, *x = &layout->x;
    size_t top, bottom, begin, end;
    axis_content(y, py, move->dy, &top, &bottom);
    axis_content(x, px, move->dx, &begin, &end);
    const size_t up = y->pad + (size_t)move->dy; /* may wrap; the difference below wraps back */
    const size_t left = begin < end ? begin * x->stride + px - x->pad - (size_t)move->dx : 0;
    for (size_t row = 0; row < y->length; row++, to += layout->pitch)
        if (row >= top && row < bottom)
            layout_copy_row(layout, begin, end, from + (row * y->stride + py - up) * x->size + left,
                            from_end, to, to_end);
        else
            for (size_t i = 0; i < layout->pitch; i++)
                to[i] = layout->fill;
}

/* Returns whether the copy of a channel has the same values in the same order: a 1x1 window of
 * stride 1. */
static inline bool layout_is_whole(const struct layout *layout)
{
    const struct conv_axis *y = &layout->y, *x = &layout->x;
    return y->phases == 1 && x->phases == 1 && y->stride == 1 && x->stride == 1 && !y->pad &&
           !x->pad && y->length == y->size && x->length == x->size && layout->pitch == x->size;
}

/* Returns whether the copy of all channels would equal the source, so that the source can be read
 * without a copy. */
static inline bool layout_is_plain(const struct layout *layout)
{
    return layout_is_whole(layout) && layout->plane == layout->y.size * layout->x.size;
}

/* Copies one channel, moved. */
static inline void layout_copy_channel(const struct layout *layout, const struct channel_move *move,
                                       const float *from, const float *from_end, float *to)
{
    const float *to_end = to + layout->plane;
    if (!move->dy && !move->dx && layout_is_whole(layout)) {
        store_or_add(to, from, layout->y.size * layout->x.size, false);
        return;
    }
    for (size_t py = 0; py < layout->y.phases; py++)
        for (size_t px = 0; px < layout->x.phases; px++) {
            layout_copy_phase(layout, py, px, move, from, from_end, to, to_end);
            to += layout->y.length * layout->pitch;
        }
}

/* Copies channels [first, first + channels) of an image, each from its place before `moves`. Values
 * behind a channel, up to the end of moves->channels if that is set, may be read but are not used.
 */
static inline void layout_copy_planes(const struct layout *layout,
                                      const struct channel_moves *moves, size_t first,
                                      size_t channels, const float *image, float *to)
{
    const size_t used = layout->y.phases * layout->x.phases * layout->y.length * layout->pitch;
    const size_t area = layout->y.size * layout->x.size;
    const float *image_end = image + max_size(moves->channels, first + channels) * area;
    for (size_t c = 0; c < channels; c++) {
        const struct channel_move move = channel_move_of(moves, first + c);
        layout_copy_channel(layout, &move, image + move.channel * area, image_end,
                            to + c * layout->plane);
        for (size_t i = used; i < layout->plane; i++)
            to[c * layout->plane + i] = layout->fill;
    }
}

/* Fills the floats that vectors may read behind the last of `channels` planes. */
static inline void layout_fill_behind(const struct layout *layout, size_t channels, float *to)
{
    for (size_t i = channels * layout->plane; i < layout_floats(layout, channels); i++)
        to[i] = layout->fill;
}

/* Copies channels as layout_copy_planes does and fills the floats behind them. */
static inline void layout_copy(const struct layout *layout, const struct channel_moves *moves,
                               size_t first, size_t channels, const float *image, float *to)
{
    layout_copy_planes(layout, moves, first, channels, image, to);
    layout_fill_behind(layout, channels, to);
}

#endif
