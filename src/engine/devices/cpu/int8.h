/* int8.h: vectors of integers, their products, and the end of a sum. Only the kernels of int8 in
 * this folder use it.
 *
 * Arrays of integers are channel-blocked, with INT8_BLOCK channels in a block, on all instruction
 * sets. A term is TERM_FACTORS neighbouring factors of the source, 4 bytes, which are multiplied
 * with as many weights in each lane and added to the lane's sum of 32 bits:
 *
 *   vpmaddwd    pairs of 16 bits, to which the source is widened: nothing can saturate
 *   vpdpbusd    quads of 8 bits (TINCA_VNNI): AVX512-VNNI, AVX-VNNI
 *
 * Factors are the integers q themselves, not q - zero_point: the difference is the same for all
 * results of an output channel, and is part of its bias. So all sums are exact, and equal on all
 * instruction sets, and ops/int8.h does the rest.
 *
 * With TINCA_EMULATE_VNNI the products of quads are computed by other instructions: tests then run
 * the code for VNNI on processors that lack it.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_INT8_H
#define TINCA_ENGINE_DEVICES_CPU_INT8_H

#include "base/language.h"
#include "engine/devices/cpu/simd.h"
#include "engine/ops/int8.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum {
    INT8_BLOCK = 16,                   /* channels of a block */
    BLOCK_VECTORS = INT8_BLOCK / LANES /* vectors of sums of a block */
};

#if defined(TINCA_VNNI)
typedef uint8_t factor;
typedef int8_t term_weight;
enum { TERM_FACTORS = 4 };
#else
typedef int16_t factor;
typedef int16_t term_weight;
enum { TERM_FACTORS = 2 };
#endif

#if defined(TINCA_AMX_INT8)
#define INT8_ISA_NAME "amx-int8"
#elif defined(TINCA_VNNI) && defined(__AVX512F__)
#define INT8_ISA_NAME "avx512-vnni"
#elif defined(TINCA_VNNI)
#define INT8_ISA_NAME "avx-vnni"
#else
#define INT8_ISA_NAME ISA_NAME
#endif

/* Sums, or terms, of LANES output channels. */
typedef int32_t sums __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef sums sums_in_memory __attribute__((aligned(1), may_alias));
/* The integers of a block of channels. */
typedef uint8_t bytes __attribute__((vector_size(INT8_BLOCK)));
typedef bytes bytes_in_memory __attribute__((aligned(1), may_alias));

static inline sums sums_load(const void *from)
{
    return *(const sums_in_memory *)from;
}

static inline void sums_store(void *to, sums value)
{
    *(sums_in_memory *)to = value;
}

static inline sums sums_splat(int32_t value)
{
    return value - (sums){0};
}

static inline bytes bytes_load(const uint8_t *from)
{
    return *(const bytes_in_memory *)from;
}

static inline void bytes_store(uint8_t *to, bytes value)
{
    *(bytes_in_memory *)to = value;
}

static inline bytes bytes_splat(uint8_t value)
{
    return value - (bytes){0};
}

static inline bytes bytes_max(bytes a, bytes b)
{
#if defined(__SSE2__)
    return (bytes)_mm_max_epu8((__m128i)a, (__m128i)b);
#else
    const bytes greater = (bytes)(a > b);
    return (greater & a) | (~greater & b);
#endif
}

/* --- products --- */

/* Returns a term of the source in all lanes. */
static inline sums term_splat(const factor *from)
{
    int32_t term;
    memcpy(&term, from, sizeof term);
    return sums_splat(term);
}

/* Returns sum + the products of a term. */
static inline sums term_multiply(sums sum, sums weights, sums factors)
{
#if defined(TINCA_VNNI) && defined(TINCA_EMULATE_VNNI)
    const __m256i low = _mm256_set1_epi16(0xFF), w = (__m256i)weights, f = (__m256i)factors;
    const __m256i even =
        _mm256_madd_epi16(_mm256_and_si256(f, low), _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(f, 8), _mm256_srai_epi16(w, 8));
    return sum + (sums)even + (sums)odd;
#elif defined(TINCA_VNNI) && defined(__AVX512F__)
    return (sums)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)factors, (__m512i)weights);
