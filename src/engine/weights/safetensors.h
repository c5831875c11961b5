/* safetensors.h: reads and writes safetensors files, for weights, checkpoints and test goldens. The
 * format is described in weights.h. */
#ifndef TINCA_ENGINE_WEIGHTS_SAFETENSORS_H
#define TINCA_ENGINE_WEIGHTS_SAFETENSORS_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/graph/name_index.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum safetensors_type {
    SAFETENSORS_F32,
    SAFETENSORS_I32,
    SAFETENSORS_U8,
    SAFETENSORS_I64,
    SAFETENSORS_BF16,
    SAFETENSORS_F16,
    SAFETENSORS_I8
};

/* An array in a file. */
struct safetensors_entry {
    char name[128];
    enum safetensors_type type;
    size_t dims[4], rank;
    uint64_t offset, bytes; /* offset from the start of the data section */
};

/* An open file. Entries are sorted by their offsets, and found by their names in constant time. */
struct safetensors {
    char *path;
    FILE *file;
    struct safetensors_entry *entries;
    size_t count;
    uint64_t data_start; /* offset of the data section */
    struct json_document header;
    struct name_index names; /* of the entries; of two with one name, the first */
};

/* Opens a file and reads its header; safetensors_close releases it. Returns false with an error if
 * the file cannot be read or its header is wrong: its size, a type, a shape that does not match the
 * offsets, or entries that overlap or lie outside the file. */
bool safetensors_open(struct safetensors *file, const char *path, struct error *error);

/* Opens the `size` bytes of a file that are in memory, in the same way. They must stay as they are
 * until safetensors_close; `name` stands for the path in errors. */
bool safetensors_open_memory(struct safetensors *file, const char *name, const void *bytes,
                             size_t size, struct error *error);

/* Returns whether a regular file begins like a safetensors file: with the length of a header that
 * fits into it, and a "{". False for files that cannot be read. */
bool safetensors_file_is(const char *path);

/* Closes the file and leaves `file` zeroed. */
void safetensors_close(struct safetensors *file);

/* Returns the entry with this name, or NULL. */
const struct safetensors_entry *safetensors_find(const struct safetensors *file, const char *name);

/* Makes safetensors_find know the names that the entries have now. Call it after changing one.
 * Returns false with an error if out of memory. */
bool safetensors_index_names(struct safetensors *file, struct error *error);

/* Returns the value of a metadata key, or NULL. The file owns it. */
const char *safetensors_metadata(const struct safetensors *file, const char *key);

/* Reads the data of an entry into out[0..entry->bytes). Returns false with an error if that fails.
 */
bool safetensors_read(struct safetensors *file, const struct safetensors_entry *entry, void *out,
                      struct error *error);

/* Reads values [first, first + count) of an entry, as they are in the file. Returns false with an
 * error if that fails. */
bool safetensors_read_part(struct safetensors *file, const struct safetensors_entry *entry,
                           uint64_t first, size_t count, void *out, struct error *error);

/* Returns whether an entry has real numbers: floating-point values or, of type I8, the integers of
 * quantized weights. The file has the scales of these as NAME_scale, float32, one for each value of
 * the first dimension. */
bool safetensors_has_numbers(const struct safetensors *file, const struct safetensors_entry *entry);

/* Returns the name of a type in a file: "F32". */
const char *safetensors_type_name(enum safetensors_type type);

/* Returns the number of values of an entry. */
uint64_t safetensors_count(const struct safetensors_entry *entry);

/* Reads `count` numbers of an entry that has them, from number `first` on, as float32: integers of
 * quantized weights times their scales. Returns false with an error if that fails. */
bool safetensors_read_floats(struct safetensors *file, const struct safetensors_entry *entry,
                             uint64_t first, size_t count, float *out, struct error *error);

struct safetensors_array;

/* Writes values [first, first + count) of an array to `out`, each time the same. Returns false with
 * an error. */
typedef bool safetensors_source(const struct safetensors_array *array, uint64_t first, size_t count,
                                void *out, struct error *error);

/* An array to write: its data, or the function that provides it block by block, so that it is never
 * in memory as a whole. Both are borrowed until safetensors_write returns. */
struct safetensors_array {
    const char *name;
    enum safetensors_type type;
    size_t dims[4], rank;
    const void *data;           /* NULL: `source` provides it */
    safetensors_source *source; /* called twice for each block: for the checksum, and to write */
    const void *context;
};

/* Returns the bytes of an array's values. */
uint64_t safetensors_array_bytes(const struct safetensors_array *array);

/* Writes a whole file atomically, with a checksum in its metadata ("tinca.crc32"). `metadata`
 * alternates keys and values and ends with NULL, or is NULL. Returns false with an error if writing
 * fails. */
bool safetensors_write(const char *path, const struct safetensors_array *arrays, size_t count,
                       const char *const *metadata, struct error *error);

/* Does the same with a file that only the user can read (mode 0600), renames an existing file to
 * `previous`, and returns the size of the new file in *bytes. */
bool safetensors_write_checked(const char *path, const char *previous,
                               const struct safetensors_array *arrays, size_t count,
                               const char *const *metadata, uint64_t *bytes, struct error *error);

/* Returns whether a file has a checksum. Files of other programs and models of older versions have
 * none. */
bool safetensors_has_checksum(const struct safetensors *file);

/* Reads all of a file and returns whether its checksum is right. If not, or if it has none, returns
 * false with an error. */
bool safetensors_check(struct safetensors *file, struct error *error);

#endif
