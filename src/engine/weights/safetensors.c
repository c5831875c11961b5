/* Reading does not trust the file: the header's length is checked against the file's size before it
 * is allocated, the range of each entry against its shape and the data section, and all ranges
 * against each other.
 *
 * A checksum is written into the header that it covers: it is computed with zeros in its place, and
 * its digits replace them before the file is written. */
#include "engine/weights/safetensors.h"

#include "base/files/content.h"
#include "base/files/file.h"
#include "base/float16.h"
#include "base/language.h"
#include "base/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian; this code copies them as they are"
#endif

enum { LENGTH_BYTES = 8, BLOCK_BYTES = 1 << 16 };
#define HEADER_LIMIT ((uint64_t)64 << 20)

static const struct {
    const char *name;
    size_t size;
} types[] = {[SAFETENSORS_F32] = {"F32", 4},   [SAFETENSORS_I32] = {"I32", 4},
             [SAFETENSORS_U8] = {"U8", 1},     [SAFETENSORS_I64] = {"I64", 8},
             [SAFETENSORS_BF16] = {"BF16", 2}, [SAFETENSORS_F16] = {"F16", 2},
             [SAFETENSORS_I8] = {"I8", 1}};

/* --- reading --- */

/* Sets an error with the reason `why` about `entry` (empty: about the file) and returns false. */
static bool wrong(const struct safetensors *file, struct error *error, const char *entry,
                  const char *why)
{
    return error_set(error, ERROR_INPUT, file->path,
                     "the file is damaged or not a safetensors file; use an intact copy", "%s%s%s",
                     entry, entry[0] ? ": " : "", language_text(why));
}

static bool parse_type(const char *name, enum safetensors_type *type)
{
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0) {
            *type = (enum safetensors_type)i;
            return true;
        }
    return false;
}

static bool parse_shape(const struct json *shape, struct safetensors_entry *entry, uint64_t *count)
{
    *count = 1;
    if (!json_is_array(shape) || json_length(shape) > 4)
        return false;
    for (const struct json *dim = json_first(shape); dim; dim = json_next(dim)) {
        size_t *size = &entry->dims[entry->rank++];
        if (!json_count(dim, size) || (*size && *count > UINT64_MAX / 16 / *size))
            return false;
        *count *= *size;
    }
    return true;
}