#elif defined(TINCA_VNNI)
    return (sums)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)factors, (__m256i)weights);
#elif defined(__AVX512F__)
    return sum + (sums)_mm512_madd_epi16((__m512i)factors, (__m512i)weights);
#elif defined(__AVX2__)
    return sum + (sums)_mm256_madd_epi16((__m256i)factors, (__m256i)weights);
#elif defined(__SSE2__)
    return sum + (sums)_mm_madd_epi16((__m128i)factors, (__m128i)weights);
#else
    const sums high = (factors >> 16) * (weights >> 16);
    return sum + high + ((factors << 16) >> 16) * ((weights << 16) >> 16);
#endif
}

/* Copies the integers of a block of channels to factors. */
static inline void factors_store(factor *to, const uint8_t *from)
{
#if defined(TINCA_VNNI)
    bytes_store(to, bytes_load(from));
#elif defined(__AVX2__)
    _mm256_storeu_si256((__m256i *)to,
                        _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from)));
#else
    for (size_t i = 0; i < INT8_BLOCK; i++)
        to[i] = from[i];
#endif
}

/* --- requantization of sums --- */

/* The integers of ops/int8.h that requantize the sums of a block of output channels. */
struct int8_column {
    int32_t bias[INT8_BLOCK]; /* includes the zero point of the input */
    int32_t multiplier[INT8_BLOCK], left[INT8_BLOCK], right[INT8_BLOCK];
    int32_t most[INT8_BLOCK]; /* INT32_MAX >> left */
    float scale[INT8_BLOCK];  /* for an output of float32 */
    /* --- by pairs of lanes: half a unit of the result, 2^(30 + right) --- */
    int64_t even_half[INT8_BLOCK / 2], odd_half[INT8_BLOCK / 2];
    /* --- for a single shift (sums_requantize_once), by pairs of lanes --- */
    int64_t odd_multiplier[INT8_BLOCK / 2];
    int64_t even_add[INT8_BLOCK / 2], odd_add[INT8_BLOCK / 2];
    int32_t shift[INT8_BLOCK];
    int32_t shifts_left; /* whether any `left` is not 0 */
    int32_t shifts_once; /* whether all lanes can do with a single shift */
    int32_t unused[14];
};

/* Sets the fields of a single shift of a lane. The shift needs `right` of at least 1; a multiplier
 * of 0 gives 0 with any. */
static inline void int8_column_set_once(struct int8_column *column, size_t lane)
{
    const int32_t multiplier = column->multiplier[lane];
    const int32_t right = multiplier == 0 ? 1 : column->right[lane];
    if (lane == 0)
        column->shifts_once = true;
    if (right == 0 || column->left[lane] > 0) {
        column->shifts_once = false;
        return;
    }
    const int64_t add = (int64_t)column->bias[lane] * multiplier + ((int64_t)1 << (30 + right));
    column->shift[lane] = right - 1;
    if (lane % 2) {
        column->odd_multiplier[lane / 2] = multiplier;
        column->odd_add[lane / 2] = add;
    } else {
        column->even_add[lane / 2] = add;
    }
}

/* Sets lane `lane` of a column, whose lanes are set in order; without an output channel, the lane
 * gives 0. */
static inline void int8_column_set(struct int8_column *column, size_t lane,
                                   const struct int8_output *output)
{
    static const struct int8_output none;
    const struct int8_output *from = output ? output : &none;
    column->bias[lane] = from->bias - from->zero_sum;
    column->multiplier[lane] = from->requantizer.multiplier;
    column->left[lane] = from->requantizer.left;
    column->right[lane] = from->requantizer.right;
    column->most[lane] = INT32_MAX >> from->requantizer.left;
    (lane % 2 ? column->odd_half : column->even_half)[lane / 2] = (int64_t)1
                                                                  << (30 + from->requantizer.right);
    column->scale[lane] = from->scale;
    column->shifts_left |= from->requantizer.left > 0;
    int8_column_set_once(column, lane);
}

