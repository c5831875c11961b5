/* gather.h: the source values of an implicit GEMM (implicit_gemm.h) by two small tables instead of
 * divisions and comparisons. Only the kernels for tensor cores, and those that choose them, use it.
 *
 * The index of the value that a column reads for a term is the sum of a part that depends on the
 * column and one that depends on the term, and so is its position down and across. Relative to the
 * first position of the column's window, the offsets -1 .. GATHER_TAPS of an axis have a bit each:
 * a term names the offset of its tap, and the one that a fused channel shift moves it to; a column
 * names the offsets that lie outside of the source. A value is outside if they share a bit. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_GATHER_H
#define TINCA_ENGINE_DEVICES_CUDA_GATHER_H

#include "engine/devices/cuda/implicit_gemm.h"

/* The most taps of a phase down or across. Bit 0 of an axis is offset -1. Bit 15 of both axes is
 * set for every column, so that terms beyond the last one can name it. */
enum { GATHER_TAPS = 13, GATHER_ACROSS = 16 };
static const uint32_t GATHER_NEVER = 1u << 15;

struct gather_term {
    int offset;
    uint32_t taps;
};

struct gather_column {
    int first;
    uint32_t outside;
};

/* Returns whether all taps of the product have a bit. */
static inline bool gather_supports(const struct implicit_gemm *w)
{
    bool fits = true;
    for (int p = 0; p < w->down.phase_count; p++)
        fits = fits && w->down.phases[p].taps.value <= GATHER_TAPS;
    for (int p = 0; p < w->across.phase_count; p++)
        fits = fits && w->across.phases[p].taps.value <= GATHER_TAPS;
    return fits;
}

/* Returns a term of the sum, and sets *weight to its offset in the weights of a row. */
static __host__ __device__ __forceinline__ struct gather_term
gather_term_of(const struct implicit_gemm *w, const struct gemm_block *block, uint32_t term,
               uint32_t *weight)
{
    *weight = 0;
    if (term >= block->terms)
        return {0, GATHER_NEVER};
    const struct gemm_term at = gemm_term_of(w, block, term);
    const struct move move = move_of(&w->source_moves, block->group * w->channels + at.channel);
    const int down = w->down.source_tap, across = w->across.source_tap; /* 1 or -1 */
    const int y = at.y * down + 1, x = at.x * across + 1 + GATHER_ACROSS;
    *weight = at.weight;
    return {(int)(move.channel * w->source_by_channel) +
                ((at.y - move.dy) * w->across.source_size + at.x - move.dx) *
                    (int)w->source_by_position,
            1u << y | 1u << (y - move.dy * down) | 1u << x | 1u << (x - move.dx * across)};
}

/* Returns the bits of the offsets for which first + offset * step lies in [0, size). */
static __host__ __device__ __forceinline__ uint32_t gather_inside(int first, int step, int size)
{
    int low = step > 0 ? -first : first - size + 1;
    int high = step > 0 ? size - 1 - first : first;
    low = low < -1 ? -1 : low;
    high = high > GATHER_TAPS ? (int)GATHER_TAPS : high;
    return low > high ? 0 : (2u << (high + 1)) - (1u << (low + 1));
}

/* Returns a column; beyond the last one all values are outside. */
static __host__ __device__ __forceinline__ struct gather_column
gather_column_of(const struct implicit_gemm *w, const struct gemm_block *block, uint32_t column)
{
    if (column >= block->columns)
        return {0, ~0u};
    const struct gemm_column at = gemm_column_of(w, block, column);
    const uint32_t image =
        w->groups * w->channels * (uint32_t)(w->down.source_size * w->across.source_size);
    return {(int)(at.image * image) +
                (at.y * w->across.source_size + at.x) * (int)w->source_by_position,
            ~(gather_inside(at.y, w->down.source_tap, w->down.source_size) |
              gather_inside(at.x, w->across.source_tap, w->across.source_size) << GATHER_ACROSS)};
}

static __device__ __forceinline__ bool gather_is_inside(const struct gather_column &column,
                                                        const struct gather_term &term)
{
    return !(column.outside & term.taps);
}

/* Returns whether four successive channels of a group are 16 bytes that begin at a multiple of 16,
 * for every tap: the source is channels-last and not moved. */
static inline bool gather_is_wide_by_channels(const struct implicit_gemm *w, const float *source)
{
    return w->source_by_channel == 1 && w->source_by_position != 1 && w->channels % 4 == 0 &&
           !w->source_moves.shifts && !w->source_moves.shuffles && (uintptr_t)source % 16 == 0;
}

/* Returns whether the columns read neighbouring values for every term, four of them 16 bytes that
 * begin at a multiple of 16: one tap, a stride of 1, no padding and no shift. */
static inline bool gather_is_wide(const struct implicit_gemm *w, const float *source)
{
    const struct gemm_axis *axes[] = {&w->down, &w->across};
    bool wide = !w->source_moves.shifts && w->source_by_position == 1 &&
                (uintptr_t)source % 16 == 0 && w->down.source_size * w->across.source_size % 4 == 0;
    for (const struct gemm_axis *axis : axes)
        wide = wide && axis->phase_count == 1 && axis->phases[0].taps.value == 1 &&
               !axis->phases[0].untapped && axis->phases[0].source_first == 0 &&
               axis->source_step == 1 && axis->source_size == axis->target_size;
    return wide;
}

#endif
