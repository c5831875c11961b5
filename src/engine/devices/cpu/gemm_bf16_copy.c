/* The copies of the operands of matrix products of bf16 (gemm_bf16.h). */
#include "engine/devices/cpu/gemm_bf16.h"
#include "engine/devices/cpu/pairs.h"

enum { ROW_STEPS = 16 }; /* of a row that is read at once: 2 KiB */

/* Fetches a line of cache. The processor itself does not foresee the next row; the address may lie
 * behind the matrix. */
static inline void prefetch(const float *from)
{
    _mm_prefetch((const char *)from, _MM_HINT_T0);
}

/* Returns 2 LANES values of a row, of which `count` are in memory, as pairs of neighbours. */
static inline vector pairs_along(const float *from, size_t count)
{
    const __m512 low = gemm_load(from, count);
    const __m512 high =
        count > LANES ? gemm_load(from + LANES, count - LANES) : _mm512_setzero_ps();
    return (vector)_mm512_cvtne2ps_pbh(high, low);
}

/* Returns LANES columns of two rows as pairs: `columns` of them, and `rows` of the rows, are in
 * memory. */
static inline vector pairs_across(const float *from, size_t stride, size_t columns, size_t rows)
{
    const __m512i interleaved =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    prefetch(from + 4 * stride);
    prefetch(from + 5 * stride);
    const __m512 even = gemm_load(from, columns);
    const __m512 odd = rows > 1 ? gemm_load(from + stride, columns) : _mm512_setzero_ps();
    return (vector)_mm512_permutexvar_epi16(interleaved, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

void KERNEL(gemm_copy_a)(const float *from, size_t stride, size_t rows, size_t k, element *to)
{
    for (size_t r = 0; r < rows; r++, from += stride, to += gemm_depth(k))
        for (size_t i = 0; i < k; i += GEMM_STEP)
            vector_store((float *)(to + i), pairs_along(from + i, k - i));
}

void KERNEL(gemm_copy_a_transposed)(const float *from, size_t stride, size_t rows, size_t k,
                                    element *to)
{
    const size_t depth = gemm_depth(k);
    for (size_t r = 0; r < rows; r += LANES)
        for (size_t i = 0; i < depth; i += GEMM_STEP) {
            vector pairs[LANES];
            for (size_t p = 0; p < LANES; p++)
                pairs[p] = i + 2 * p < k ? pairs_across(from + (i + 2 * p) * stride + r, stride,
                                                        rows - r, k - i - 2 * p)
                                         : vector_splat(0);
            pairs_transpose(pairs);
            for (size_t p = 0; p < min_size(LANES, rows - r); p++)
                vector_store((float *)(to + (r + p) * depth + i), pairs[p]);
        }
}

/* Reads whole rows, so that the memory's prefetcher follows. */
void KERNEL(gemm_copy_b)(const float *from, size_t stride, size_t columns, size_t k, float *to)
{
    const size_t depth = gemm_depth(k), group = depth / 2 * GEMM_COLUMNS;
    for (size_t i = 0; i < depth; i += 2, to += GEMM_COLUMNS)
        for (size_t c = 0; c < round_up(columns, GEMM_COLUMNS); c += LANES) {
            const size_t count = gemm_left(c, columns);
            vector_store(to + c / GEMM_COLUMNS * group + c % GEMM_COLUMNS,
                         i < k && count > 0
                             ? pairs_across(from + i * stride + c, stride, count, k - i)
                             : vector_splat(0));
        }
}

/* Copies LANES columns and at most ROW_STEPS steps of `k`: rounds row by row, then transposes. */
static void copy_columns(const float *from, size_t stride, size_t columns, size_t k, float *to)
{
    vector rows[LANES][ROW_STEPS];
    const size_t steps = divide_up(k, GEMM_STEP);
    for (size_t r = 0; r < LANES; r++, from += stride)
        for (size_t s = 0; s < steps; s++) {
            const float *at = from + s * GEMM_STEP;
            prefetch(at + 2 * stride);
            prefetch(at + 2 * stride + LANES);
            rows[r][s] = r < columns ? pairs_along(at, k - s * GEMM_STEP) : vector_splat(0);
        }
    for (size_t s = 0; s < steps; s++, to += LANES * GEMM_COLUMNS) {
        vector pairs[LANES];
        for (size_t r = 0; r < LANES; r++)
            pairs[r] = rows[r][s];
        pairs_transpose(pairs);
        for (size_t p = 0; p < LANES; p++)
            vector_store(to + p * GEMM_COLUMNS, pairs[p]);
    }
}

void KERNEL(gemm_copy_b_transposed)(const float *from, size_t stride, size_t columns, size_t k,
                                    float *to)
{
    const size_t group = gemm_depth(k) / 2 * GEMM_COLUMNS, step = ROW_STEPS * GEMM_STEP;
    for (size_t c = 0; c < round_up(columns, GEMM_COLUMNS); c += LANES)
        for (size_t i = 0; i < k; i += step)
            copy_columns(from + c * stride + i, stride, gemm_left(c, columns),
                         min_size(step, k - i),
                         to + c / GEMM_COLUMNS * group + c % GEMM_COLUMNS + i / 2 * GEMM_COLUMNS);
}