/* Returns requantize() of sums of the column's channels from `lane` on. */
static inline sums sums_requantize(sums sum, const struct int8_column *column, size_t lane)
{
#if defined(__AVX512F__)
    __m512i v = (__m512i)sum;
    const __m512i m = (__m512i)sums_load(column->multiplier + lane);
    if (column->shifts_left) {
        const __m512i most = (__m512i)sums_load(column->most + lane);
        v = _mm512_min_epi32(v, most);
        v = _mm512_max_epi32(v, _mm512_sub_epi32(_mm512_setzero_si512(), most));
        v = _mm512_sllv_epi32(v, (__m512i)sums_load(column->left + lane));
    }
    const __m512i even =
        _mm512_add_epi64(_mm512_mul_epi32(v, m), (__m512i)sums_load(column->even_half + lane / 2));
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(v, 32), _mm512_srli_epi64(m, 32)),
                         (__m512i)sums_load(column->odd_half + lane / 2));
    const __m512i high =
        _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
    return (sums)_mm512_srav_epi32(high, (__m512i)sums_load(column->right + lane));
#elif defined(__AVX2__)
    __m256i v = (__m256i)sum;
    const __m256i m = (__m256i)sums_load(column->multiplier + lane);
    if (column->shifts_left) {
        const __m256i most = (__m256i)sums_load(column->most + lane);
        v = _mm256_min_epi32(v, most);
        v = _mm256_max_epi32(v, _mm256_sub_epi32(_mm256_setzero_si256(), most));
        v = _mm256_sllv_epi32(v, (__m256i)sums_load(column->left + lane));
    }
    const __m256i even =
        _mm256_add_epi64(_mm256_mul_epi32(v, m), (__m256i)sums_load(column->even_half + lane / 2));
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(v, 32), _mm256_srli_epi64(m, 32)),
                         (__m256i)sums_load(column->odd_half + lane / 2));
    const __m256i high =
        _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
    return (sums)_mm256_srav_epi32(high, (__m256i)sums_load(column->right + lane));
#else
    for (size_t i = 0; i < LANES; i++)
        sum[i] = requantize(sum[i],
                            (struct requantizer){column->multiplier[lane + i],
                                                 column->left[lane + i], column->right[lane + i]});
    return sum;
#endif
}

#if defined(__AVX2__)
/* The constants of a single shift for LANES channels of a column. A loop that stores bytes loads
 * them once, before it: to the compiler such a store can change everything in memory. */
struct once {
    sums even_multiplier, odd_multiplier, even_add, odd_add, shift;
};

static inline struct once once_load(const struct int8_column *column, size_t lane)
{
    return (struct once){.even_multiplier = sums_load(column->multiplier + lane),
                         .odd_multiplier = sums_load(column->odd_multiplier + lane / 2),
                         .even_add = sums_load(column->even_add + lane / 2),
                         .odd_add = sums_load(column->odd_add + lane / 2),
                         .shift = sums_load(column->shift + lane)};
}

/* Returns the same for sums without their bias, if column->shifts_once:
 *
 *   ((sum + bias) * multiplier + 2^(30 + right)) >> (31 + right)
 *       = (sum * multiplier + (bias * multiplier + 2^(30 + right))) >> (31 + right)
 *
 * which is the upper half of the 64 bits, shifted by right - 1. */
static inline sums sums_requantize_once(sums sum, struct once once)
{
#if defined(__AVX512F__)
    const __m512i v = (__m512i)sum;
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(v, (__m512i)once.even_multiplier),
                                          (__m512i)once.even_add);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(v, 32), (__m512i)once.odd_multiplier),
                         (__m512i)once.odd_add);
    const __m512i high = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
    return (sums)_mm512_srav_epi32(high, (__m512i)once.shift);
#else
    const __m256i v = (__m256i)sum;
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(v, (__m256i)once.even_multiplier),
                                          (__m256i)once.even_add);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(v, 32), (__m256i)once.odd_multiplier),
                         (__m256i)once.odd_add);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    return (sums)_mm256_srav_epi32(high, (__m256i)once.shift);
