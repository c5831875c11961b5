/* A radix sort by bytes, from the lowest to the highest. A double's bits, read as an integer, have
 * the order of the numbers once those of negative ones are inverted and the sign bit of the others
 * is set. All bytes are counted in one pass; a byte in which all numbers agree is passed over, and
 * numbers that were floats have three or four of those. */
#include "base/statistics/sort_doubles.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = sizeof(double), VALUES = 256, BYTE_BITS = 8 };
enum { MANY = 256 }; /* fewer are sorted by qsort */
#define SIGN (UINT64_C(1) << 63)

static uint64_t key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double value_of(uint64_t key)
{
    double value;
    const uint64_t bits = key & SIGN ? key & ~SIGN : ~key;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static size_t byte_of(uint64_t key, size_t byte)
{
    return (size_t)(key >> (BYTE_BITS * byte)) % VALUES;
}

/* Moves the keys to `target`, sorted by one byte, whose values occur so often. */
static void pass(const uint64_t *keys, uint64_t *target, size_t count, size_t byte,
                 const size_t *occurs)
{
    size_t places[VALUES], place = 0;
    for (size_t v = 0; v < VALUES; v++) {
        places[v] = place;
        place += occurs[v];
    }
    for (size_t i = 0; i < count; i++)
        target[places[byte_of(keys[i], byte)]++] = keys[i];
}

static int by_key(const void *a, const void *b)
{
    const uint64_t one = key_of(*(const double *)a), other = key_of(*(const double *)b);
    return (one > other) - (one < other);
}

/* Sorts with room for 2 * `count` keys. */
static void sort_with_room(double *values, size_t count, uint64_t *room)
{
    size_t occurs[BYTES][VALUES] = {0};
    uint64_t *keys = room, *other = room + count;
    for (size_t i = 0; i < count; i++) {
        keys[i] = key_of(values[i]);
        for (size_t b = 0; b < BYTES; b++)
            occurs[b][byte_of(keys[i], b)]++;
    }
    for (size_t b = 0; b < BYTES; b++) {
        if (occurs[b][byte_of(keys[0], b)] == count)
            continue;
        pass(keys, other, count, b, occurs[b]);
        uint64_t *sorted = other;
        other = keys;
        keys = sorted;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = value_of(keys[i]);
}

void sort_doubles(double *values, size_t count)
{
    uint64_t *room =
        count >= MANY ? memory_new(count, 2 * sizeof *room, "the statistics", NULL) : NULL;
    if (room)
        sort_with_room(values, count, room);
    else if (count > 0)
        qsort(values, count, sizeof *values, by_key);
    free(room);
}
