/* error.h: the error type of the whole program.
 *
 * A function that can fail returns false or NULL and fills a `struct error` of its caller. Only
 * cli/ and ui/ print errors. An error reads "what: why: what to do", on one line.
 *
 * These functions translate the texts that they are given, so callers pass them in English. Mark a
 * text with N_ (language.h) if it is not a literal argument of the call.
 */
#ifndef TINCA_BASE_ERROR_H
#define TINCA_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,       /* the request itself is wrong; the exit status is 2 */
    ERROR_INPUT,       /* a file, or a value in a file, is wrong */
    ERROR_SYSTEM,      /* a system call failed (errno) */
    ERROR_MEMORY,      /* an allocation failed, or a run would not fit into memory */
    ERROR_UNSUPPORTED, /* the request is valid, but this build or device cannot do it */
    ERROR_DIVERGED,    /* a loss or a weight became NaN or infinite */
    ERROR_INTERRUPTED, /* the user or a signal asked to stop */
};

struct error {
    enum error_kind kind;
    char what[256];   /* the file, node, option or value that the error is about */
    char why[512];    /* what is wrong with it */
    char advice[256]; /* what to do about it; may be empty */
    bool disk_full;   /* the cause is a full disk, a quota or a file size limit */
};

/* Fills `error` and returns false, so that callers can `return error_set(...)`. `error` and
 * `advice` may be NULL. The format and its arguments are those of printf. A text that is too long
 * is cut. */
bool error_set(struct error *error, enum error_kind kind, const char *what, const char *advice,
               const char *why_format, ...) __attribute__((format(printf, 5, 6)));

/* Fills `error` for a failed system call: `why` becomes "ACTION: strerror(errno)". Returns false.
 */
bool error_set_errno(struct error *error, const char *what, const char *advice, const char *action);

/* Fills `error` for a failed allocation of `bytes` bytes (0 if unknown) for `what`. Returns false.
 */
bool error_set_memory(struct error *error, const char *what, size_t bytes);

/* Writes "what: why: what to do" into `text`, with hidden characters (character.h) as question
 * marks. Returns `text`. */
char *error_format(const struct error *error, char *text, size_t size);

#endif