#endif
}
#endif

/* Returns the results of sums of the column's channels from `lane` on, without the zero point. */
static inline sums sums_of_column(sums sum, const struct int8_column *column, size_t lane)
{
#if defined(__AVX2__)
    if (column->shifts_once)
        return sums_requantize_once(sum, once_load(column, lane));
#endif
    return sums_requantize(sum + sums_load(column->bias + lane), column, lane);
}

/* Returns values clamped to 0..255. */
static inline bytes sums_pack(const sums *values)
{
#if defined(__AVX512F__)
    const __m512i positive = _mm512_max_epi32((__m512i)values[0], _mm512_setzero_si512());
    return (bytes)_mm512_cvtusepi32_epi8(positive);
#elif defined(__AVX2__)
    const __m256i pairs = _mm256_packs_epi32((__m256i)values[0], (__m256i)values[1]);
    const __m256i ordered = _mm256_permute4x64_epi64(pairs, 0xD8);
    return (bytes)_mm_packus_epi16(_mm256_castsi256_si128(ordered),
                                   _mm256_extracti128_si256(ordered, 1));
#else
    bytes packed = {0};
    for (size_t i = 0; i < INT8_BLOCK; i++)
        packed[i] = requantize_clamp(values[i / LANES][i % LANES], 0);
    return packed;
#endif
}

/* A sum of two quantized values, with the factors of ops/int8.h. */
struct int8_add {
    int32_t factors; /* two of 16 bits */
    int32_t offset, right, zero_point;
};

static inline struct int8_add int8_add_make(const struct quantization *inputs,
                                            struct quantization output)
{
    const struct add_factors factors = add_factors_make(inputs, 2, output);
    return (struct int8_add){
        .factors = (int32_t)((uint32_t)factors.factor[1] << 16 | (uint32_t)factors.factor[0]),
        .offset = add_offset(&factors, inputs, 2),
        .right = factors.right,
        .zero_point = output.zero_point};
}

static inline bytes bytes_add(const struct int8_add *add, bytes a, bytes b)
{
#if defined(__AVX2__)
    const __m256i factors = _mm256_set1_epi32(add->factors),
                  offset = _mm256_set1_epi32(add->offset);
    const __m256i zero_point = _mm256_set1_epi32(add->zero_point);
    const __m128i right = _mm_cvtsi32_si128(add->right);
    const __m256i x = _mm256_cvtepu8_epi16((__m128i)a), y = _mm256_cvtepu8_epi16((__m128i)b);
    __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(x, y), factors);
    __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(x, y), factors);
    low = _mm256_add_epi32(_mm256_sra_epi32(_mm256_add_epi32(low, offset), right), zero_point);
    high = _mm256_add_epi32(_mm256_sra_epi32(_mm256_add_epi32(high, offset), right), zero_point);
    const __m256i words = _mm256_packs_epi32(low, high);
    return (bytes)_mm_packus_epi16(_mm256_castsi256_si128(words),
                                   _mm256_extracti128_si256(words, 1));
#else
    bytes sum = {0};
    for (size_t i = 0; i < INT8_BLOCK; i++)
        sum[i] = requantize_clamp(
            ((add->offset + (add->factors & 0xFFFF) * a[i] + (add->factors >> 16) * b[i]) >>
             add->right) +
                add->zero_point,
            0);
    return sum;
#endif
}

/* The epilogue that a kernel applies to requantized values before it stores them: relu, the
 * addition of a second input, relu, each of them optional. */
struct int8_epilogue {
    int32_t zero_point; /* of the kernel's own output */
    bool relu_first, adds, relu_last;
    bytes least_first, least_last; /* the zero of the relus */
    struct int8_add add;
};

