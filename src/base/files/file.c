/* A file_writer writes PATH.N.part, brings it to the disk (fsync), renames it to PATH, and brings
 * the folder's new entry to the disk as well. After a crash at any moment, PATH is the old file or
 * the complete new one.
 *
 * The writer holds a lock (flock) on PATH.N.part until it is renamed, so that the next writer of
 * PATH sees which of these files a killed process has left, and uses or removes them: N is the
 * first number, from 0, that no living writer uses. Where files cannot be locked, nothing is
 * removed, and N becomes the number of the process once the first ones are taken. A signal that
 * ends the process in order deletes the file at once (file_delete_half_written). */
#include "base/files/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_NUMBERS = 8 };

static bool refuse_size(const char *path, size_t limit, struct error *error)
{
    return error_set(error, ERROR_INPUT, path, "check that it is the file that was meant",
                     "the file is larger than the %zu bytes that are read of its kind", limit);
}

static bool read_all(int descriptor, const char *path, size_t limit, char **data, size_t *size,
                     struct error *error)
{
    size_t capacity = 0, used = 0, room = 65536;
    struct stat status;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        if ((uint64_t)status.st_size > limit)
            return refuse_size(path, limit, error);
        room = (size_t)status.st_size + 1; /* one more byte shows that this is the end */
    }
    for (ssize_t got = 1; got != 0;) { /* reads to the end, since the file may still grow */
        if (!memory_grow(data, &capacity, used + room + 1, 1, path, error))
            return false;
        room = 1; /* memory_grow doubles */
        got = read(descriptor, *data + used, capacity - used - 1);
        if (got < 0 && errno != EINTR)
            return error_set_errno(error, path, NULL, "reading failed");
        used += got > 0 ? (size_t)got : 0;
        if (used > limit)
            return refuse_size(path, limit, error);
    }
    (*data)[used] = '\0';
    *size = used;
    return true;
}

int file_open_if_regular(const char *path, int flags, struct stat *status)
{
    /* O_NONBLOCK: opening a FIFO must not hang; O_NOCTTY: a terminal must not become ours */
    const int descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (descriptor < 0)
        return -1;
    const int reason = fstat(descriptor, status) != 0 ? errno
                       : S_ISREG(status->st_mode)     ? 0
                                                      : EINVAL;
    if (reason == 0)
        return descriptor;
    close(descriptor);
    errno = reason;
    return -1;
}

int file_open_regular(const char *path, struct error *error)
{
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDONLY, &status);
    if (descriptor < 0 && errno == EINVAL)
        error_set(error, ERROR_INPUT, path, "name a file", "this is not a regular file");
    else if (descriptor < 0)
        error_set_errno(error, path, "check the path and its permissions", "cannot open");
    return descriptor;
}

FILE *file_open_stream(const char *path, struct error *error)
{
    int descriptor = file_open_regular(path, error);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    if (!stream && descriptor >= 0) {
        close(descriptor);
        error_set_memory(error, path, 0);
    }
    return stream;
}

char *file_read(const char *path, size_t limit, size_t *size, struct error *error)
{
    const int descriptor = file_open_regular(path, error);
    if (descriptor < 0)
        return NULL;
    char *data = NULL;
    bool read = read_all(descriptor, path, limit, &data, size, error);
    close(descriptor);
    if (read)
        return data;
    free(data);
    return NULL;
}

