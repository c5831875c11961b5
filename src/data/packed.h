/* packed.h: files that may be gzip-compressed, read as if they were not.
 *
 * `name` is looked for as it is and with ".gz". What is inflated is limited, so that a small file
 * cannot fill the memory.
 */
#ifndef TINCA_DATA_PACKED_H
#define TINCA_DATA_PACKED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The path of DIRECTORY/name or DIRECTORY/name.gz, whichever is there (the plain one first); owned
 * by the caller. NULL when there is neither; `error` is filled only when memory is out. */
char *packed_find(const char *directory, const char *name, struct error *error);

/* Bytes of what DIRECTORY/name or DIRECTORY/name.gz unpacks to, as the file says; 0: there is none.
 */
uint64_t packed_size(const char *directory, const char *name);

/* Reads what `path` unpacks to, at most `limit` bytes. A file that has more is an error when
 * `whole` is set, and otherwise cut there. Truncated and damaged files are refused. The result is
 * owned by the caller. */
uint8_t *packed_read(const char *path, size_t limit, bool whole, size_t *size, struct error *error);

#endif