static inline struct int8_epilogue int8_epilogue_of(const struct kernel_site *site)
{
    const struct quantization own = site->output_quantization;
    const struct quantization last = site->fused_add ? site->fused_add->quantization : own;
    /* the factors do not depend on the order of the summands */
    const struct quantization summands[2] = {own, site->quantizations[1]};
    struct int8_epilogue epilogue = {.zero_point = own.zero_point,
                                     .adds = site->fused_add,
                                     .relu_first = site->activation_first,
                                     .relu_last = site->fused_activation && !site->activation_first,
                                     .least_first = bytes_splat((uint8_t)own.zero_point),
                                     .least_last = bytes_splat((uint8_t)last.zero_point)};
    if (site->fused_add)
        epilogue.add = int8_add_make(summands, last);
    return epilogue;
}

/* Returns the integers of a block of sums; `summand` is where the summand lies. */
static inline bytes int8_finish(const struct int8_epilogue *epilogue,
                                const struct int8_column *column, const sums *block,
                                const uint8_t *summand)
{
    sums values[BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        values[v] = sums_of_column(block[v], column, v * LANES) + epilogue->zero_point;
    bytes result = sums_pack(values);
    if (epilogue->relu_first)
        result = bytes_max(result, epilogue->least_first);
    if (epilogue->adds)
        result = bytes_add(&epilogue->add, result, bytes_load(summand));
    return epilogue->relu_last ? bytes_max(result, epilogue->least_last) : result;
}

#if defined(__AVX2__)
/* The integers of two positions of a block of channels. */
typedef __m256i two_bytes;

/* Returns the quantized sums of the values of two positions, `a`, and those of a second input, `b`.
 */
static inline two_bytes two_bytes_add(const struct int8_add *add, two_bytes a, two_bytes b)
{
    const __m256i zero = _mm256_setzero_si256(), factors = _mm256_set1_epi32(add->factors);
    const __m256i offset = _mm256_set1_epi32(add->offset);
    const __m256i zero_point = _mm256_set1_epi16((short)add->zero_point);
    const __m128i right = _mm_cvtsi32_si128(add->right);
    const __m256i pairs[2] = {_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)};
    __m256i words[2];
    for (size_t i = 0; i < 2; i++) {
        __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi8(pairs[i], zero), factors);
        __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi8(pairs[i], zero), factors);
        low = _mm256_sra_epi32(_mm256_add_epi32(low, offset), right);
        high = _mm256_sra_epi32(_mm256_add_epi32(high, offset), right);
        words[i] = _mm256_adds_epi16(_mm256_packs_epi32(low, high), zero_point);
    }
    return _mm256_packus_epi16(words[0], words[1]);
}

/* Returns the requantized sums of two positions, if column->shifts_once. Values that saturate on
 * the way are outside 0..255 anyway. */
static inline two_bytes two_blocks_requantize(const struct once *once, const sums *first,
                                              const sums *second, int32_t zero_point)
{
#if defined(__AVX512F__)
    const __m512i zero = _mm512_setzero_si512();
    const sums a = sums_requantize_once(first[0], once[0]) + zero_point;
    const sums b = sums_requantize_once(second[0], once[0]) + zero_point;
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm512_cvtusepi32_epi8(_mm512_max_epi32((__m512i)a, zero))),
        _mm512_cvtusepi32_epi8(_mm512_max_epi32((__m512i)b, zero)), 1);
#else
    const sums a0 = sums_requantize_once(first[0], once[0]);
    const sums b0 = sums_requantize_once(second[0], once[0]);
    const sums a1 = sums_requantize_once(first[1], once[1]);
    const sums b1 = sums_requantize_once(second[1], once[1]);
    const __m256i to_add = _mm256_set1_epi16((short)zero_point);
    const __m256i a = _mm256_adds_epi16(_mm256_packs_epi32((__m256i)a0, (__m256i)a1), to_add);
    const __m256i b = _mm256_adds_epi16(_mm256_packs_epi32((__m256i)b0, (__m256i)b1), to_add);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b),
                                       _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#endif
}

/* Does int8_finish_row by pairs of positions, if column->shifts_once. Returns how many positions
 * are done. */
