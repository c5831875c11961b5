/* guarded_memory.h: arrays next to guard pages.
 *
 * A read or write outside of an array either hits the guard page, which stops the program with a
 * message that names the array, or the rest of the array's page. That rest is NaN: a kernel that
 * reads it shows NaN in its results, and guarded_unchanged() detects writes. For devices that
 * access memory themselves (GPUs), use their allocations.
 *
 * Freed memory is reused for later arrays of as many pages. Not thread safe, except the signal
 * handler, which runs in any thread.
 */
#ifndef TINCA_TESTS_GUARDED_MEMORY_H
#define TINCA_TESTS_GUARDED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum guarded_side {
    GUARDED_END,  /* the array ends at the guard page, or up to `alignment` - 1 bytes before it */
    GUARDED_START /* the array begins after the guard page */
};

/* Returns `bytes` bytes, not cleared, aligned to `alignment` bytes (a power of 2, at most a page);
 * NULL when memory is short. `name` is not copied and must live as long as the array. */
void *guarded_new(size_t bytes, size_t alignment, enum guarded_side side, const char *name);
void guarded_free(void *memory); /* may be NULL */

/* Returns the name of an array whose surrounding bytes were overwritten, or NULL. */
const char *guarded_changed(void);

/* Sets the text about the running code for the message about a guard page; copied, cut at 200
 * bytes. */
void guarded_describe(const char *what);

#endif
