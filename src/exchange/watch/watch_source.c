/* A file is read by offset, a pipe by poll. Before new bytes count, the first bytes of the file are
 * compared with those it had: some programs write the whole file anew under the same name, and it
 * may be longer than before when that is noticed. */
#include "exchange/watch/internal.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
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

/* Closes the file. {0} with a descriptor of -1 is allowed. */
static void watch_tail_close(struct watch_tail *tail)
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

/* Reads up to `size` bytes and sets *count. *old: they were there when the file was opened. */
static enum watch_news watch_tail_read(struct watch_tail *tail, char *bytes, size_t size,
                                       size_t *count, bool *old, struct error *error)
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

/* --- sources --- */

/* After new bytes the log is settled as a whole and the run is made equal to it, which takes time
 * in proportion to its length: so a long log is shown less often. A log also changes by silence,
 * since the last values count only when nothing follows them (import_stream.h). */

enum { PIECE = 1 << 18, PIECES = 16, COST_FACTOR = 10 };
static const double update_seconds = 0.25;
static const double silences[] = {0.5, 3.0}; /* see import_stream_logs */

struct watch_source *watch_source_new(const struct import_request *request, const char *path,
                                      struct error *error)
{
    struct watch_source *source = memory_new(1, sizeof *source, "a source", error);
    if (!source)
        return NULL;
    for (size_t i = 0; i < WATCH_PARTS; i++)
        source->parts[i].tail.descriptor = -1;
    source->request = *request;
    source->request.path = source->state.path = memory_copy_text(path, error);
    source->state.top1 = (double)NAN;
    source->state.loss = (float)NAN;
    if (source->state.path && (source->stream = import_stream_create(&source->request, error)))
        return source;
    watch_source_free(source);
    return NULL;
}

void watch_source_free(struct watch_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < WATCH_PARTS; i++) {
        struct watch_part *part = &source->parts[i];
        watch_tail_close(&part->tail);
        for (size_t k = 0; k < part->count; k++)
            free(part->paths[k]);
        free(part->paths);
    }
    import_stream_free(source->stream);
    import_run_free(source->run);
    free((char *)source->state.path);
    free(source);
}

bool watch_source_add_file(struct watch_source *source, const char *path, bool validation,
                           struct error *error)
{
    struct watch_part *part = &source->parts[validation];
    for (size_t i = 0; i < part->count; i++)
        if (strcmp(part->paths[i], path) == 0)
            return true;
    if (!memory_grow(&part->paths, &part->capacity, part->count + 1, sizeof *part->paths,
                     "the files", error))
        return false;
    char *copy = memory_copy_text(path, error);
    if (copy)
        part->paths[part->count++] = copy;
    return copy;
}

/* --- reading --- */

/* Opens the next file of a folder. Returns whether there is one. */
static bool open_next(struct watch_source *source, size_t index)
{
    struct watch_part *part = &source->parts[index];
    while (part->next < part->count) {
        struct watch_tail tail;
        if (watch_tail_open(&tail, part->paths[part->next++], NULL)) {
            watch_tail_close(&part->tail);
            part->tail = tail;
            import_stream_begin_file(source->stream, index, index == 1);
            return true;
        }
        watch_tail_close(&tail);
    }
    return false;
}

static bool feed(struct watch_source *source, size_t index, const char *bytes, size_t count,
                 double arrival)
{
    import_stream_choose(source->stream, index);
    source->news = true;
    return import_stream_feed(source->stream, bytes, count, arrival, &source->state.error);
}

/* Reads one piece of a part. Returns what came. */
static enum watch_news read_piece(struct watch_source *source, size_t index, char *bytes,
                                  double now)
{
    struct watch_part *part = &source->parts[index];
    size_t count;
    bool old;
    if (part->ended || (part->tail.descriptor < 0 && !open_next(source, index)))
        return WATCH_NOTHING;
    enum watch_news news =
        watch_tail_read(&part->tail, bytes, PIECE, &count, &old, &source->state.error);
    if (news == WATCH_BYTES && !feed(source, index, bytes, count, old ? (double)NAN : now))
        news = WATCH_FAILED;
    if (news == WATCH_ANOTHER)
        import_stream_begin_file(source->stream, index, index == 1);
    if (news == WATCH_NOTHING && open_next(source, index))
        news = WATCH_ANOTHER;
    part->ended = part->ended || news == WATCH_END;
    return news;
}