static bool parse_entry(const struct safetensors *file, const struct json *value,
                        uint64_t data_bytes, struct safetensors_entry *entry, struct error *error)
{
    const char *name = json_key(value);
    const struct json *offsets = json_member(value, "data_offsets");
    const struct json *first = json_first(offsets);
    size_t begin, end;
    uint64_t count;
    if (strlen(name) >= sizeof entry->name)
        return wrong(file, error, name, "the name is too long");
    snprintf(entry->name, sizeof entry->name, "%s", name);
    if (!parse_type(json_string(json_member(value, "dtype")), &entry->type))
        return wrong(file, error, name, "\"dtype\" is none of F32, I32, U8, I64, BF16, F16, I8");
    if (!parse_shape(json_member(value, "shape"), entry, &count))
        return wrong(file, error, name, "\"shape\" is not a list of at most four sizes");
    if (json_length(offsets) != 2 || !json_count(first, &begin) ||
        !json_count(json_next(first), &end) || begin > end || end > data_bytes)
        return wrong(file, error, name, "\"data_offsets\" do not lie inside the file");
    if (end - begin != count * types[entry->type].size)
        return wrong(file, error, name, "\"data_offsets\" do not fit \"shape\" and \"dtype\"");
    entry->offset = begin;
    entry->bytes = end - begin;
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const struct safetensors_entry *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool parse_entries(struct safetensors *file, uint64_t data_bytes, struct error *error)
{
    file->entries =
        memory_new(json_member_count(file->header.root), sizeof *file->entries, file->path, error);
    if (!file->entries)
        return false;
    for (const struct json *v = json_first_member(file->header.root); v; v = json_next(v)) {
        if (strcmp(json_key(v), "__metadata__") == 0)
            continue;
        if (!parse_entry(file, v, data_bytes, &file->entries[file->count++], error))
            return false;
    }
    qsort(file->entries, file->count, sizeof *file->entries, by_offset);
    if (!safetensors_index_names(file, error))
        return false;
    for (size_t i = 1; i < file->count; i++)
        if (file->entries[i].offset < file->entries[i - 1].offset + file->entries[i - 1].bytes)
            return wrong(file, error, file->entries[i].name, "overlaps another entry");
    return true;
}

static bool read_header(struct safetensors *file, struct error *error)
{
    unsigned char raw[LENGTH_BYTES];
    uint64_t length = 0;
    off_t size = fseeko(file->file, 0, SEEK_END) == 0 ? ftello(file->file) : -1;
    rewind(file->file);
    if (size < LENGTH_BYTES || fread(raw, 1, sizeof raw, file->file) != sizeof raw)
        return wrong(file, error, "", "shorter than the 8 bytes that give the header's length");
    memcpy(&length, raw, sizeof raw);
    if (length > (uint64_t)size - LENGTH_BYTES || length > HEADER_LIMIT)
        return wrong(file, error, "", "the header's length (first 8 bytes) exceeds the file");
    char *text = memory_new(length + 1, 1, file->path, error);
    if (!text)
        return false;
    bool parsed = fread(text, 1, length, file->file) == length
                      ? json_parse(&file->header, text, length, file->path, error)
                      : wrong(file, error, "", "the header cannot be read");
    free(text);
    if (!parsed)
        return false;
    if (!json_is_object(file->header.root))
        return wrong(file, error, "", "the header is not a JSON object");
    file->data_start = LENGTH_BYTES + length;
    return parse_entries(file, (uint64_t)size - file->data_start, error);
}

/* Reads the header of the stream that was opened. On failure closes all. */
static bool begin_reading(struct safetensors *file, struct error *error)
{
    if (file->file && read_header(file, error))
        return true;
    safetensors_close(file);
    return false;
}

bool safetensors_open(struct safetensors *file, const char *path, struct error *error)
{
    *file = (struct safetensors){0};
    file->path = memory_copy_text(path, error);
    if (!file->path)
        return false;
    if (file_is_directory(path)) {
        error_set(error, ERROR_INPUT, path, "name a .safetensors file", "this is a folder");
        safetensors_close(file);
        return false;
    }
    static const enum content expected[] = {CONTENT_SAFETENSORS, CONTENT_UNKNOWN};
    file->file = file_open_stream(path, error);
    return begin_reading(file, error) || content_explain(path, expected, error);
}

bool safetensors_open_memory(struct safetensors *file, const char *name, const void *bytes,
                             size_t size, struct error *error)
{
    *file = (struct safetensors){0};
    file->path = memory_copy_text(name, error);
    if (!file->path)
        return false;
    if (size == 0) { /* fmemopen may refuse it */
        wrong(file, error, "", "shorter than the 8 bytes that give the header's length");
        safetensors_close(file);
        return false;
    }
    file->file = fmemopen((void *)(uintptr_t)bytes, size, "rb");
    if (!file->file)
        error_set_errno(error, name, NULL, "the bytes cannot be read");
    return begin_reading(file, error);
}

bool safetensors_file_is(const char *path)
{
    unsigned char first[LENGTH_BYTES + 1];
    struct stat status;
    uint64_t length;
    const int file = file_open_if_regular(path, O_RDONLY | O_CLOEXEC, &status);
    if (file < 0)
        return false;
    const bool read = file_read_at(file, (char *)first, sizeof first, 0);
    close(file);
    memcpy(&length, first, sizeof length);
    return read && length <= (uint64_t)status.st_size - LENGTH_BYTES && first[LENGTH_BYTES] == '{';
}

void safetensors_close(struct safetensors *file)
{
    if (file->file)
        fclose(file->file);
    json_document_free(&file->header);
    name_index_free(&file->names);
    free(file->entries);
    free(file->path);
    *file = (struct safetensors){0};
}

static const char *entry_name(const void *entries, size_t number)
{
    return ((const struct safetensors_entry *)entries)[number].name;
}

bool safetensors_index_names(struct safetensors *file, struct error *error)
{
    size_t other;
    name_index_free(&file->names);
    for (size_t i = 0; i < file->count; i++)
        if (!name_index_find(&file->names, file->entries, entry_name, file->entries[i].name,
                             &other) &&
            !name_index_add(&file->names, file->entries[i].name, i, error))
            return false;
    return true;
}

const struct safetensors_entry *safetensors_find(const struct safetensors *file, const char *name)
{
    size_t number;
    return name_index_find(&file->names, file->entries, entry_name, name, &number)
               ? &file->entries[number]
               : NULL;
}

const char *safetensors_metadata(const struct safetensors *file, const char *key)
{
    return json_string(json_member(json_member(file->header.root, "__metadata__"), key));
}

bool safetensors_read(struct safetensors *file, const struct safetensors_entry *entry, void *out,
                      struct error *error)
{
    if (fseeko(file->file, (off_t)(file->data_start + entry->offset), SEEK_SET) == 0 &&
        fread(out, 1, entry->bytes, file->file) == entry->bytes)
        return true;
    return wrong(file, error, entry->name, "its data cannot be read");
}

bool safetensors_read_part(struct safetensors *file, const struct safetensors_entry *entry,
                           uint64_t first, size_t count, void *out, struct error *error)
{
    const size_t size = types[entry->type].size;
    const uint64_t from = file->data_start + entry->offset + first * size;
    if (fseeko(file->file, (off_t)from, SEEK_SET) == 0 &&
        fread(out, size, count, file->file) == count)
        return true;
    return wrong(file, error, entry->name, "its data cannot be read");
}

/* Returns the scales of an entry of quantized weights, or NULL if it is none. */
static const struct safetensors_entry *find_scales(const struct safetensors *file,
                                                   const struct safetensors_entry *entry)
{
    char name[sizeof entry->name + 8];
    snprintf(name, sizeof name, "%s_scale", entry->name);
    const struct safetensors_entry *scales =
        entry->type == SAFETENSORS_I8 && entry->rank > 0 ? safetensors_find(file, name) : NULL;
    return scales && scales->type == SAFETENSORS_F32 && scales->rank == 1 &&
                   scales->dims[0] == entry->dims[0]
               ? scales
               : NULL;
}

bool safetensors_has_numbers(const struct safetensors *file, const struct safetensors_entry *entry)
{
    return entry->type == SAFETENSORS_F32 || entry->type == SAFETENSORS_BF16 ||
           entry->type == SAFETENSORS_F16 || find_scales(file, entry);
}

const char *safetensors_type_name(enum safetensors_type type)
{
    return types[type].name;
}

uint64_t safetensors_count(const struct safetensors_entry *entry)
{
    return entry->bytes / types[entry->type].size;
}

/* Replaces `count` values of 16 bits, at the beginning of the array, by float32 values. */
static void widen(float *values, size_t count, enum safetensors_type type)
{
    for (size_t i = count; i-- > 0;) { /* the last one first: none is overwritten unread */
        uint16_t bits;
        memcpy(&bits, (const char *)values + i * sizeof bits, sizeof bits);
        values[i] = type == SAFETENSORS_BF16 ? bf16_to_float(bits) : float16_to_float(bits);
    }
}

/* Replaces `count` integers, at the beginning of the array, by themselves times their scales.
 * `first` is the number of the first one. */
static bool widen_integers(struct safetensors *file, const struct safetensors_entry *entry,
                           uint64_t first, size_t count, float *values, struct error *error)
{
    const struct safetensors_entry *found = find_scales(file, entry);
    const uint64_t row = found && found->dims[0] ? safetensors_count(entry) / found->dims[0] : 0;
    float *scales = found ? memory_new(found->dims[0], sizeof *scales, file->path, error) : NULL;
    const bool read = scales && safetensors_read(file, found, scales, error);
    const bool fit = read && !memchr(values, 0x80, count);
    for (size_t i = count; fit && i-- > 0;) /* the last one first: none is overwritten unread */
        values[i] = scales[(first + i) / row] * (float)((const signed char *)values)[i];
    free(scales);
    if (read && !fit)
        return wrong(file, error, entry->name, "it has an integer of -128; -127 is the least");
    return read || (!found && wrong(file, error, entry->name, "its scales are missing"));
}

bool safetensors_read_floats(struct safetensors *file, const struct safetensors_entry *entry,
                             uint64_t first, size_t count, float *out, struct error *error)
{
    if (!safetensors_read_part(file, entry, first, count, out, error))
        return false;
    if (entry->type == SAFETENSORS_I8)
        return widen_integers(file, entry, first, count, out, error);
    if (entry->type != SAFETENSORS_F32)
        widen(out, count, entry->type);
    return true;
}

/* --- writing --- */

uint64_t safetensors_array_bytes(const struct safetensors_array *array)
{
    uint64_t count = 1;
    for (size_t i = 0; i < array->rank; i++)
        count *= array->dims[i];
    return count * types[array->type].size;
}

static bool describe_array(struct json *header, const struct safetensors_array *array,
                           uint64_t offset)
{
    struct json *entry = json_add_object(header, array->name);
    bool ok = json_add_string(entry, "dtype", types[array->type].name);
    struct json *shape = json_add_array(entry, "shape");
    for (size_t i = 0; i < array->rank; i++)
        ok = json_add_count(shape, NULL, array->dims[i]) && ok;
    struct json *offsets = json_add_array(entry, "data_offsets");
    return json_add_count(offsets, NULL, offset) &&
           json_add_count(offsets, NULL, offset + safetensors_array_bytes(array)) && ok;
}

/* Returns the header's text, padded with spaces to a multiple of 8 bytes, and its length in
 * *length. Returns NULL with an error if out of memory. */
static char *build_header(const struct safetensors_array *arrays, size_t count,
                          const char *const *metadata, size_t *length, struct error *error)
{
    struct json *header = json_new_object();
    bool ok = header;
    struct json *texts = metadata ? json_add_object(header, "__metadata__") : NULL;
    for (; metadata && metadata[0]; metadata += 2)
        ok = json_add_string(texts, metadata[0], metadata[1]) && ok;
    uint64_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        ok = describe_array(header, &arrays[i], offset) && ok;
        offset += safetensors_array_bytes(&arrays[i]);
    }
    char *text = ok ? json_print(header, false, error) : NULL;
    if (!ok)
        error_set_memory(error, "the weights' header", 0);
    json_free(header);
    if (!text)
        return NULL;
    size_t used = strlen(text);
    *length = (used + 7) / 8 * 8;
    char *padded = memory_new(*length + 1, 1, "the weights' header", error);
    for (size_t i = 0; padded && i < *length; i++)
        padded[i] = i < used ? text[i] : ' ';
    free(text);
    return padded;
}

