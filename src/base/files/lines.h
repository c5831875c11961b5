/* lines.h: the lines of a file that may hold anything, one at a time, in bounded memory. */
#ifndef TINCA_BASE_FILES_LINES_H
#define TINCA_BASE_FILES_LINES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opened by lines_open and closed by lines_close. Not thread-safe. */
struct lines {
    int descriptor;
    char *path, *buffer; /* of `limit` bytes and a NUL */
    size_t limit, start, end;
    bool skips; /* the line at `start` is longer than `limit` */
};

/* Opens a regular file for reading and never waits for a FIFO or a device. A line longer than
 * `limit` bytes, its newline included, is left out. */
bool lines_open(struct lines *lines, const char *path, size_t limit, struct error *error);

/* Returns the next whole line, without its newline, NUL-terminated and valid until the next call;
 * NULL at the end of the file or, with `error` set, when reading fails. `length` (bytes) may differ
 * from strlen: a line may hold zeros. What follows the last newline is no line. */
char *lines_next(struct lines *lines, size_t *length, struct error *error);

/* Returns the place in the file behind the line that lines_next returned last, in bytes. */
uint64_t lines_offset(const struct lines *lines);

/* Does nothing to {.descriptor = -1}. */
void lines_close(struct lines *lines);

#endif
