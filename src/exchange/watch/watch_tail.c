/* A file is read by offset, a pipe by poll. Before new bytes count, the first bytes of the file are
 * compared with those it had: some programs write the whole file anew under the same name, and it
 * may be longer than before when that is noticed. */
#include "exchange/watch/internal.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool note_file(struct watch_tail *tail, struct error *error)
{
    struct stat status;
    const char *name = tail->path ? tail->path : "standard input";
    if (fstat(tail->descriptor, &status) != 0)
        return error_set_errno(error, name, NULL, "cannot be read");
    if (S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode))
        return error_set(error, ERROR_INPUT, name, "give a file or a pipe",
                         "this is neither a file nor a pipe");
    tail->pipe = !S_ISREG(status.st_mode);
    tail->device = status.st_dev;
    tail->inode = status.st_ino;
    tail->old = tail->pipe ? 0 : (uint64_t)status.st_size;
    tail->offset = 0;
    tail->head_length = 0;
    return true;
}

bool watch_tail_open(struct watch_tail *tail, const char *path, struct error *error)
{
    *tail = (struct watch_tail){.descriptor = -1, .path = memory_copy_text(path, error)};
    if (!tail->path)
        return false;
    tail->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (tail->descriptor < 0)
        return error_set_errno(error, path, NULL, "cannot be opened");
    return note_file(tail, error);
}

bool watch_tail_take(struct watch_tail *tail, int descriptor, struct error *error)
{
    *tail = (struct watch_tail){.descriptor = descriptor};
    if (!note_file(tail, error))
        return false;
    tail->pipe = true; /* a file as standard input has an end, too */
    return true;
}

void watch_tail_close(struct watch_tail *tail)
{
    if (tail->descriptor >= 0)
        close(tail->descriptor);
    free(tail->path);
    *tail = (struct watch_tail){.descriptor = -1};
}

static enum watch_news fail(const struct watch_tail *tail, struct error *error)
{
    error_set_errno(error, tail->path ? tail->path : "standard input", NULL, "cannot be read");
    return WATCH_FAILED;
}

/* --- pipes --- */

static enum watch_news read_pipe(struct watch_tail *tail, char *bytes, size_t size, size_t *count,
                                 struct error *error)
{
    struct pollfd poller = {.fd = tail->descriptor, .events = POLLIN};
    if (poll(&poller, 1, 0) <= 0 || !(poller.revents & (POLLIN | POLLHUP | POLLERR)))
        return WATCH_NOTHING;
    const ssize_t length = read(tail->descriptor, bytes, size);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? WATCH_NOTHING : fail(tail, error);
    *count = (size_t)length;
    tail->offset += *count;
    return length > 0 ? WATCH_BYTES : WATCH_END;
}

/* --- files --- */

/* Returns whether the file still begins with the bytes that it had. */
static bool begins_as_before(const struct watch_tail *tail, uint64_t size)
{
    char head[WATCH_HEAD];
    return size >= tail->offset && file_read_at(tail->descriptor, head, tail->head_length, 0) &&
           memcmp(head, tail->head, tail->head_length) == 0;
}

/* Keeps the first bytes, until there are enough. */
static void keep_head(struct watch_tail *tail, const char *bytes, size_t count)
{
    const size_t room = WATCH_HEAD - tail->head_length;
    if (tail->offset != tail->head_length || room == 0)
        return;
    const size_t length = count < room ? count : room;
    memcpy(tail->head + tail->head_length, bytes, length);
    tail->head_length += length;
}

/* Opens the file that has taken the name, if there is one. */
static enum watch_news look_for_another(struct watch_tail *tail, struct error *error)
{
    struct stat status;
    if (!tail->path || stat(tail->path, &status) != 0 ||
        (status.st_dev == tail->device && status.st_ino == tail->inode))
        return WATCH_NOTHING;
    const int descriptor = open(tail->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return WATCH_NOTHING; /* it is looked for again */
    close(tail->descriptor);
    tail->descriptor = descriptor;
    if (!note_file(tail, error))
        return WATCH_FAILED;
    tail->old = 0;
    return WATCH_ANOTHER;
}

static enum watch_news begin_anew(struct watch_tail *tail)
{
    tail->offset = tail->old = 0;
    tail->head_length = 0;
    return WATCH_ANOTHER;
}

enum watch_news watch_tail_read(struct watch_tail *tail, char *bytes, size_t size, size_t *count,
                                bool *old, struct error *error)
{
    struct stat status;
    *count = 0;
    *old = false;
    if (tail->pipe)
        return read_pipe(tail, bytes, size, count, error);
    if (fstat(tail->descriptor, &status) != 0)
        return fail(tail, error);
    if ((uint64_t)status.st_size == tail->offset)
        return look_for_another(tail, error);
    if (!begins_as_before(tail, (uint64_t)status.st_size))
        return begin_anew(tail);
    const ssize_t length = pread(tail->descriptor, bytes, size, (off_t)tail->offset);
    if (length < 0)
        return fail(tail, error);
    if (length == 0)
        return WATCH_NOTHING;
    *count = (size_t)length;
    *old = tail->offset < tail->old;
    keep_head(tail, bytes, *count);
    tail->offset += *count;
    return WATCH_BYTES;
}