/* Adds the data of an array to the checksum *sum, or writes it to a stream, whichever is not NULL.
 */
static bool pass_data(const struct safetensors_array *array, unsigned long *sum, FILE *stream,
                      struct error *error)
{
    uint64_t block[BLOCK_BYTES / sizeof(uint64_t)];
    const size_t size = types[array->type].size;
    const uint64_t count = safetensors_array_bytes(array) / size;
    uint64_t first = 0;
    while (first < count) {
        const uint64_t left = count - first, most = array->data ? left : sizeof block / size;
        const size_t some = (size_t)(left < most ? left : most);
        const void *bytes = array->data ? array->data : block;
        if (!array->data && !array->source(array, first, some, block, error))
            return false;
        if (sum)
            *sum = crc32_z(*sum, bytes, some * size);
        if (stream)
            fwrite(bytes, size, some, stream);
        first += some;
    }
    return true;
}

static bool write_all(FILE *stream, const char *header, uint64_t length,
                      const struct safetensors_array *arrays, size_t count, struct error *error)
{
    bool written = true;
    fwrite(&length, LENGTH_BYTES, 1, stream);
    fwrite(header, 1, length, stream);
    for (size_t i = 0; written && i < count; i++)
        written = pass_data(&arrays[i], NULL, stream, error);
    return written;
}

