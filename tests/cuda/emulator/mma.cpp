#include "emulated_mma.h"

#include <cstdio>
#include <vector>

/* --- numbers --- */

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Drops this many bits, rounding to nearest, ties to even. */
static uint32_t drop_bits(uint32_t word, int count)
{
    return (word + (1u << (count - 1)) - 1 + (word >> count & 1)) >> count;
}

uint32_t round_tf32(uint32_t bits)
{
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return bits & ~0x1fffu; /* infinity; a NaN whose upper bits are set, as the device's are */
    return (bits + 0x1000u) & ~0x1fffu; /* ties away from zero */
}

static uint32_t bf16_of(float value)
{
    if (isnan(value))
        return 0x7fff;
    return drop_bits(bits_of(value), 16);
}

static float bf16_value(uint32_t half)
{
    return float_of(half << 16);
}

static uint32_t fp16_of(float value)
{
    const uint32_t sign = bits_of(value) >> 16 & 0x8000u, bits = bits_of(value) & 0x7fffffffu;
    if (isnan(value))
        return 0x7fff;
    if (bits >= bits_of(65520.0f)) /* rounds to infinity */
        return sign | 0x7c00;
    if (bits < bits_of(6.103515625e-05f)) /* below 2^-14: a multiple of 2^-24 */
        return sign | (uint32_t)nearbyintf(float_of(bits) * 16777216.0f);
    return sign | drop_bits(bits - (112u << 23), 13);
}

static float fp16_value(uint32_t half)
{
    const uint32_t sign = (half & 0x8000) << 16, fraction = half & 0x3ff;
    if ((half & 0x7c00) == 0x7c00)
        return fraction ? NAN : float_of(sign | bits_of(INFINITY));
    return float_of(sign | (half & 0x7fff) << 13) * 0x1p112f; /* exact, below 2^-14 too */
}

uint32_t pack_bf16(float low, float high)
{
    return bf16_of(low) | bf16_of(high) << 16;
}

uint32_t pack_fp16(float low, float high)
{
    return fp16_of(low) | fp16_of(high) << 16;
}

float emulator_tf32_value(uint32_t word)
{
    return float_of(word & ~0x1fffu); /* the lower bits are ignored */
}
float emulator_bf16_value(uint32_t half)
{
    return bf16_value(half);
}
float emulator_fp16_value(uint32_t half)
{
    return fp16_value(half);
}

/* --- products --- */

/* Returns element e of a word: of the one, or of the two. */
typedef float element_of_word(uint32_t word, int e);

static float tf32_element(uint32_t word, int)
{
    return emulator_tf32_value(word);
}
static float bf16_element(uint32_t word, int e)
{
    return bf16_value(word >> 16 * e & 0xffff);
}
static float fp16_element(uint32_t word, int e)
{
    return fp16_value(word >> 16 * e & 0xffff);
}

/* Adds to the four sums of this lane. A word has PER_WORD terms; the terms of the first half are
 * in the lanes' words 0 and 1 of `a` and 0 of `b`, those of the second in 2, 3 and 1. */
template <int PER_WORD, element_of_word element>
static void multiply(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    const uint64_t mine[EMULATOR_WORDS] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    const emulator_words *all = emulator_exchange(mine);
    const unsigned lane = emulator_lane(), row = lane / 4, column = lane % 4 * 2;
    for (unsigned half = 0; half < 2; half++)
        for (unsigned t = 0; t < 4; t++)
            for (int e = 0; e < PER_WORD; e++) {
                float left[2], right[2];
                for (unsigned i = 0; i < 2; i++) {
                    left[i] = element((uint32_t)all[row * 4 + t][2 * half + i], e);
                    right[i] = element((uint32_t)all[(column + i) * 4 + t][4 + half], e);
                }
                for (unsigned i = 0; i < 4; i++)
                    d[i] += left[i / 2] * right[i % 2];
            }
}

void mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply<1, tf32_element>(d, a, b);
}

void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply<2, bf16_element>(d, a, b);
}

void mma_fp16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply<2, fp16_element>(d, a, b);
}

/* --- fragments --- */

static void must_be_aligned(const void *at, size_t bytes, const char *what)
{
    if ((uintptr_t)at % bytes == 0)
        return;
    fprintf(stderr, "emulator: an address of %s is no multiple of %zu\n", what, bytes);
    abort();
}

static void load_matrices(uint32_t to[4], const void *row, bool transposed)
{
    must_be_aligned(row, 16, "ldmatrix");
    const uint64_t mine[EMULATOR_WORDS] = {(uint64_t)(uintptr_t)row};
    const emulator_words *all = emulator_exchange(mine);
    const unsigned g = emulator_lane() / 4, t = emulator_lane() % 4;
    for (unsigned m = 0; m < 4; m++) {
        uint16_t pair[2];
        for (unsigned e = 0; e < 2; e++) {
            const unsigned line = transposed ? 2 * t + e : g, at = transposed ? g : 2 * t + e;
            pair[e] = ((const uint16_t *)(uintptr_t)all[8 * m + line][0])[at];
        }
        to[m] = pair[0] | (uint32_t)pair[1] << 16;
    }
}

void ldmatrix_x4(uint32_t to[4], const void *row)
{
    load_matrices(to, row, false);
}

void ldmatrix_x4_transposed(uint32_t to[4], const void *row)
{
    load_matrices(to, row, true);
}

/* --- asynchronous copies --- */

static void begin_copy(void *shared, const float *from, bool there, size_t bytes)
{
    must_be_aligned(shared, bytes, "cp.async");
    if (there)
        must_be_aligned(from, bytes, "cp.async");
    emulator_copies().push_back({shared, there ? from : nullptr, bytes});
}

void cp_async_4(void *shared, const float *from, bool there)
{
    begin_copy(shared, from, there, 4);
}

void cp_async_16(void *shared, const float *from, bool there)
{
    begin_copy(shared, from, there, 16);
}

/* The end of a group is an entry without bytes. */
void cp_async_commit(void)
{
    emulator_copies().push_back({nullptr, nullptr, 0});
}

void emulator_wait_copies(size_t left)
{
    std::vector<emulator_copy> &copies = emulator_copies();
    size_t groups = 0, done = 0;
    for (const emulator_copy &copy : copies)
        groups += copy.bytes == 0;
    for (; groups > left; done++) {
        const emulator_copy &copy = copies[done];
        if (copy.bytes == 0)
            groups--;
        else if (copy.from)
            memcpy(copy.to, copy.from, copy.bytes);
        else
            memset(copy.to, 0, copy.bytes);
    }
    copies.erase(copies.begin(), copies.begin() + (std::ptrdiff_t)done);
}
