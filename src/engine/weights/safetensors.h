/* safetensors.h: the file format alone, for weights, checkpoints and test goldens. */
#ifndef TINCA_ENGINE_WEIGHTS_SAFETENSORS_H
#define TINCA_ENGINE_WEIGHTS_SAFETENSORS_H

#include "base/error.h"
#include "base/json/json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum safetensors_type { SAFETENSORS_F32, SAFETENSORS_I32, SAFETENSORS_U8, SAFETENSORS_I64 };

struct safetensors_entry {
    char name[128];
    enum safetensors_type type;
    size_t dims[4], rank;
    uint64_t offset, bytes; /* of the data section */
};

struct safetensors {
    char *path;
    FILE *file;
    struct safetensors_entry *entries;
    size_t count;
    uint64_t data_start;
    struct json_document header;
};

/* Opens and checks a file: header size, types, that shapes match offsets, that nothing overlaps or
 * lies outside the file. */
bool safetensors_open(struct safetensors *file, const char *path, struct error *error);
void safetensors_close(struct safetensors *file);

const struct safetensors_entry *safetensors_find(const struct safetensors *file, const char *name);
const char *safetensors_metadata(const struct safetensors *file, const char *key); /* NULL: none */

/* Reads an entry's bytes into memory of at least entry->bytes. */
bool safetensors_read(struct safetensors *file, const struct safetensors_entry *entry, void *out,
                      struct error *error);

/* One array to write; data is borrowed until safetensors_write returns. */
struct safetensors_array {
    const char *name;
    enum safetensors_type type;
    size_t dims[4], rank;
    const void *data;
};

/* Writes a whole file atomically, with a checksum of all of it in its metadata ("tinca.crc32").
 * `metadata` is keys and values in turn, NULL-ended, or NULL. */
bool safetensors_write(const char *path, const struct safetensors_array *arrays, size_t count,
                       const char *const *metadata, struct error *error);

/* The same for the user alone (0600); the file that was there stays as `previous`. Returns its
 * bytes in *bytes. */
bool safetensors_write_checked(const char *path, const char *previous,
                               const struct safetensors_array *arrays, size_t count,
                               const char *const *metadata, uint64_t *bytes, struct error *error);

/* Whether a file carries a checksum; other programs' files and older versions' models do not. */
bool safetensors_has_checksum(const struct safetensors *file);

/* Whether a file with a checksum is whole, to the last bit: reads all of it. */
bool safetensors_check(struct safetensors *file, struct error *error);

size_t safetensors_type_size(enum safetensors_type type);

#endif