/* --- checksums: zlib's CRC-32 over header and data, with zeros in place of the checksum --- */

static const char checksum_key[] = "tinca.crc32", checksum_none[] = "00000000";
enum { CHECKSUM_DIGITS = sizeof checksum_none - 1 };

/* Returns the position of the checksum's digits in a header, or NULL if it has none. */
static char *find_digits(char *header)
{
    char *key = strstr(header, checksum_key);
    char *digits = key ? key + sizeof checksum_key - 1 : NULL;
    if (!digits || strncmp(digits, "\":\"", 3) != 0 || strlen(digits) < 3 + CHECKSUM_DIGITS + 1 ||
        digits[3 + CHECKSUM_DIGITS] != '"')
        return NULL;
    return digits + 3;
}

static bool compute_checksum(const char *header, size_t length,
                             const struct safetensors_array *arrays, size_t count,
                             unsigned long *sum, struct error *error)
{
    bool computed = true;
    *sum = crc32_z(0, (const unsigned char *)header, length);
    for (size_t i = 0; computed && i < count; i++)
        computed = pass_data(&arrays[i], sum, NULL, error);
    return computed;
}

/* Returns `metadata` preceded by the key of the checksum and zeros; the caller frees it. */
static const char **with_checksum(const char *const *metadata, struct error *error)
{
    size_t count = 0;
    while (metadata && metadata[count])
        count++;
    const char **all = memory_new(count + 3, sizeof *all, "the metadata", error);
    if (!all)
        return NULL;
    all[0] = checksum_key;
    all[1] = checksum_none;
    for (size_t i = 0; i < count; i++)
        all[i + 2] = metadata[i];
    return all;
}

