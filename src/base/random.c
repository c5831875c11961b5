/* Philox4x32-10 in ten rounds of two 32-bit multiplications, and the functions built on its words.
 */
#include "base/random.h"

#include <math.h>

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

struct random_block random_philox(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                                  uint64_t index)
{
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = (uint32_t)purpose,
             c3 = stream;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    return (struct random_block){{c0, c1, c2, c3}};
}

/* Returns a word as a float of (0, 1], of which the logarithm is finite. */
static float unit_above_zero(uint32_t word)
{
    return ((float)(word >> 8) + 1.0f) * 0x1p-24f;
}

/* Turns two words into two normal deviates. */
static void box_muller(uint32_t a, uint32_t b, float *first, float *second)
{
    float radius = sqrtf(-2.0f * logf(unit_above_zero(a)));
    float angle = 6.28318530717958647692f * random_to_unit(b);
    *first = radius * cosf(angle);
    *second = radius * sinf(angle);
}

void random_fill_gaussian(uint64_t seed, enum random_purpose purpose, uint32_t stream, size_t first,
                          float mean, float deviation, float *out, size_t count)
{
    for (size_t i = 0; i < count; i += 4) {
        struct random_block block = random_philox(seed, purpose, stream, (first + i) / 4);
        float normal[4];
        box_muller(block.word[0], block.word[1], &normal[0], &normal[1]);
        box_muller(block.word[2], block.word[3], &normal[2], &normal[3]);
        for (size_t k = 0; k < 4 && i + k < count; k++)
            out[i + k] = mean + deviation * normal[k];
    }
}

struct random_stream random_stream_at(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                                      uint64_t index)
{
    return (struct random_stream){
        .seed = seed, .purpose = purpose, .stream = stream, .index = index, .used = 4};
}

uint32_t random_next(struct random_stream *stream)
{
    if (stream->used == 4) {
        stream->block =
            random_philox(stream->seed, stream->purpose, stream->stream, stream->index++);
        stream->used = 0;
    }
    return stream->block.word[stream->used++];
}

float random_next_unit(struct random_stream *stream)
{
    return random_to_unit(random_next(stream));
}

float random_next_between(struct random_stream *stream, float low, float high)
{
    return low + (high - low) * random_next_unit(stream);
}

uint32_t random_next_below(struct random_stream *stream, uint32_t bound)
{
    /* Lemire (2019): the high half of the product is the result; the few products whose low half
     * is below the threshold would favour some results, so they are drawn again */
    uint64_t product = (uint64_t)random_next(stream) * bound;
    uint32_t threshold = -bound % bound;
    while ((uint32_t)product < threshold)
        product = (uint64_t)random_next(stream) * bound;
    return (uint32_t)(product >> 32);
}

void random_permutation(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                        uint32_t *order, size_t count)
{
    struct random_stream draws = random_stream_at(seed, purpose, stream, 0);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        uint32_t other = random_next_below(&draws, (uint32_t)i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}
