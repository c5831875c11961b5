/* memory.h: allocation that checks for overflow and fills a `struct error` when it fails.
 *
 * The caller owns every block and releases it with free(), aligned blocks too.
 */
#ifndef TINCA_BASE_MEMORY_H
#define TINCA_BASE_MEMORY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { MEMORY_ALIGNMENT = 64 }; /* bytes: a cache line, and the widest vector register */

/* Returns `count` zeroed items of `size` bytes, or NULL with an error that names `what`. A count of
 * 0 gives a block of one byte. */
void *memory_new(size_t count, size_t size, const char *what, struct error *error);

/* Returns a block like memory_new, aligned to MEMORY_ALIGNMENT and NOT zeroed. */
void *memory_new_aligned(size_t count, size_t size, const char *what, struct error *error);

/* Enlarges an array to at least `needed` items of `size` bytes. `items` is the address of the
 * array's pointer; *capacity is its number of items. New items are zeroed. Returns false with an
 * error if out of memory; the array is then unchanged. */
bool memory_grow(void *items, size_t *capacity, size_t needed, size_t size, const char *what,
                 struct error *error);

/* Returns a copy of `text`, or NULL with an error. */
char *memory_copy_text(const char *text, struct error *error);

/* Returns `bytes` rounded up to a multiple of MEMORY_ALIGNMENT. */
static inline size_t memory_round_up(size_t bytes)
{
    return (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
}

#endif
