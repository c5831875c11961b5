/* zip.h: reads the members of a ZIP archive, as numpy.savez writes it: stored or deflated members,
 * without encryption, less than 4 GiB. Internal to data/. */
#ifndef TINCA_DATA_FORMATS_ZIP_H
#define TINCA_DATA_FORMATS_ZIP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ZIP_NAME = 128, ZIP_MEMBERS = 1024 };

struct zip_member {
    char name[ZIP_NAME];
    uint32_t packed, size; /* bytes in the archive and after decompression, as it states them */
    uint32_t crc32, offset;
    uint16_t method; /* 0: stored, 8: deflated */
};

struct zip {
    FILE *stream;
    const char *path; /* borrowed */
    struct zip_member *member;
    size_t members;
};

/* Opens an archive and reads the list of its members, at most ZIP_MEMBERS. Returns false with an
 * error. */
bool zip_open(struct zip *zip, const char *path, struct error *error);
void zip_close(struct zip *zip);

/* Returns the member of a name, or NULL. */
const struct zip_member *zip_find(const struct zip *zip, const char *name);

/* Returns the bytes of a member, owned by the caller, or NULL with an error if it has more than
 * `limit` bytes, or differs from the size or the checksum in the archive. Allocates at most twice
 * the decompressed bytes. */
uint8_t *zip_read(const struct zip *zip, const struct zip_member *member, size_t limit,
                  struct error *error);

/* Writes a ZIP archive of stored members, as numpy.savez does, to a stream that need
 * not be seekable. Members and archives of more than 4 GiB have the fields of ZIP64. */

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
