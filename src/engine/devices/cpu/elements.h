/* elements.h: the elements of channel-blocked arrays: float32 or, in the library that is compiled
 * with TINCA_BF16, bf16. Only the kernels of this folder use it.
 *
 * Kernels compute in float32. In bf16, elements are widened when they are loaded, and rounded to
 * nearest, ties to even, when they are stored. The products of convolutions are those of pairs: a
 * term has TERM_VALUES values of the source, which are multiplied with as many weights in each lane
 * and added to one sum. With AMX (TINCA_AMX), which multiplies 16 pairs at once, a term has a block
 * of channels under TERM_TAPS neighbouring elements of the window. ELEMENT_TRAITS are traits of
 * every kernel that works on elements.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_ELEMENTS_H
#define TINCA_ENGINE_DEVICES_CPU_ELEMENTS_H

#include "engine/devices/cpu/simd.h"

#include <string.h>

#if defined(TINCA_BF16)

#include <immintrin.h>

typedef uint16_t element;

#if defined(TINCA_AMX)
enum { TERM_VALUES = 16, TERM_TAPS = 2 };
#else
enum { TERM_VALUES = 2, TERM_TAPS = 1 };
#endif
enum { ELEMENT_TRAITS = KERNEL_BF16 };

/* Returns the element of a value, rounded as element_store does. */
static inline element element_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits & 0x80000000, magnitude = bits ^ sign;
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const uint32_t zero_or_rounded = magnitude < 0x00800000 ? sign >> 16 : rounded;
    return (element)(magnitude > 0x7F800000 ? bits >> 16 | 0x40 : zero_or_rounded);
}

static inline float element_value(element stored)
{
    const uint32_t bits = (uint32_t)stored << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns the elements as an array of float32, or NULL if they are bf16. */
static inline float *elements_as_floats(element *elements)
{
    (void)elements;
    return NULL;
}

/* Returns LANES elements. */
static inline vector element_load(const element *from)
{
    const __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
    return (vector)_mm512_slli_epi32(bits, 16);
}

/* Stores LANES elements. Values below the normal ones become 0. */
static inline void element_store(element *to, vector value)
{
    _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh((__m512)value));
}

/* Returns the values of a term, in all lanes. */
static inline vector term_load(const element *from)
{
    int pair;
    memcpy(&pair, from, sizeof pair);
    return (vector)_mm512_set1_epi32(pair);
}

/* Returns LANES terms from TERM_VALUES vectors of elements that lie `step` apart; those from number
 * `count` on are 0. */
static inline vector term_join(const element *from, size_t step, size_t count)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i even = _mm256_loadu_si256((const __m256i *)from);
    const __m256i odd = count > 1 ? _mm256_loadu_si256((const __m256i *)(from + step)) : zero;
    return (vector)_mm512_or_si512(_mm512_cvtepu16_epi32(even),
                                   _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

/* Returns LANES terms from LANES * TERM_VALUES elements that follow each other. */
static inline vector term_load_many(const element *from)
{
    return (vector)_mm512_loadu_si512(from);
}

/* Sets value `number` of the weights of a term in one lane. */
static inline void term_store(float *weights, size_t number, float value)
{
    const element rounded = element_of(value);
    memcpy((char *)weights + number * sizeof rounded, &rounded, sizeof rounded);
}

/* Returns sum + the products of a term. */
static inline vector term_add(vector sum, vector weights, vector values)
{
    return (vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)weights, (__m512bh)values);
}

#else

typedef float element;

enum { TERM_VALUES = 1, TERM_TAPS = 1, ELEMENT_TRAITS = 0 };

static inline element element_of(float value)
{
    return value;
}

static inline float element_value(element stored)
{
    return stored;
}

static inline float *elements_as_floats(element *elements)
{
    return elements;
}

static inline vector element_load(const element *from)
{
    return vector_load(from);
}

static inline void element_store(element *to, vector value)
{
    vector_store(to, value);
}

static inline vector term_load(const element *from)
{
    return vector_splat(*from);
}

static inline vector term_join(const element *from, size_t step, size_t count)
{
    (void)step;
    (void)count;
    return vector_load(from);
}

static inline void term_store(float *weights, size_t number, float value)
{
    weights[number] = value;
}

static inline vector term_add(vector sum, vector weights, vector values)
{
    return sum + weights * values;
}

#endif

/* Returns the value of a weight that is multiplied in float32, but rounded as an element is. */
static inline float element_round(float weight)
{
    return element_value(element_of(weight));
}

/* Rounds `count` values to elements, or adds them to the elements that are there. */
static inline void elements_store(element *to, const float *from, size_t count, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            to[i] = element_of(element_value(to[i]) + from[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            to[i] = element_of(from[i]);
    }
}

/* Writes the values of `count` elements, or adds them. */
static inline void elements_load(float *to, const element *from, size_t count, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            to[i] += element_value(from[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            to[i] = element_value(from[i]);
    }
}

/* Copies `count` elements, or adds them. */
static inline void elements_copy(element *to, const element *from, size_t count, bool accumulate)
{
    if (!accumulate) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[i] = element_of(element_value(to[i]) + element_value(from[i]));
}

static inline element *carve_elements(struct carve *carve, size_t count)
{
    return carve_bytes(carve, count * sizeof(element));
}

#endif