bool file_read_at(int descriptor, char *bytes, size_t length, uint64_t offset)
{
    for (size_t done = 0; done < length;) {
        const ssize_t count =
            pread(descriptor, bytes + done, length - done, (off_t)(offset + done));
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

/* Returns whether only the user may enter the folder of `path`. */
static bool is_in_private_folder(const char *path)
{
    struct stat status;
    char *copy = memory_copy_text(path, NULL);
    bool is = copy && stat(dirname(copy), &status) == 0 && (status.st_mode & 077) == 0;
    free(copy);
    return is;
}

bool file_writer_open(struct file_writer *writer, const char *path, bool private_file,
                      struct error *error)
{
    return file_writer_open_mode(writer, path,
                                 private_file || is_in_private_folder(path) ? 0600 : 0666, error);
}

/* Returns whether the open file is still the one that is called `path`. */
static bool has_name(int descriptor, const char *path)
{
    struct stat own, there;
    return fstat(descriptor, &own) == 0 && lstat(path, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

/* Creates and locks a file that is not there. Returns a descriptor, or -1 with errno; EEXIST also
 * if another process has removed the file before it was locked. */
static int create_part(const char *path, mode_t mode)
{
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor < 0)
        return -1;
    while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
        ;
    if (has_name(descriptor, path))
        return descriptor;
    close(descriptor);
    errno = EEXIST;
    return -1;
}

/* Returns whether a half-written file can become a private new one without being removed. */
static bool is_reusable(const struct stat *status, mode_t mode)
{
    return mode == 0600 && (status->st_mode & 07777) == 0600 && status->st_uid == geteuid() &&
           status->st_nlink == 1;
}

/* Replaces a half-written file that no living process writes. Empties it if the user owns it, so
 * that the name exists at every moment (run_directory_begin). Returns a locked descriptor, or -1
 * with errno. */
static int replace_part(const char *path, mode_t mode)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? create_part(path, mode) : -1;
    if (!S_ISREG(status.st_mode)) /* planted by an attacker: links are not followed */
        return unlink(path) == 0 ? create_part(path, mode) : -1;
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    /* while it is locked, nobody else removes it */
    const bool is_left = flock(descriptor, LOCK_EX | LOCK_NB) == 0 && has_name(descriptor, path);
    if (is_left && is_reusable(&status, mode) && ftruncate(descriptor, 0) == 0)
        return descriptor;
    const bool is_free = is_left && unlink(path) == 0;
    close(descriptor);
    if (is_free)
        return create_part(path, mode);
    errno = EEXIST;
    return -1;
}

/* Creates the temporary file of `path` and writes its name. Returns a descriptor, or -1 with errno.
 */
static int open_part(const char *path, char *name, size_t size, mode_t mode)
{
    int descriptor = -1;
    for (int i = 0; descriptor < 0 && i < PART_NUMBERS; i++) {
        snprintf(name, size, "%s.%d.part", path, i);
        descriptor = create_part(name, mode);
        if (descriptor < 0 && errno == EEXIST)
            descriptor = replace_part(name, mode);
        else if (descriptor < 0)
            break;
    }
    if (descriptor >= 0 || (errno != EEXIST && errno != EACCES))
        return descriptor;
    snprintf(name, size, "%s.%ld.part", path, (long)getpid());
    unlink(name); /* left by an earlier process with this number */
    return create_part(name, mode);
}

/* The temporary files of the living writers. A writer that finds no room is not in the list: its
 * file is left to the next writer of its name. */
enum { MOST_HALF_WRITTEN = 32 };
static const char *_Atomic half_written[MOST_HALF_WRITTEN];

/* Adds a path, which must stay until remove_half_written. */
static void add_half_written(const char *path)
{
    for (size_t i = 0; i < MOST_HALF_WRITTEN; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&half_written[i], &none, path))
            return;
    }
}

/* Removes a path; does nothing with one that was not added. */
static void remove_half_written(const char *path)
{
    for (size_t i = 0; path && i < MOST_HALF_WRITTEN; i++) {
        const char *same = path;
        if (atomic_compare_exchange_strong(&half_written[i], &same, NULL))
            return;
    }
}

void file_delete_half_written(void)
{
    for (size_t i = 0; i < MOST_HALF_WRITTEN; i++) {
        const char *const path = atomic_load(&half_written[i]);
        if (path)
            unlink(path);
    }
}

bool file_writer_open_mode(struct file_writer *writer, const char *path, mode_t mode,
                           struct error *error)
{
    *writer = (struct file_writer){0};
    writer->path = memory_copy_text(path, error);
    size_t size = strlen(path) + 32;
    writer->temporary = memory_new(size, 1, path, error);
    if (!writer->path || !writer->temporary) {
        free(writer->temporary);
        writer->temporary = NULL;
        file_writer_abandon(writer);
        return false;
    }
    int descriptor = open_part(path, writer->temporary, size, mode);
    writer->stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (writer->stream) {
        add_half_written(writer->temporary);
        return true;
    }
    error_set_errno(error, path, "check that the folder exists and can be written to",
                    "cannot create");
    if (descriptor >= 0)
        unlink(writer->temporary);
    free(writer->temporary);
    writer->temporary = NULL;
    if (descriptor >= 0)
        close(descriptor);
    file_writer_abandon(writer);
    return false;
}

