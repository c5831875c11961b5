/* memory.h: allocation that checks for overflow and fails with a message.
 *
 * Everything returned is owned by the caller and released with free(), aligned blocks too.
 */
#ifndef TINCA_BASE_MEMORY_H
#define TINCA_BASE_MEMORY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { MEMORY_ALIGNMENT = 64 }; /* bytes: a cache line, and the widest vector register */

/* `count` zeroed items of `size` bytes for `what`. A count of 0 gives a block of one byte. */
void *memory_new(size_t count, size_t size, const char *what, struct error *error);

/* The same, aligned to MEMORY_ALIGNMENT and NOT cleared. */
void *memory_new_aligned(size_t count, size_t size, const char *what, struct error *error);

/* Makes room for at least `needed` items in the array *items of *capacity items; new items are
 * zeroed. On failure the array stays as it was. */
bool memory_grow(void *items, size_t *capacity, size_t needed, size_t size, const char *what,
                 struct error *error);

/* A copy of `text`. */
char *memory_copy_text(const char *text, struct error *error);

/* `bytes` rounded up to a multiple of MEMORY_ALIGNMENT. */
static inline size_t memory_round_up(size_t bytes)
{
    return (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
}

#endif
