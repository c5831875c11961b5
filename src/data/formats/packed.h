/* packed.h: reads files that may be gzip-compressed.
 *
 * A file is looked for under its name and with ".gz". The size of the decompressed data is
 * limited, so that a small file cannot fill the memory.
 */
#ifndef TINCA_DATA_FORMATS_PACKED_H
#define TINCA_DATA_FORMATS_PACKED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the path DIRECTORY/name or else DIRECTORY/name.gz, whichever exists; owned by the caller.
 * Returns NULL if neither exists, or, with an error, if out of memory. */
char *packed_find(const char *directory, const char *name, struct error *error);

/* Returns the uncompressed size of DIRECTORY/name or DIRECTORY/name.gz in bytes, as the file states
 * it; 0 if there is none. */
uint64_t packed_size(const char *directory, const char *name);

/* Returns the uncompressed size of the file at `path`, as the file states it. */
uint64_t packed_size_of(const char *path);

/* An open file that is decompressed in pieces, directly to where the data is needed. */
struct packed;

/* Opens a regular file. Returns NULL with an error. */
struct packed *packed_open(const char *path, struct error *error);
void packed_close(struct packed *packed); /* NULL is allowed */

/* Reads the next `wanted` bytes, or fewer at the end of the file, and sets *got. Returns false with
 * an error if gzip data is truncated or damaged. */
bool packed_next(struct packed *packed, void *to, size_t wanted, size_t *got, struct error *error);

/* Returns false with an error if the file has more data than was read. */
bool packed_check_end(struct packed *packed, struct error *error);

/* Returns all decompressed data of the file at `path`, at most `limit` bytes, owned by the caller.
 * Returns NULL with an error if there is more, or the file is truncated or damaged. */
uint8_t *packed_read(const char *path, size_t limit, size_t *size, struct error *error);

#endif
