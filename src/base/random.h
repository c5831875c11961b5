/* random.h: counter-based random numbers.
 *
 * A value depends on (seed, purpose, stream, index) alone, so the number of threads, the device,
 * pausing and resuming never change it. The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011). It maps a counter of 128 bits and a key
 * of 64 bits to four 32-bit words. The key is the seed; the words of the counter are
 *
 *     0, 1: index (low, high)     2: purpose     3: stream
 *
 * `stream` separates the users of one purpose, such as parameters, nodes or epochs.
 */
#ifndef TINCA_BASE_RANDOM_H
#define TINCA_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The purposes of random numbers. Never renumber these: that would change the results of every
 * seed. */
enum random_purpose {
    RANDOM_INITIALISE = 1, /* stream: parameter number; index: element / 4 */
    RANDOM_DROPOUT = 2,    /* stream: node number; index: iteration << 32 | element / 4 */
    RANDOM_ORDER = 3,      /* stream: epoch; index: position */
    RANDOM_AUGMENT = 4,    /* stream: epoch; index: image << 8 | draw */
    RANDOM_GENERATE = 5,   /* stream: data set; index: image << 16 | draw */
    RANDOM_BENCH = 6,      /* synthetic batches of `tinca bench` */
    RANDOM_TEST = 7,
    RANDOM_STUDY = 8,      /* stream: the kind of draw (study.c); index: position */
    RANDOM_SAMPLE = 9,     /* the images of a data set's option sample= */
    RANDOM_BALANCE = 12,   /* stream: epoch; balanced sampling of the images */
    RANDOM_SHARE = 20,     /* the images of a data set's option share= */
    RANDOM_CALIBRATE = 24, /* the images that tinca quantize reads; index: position */
    RANDOM_MEASURE = 25,   /* the images that a normalisation is measured on */
};

/* The four words that one counter gives. */
struct random_block {
    uint32_t word[4];
};

/* Returns the block of a counter. */
struct random_block random_philox(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                                  uint64_t index);

/* Returns a word as a float of [0, 1): its upper 24 bits, which a float represents exactly. */
static inline float random_to_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Fills out[0..count) with normal deviates by the method of Box and Muller (1958). Element i comes
 * from block (first + i) / 4: words 0 and 1 give its elements 0 and 1, words 2 and 3 its elements 2
 * and 3. `first` must be a multiple of four. Threads may fill pieces of one array. */
void random_fill_gaussian(uint64_t seed, enum random_purpose purpose, uint32_t stream, size_t first,
                          float mean, float deviation, float *out, size_t count);

/* A cursor over the words of consecutive blocks, for code that draws one number after another
 * (augmentation, generated images). */
struct random_stream {
    uint64_t seed, index; /* index of the next block */
    enum random_purpose purpose;
    uint32_t stream;
    struct random_block block;
    int used; /* words of `block` that are used up */
};

/* Returns a cursor that stands before the block `index`. */
struct random_stream random_stream_at(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                                      uint64_t index);

/* Each of these returns the next number. */
uint32_t random_next(struct random_stream *stream);
float random_next_unit(struct random_stream *stream); /* [0, 1) */
float random_next_between(struct random_stream *stream, float low, float high);
uint32_t random_next_below(struct random_stream *stream, uint32_t bound); /* [0, bound), unbiased */

/* Writes a permutation of 0..count-1 to `order`, by the shuffle of Fisher and Yates. */
void random_permutation(uint64_t seed, enum random_purpose purpose, uint32_t stream,
                        uint32_t *order, size_t count);

#endif
