/* file.h: reads and writes whole files. A file is replaced only by a complete new one, so a crash
 * never leaves half a file behind. */
#ifndef TINCA_BASE_FILES_FILE_H
#define TINCA_BASE_FILES_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* --- reading --- */

/* Opens a regular file with the flags of open(2); a file that O_CREAT creates has mode 0600. Never
 * blocks. Returns a descriptor and fills *status, or returns -1 with errno, which is EINVAL if the
 * file is not regular. */
int file_open_if_regular(const char *path, int flags, struct stat *status);

/* Opens a regular file for reading. Returns a descriptor, or -1 with an error. Never blocks: it
 * refuses FIFOs, devices and folders. */
int file_open_regular(const char *path, struct error *error);

/* Opens a regular file for reading. Returns a stream, or NULL with an error. */
FILE *file_open_stream(const char *path, struct error *error);

/* Returns the contents of a regular file of at most `limit` bytes, owned by the caller, or NULL
 * with an error. A NUL follows the *size bytes. */
char *file_read(const char *path, size_t limit, size_t *size, struct error *error);

/* Reads `length` bytes from `offset` on. Returns false if there are fewer or they cannot be read.
 */
bool file_read_at(int descriptor, char *bytes, size_t length, uint64_t offset);

/* --- writing --- */

/* A file that is being written under a temporary name beside `path`; file_writer_commit renames it.
 * Write to `stream` and do not check for errors: commit reports them. */
struct file_writer {
    FILE *stream;
    char *path, *temporary; /* the final and the temporary name */
};

/* Begins to write a file. `private_file`: only the user may read it (mode 0600). Otherwise the mode
 * follows the umask, but is 0600, too, if only the user may enter the folder, as in a run's
 * directory. A symbolic link at `path` is replaced, not followed. Returns false with an error. */
bool file_writer_open(struct file_writer *writer, const char *path, bool private_file,
                      struct error *error);

/* Begins to write a file with the permissions `mode`, less those that the umask removes. */
bool file_writer_open_mode(struct file_writer *writer, const char *path, mode_t mode,
                           struct error *error);

/* Syncs the file (fsync) and renames it to its final name. Frees the writer in any case.
 * Returns false with an error if anything failed since it was opened. */
bool file_writer_commit(struct file_writer *writer, struct error *error);

/* Commits like file_writer_commit, but first renames an existing file to `previous`, in the same
 * folder. At every moment at least one of the two files is complete. */
bool file_writer_commit_with_backup(struct file_writer *writer, const char *previous,
                                    struct error *error);

/* Removes the temporary file and frees the writer. Does nothing after a commit. */
void file_writer_abandon(struct file_writer *writer);

/* Deletes the temporary files of all writers of this process, for handlers of signals that end it.
 * Async-signal-safe. */
void file_delete_half_written(void);

/* Writes `size` bytes as a whole file; see file_writer_open. */
bool file_write(const char *path, const void *bytes, size_t size, bool private_file,
                struct error *error);

/* --- folders and paths --- */

/* Syncs the folder that contains `path` (fsync); only then does the new name of a file survive a
 * power failure. Returns false with errno. Returns true if the file system cannot sync a folder, or
 * if the folder may be written but not read: nothing more can be done. */
bool file_sync_directory_of(const char *path);

/* Syncs the folder `path` in the same way. */
bool file_sync_directory(const char *path);

/* Creates a folder and those above it, like mkdir -p; only the user may enter new ones (0700). */
bool file_make_directories(const char *path, struct error *error);

/* Creates the folder that the file `path`, which contains a '/', is to be in, if it is missing. */
bool file_make_folder_of(const char *path, struct error *error);

bool file_exists(const char *path);

/* Returns whether both paths lead to the same file, which exists. */
bool file_is_same(const char *a, const char *b);

bool file_is_directory(const char *path);

/* Returns "directory/name", owned by the caller, or NULL if out of memory. */
char *file_join(const char *directory, const char *name);

/* Returns the last component of a path, as a pointer into it. */
const char *file_base_name(const char *path);

#endif
