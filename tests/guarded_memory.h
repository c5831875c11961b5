/* guarded_memory.h: arrays that lie against a page which must not be touched.
 *
 * A read or write outside of an array either ends in that page, which stops the program with a
 * message that names the array, or hits the rest of the array's own page. That rest holds NaN: a
 * kernel that reads it shows it in its results, and guarded_unchanged() notices writes. Where a
 * device reads memory by itself (a GPU), use its own allocations.
 *
 * Freed memory is kept for later arrays of as many pages. Not thread-safe, but for the signal
 * handler, which runs in any thread.
 */
#ifndef TINCA_TESTS_GUARDED_MEMORY_H
#define TINCA_TESTS_GUARDED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum guarded_side {
    GUARDED_END, /* the last byte lies against the page, or up to `alignment` - 1 bytes before it */
    GUARDED_START /* the first byte does */
};

/* Returns `bytes` bytes, not cleared, aligned to `alignment` bytes (a power of 2, a page at most).
 * NULL: memory is out. `name` is kept, not copied. */
void *guarded_new(size_t bytes, size_t alignment, enum guarded_side side, const char *name);
void guarded_free(void *memory); /* may be NULL */

/* Returns the name of an array around which bytes were written since it was made, or NULL. */
const char *guarded_changed(void);

/* Names what runs now, for the message about a touched page: copied, cut at 200 bytes. */
void guarded_describe(const char *what);

#endif
