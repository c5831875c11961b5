/* file.h: whole files in and out, so that a good file is never replaced by half a one. */
#ifndef TINCA_BASE_FILES_FILE_H
#define TINCA_BASE_FILES_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Opens a regular file with the flags of open(2); a file that O_CREAT makes has mode 0600. Never
 * waits. Returns a descriptor and fills *status, or returns -1 with errno: EINVAL for what is not a
 * regular file. */
int file_open_if_regular(const char *path, int flags, struct stat *status);

/* Opens a regular file for reading: a descriptor, or -1 with an error. Never waits: a FIFO, a
 * device and a folder are refused. */
int file_open_regular(const char *path, struct error *error);

/* The same as a stream; NULL with an error. */
FILE *file_open_stream(const char *path, struct error *error);

/* Reads the whole of a regular file of at most `limit` bytes. The result is NUL-terminated beyond
 * *size and owned by the caller. */
char *file_read(const char *path, size_t limit, size_t *size, struct error *error);

/* Writes a file aside (`path` with a suffix), to be renamed over `path` by file_writer_commit after
 * it has reached the disk. Write through `stream` and do not check it: commit reports what failed.
 */
struct file_writer {
    FILE *stream;
    char *path, *aside;
};

/* `private_file`: readable by the user alone (0600), else as the umask says, but never by more
 * people than may enter its folder: in a run's directory (0700) every file is private. A link at
 * `path` is replaced, not followed. */
bool file_writer_open(struct file_writer *writer, const char *path, bool private_file,
                      struct error *error);
/* The same with the permissions `mode`, less what the umask takes away. */
bool file_writer_open_mode(struct file_writer *writer, const char *path, mode_t mode,
                           struct error *error);
bool file_writer_commit(struct file_writer *writer, struct error *error);
/* The same; the file that was there until now stays as `previous`, in the same folder, so that at
 * every moment one of the two is whole. */
bool file_writer_commit_with_backup(struct file_writer *writer, const char *previous,
                                    struct error *error);
void file_writer_abandon(struct file_writer *writer); /* also after a commit: does nothing then */

/* Brings the names in the folder of `path` to the disk: a new file, or a renamed one, has its name
 * for good only then. Returns false with errno. File systems that cannot sync a folder, and folders
 * that may be written to but not read, count as synced: nothing more can be done there. */
bool file_sync_directory_of(const char *path);

/* The same of the names in the folder `path` itself. */
bool file_sync_directory(const char *path);

bool file_write(const char *path, const void *bytes, size_t size, bool private_file,
                struct error *error);

/* mkdir -p; new directories are readable by the user alone (0700). */
bool file_make_directories(const char *path, struct error *error);

bool file_exists(const char *path);
bool file_is_directory(const char *path);

/* "directory/name", owned by the caller; NULL when memory is out. */
char *file_join(const char *directory, const char *name);

/* The last component of a path; points into it. */
const char *file_base_name(const char *path);

#endif
