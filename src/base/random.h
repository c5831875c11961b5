/* random.h: counter-based random numbers.
 *
 * A value depends on (seed, purpose, index) and on nothing else, so the number of threads, the
 * device, pausing and resuming change nothing. The generator is Philox4x32-10 (Salmon, Moraes,
 * Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 128 bits of counter and 64
 * of key give four 32-bit words. The key is the seed; the counter is
 *     word 0, 1: index (low, high)     word 2: purpose     word 3: stream
 * where `stream` tells apart what shares a purpose (a parameter, a node and iteration, an epoch).
 */
#ifndef TINCA_BASE_RANDOM_H
#define TINCA_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* These values are part of what a seed means: never renumber them. */
enum random_purpose {
    RANDOM_INITIALISE = 1, /* stream: parameter number; index: element / 4 */
    RANDOM_DROPOUT = 2,    /* stream: node number; index: iteration << 32 | element / 4 */
    RANDOM_ORDER = 3,      /* stream: epoch; index: position */
    RANDOM_AUGMENT = 4,    /* stream: epoch; index: image << 8 | draw */
    RANDOM_GENERATE = 5,   /* stream: data set; index: image << 16 | draw */
    RANDOM_BENCH = 6,      /* synthetic batches of `tinca bench` */
    RANDOM_TEST = 7,
    RANDOM_STUDY = 8, /* stream: what is drawn (study.c); index: position */
};

struct random_block {
    uint32_t word[4];
};

struct random_block random_philox(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                                  uint64_t index);

/* A word as a float in [0, 1): the upper 24 bits, exactly representable. */
static inline float random_to_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* The same with normal deviates by Box and Muller (1958): words (0, 1) give elements 0 and 1 of a
 * block, words (2, 3) elements 2 and 3. `first` is the number of the first element and must be a
 * multiple of four: pieces of an array can be filled by different threads. */
void random_fill_gaussian(uint64_t seed, enum random_purpose purpose, uint32_t stream, size_t first,
                          float mean, float deviation, float *out, size_t count);

/* A sequence for code that draws one number after another (generators of images, augmentation).
 * It is only a cursor over the same counter. */
struct random_stream {
    uint64_t seed, index;
    enum random_purpose purpose;
    uint32_t stream;
    struct random_block block;
    int used;
};

struct random_stream random_stream_at(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                                      uint64_t index);
uint32_t random_next(struct random_stream *stream);
float random_next_unit(struct random_stream *stream); /* [0, 1) */
float random_next_between(struct random_stream *stream, float low, float high);
uint32_t random_next_below(struct random_stream *stream, uint32_t bound); /* [0, bound), unbiased */

/* Writes a permutation of 0..count-1 (Fisher and Yates) that depends on seed and stream only. */
void random_permutation(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                        uint32_t *order, size_t count);

#endif