/* Returns the header with its checksum; NULL with an error. */
static char *build_checked_header(const struct safetensors_array *arrays, size_t count,
                                  const char *const *metadata, size_t *length, struct error *error)
{
    char digits[CHECKSUM_DIGITS + 1];
    unsigned long sum;
    const char **all = with_checksum(metadata, error);
    char *header = all ? build_header(arrays, count, all, length, error) : NULL;
    free(all);
    if (!header)
        return NULL;
    if (!compute_checksum(header, *length, arrays, count, &sum, error)) {
        free(header);
        return NULL;
    }
    snprintf(digits, sizeof digits, "%08lx", sum);
    memcpy(find_digits(header), digits, CHECKSUM_DIGITS);
    return header;
}

/* Opens the writer and writes the whole file without committing it. Returns its size in *bytes. */
static bool write_uncommitted(struct file_writer *writer, const char *path, bool private_file,
                              const struct safetensors_array *arrays, size_t count,
                              const char *const *metadata, uint64_t *bytes, struct error *error)
{
    size_t length;
    char *header = build_checked_header(arrays, count, metadata, &length, error);
    const bool opened = header && file_writer_open(writer, path, private_file, error);
    const bool written = opened && write_all(writer->stream, header, length, arrays, count, error);
    free(header);
    if (opened && !written)
        file_writer_abandon(writer);
    *bytes = written ? LENGTH_BYTES + length : 0;
    for (size_t i = 0; written && i < count; i++)
        *bytes += safetensors_array_bytes(&arrays[i]);
    return written;
}

bool safetensors_write(const char *path, const struct safetensors_array *arrays, size_t count,
                       const char *const *metadata, struct error *error)
{
    struct file_writer writer;
    uint64_t bytes;
    return write_uncommitted(&writer, path, false, arrays, count, metadata, &bytes, error) &&
           file_writer_commit(&writer, error);
}

bool safetensors_write_checked(const char *path, const char *previous,
                               const struct safetensors_array *arrays, size_t count,
                               const char *const *metadata, uint64_t *bytes, struct error *error)
{
    struct file_writer writer;
    return write_uncommitted(&writer, path, true, arrays, count, metadata, bytes, error) &&
           file_writer_commit_with_backup(&writer, previous, error);
}

/* Computes the checksum of the whole file in *sum, and copies the one in its header to `written`.
 * The first 8 bytes are not part of it. Returns false if the file has no checksum or cannot be
 * read. */
static bool sum_file(struct safetensors *file, char *header, size_t length, char *written,
                     unsigned long *sum)
{
    unsigned char block[1 << 16];
    if (fseeko(file->file, LENGTH_BYTES, SEEK_SET) != 0 ||
        fread(header, 1, length, file->file) != length)
        return false;
    char *digits = find_digits(header);
    if (!digits)
        return false;
    memcpy(written, digits, CHECKSUM_DIGITS);
    memcpy(digits, checksum_none, CHECKSUM_DIGITS);
    *sum = crc32_z(0, (const unsigned char *)header, length);
    for (size_t got; (got = fread(block, 1, sizeof block, file->file)) > 0;)
        *sum = crc32_z(*sum, block, got);
    return !ferror(file->file);
}

/* Returns whether the entries cover the data section exactly. The checksum does not cover the first
 * 8 bytes; a wrong length there that ends within the header's padding would shift all data. */
static bool is_covered(struct safetensors *file)
{
    uint64_t end = 0;
    for (size_t i = 0; i < file->count; i++) {
        if (file->entries[i].offset != end && file->entries[i].bytes > 0)
            return false;
        end += file->entries[i].bytes;
    }
    return fseeko(file->file, 0, SEEK_END) == 0 &&
           (uint64_t)ftello(file->file) == file->data_start + end;
}

bool safetensors_has_checksum(const struct safetensors *file)
{
    return safetensors_metadata(file, checksum_key);
}

bool safetensors_check(struct safetensors *file, struct error *error)
{
    const size_t length = file->data_start - LENGTH_BYTES;
    char written[CHECKSUM_DIGITS + 1] = "", found[CHECKSUM_DIGITS + 1];
    unsigned long sum = 0;
    if (!is_covered(file))
        return wrong(file, error, "", N_("its entries do not cover the data exactly"));
    char *header = memory_new(length + 1, 1, file->path, error);
    if (!header)
        return false;
    const bool read = sum_file(file, header, length, written, &sum);
    free(header);
    if (!read)
        return wrong(file, error, "", N_("it has no checksum or cannot be read"));
    snprintf(found, sizeof found, "%08lx", sum);
    return strcmp(found, written) == 0 ||
           error_set(error, ERROR_INPUT, file->path, "the disk may be failing",
                     "its checksum is %s, but that of its contents is %s", written, found);
}
