/* Records stay in memory until a sync has confirmed that they are on the disk:
 *
 *     0 .......... base .......... base + done .......... base + records.length
 *       on the disk       in the file            waits in memory
 *
 * so that the file can be cut to whole records after a failed write, and records that a failed sync
 * has lost are written again. */
#include "training/tensorboard/event_file.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_START "events.out.tfevents."
enum { PENDING_MOST = 16 << 20, UNSYNCED_MOST = 1 << 20, HOST_MOST = 64, NAME_TRIES = 100 };
static const uint64_t flush_interval = 1000000000; /* nanoseconds */

/* --- names --- */

/* Returns the seconds in the name of an event file, or -1 if it is none: a half-written one of an
 * export that was killed does not count. */
static long long name_seconds(const char *name)
{
    static const char part[] = ".part";
    const size_t start = sizeof NAME_START - 1, length = strlen(name), end = sizeof part - 1;
    if (strncmp(name, NAME_START, start) != 0 ||
        (length > end && strcmp(name + length - end, part) == 0))
        return -1;
    const long long seconds = strtoll(name + start, NULL, 10);
    return seconds < 0 ? 0 : seconds;
}

/* Returns the greatest seconds in the names of the event files of a folder; -1: it has none. */
static long long last_seconds(const char *folder)
{
    DIR *directory = opendir(folder);
    long long last = -1;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        const long long seconds = name_seconds(entry->d_name);
        last = seconds > last ? seconds : last;
    }
    if (directory)
        closedir(directory);
    return last;
}

bool event_file_exists_in(const char *folder)
{
    return last_seconds(folder) >= 0;
}

/* Writes the name of a file: the seconds, which sort, the host and the process. */
static void write_name(char *name, size_t size, long long seconds, const char *host)
{
    char safe[HOST_MOST];
    snprintf(safe, sizeof safe, "%s", host[0] ? host : "localhost");
    for (char *c = safe; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ')
            *c = '_';
    snprintf(name, size, NAME_START "%010lld.%s.%ld", seconds, safe, (long)getpid());
}

/* --- opening --- */

static bool create(struct event_file *file, const char *folder, const char *host, double wall,
                   struct error *error)
{
    char name[sizeof NAME_START + HOST_MOST + 48];
    const char *advice =
        N_("name a folder that can be written to with --tensorboard, or leave it out");
    const long long last = last_seconds(folder), now = (long long)wall;
    for (int i = 0; i < NAME_TRIES; i++) {
        write_name(name, sizeof name, (now > last ? now : last + 1) + i, host);
        free(file->path);
        file->path = file_join(folder, name);
        if (!file->path)
            return error_set_memory(error, "a path", 0);
        file->descriptor = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor >= 0)
            return true;
        if (errno != EEXIST)
            return error_set_errno(error, file->path, advice, "the event file cannot be created");
    }
    return error_set(error, ERROR_SYSTEM, folder, advice,
                     "there are too many event files of the same time");
}

bool event_file_open(struct event_file *file, const char *folder, const char *host,
                     struct event_time start, struct error *error)
{
    *file = (struct event_file){.descriptor = -1};
    if (!file_make_directories(folder, error))
        return false;
    if (!create(file, folder, host, start.wall, error)) {
        free(file->path);
        *file = (struct event_file){.descriptor = -1};
        return false;
    }
    event_log_begin(&file->log, start);
    if (event_file_sync(file))
        file_sync_directory(folder); /* the name of the file */
    return true;
}

/* --- writing --- */

/* Returns the length of the frame that begins at `record`. */
static size_t frame_length(const char *record)
{
    uint64_t length = 0;
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)(unsigned char)record[i] << 8 * i;
    return (size_t)length + 16;
}

/* Returns the end of the last whole record within the first `count` bytes of the log. */
static size_t whole_records(const struct event_log *log, size_t count)
{
    size_t end = 0;
    while (end < count) {
        const size_t next = end + frame_length(log->records.data + end);
        if (next > count)
            break;
        end = next;
    }
    return end;
}

/* Removes the records, which are on the disk. */
static void empty(struct event_file *file)
{
    file->base += file->log.records.length;
    file->log.records.length = 0;
    file->done = 0;
}

/* Cuts the file to whole records and drops the others. */
static void cut(struct event_file *file)
{
    const size_t whole = whole_records(&file->log, file->done);
    if (file->descriptor >= 0 && whole < file->done) {
        /* if this fails, readers skip the incomplete record */
        const bool done = ftruncate(file->descriptor, (off_t)(file->base + whole)) == 0;
        (void)done;
    }
    file->log.records.length = 0;
    file->done = 0;
}

static void meet_trouble(struct event_file *file)
{
    const int code = errno;
    error_set_errno(&file->trouble, file->path,
                    "free some space; it is tried again, and the training goes on",
                    "the event file cannot be written");
    if (file->descriptor >= 0 && code != ENOSPC && code != EDQUOT) {
        close(file->descriptor);
        file->descriptor = -1;
    }
    if (file->log.records.length <= PENDING_MOST)
        return;
    cut(file);
    file->stopped = true;
}

/* Writes the waiting records. Returns false with errno if writing fails. */
static bool write_records(struct event_file *file)
{
    const struct text *records = &file->log.records;
    if (file->descriptor < 0)
        file->descriptor = open(file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    bool good = file->descriptor >= 0;
    while (good && file->done < records->length) {
        const ssize_t count =
            pwrite(file->descriptor, records->data + file->done, records->length - file->done,
                   (off_t)(file->base + file->done));
        good = count > 0 || (count < 0 && errno == EINTR);
        file->done += count > 0 ? (size_t)count : 0;
    }
    return good;
}

bool event_file_flush(struct event_file *file)
{
    if (!file->path || file->stopped)
        return !file->path;
    if (file->log.records.length > UNSYNCED_MOST)
        return event_file_sync(file);
    file->flushed = clock_nanoseconds();
    if (write_records(file)) {
        file->trouble = (struct error){0};
        return true;
    }
    meet_trouble(file);
    return false;
}

bool event_file_sync(struct event_file *file)
{
    if (!file->path || file->stopped)
        return !file->path;
    file->flushed = clock_nanoseconds();
    const bool written = write_records(file);
    if (written && fdatasync(file->descriptor) == 0) {
        file->trouble = (struct error){0};
        empty(file);
        return true;
    }
    meet_trouble(file);
    if (written && !file->stopped) { /* the pages may be lost although the next sync succeeds */
        file->done = 0;
        if (file->descriptor >= 0)
            close(file->descriptor);
        file->descriptor = -1;
    }
    return false;
}

bool event_file_waits(const struct event_file *file)
{
    return file->done < file->log.records.length;
}

void event_file_step(struct event_file *file, uint64_t now)
{
    if (file->stopped)
        file->log.records.length = 0;
    else if (file->path && now - file->flushed >= flush_interval)
        event_file_flush(file);
}

void event_file_close(struct event_file *file)
{
    if (!file->path)
        return;
    event_file_sync(file);
    cut(file);
    if (file->descriptor >= 0)
        close(file->descriptor);
    event_log_free(&file->log);
    free(file->path);
    *file = (struct event_file){.descriptor = -1};
}
