/* A buffer of `limit` bytes holds the lines that were read and not yet returned. When no complete
 * line is left, the rest of a line moves to the front and read() fills the buffer up. If it is full
 * without a newline, the line is too long: its bytes are dropped until its newline is found. Holes
 * of a sparse file are skipped with lseek, so that a file of terabytes takes no time. */
#include "base/files/lines.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool lines_open(struct lines *lines, const char *path, size_t limit, struct error *error)
{
    *lines = (struct lines){.descriptor = file_open_regular(path, error), .limit = limit};
    if (lines->descriptor < 0)
        return false;
    lines->path = memory_copy_text(path, error);
    lines->buffer = memory_new(limit + 1, 1, path, error);
    if (lines->path && lines->buffer)
        return true;
    lines_close(lines);
    return false;
}

void lines_close(struct lines *lines)
{
    if (lines->descriptor >= 0)
        close(lines->descriptor);
    free(lines->path);
    free(lines->buffer);
    *lines = (struct lines){.descriptor = -1};
}

/* Moves the file position to the end of a hole, if it is in one. A hole reads as zeros, which
 * contain no newline. */
static void skip_hole(struct lines *lines)
{
    off_t there = lseek(lines->descriptor, (off_t)lines->read, SEEK_DATA);
    if (there < 0 && errno == ENXIO) /* the hole extends to the end of the file */
        there = lseek(lines->descriptor, 0, SEEK_END);
    if (there >= 0)
        lines->read = (uint64_t)there;
}

/* Fills the buffer. Returns false at the end of the file, and with an error if reading fails. */
static bool fill(struct lines *lines, struct error *error)
{
    ssize_t count;
    memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->start = 0;
    if (lines->end == lines->limit) {
        lines->skips = true;
        lines->end = 0;
    }
    if (lines->skips)
        skip_hole(lines);
    do
        count = read(lines->descriptor, lines->buffer + lines->end, lines->limit - lines->end);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        error_set_errno(error, lines->path, NULL, "reading failed");
    lines->end += count > 0 ? (size_t)count : 0;
    lines->read += count > 0 ? (uint64_t)count : 0;
    return count > 0;
}

char *lines_next(struct lines *lines, size_t *length, struct error *error)
{
    for (;;) {
        char *line = lines->buffer + lines->start;
        char *newline = memchr(line, '\n', lines->end - lines->start);
        if (!newline) {
            if (!fill(lines, error))
                return NULL;
            continue;
        }
        const bool skipped = lines->skips;
        lines->skips = false;
        lines->start += (size_t)(newline - line) + 1;
        if (skipped)
            continue;
        *newline = '\0';
        *length = (size_t)(newline - line);
        return line;
    }
}

uint64_t lines_offset(const struct lines *lines)
{
    return lines->read - (lines->end - lines->start);
}