bool file_sync_directory(const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return errno == EACCES;
    const bool synced = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
    const int code = errno;
    close(descriptor);
    errno = code;
    return synced;
}

bool file_sync_directory_of(const char *path)
{
    char *copy = memory_copy_text(path, NULL);
    if (!copy) {
        errno = ENOMEM;
        return false;
    }
    const bool synced = file_sync_directory(dirname(copy));
    const int code = errno;
    free(copy);
    errno = code;
    return synced;
}

/* Renames an existing file to `previous`, if that is not NULL, and the new file to its final name.
 */
static bool put_in_place(const struct file_writer *writer, const char *previous)
{
    if (previous && rename(writer->path, previous) != 0 && errno != ENOENT)
        return false;
    return rename(writer->temporary, writer->path) == 0;
}

bool file_writer_commit(struct file_writer *writer, struct error *error)
{
    return file_writer_commit_with_backup(writer, NULL, error);
}

bool file_writer_commit_with_backup(struct file_writer *writer, const char *previous,
                                    struct error *error)
{
    bool written = fflush(writer->stream) == 0 && !ferror(writer->stream) &&
                   fsync(fileno(writer->stream)) == 0;
    int code = errno;
    const int held = fcntl(fileno(writer->stream), F_DUPFD_CLOEXEC, 0); /* the lock stays */
    if (fclose(writer->stream) != 0 && written) {
        written = false;
        code = errno;
    }
    writer->stream = NULL;
    if (written && put_in_place(writer, previous)) {
        remove_half_written(writer->temporary);
        free(writer->temporary);
        writer->temporary = NULL; /* renamed: there is nothing to remove */
        written = file_sync_directory_of(writer->path);
        code = errno;
    } else if (written) {
        written = false;
        code = errno;
    }
    errno = code;
    if (!written)
        error_set_errno(error, writer->path, "free some space, or choose another place",
                        "cannot write");
    file_writer_abandon(writer);
    if (held >= 0)
        close(held);
    return written;
}

void file_writer_abandon(struct file_writer *writer)
{
    remove_half_written(writer->temporary); /* before another writer may have this name */
    if (writer->temporary)
        unlink(writer->temporary); /* before its lock is gone */
    if (writer->stream)
        fclose(writer->stream);
    free(writer->temporary);
    free(writer->path);
    *writer = (struct file_writer){0};
}

bool file_write(const char *path, const void *bytes, size_t size, bool private_file,
                struct error *error)
{
    struct file_writer writer;
    if (!file_writer_open(&writer, path, private_file, error))
        return false;
    fwrite(bytes, 1, size, writer.stream);
    return file_writer_commit(&writer, error);
}

/* Creates one folder, unless it exists, and syncs its parent. Returns false with errno. */
static bool make_directory(const char *path)
{
    if (mkdir(path, 0700) == 0)
        return file_sync_directory_of(path);
    const int code = errno;
    const bool exists = code == EEXIST || file_is_directory(path);
    errno = code;
    return exists;
}

bool file_make_directories(const char *path, struct error *error)
{
    char *partial = memory_copy_text(path, error);
    if (!partial)
        return false;
    bool made = true;
    for (char *slash = partial + 1; made && *slash; slash++) {
        if (*slash != '/')
            continue;
        *slash = '\0';
        made = make_directory(partial);
        *slash = '/';
    }
    made = made && make_directory(partial);
    if (made && !file_is_directory(partial)) {
        made = false;
        errno = ENOTDIR;
    }
    if (!made)
        error_set_errno(error, path, "choose a place that can be written to",
                        "cannot create the folder");
    free(partial);
    return made;
}

bool file_make_folder_of(const char *path, struct error *error)
{
    char *folder = memory_copy_text(path, error);
    if (!folder)
        return false;
    *strrchr(folder, '/') = '\0';
    const bool made = file_is_directory(folder) || file_make_directories(folder, error);
    free(folder);
    return made;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool file_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *file_join(const char *directory, const char *name)
{
    size_t size = strlen(directory) + strlen(name) + 2;
    char *joined = memory_new(size, 1, "a path", NULL);
    if (joined)
        snprintf(joined, size, "%s/%s", directory, name);
    return joined;
}

const char *file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
