/* zip_writer.h: writes a ZIP archive of stored members, as numpy.savez does, to a stream that need
 * not be seekable. Members and archives of more than 4 GiB have the fields of ZIP64. */
#ifndef TINCA_DATA_FORMATS_ZIP_WRITER_H
#define TINCA_DATA_FORMATS_ZIP_WRITER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct zip_written; /* a member */

/* Starts as {.stream = ...}. */
struct zip_writer {
    FILE *stream;    /* borrowed; its owner checks it for errors */
    uint64_t offset; /* bytes written */
    struct zip_written *members;
    size_t count, capacity;
};

/* Writes a member of two parts, head and data. Returns false with an error if there is no memory,
 * or the name is too long. */
bool zip_writer_add(struct zip_writer *zip, const char *name, const void *head, size_t head_size,
                    const void *data, size_t data_size, struct error *error);

/* Writes the list of members and frees it. */
void zip_writer_end(struct zip_writer *zip);

/* Frees the list without writing it. */
void zip_writer_abandon(struct zip_writer *zip);

#endif
