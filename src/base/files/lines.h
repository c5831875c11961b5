/* lines.h: reads a file of any size and content line by line, in bounded memory. */
#ifndef TINCA_BASE_FILES_LINES_H
#define TINCA_BASE_FILES_LINES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open file; open it with lines_open and close it with lines_close. Not thread-safe. */
struct lines {
    int descriptor;
    char *path, *buffer; /* the buffer has `limit` bytes and a NUL */
    size_t limit, start, end;
    uint64_t read; /* offset in the file of the bytes after the buffer's */
    bool skips;    /* the line at `start` is longer than `limit` and is being skipped */
};

/* Opens a regular file; never blocks on a FIFO or a device. Lines longer than `limit` bytes, with
 * their newline, will be skipped. Returns false with an error. */
bool lines_open(struct lines *lines, const char *path, size_t limit, struct error *error);

/* Returns the next complete line, NUL-terminated, without its newline; it is valid until the next
 * call. *length is its length in bytes, which differs from strlen if the line contains NULs.
 * Returns NULL at the end of the file, and with `error` set if reading fails. Text after the last
 * newline is not a line. */
char *lines_next(struct lines *lines, size_t *length, struct error *error);

/* Returns the offset in the file, in bytes, after the line that lines_next returned last. */
uint64_t lines_offset(const struct lines *lines);

/* Closes the file. Does nothing to {.descriptor = -1}. */
void lines_close(struct lines *lines);

#endif
