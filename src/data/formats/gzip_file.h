/* gzip_file.h: reads files that may be gzip-compressed.
 *
 * A file is looked for under its name and with ".gz". The size of the decompressed data is
 * limited, so that a small file cannot fill the memory.
 */
#ifndef TINCA_DATA_FORMATS_GZIP_FILE_H
#define TINCA_DATA_FORMATS_GZIP_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the path DIRECTORY/name or else DIRECTORY/name.gz, whichever exists; owned by the caller.
 * Returns NULL if neither exists, or, with an error, if out of memory. */
char *gzip_file_find(const char *directory, const char *name, struct error *error);

/* Returns the uncompressed size of DIRECTORY/name or DIRECTORY/name.gz in bytes, as the file states
 * it; 0 if there is none. */
uint64_t gzip_file_size(const char *directory, const char *name);

/* Returns the uncompressed size of the file at `path`, as the file states it. */
uint64_t gzip_file_size_of(const char *path);

/* An open file that is decompressed in pieces, directly to where the data is needed. */
struct gzip_file;

/* Opens a regular file. Returns NULL with an error. */
struct gzip_file *gzip_file_open(const char *path, struct error *error);
void gzip_file_close(struct gzip_file *gzip); /* NULL is allowed */

/* Reads the next `wanted` bytes, or fewer at the end of the file, and sets *got. Returns false with
 * an error if gzip data is truncated or damaged. */
bool gzip_file_next(struct gzip_file *gzip, void *to, size_t wanted, size_t *got,
                    struct error *error);

/* Returns false with an error if the file has more data than was read. */
bool gzip_file_check_end(struct gzip_file *gzip, struct error *error);

/* Returns all decompressed data of the file at `path`, at most `limit` bytes, owned by the caller.
 * Returns NULL with an error if there is more, or the file is truncated or damaged. */
uint8_t *gzip_file_read(const char *path, size_t limit, size_t *size, struct error *error);

/* Does the same with an open file or pipe, which is closed in any case; `name` is for messages. */
uint8_t *gzip_file_read_open(int descriptor, const char *name, size_t limit, size_t *size,
                             struct error *error);

#endif
