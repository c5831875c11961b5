/* error.h: the one error type.
 *
 * A function that can fail returns false or NULL and fills a caller-owned `struct error`. Nothing
 * below cli/ and ui/ prints it. It reads, on one line, "what: why: what to do". The texts given are
 * translated here, so that callers write them plainly; one that is not literally an argument is
 * marked with N_ where it stands (language.h).
 */
#ifndef TINCA_BASE_ERROR_H
#define TINCA_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,       /* the request itself is wrong: exit status 2 */
    ERROR_INPUT,       /* a file or a value in it is wrong */
    ERROR_SYSTEM,      /* the operating system said no (errno) */
    ERROR_MEMORY,      /* an allocation failed, or a run would not fit */
    ERROR_UNSUPPORTED, /* understood, but this build or device cannot do it */
    ERROR_DIVERGED,    /* a loss or a weight stopped being a number */
    ERROR_INTERRUPTED, /* the user or a signal asked to stop */
};

struct error {
    enum error_kind kind;
    char what[256];   /* the file, node, option or value concerned */
    char why[512];    /* what is wrong with it */
    char advice[256]; /* what to do about it; may be empty */
};

/* Fills `error` (which may be NULL) and returns false, so that callers can `return error_set(...)`.
 * `advice` may be NULL. The rest is printf's. Text that does not fit is cut. */
bool error_set(struct error *error, enum error_kind kind, const char *what, const char *advice,
               const char *why_format, ...) __attribute__((format(printf, 5, 6)));

/* The same for a failed system call: `why` is "ACTION: strerror(errno)". */
bool error_set_errno(struct error *error, const char *what, const char *advice, const char *action);

/* The same for a failed allocation of `bytes` bytes (0: of unknown size) for `what`. */
bool error_set_memory(struct error *error, const char *what, size_t bytes);

/* Writes "what: why: what to do" into `text`, control characters made visible. Returns `text`. */
char *error_format(const struct error *error, char *text, size_t size);

#endif
