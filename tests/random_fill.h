/* random_fill.h: arrays of uniform random numbers for tests. */
#ifndef TINCA_TESTS_RANDOM_FILL_H
#define TINCA_TESTS_RANDOM_FILL_H

#include "base/random.h"

/* Fills out[0..count) with numbers of [low, high): element i comes from block i / 4, word i % 4. */
static inline void random_fill_uniform(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                                       float low, float high, float *out, size_t count)
{
    const float range = high - low;
    for (size_t i = 0; i < count; i += 4) {
        const struct random_block block = random_philox(seed, purpose, stream, i / 4);
        for (size_t k = 0; k < 4 && i + k < count; k++)
            out[i + k] = low + range * random_to_unit(block.word[k]);
    }
}

#endif
