/* One buffer of `limit` bytes: whole lines are taken from its front, what is left of a line moves
 * there, and the file fills the rest. A full buffer without a newline is a line that is too long:
 * its bytes are dropped up to its newline, and the holes of a sparse file are passed over. */
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

/* A hole of a sparse file reads as zeros, and none of them ends a line. */
static void pass_hole(int descriptor)
{
    const off_t here = lseek(descriptor, 0, SEEK_CUR);
    if (here < 0 || lseek(descriptor, here, SEEK_DATA) >= 0)
        return;
    if (errno == ENXIO) /* no data follow */
        lseek(descriptor, 0, SEEK_END);
}

/* Returns false at the end of the file, and with an error when it cannot be read. */
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
        pass_hole(lines->descriptor);
    do
        count = read(lines->descriptor, lines->buffer + lines->end, lines->limit - lines->end);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        error_set_errno(error, lines->path, NULL, "reading failed");
    lines->end += count > 0 ? (size_t)count : 0;
    return count > 0;
}

char *lines_next(struct lines *lines, size_t *length, struct error *error)
{
    for (;;) {
        char *line = lines->buffer + lines->start;
        char *feed = memchr(line, '\n', lines->end - lines->start);
        if (!feed) {
            if (!fill(lines, error))
                return NULL;
            continue;
        }
        const bool skipped = lines->skips;
        lines->skips = false;
        lines->start += (size_t)(feed - line) + 1;
        if (skipped)
            continue;
        *feed = '\0';
        *length = (size_t)(feed - line);
        return line;
    }
}

uint64_t lines_offset(const struct lines *lines)
{
    const off_t read = lseek(lines->descriptor, 0, SEEK_CUR);
    return read < 0 ? 0 : (uint64_t)read - (lines->end - lines->start);
}
