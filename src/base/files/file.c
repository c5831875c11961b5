/* A file_writer writes PATH.PID.part, brings it to the disk (fsync), renames it to PATH, and brings
 * the folder's new entry to the disk as well. After a crash at any moment, PATH is the old file or
 * the complete new one. */
#include "base/files/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    for (ssize_t got = 1; got != 0;) { /* to the end, wherever it is by now: it may still grow */
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

bool file_writer_open_mode(struct file_writer *writer, const char *path, mode_t mode,
                           struct error *error)
{
    *writer = (struct file_writer){0};
    writer->path = memory_copy_text(path, error);
    size_t size = strlen(path) + 32;
    writer->temporary = memory_new(size, 1, path, error);
    if (!writer->path || !writer->temporary) {
        file_writer_abandon(writer);
        return false;
    }
    snprintf(writer->temporary, size, "%s.%ld.part", path, (long)getpid());
    unlink(
        writer
            ->temporary); /* left by an earlier process with this PID, or planted by an attacker */
    int descriptor =
        open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    writer->stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (writer->stream)
        return true;
    error_set_errno(error, path, "check that the folder exists and can be written to",
                    "cannot create");
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
    if (fclose(writer->stream) != 0 && written) {
        written = false;
        code = errno;
    }
    writer->stream = NULL;
    if (written && put_in_place(writer, previous)) {
        free(writer->temporary);
        writer->temporary = NULL; /* renamed: there is nothing to remove */
        if (file_sync_directory_of(writer->path)) {
            file_writer_abandon(writer);
            return true;
        }
    }
    errno = written ? errno : code;
    error_set_errno(error, writer->path, "free some space, or choose another place",
                    "cannot write");
    file_writer_abandon(writer);
    return false;
}

void file_writer_abandon(struct file_writer *writer)
{
    if (writer->stream)
        fclose(writer->stream);
    if (writer->temporary)
        unlink(writer->temporary);
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

/* Creates one folder, unless it exists, and syncs its parent. */
static bool make_directory(const char *path)
{
    if (mkdir(path, 0700) == 0)
        return file_sync_directory_of(path);
    return errno == EEXIST || file_is_directory(path);
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
