/* packed.h: files that may be gzip-compressed, read as if they were not.
 *
 * `name` is looked for as it is and with ".gz". What is inflated is limited, so that a small file
 * cannot fill the memory.
 */
#ifndef TINCA_DATA_FORMATS_PACKED_H
#define TINCA_DATA_FORMATS_PACKED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The path of DIRECTORY/name or DIRECTORY/name.gz, whichever is there (the plain one first); owned
 * by the caller. NULL when there is neither; `error` is filled only when memory is out. */
char *packed_find(const char *directory, const char *name, struct error *error);

/* Returns the bytes of what DIRECTORY/name or DIRECTORY/name.gz unpacks to, as the file says; 0:
 * there is none. */
uint64_t packed_size(const char *directory, const char *name);
/* The same of one path. */
uint64_t packed_size_of(const char *path);

/* A file that is read piece by piece, so that what it unpacks to goes directly to where it is
 * needed. */
struct packed;

/* Returns NULL with an error when `path` is no regular file or cannot be read. */
struct packed *packed_open(const char *path, struct error *error);
void packed_close(struct packed *packed); /* may be NULL */

/* Reads the next `wanted` bytes, or fewer at the end of the file. Fails on truncated and damaged
 * gzip data. */
bool packed_next(struct packed *packed, void *to, size_t wanted, size_t *got, struct error *error);

/* Fails, as a file that is too long, unless all of it has been read. */
bool packed_check_end(struct packed *packed, struct error *error);

/* Reads what `path` unpacks to, at most `limit` bytes. A file that has more is an error. Truncated
 * and damaged files are refused. The result is owned by the caller. */
uint8_t *packed_read(const char *path, size_t limit, size_t *size, struct error *error);

#endif