/* Reads what is new. Returns whether there is more. */
static bool read_news(struct watch_source *source, double now)
{
    bool more = false;
    char *bytes = memory_new(PIECE, 1, "a piece of the log", &source->state.error);
    for (size_t i = 0; bytes && i < WATCH_PARTS; i++) {
        enum watch_news news = WATCH_BYTES;
        for (unsigned k = 0; k < PIECES && (news == WATCH_BYTES || news == WATCH_ANOTHER); k++) {
            news = read_piece(source, i, bytes, now);
            if (news == WATCH_BYTES)
                source->last_news = now;
        }
        more |= news == WATCH_BYTES || news == WATCH_ANOTHER;
        if (news == WATCH_FAILED)
            break;
    }
    free(bytes);
    return more && source->state.error.kind == ERROR_NONE;
}

/* --- the run --- */

static void note_state(struct watch_source *source, const struct imported_log *log)
{
    struct watch_state *state = &source->state;
    const struct series_point *last = &log->points[log->count - 1];
    snprintf(state->run.framework, sizeof state->run.framework, "%s", log->framework);
    state->iteration = last->iteration;
    state->loss = last->loss;
    state->run.iterations = log->count;
    state->run.validations = log->validation_count;
    if (log->validation_count > 0)
        state->top1 = (double)log->validations[log->validation_count - 1].top1;
    state->run.notes = log->notes;
}

static bool show(struct watch_source *source, struct imported_log *log, struct import_memory memory)
{
    struct watch_state *state = &source->state;
    if (!source->run) {
        source->run = import_run_create(&source->request, log, true, &state->error);
        if (!source->run)
            return false;
    }
    note_state(source, log);
    if (!import_run_update(source->run, log, memory, &state->error))
        return false;
    snprintf(state->run.id, sizeof state->run.id, "%s", import_run_id(source->run));
    state->directory = import_run_directory(source->run);
    return true;
}

/* Brings the run up to date. `live`: the log still grows. Returns false with an error. */
static bool update(struct watch_source *source, bool live, double idle, bool stopped,
                   struct import_memory memory)
{
    struct imported_logs logs;
    struct error *error = &source->state.error;
    bool good = import_stream_logs(source->stream, live, idle, &logs, error);
    if (good && !live && logs.count == 0 && source->folder) {
        import_logs_free(&logs);
        return true; /* a folder may have files of other things, such as hyperparameters */
    }
    if (good && (logs.count > 1 || (!live && logs.count == 0)))
        good = import_stream_refuse(&source->request, &logs, import_stream_is_empty(source->stream),
                                    error);
    if (good && logs.count == 1)
        good = show(source, &logs.logs[0], memory);
    if (good && !live) {
        const bool short_of = stopped && !logs.logs[0].finished;
        source->state.stopped = short_of;
        good = import_run_end(source->run, &logs.logs[0], short_of, error);
    }
    import_logs_free(&logs);
    source->news = false;
    source->shown_idle = idle;
    return good;
}

/* Returns whether the silence has become so long that held values count. */
static bool silence_counts(const struct watch_source *source, double idle)
{
    for (size_t i = 0; i < sizeof silences / sizeof *silences; i++)
        if (source->shown_idle < silences[i] && idle >= silences[i])
            return true;
    return false;
}

static bool all_parts_ended(const struct watch_source *source)
{
    return !source->folder && source->parts[0].ended;
}

bool watch_source_step(struct watch_source *source, double now, struct import_memory memory)
{
    if (source->ended)
        return false;
    const bool more = read_news(source, now);
    if (source->state.error.kind != ERROR_NONE || all_parts_ended(source)) {
        watch_source_end(source, false, memory);
        return false;
    }
    const double idle = source->news ? 0 : now - source->last_news;
    if (more || now < source->due || (!source->news && !silence_counts(source, idle)))
        return more;
    const uint64_t from = clock_nanoseconds();
    if (!update(source, true, idle, false, memory))
        watch_source_end(source, false, memory);
    const double cost = clock_seconds(from, clock_nanoseconds());
    source->due = now + fmax(update_seconds, COST_FACTOR * cost);
    return false;
}

void watch_source_end(struct watch_source *source, bool stopped, struct import_memory memory)
{
    const struct error first = source->state.error;
    if (source->ended)
        return;
    source->ended = true;
    source->state.error = (struct error){0};
    if (import_stream_end(source->stream, &source->state.error))
        update(source, false, 0, stopped, memory);
    if (first.kind != ERROR_NONE)
        source->state.error = first; /* what was read before is kept */
}
