/* Matrix products of bf16 (gemm_bf16.h).
 *
 * A tile has up to TILE_ROWS rows and GEMM_COLUMNS columns, and sums all pairs in registers: for
 * each pair it loads two vectors of columns, and multiplies them with a pair of each row, which is
 * broadcast. The columns are the inner loop, so that `c` is written row by row.
 */
#include "engine/devices/cpu/gemm_bf16.h"

#include "engine/devices/cpu/tiles.h"

/* --- copies --- */

enum { ROW_STEPS = 16 }; /* of a row that is read at once: 2 KiB */

/* Returns the mask of the first `count` lanes. */
static inline __mmask16 mask_of(size_t count)
{
    return (__mmask16)(count < LANES ? (1u << count) - 1 : 0xFFFF);
}

/* Returns `count` floats, at most LANES, with zeros behind them. */
static inline __m512 load_some(const float *from, size_t count)
{
    return _mm512_maskz_loadu_ps(mask_of(count), from);
}

/* Fetches a line of cache. The processor itself does not foresee the next row; the address may lie
 * behind the matrix. */
static inline void prefetch(const float *from)
{
    _mm_prefetch((const char *)from, _MM_HINT_T0);
}

/* Returns 2 LANES values of a row, of which `count` are in memory, as pairs of neighbours. */
static inline vector pairs_along(const float *from, size_t count)
{
    const __m512 low = load_some(from, count);
    const __m512 high =
        count > LANES ? load_some(from + LANES, count - LANES) : _mm512_setzero_ps();
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
    const __m512 even = load_some(from, columns);
    const __m512 odd = rows > 1 ? load_some(from + stride, columns) : _mm512_setzero_ps();
    return (vector)_mm512_permutexvar_epi16(interleaved, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* Transposes LANES x LANES pairs: first 4 x 4 in each quarter of the vectors, then the quarters. */
static inline void transpose(vector rows[LANES])
{
    __m512i t[LANES], u[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32((__m512i)rows[i], (__m512i)rows[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32((__m512i)rows[i], (__m512i)rows[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        const __m512i a = _mm512_shuffle_i32x4(u[i], u[i + 4], 0x88);
        const __m512i b = _mm512_shuffle_i32x4(u[i], u[i + 4], 0xDD);
        const __m512i c = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0x88);
        const __m512i d = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0xDD);
        rows[i] = (vector)_mm512_shuffle_i32x4(a, c, 0x88);
        rows[i + 4] = (vector)_mm512_shuffle_i32x4(b, d, 0x88);
        rows[i + 8] = (vector)_mm512_shuffle_i32x4(a, c, 0xDD);
        rows[i + 12] = (vector)_mm512_shuffle_i32x4(b, d, 0xDD);
    }
}

/* Returns how many of the values from `begin` on are before `end`. */
static inline size_t left(size_t begin, size_t end)
{
    return begin < end ? end - begin : 0;
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
            transpose(pairs);
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
            const size_t count = left(c, columns);
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
        transpose(pairs);
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
            copy_columns(from + c * stride + i, stride, left(c, columns), min_size(step, k - i),
                         to + c / GEMM_COLUMNS * group + c % GEMM_COLUMNS + i / 2 * GEMM_COLUMNS);
}

/* --- tiles --- */

/* Stores the sums of `count` columns of a row, at most LANES. */
static inline void store_sums(const struct gemm_bf16_call *g, size_t row, size_t column,
                              vector sums)
{
    float *to = g->c + row * g->c_stride + column;
    const size_t count = left(column, g->columns);
    if (g->accumulate)
        sums += (vector)load_some(to, count);
    if (g->bias)
        sums += (vector)load_some(g->bias + column, count);
    _mm512_mask_storeu_ps(to, mask_of(count), (__m512)sums);
}

enum { TILE_MAX = 14 }; /* 28 sums, two vectors of columns and a broadcast pair fit the registers */

/* Computes `rows` rows of a group of columns. */
TILE_INLINE void multiply(const struct gemm_bf16_call *g, size_t row, size_t column, const int rows)
{
    const float *b = g->b + column * g->depth / 2;
    const element *a = g->a + row * g->a_stride;
    vector sums[TILE_MAX][2];
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
        sums[r][0] = sums[r][1] = vector_splat(0);
    for (size_t k = 0; k < g->depth; k += 2, b += GEMM_COLUMNS) {
        const vector first = vector_load(b), second = vector_load(b + LANES);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            const vector pair = term_load(a + (size_t)r * g->a_stride + k);
            sums[r][0] = term_add(sums[r][0], first, pair);
            sums[r][1] = term_add(sums[r][1], second, pair);
        }
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        store_sums(g, row + (size_t)r, column, sums[r][0]);
        if (column + LANES < g->columns)
            store_sums(g, row + (size_t)r, column + LANES, sums[r][1]);
    }
}

typedef void tile_function(const struct gemm_bf16_call *g, size_t row, size_t column);

#define TILE(rows)                                                                                 \
    static void tile_##rows(const struct gemm_bf16_call *g, size_t row, size_t column)             \
    {                                                                                              \
        multiply(g, row, column, rows);                                                            \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)

/* The functions by [rows - 1]. */
static tile_function *const tiles[TILE_MAX] = {tile_1,  tile_2,  tile_3,  tile_4, tile_5,
                                               tile_6,  tile_7,  tile_8,  tile_9, tile_10,
                                               tile_11, tile_12, tile_13, tile_14};

void KERNEL(gemm_bf16)(const struct gemm_bf16_call *g)
{
    const size_t count = divide_up(g->rows, TILE_MAX);
    for (size_t i = 0; i < count; i++) {
        const size_t row = piece_begin(g->rows, count, i);
        const size_t rows = piece_begin(g->rows, count, i + 1) - row;
        for (size_t column = 0; column < g->columns; column += GEMM_COLUMNS)
            tiles[rows - 1](g, row, column);
    }
}
