/* Reads the next piece from the remembered offset. Before that, the bytes ahead of the offset are
 * compared with those remembered, which shows that the file was cut. */
#include "session/files/journal_tail.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/portable/portable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_the_same(const struct journal_tail *tail, int descriptor, uint64_t size)
{
    char before[sizeof tail->before];
    return size >= tail->offset &&
           file_read_at(descriptor, before, tail->before_length,
                        tail->offset - tail->before_length) &&
           memcmp(before, tail->before, tail->before_length) == 0;
}

/* Visits the lines of a piece that begins at byte `begin` of the file. */
static bool take_lines(const char *piece, size_t length, uint64_t begin, const char *path,
                       journal_visit *visit, void *context, struct error *error)
{
    bool good = true;
    for (size_t from = 0; good && from < length;) {
        const char *newline = memchr(piece + from, '\n', length - from);
        const size_t end = newline ? (size_t)(newline - piece) : length;
        good = journal_visit_line(piece + from, end - from, begin + end + 1, path, visit, context,
                                  error);
        from = end + 1;
    }
    return good;
}

static void move_on(struct journal_tail *tail, const char *piece, size_t length)
{
    const size_t kept = length < sizeof tail->before ? length : sizeof tail->before;
    memcpy(tail->before, piece + length - kept, kept);
    tail->before_length = kept;
    tail->offset += length;
}

static enum journal_tail_result take_piece(struct journal_tail *tail, int descriptor, uint64_t size,
                                           const char *path, journal_visit *visit, void *context,
                                           struct error *error)
{
    const uint64_t rest = size - tail->offset;
    const size_t length = rest < JOURNAL_PIECE ? (size_t)rest : JOURNAL_PIECE;
    char *piece = memory_new(length, 1, "the journal", error);
    enum journal_tail_result news = JOURNAL_FAILED;
    if (piece && !file_read_at(descriptor, piece, length, tail->offset))
        error_set_errno(error, path, NULL, "cannot be read");
    else if (piece) {
        const char *newline = portable_find_last(piece, '\n', length);
        /* no valid line is as long as a piece, so these bytes are skipped */
        const size_t whole = newline                   ? (size_t)(newline - piece) + 1
                             : length == JOURNAL_PIECE ? length
                                                       : 0;
        news = whole == 0 ? JOURNAL_SAME : rest > length ? JOURNAL_MORE : JOURNAL_READ;
        if (!take_lines(piece, whole, tail->offset, path, visit, context, error))
            news = JOURNAL_FAILED;
        else if (whole > 0)
            move_on(tail, piece, whole);
    }
    free(piece);
    return news;
}

enum journal_tail_result journal_tail_read(struct journal_tail *tail, const char *path,
                                           journal_visit *visit, void *context, struct error *error)
{
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDONLY | O_NOFOLLOW, &status);
    if (descriptor < 0 && errno == ENOENT)
        return JOURNAL_SAME;
    if (descriptor < 0) {
        if (errno == EINVAL)
            error_set(error, ERROR_INPUT, path, "remove what lies there under that name",
                      "this is not a regular file");
        else
            error_set_errno(error, path, NULL, "cannot open");
        return JOURNAL_FAILED;
    }
    const uint64_t size = (uint64_t)status.st_size;
    tail->written = (double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec;
    enum journal_tail_result news = JOURNAL_SAME;
    if (!is_the_same(tail, descriptor, size))
        news = JOURNAL_CUT;
    else if (size > tail->offset)
        news = take_piece(tail, descriptor, size, path, visit, context, error);
    close(descriptor);
    return news;
}