static inline size_t int8_finish_pairs(const struct int8_epilogue *epilogue,
                                       const struct int8_column *column, const sums *blocks,
                                       size_t step, size_t count, const uint8_t *summand,
                                       uint8_t *to)
{
    const struct int8_epilogue e = *epilogue; /* in registers, as the constants of the column */
    struct once once[BLOCK_VECTORS];
    for (size_t v = 0; v < BLOCK_VECTORS; v++)
        once[v] = once_load(column, v * LANES);
    size_t p = 0;
    for (; p + 2 <= count; p += 2) {
        two_bytes two =
            two_blocks_requantize(once, blocks + p * step, blocks + (p + 1) * step, e.zero_point);
        if (e.relu_first)
            two = _mm256_max_epu8(two, _mm256_broadcastsi128_si256((__m128i)e.least_first));
        if (e.adds)
            two = two_bytes_add(&e.add, two,
                                _mm256_loadu_si256((const __m256i *)(summand + p * INT8_BLOCK)));
        if (e.relu_last)
            two = _mm256_max_epu8(two, _mm256_broadcastsi128_si256((__m128i)e.least_last));
        _mm256_storeu_si256((__m256i *)(to + p * INT8_BLOCK), two);
    }
    return p;
}
#endif

/* Writes the integers of `count` neighbouring positions of a block of channels to `to`; their sums
 * lie `step` vectors apart, their summands at `summand`. */
static inline void int8_finish_row(const struct int8_epilogue *epilogue,
                                   const struct int8_column *column, const sums *blocks,
                                   size_t step, size_t count, const uint8_t *summand, uint8_t *to)
{
    size_t p = 0;
#if defined(__AVX2__)
    if (column->shifts_once)
        p = int8_finish_pairs(epilogue, column, blocks, step, count, summand, to);
#endif
    for (; p < count; p++)
        bytes_store(to + p * INT8_BLOCK,
                    int8_finish(epilogue, column, blocks + p * step, summand + p * INT8_BLOCK));
}

/* Writes the sums of a block as float32. */
static inline void int8_finish_floats(const struct int8_column *column, const sums *block,
                                      float *values)
{
    for (size_t v = 0; v < BLOCK_VECTORS; v++) {
        const sums sum = block[v] + sums_load(column->bias + v * LANES);
        vector_store(values + v * LANES,
                     __builtin_convertvector(sum, vector) * vector_load(column->scale + v * LANES));
    }
}

/* --- arrays --- */

/* One of the arrays of a call. */
struct int8_array {
    uint8_t *values;
    size_t plane, image; /* values from one to the next */
};

static inline struct int8_array int8_array_make(const void *values, struct shape shape,
                                                struct tensor_layout layout)
{
    return (struct int8_array){.values = (uint8_t *)values,
                               .plane = tensor_plane(layout, shape),
                               .image = tensor_image(layout, shape)};
}

static inline struct int8_array int8_input(const struct kernel_call *call, size_t k)
{
    return int8_array_make(call->inputs[k], call->site->inputs[k], call->site->layouts[k]);
}

static inline struct int8_array int8_output_array(const struct kernel_call *call)
{
    return int8_array_make(call->output, call->site->node->output, call->site->output_layout);
}

/* Returns whether a convolution has one input channel in each group. */
static inline bool int8_is_depthwise(const struct kernel_site *site)
{
    return site->node->attributes.conv.groups == site->inputs[0].channels;
}

/* Returns the blocks of `channels`. */
static inline size_t int8_blocks(size_t channels)
{
    return divide_up(channels, INT8_BLOCK);
}

/* Implements kernel.supports: whether the plan computes the site in integers. */
static inline bool supports_int8(const struct kernel_site *site, const char **reason)
{
    *reason = N_("the layer is not computed in int8");
    return site->int8;
}

/* int8_copies.c: convert between float32 and integers of 8 bits, as the driver's `quantize` and
 * `dequantize`. */
void KERNEL(quantize)(struct pool *pool, struct quantization quantization,
                      struct tensor_layout layout, struct shape shape, size_t batch,
                      const float *from, uint8_t *to);
void KERNEL(dequantize)(struct pool *pool, struct quantization quantization,
                        struct tensor_layout layout, struct shape shape, size_t batch,
                        const uint8_t *from, float *to);

#endif
