/* pairs.h: a vector of LANES pairs of bf16, in the type of a vector of floats. Only the kernels of
 * this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_PAIRS_H
#define TINCA_ENGINE_DEVICES_CPU_PAIRS_H

#include "engine/devices/cpu/elements.h"

/* Transposes LANES x LANES pairs: first 4 x 4 in each quarter of the vectors, then the quarters. */
static inline void pairs_transpose(vector rows[LANES])
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

#endif
