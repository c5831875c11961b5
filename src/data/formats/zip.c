/* The list of members is at the end of the archive (PKWARE APPNOTE 6.3): the end record, which a
 * comment may follow, has the place of the central directory. All numbers are little-endian. */
#include "data/formats/zip.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, TAIL = 4096, PIECE = 1 << 16 };
enum { FIRST_CAPACITY = 1 << 20 };
enum { END_MAGIC = 0x06054b50, ENTRY_MAGIC = 0x02014b50, LOCAL_MAGIC = 0x04034b50 };

static uint32_t word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint16_t half(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static bool refuse(const struct zip *zip, const char *why, struct error *error)
{
    return error_set(error, ERROR_INPUT, zip->path, "save it again with numpy.savez",
                     "not a readable archive: %s", language_text(why));
}

static bool read_at(const struct zip *zip, long place, void *to, size_t size)
{
    return fseek(zip->stream, place, SEEK_SET) == 0 && fread(to, 1, size, zip->stream) == size;
}

/* Copies the end record into `end`. */
static bool find_end(const struct zip *zip, uint8_t *end, struct error *error)
{
    uint8_t tail[TAIL];
    if (fseek(zip->stream, 0, SEEK_END) != 0)
        return error_set_errno(error, zip->path, "give a regular file", "cannot be read");
    const long size = ftell(zip->stream);
    const long from = size > TAIL ? size - TAIL : 0;
    if (size < END_BYTES || !read_at(zip, from, tail, (size_t)(size - from)))
        return refuse(zip, N_("it is too short"), error);
    for (long i = size - from - END_BYTES; i >= 0; i--)
        if (word(tail + i) == END_MAGIC) {
            memcpy(end, tail + i, END_BYTES);
            return true;
        }
    return refuse(zip, N_("its end is missing"), error);
}

static bool read_entry(struct zip *zip, struct zip_member *member, struct error *error)
{
    uint8_t entry[ENTRY_BYTES];
    if (fread(entry, 1, sizeof entry, zip->stream) != sizeof entry || word(entry) != ENTRY_MAGIC)
        return refuse(zip, N_("its list of members is damaged"), error);
    const size_t name = half(entry + 28);
    const long skipped = (long)half(entry + 30) + half(entry + 32);
    if (name == 0 || name >= ZIP_NAME || fread(member->name, 1, name, zip->stream) != name ||
        fseek(zip->stream, skipped, SEEK_CUR) != 0)
        return refuse(zip, N_("the name of a member is missing or too long"), error);
    member->method = half(entry + 10);
    member->crc32 = word(entry + 16);
    member->packed = word(entry + 20);
    member->size = word(entry + 24);
    member->offset = word(entry + 42);
    if ((half(entry + 8) & 1) || member->packed == UINT32_MAX || member->size == UINT32_MAX)
        return refuse(zip, N_("a member is encrypted, or 4 GiB or larger"), error);
    return true;
}

static bool read_members(struct zip *zip, struct error *error)
{
    uint8_t end[END_BYTES];
    if (!find_end(zip, end, error))
        return false;
    const size_t count = half(end + 10);
    if (count > ZIP_MEMBERS || fseek(zip->stream, (long)word(end + 16), SEEK_SET) != 0)
        return refuse(zip, N_("it has too many members"), error);
    zip->member = memory_new(count, sizeof *zip->member, zip->path, error);
    for (size_t i = 0; zip->member && i < count; i++, zip->members++)
        if (!read_entry(zip, &zip->member[i], error))
            return false;
    return zip->member;
}

bool zip_open(struct zip *zip, const char *path, struct error *error)
{
    *zip = (struct zip){.path = path, .stream = file_open_stream(path, error)};
    if (zip->stream && read_members(zip, error))
        return true;
    zip_close(zip);
    return false;
}

void zip_close(struct zip *zip)
{
    if (zip->stream)
        fclose(zip->stream);
    free(zip->member);
    *zip = (struct zip){0};
}

const struct zip_member *zip_find(const struct zip *zip, const char *name)
{
    for (size_t i = 0; i < zip->members; i++)
        if (strcmp(zip->member[i].name, name) == 0)
            return &zip->member[i];
    return NULL;
}

/* Moves the stream to the member's data. */
static bool seek_data(const struct zip *zip, const struct zip_member *member, struct error *error)
{
    uint8_t local[LOCAL_BYTES];
    if (!read_at(zip, (long)member->offset, local, sizeof local) || word(local) != LOCAL_MAGIC ||
        fseek(zip->stream, (long)half(local + 26) + half(local + 28), SEEK_CUR) != 0)
        return refuse(zip, N_("a member is not where the list says"), error);
    return true;
}

/* The bytes decompressed so far. */
struct unpacking {
    uint8_t *bytes;
    size_t used, capacity, size;
};

/* Makes room for more. Returns false with an error, also if there is more than was announced. */
static bool make_room(const struct zip *zip, struct unpacking *out, struct error *error)
{
    if (out->used < out->capacity)
        return true;
    if (out->capacity == out->size)
        return refuse(zip, N_("a member is longer than it says"), error);
    size_t capacity = out->capacity ? 2 * out->capacity : FIRST_CAPACITY;
    capacity = capacity < out->size ? capacity : out->size;
    uint8_t *grown = realloc(out->bytes, capacity);
    if (!grown)
        return error_set_memory(error, zip->path, capacity);
    out->bytes = grown;
    out->capacity = capacity;
    return true;
}

static bool inflate_piece(const struct zip *zip, z_stream *stream, struct unpacking *out,
                          int *state, struct error *error)
{
    do {
        uint8_t beyond; /* takes bytes that follow once all expected ones are there */
        const bool full = out->used == out->size;
        if (!full && !make_room(zip, out, error))
            return false;
        stream->next_out = full ? &beyond : out->bytes + out->used;
        stream->avail_out = full ? 1 : (uInt)(out->capacity - out->used);
        const uInt room = stream->avail_out;
        *state = inflate(stream, Z_NO_FLUSH);
        const size_t made = room - stream->avail_out;
        if (full && made)
            return refuse(zip, N_("a member is longer than it says"), error);
        out->used += made;
        if (*state != Z_OK && *state != Z_STREAM_END && *state != Z_BUF_ERROR)
            return refuse(zip, N_("its compressed data is damaged"), error);
        if (*state == Z_BUF_ERROR)
            return true;
    } while (*state != Z_STREAM_END && (stream->avail_in || stream->avail_out == 0));
    return true;
}

static bool read_deflated(const struct zip *zip, const struct zip_member *member,
                          struct unpacking *out, struct error *error)
{
    uint8_t piece[PIECE];
    z_stream stream = {0};
    int state = Z_OK;
    bool read = true;
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return error_set_memory(error, zip->path, 0);
    for (size_t left = member->packed; read && left > 0 && state != Z_STREAM_END;) {
        const size_t count = left < sizeof piece ? left : sizeof piece;
        read = fread(piece, 1, count, zip->stream) == count ||
               refuse(zip, N_("the file is cut off"), error);
        stream.next_in = piece;
        stream.avail_in = (uInt)count;
        left -= count;
        read = read && inflate_piece(zip, &stream, out, &state, error);
    }
    inflateEnd(&stream);
    return read;
}

static bool read_stored(const struct zip *zip, struct unpacking *out, struct error *error)
{
    while (out->used < out->size) {
        if (!make_room(zip, out, error))
            return false;
        const size_t wanted = out->capacity - out->used;
        if (fread(out->bytes + out->used, 1, wanted, zip->stream) != wanted)
            return refuse(zip, N_("the file is cut off"), error);
        out->used += wanted;
    }
    return true;
}

uint8_t *zip_read(const struct zip *zip, const struct zip_member *member, size_t limit,
                  struct error *error)
{
    struct unpacking out = {.size = member->size};
    bool read = member->size > 0 && member->size <= limit;
    if (!read)
        error_set(error, ERROR_INPUT, zip->path, "save fewer images, or give a folder",
                  "%s has %u bytes: expected at least one, and at most %zu MiB", member->name,
                  member->size, limit >> 20);
    read = read && seek_data(zip, member, error);
    if (read && member->method != 0 && member->method != 8)
        read = refuse(zip, N_("a member is compressed by an unknown method"), error);
    read = read && (member->method == 8 ? read_deflated(zip, member, &out, error)
                                        : read_stored(zip, &out, error));
    if (read && (out.used != out.size || crc32_z(0, out.bytes, out.size) != member->crc32))
        read = refuse(zip, N_("a member does not have the bytes that its checksum is of"), error);
    if (read)
        return out.bytes;
    free(out.bytes);
    return NULL;
}

/* --- writing ---
 *
 * A member comes after its local header, which has its size and
 * CRC-32; the list of members is at the end of the archive. In a number of 32 bits that is too
 * small, all bits are set, and an extra field has the number in 64 bits. Times are the earliest
 * that the format has, so that equal members give equal bytes. */

enum { ZIP_NAME_MOST = 320, HEADER_MOST = 128 };
enum { END64_MAGIC = 0x06064b50, PLACE64_MAGIC = 0x07064b50, EXTRA64 = 1 };
enum { PLAIN_VERSION = 20, VERSION64 = 45, FLAG_UTF8 = 1 << 11, FIRST_DATE = 1 << 5 | 1 };

struct zip_written {
    char name[ZIP_NAME_MOST];
    uint64_t size, offset;
    uint32_t crc32;
};

/* A header that is being put together. */
struct header {
    uint8_t bytes[HEADER_MOST];
    size_t length;
};

static void put(struct header *header, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        header->bytes[header->length++] = (uint8_t)(number >> 8 * i);
}

static bool is_large(uint64_t number)
{
    return number >= UINT32_MAX;
}

/* Puts a number that has 32 bits where it fits. */
static void put_short(struct header *header, uint64_t number)
{
    put(header, is_large(number) ? UINT32_MAX : number, 4);
}

static void write_bytes(struct zip_writer *zip, const void *bytes, size_t count)
{
    fwrite(bytes, 1, count, zip->stream);
    zip->offset += count;
}

/* Writes the fields that the local header and the list share: version, flags, method, time, CRC-32,
 * sizes, lengths of the name and of the extra field. */
static void put_common(struct header *header, const struct zip_written *member, size_t extra)
{
    put(header, extra > 0 ? VERSION64 : PLAIN_VERSION, 2);
    put(header, FLAG_UTF8, 2);
    put(header, 0, 2);
    put(header, 0, 2);
    put(header, FIRST_DATE, 2);
    put(header, member->crc32, 4);
    put_short(header, member->size);
    put_short(header, member->size);
    put(header, strlen(member->name), 2);
    put(header, extra, 2);
}

bool zip_writer_add(struct zip_writer *zip, const char *name, const void *head, size_t head_size,
                    const void *data, size_t data_size, struct error *error)
{
    struct header local = {.length = 0};
    if (strlen(name) >= ZIP_NAME_MOST)
        return error_set(error, ERROR_INPUT, name, NULL, "the name is too long for an archive");
    if (!memory_grow(&zip->members, &zip->capacity, zip->count + 1, sizeof *zip->members,
                     "the archive", error))
        return false;
    struct zip_written *member = &zip->members[zip->count++];
    *member = (struct zip_written){.size = head_size + data_size, .offset = zip->offset};
    snprintf(member->name, sizeof member->name, "%s", name);
    member->crc32 = (uint32_t)crc32_z(crc32_z(0, head, head_size), data, data_size);
    const bool large = is_large(member->size);
    put(&local, LOCAL_MAGIC, 4);
    put_common(&local, member, large ? 20 : 0);
    write_bytes(zip, local.bytes, local.length);
    write_bytes(zip, name, strlen(name));
    struct header extra = {.length = 0};
    if (large) {
        put(&extra, EXTRA64, 2);
        put(&extra, 16, 2);
        put(&extra, member->size, 8);
        put(&extra, member->size, 8);
        write_bytes(zip, extra.bytes, extra.length);
    }
    write_bytes(zip, head, head_size);
    write_bytes(zip, data, data_size);
    return true;
}

/* Writes a member's entry of the list. */
static void write_entry(struct zip_writer *zip, const struct zip_written *member)
{
    struct header entry = {.length = 0}, extra = {.length = 0};
    const bool size = is_large(member->size), offset = is_large(member->offset);
    if (size || offset) {
        put(&extra, EXTRA64, 2);
        put(&extra, (size ? 16 : 0) + (offset ? 8 : 0), 2);
    }
    if (size) {
        put(&extra, member->size, 8);
        put(&extra, member->size, 8);
    }
    if (offset)
        put(&extra, member->offset, 8);
    put(&entry, ENTRY_MAGIC, 4);
    put(&entry, VERSION64, 2);
    put_common(&entry, member, extra.length);
    put(&entry, 0, 2 + 2 + 2); /* comment, disk, inner attributes */
    put(&entry, 0, 4);         /* outer attributes */
    put_short(&entry, member->offset);
    write_bytes(zip, entry.bytes, entry.length);
    write_bytes(zip, member->name, strlen(member->name));
    write_bytes(zip, extra.bytes, extra.length);
}

/* Writes the end record of ZIP64, and its place. */
static void write_end64(struct zip_writer *zip, uint64_t begin, uint64_t bytes)
{
    struct header end = {.length = 0};
    const uint64_t place = zip->offset;
    put(&end, END64_MAGIC, 4);
    put(&end, 44, 8);
    put(&end, VERSION64, 2);
    put(&end, VERSION64, 2);
    put(&end, 0, 8); /* disks */
    put(&end, zip->count, 8);
    put(&end, zip->count, 8);
    put(&end, bytes, 8);
    put(&end, begin, 8);
    put(&end, PLACE64_MAGIC, 4);
    put(&end, 0, 4);
    put(&end, place, 8);
    put(&end, 1, 4);
    write_bytes(zip, end.bytes, end.length);
}

void zip_writer_end(struct zip_writer *zip)
{
    struct header end = {.length = 0};
    const uint64_t begin = zip->offset;
    for (size_t i = 0; i < zip->count; i++)
        write_entry(zip, &zip->members[i]);
    const uint64_t bytes = zip->offset - begin;
    const bool many = zip->count >= UINT16_MAX;
    if (many || is_large(begin) || is_large(bytes))
        write_end64(zip, begin, bytes);
    put(&end, END_MAGIC, 4);
    put(&end, 0, 4); /* disks */
    put(&end, many ? UINT16_MAX : zip->count, 2);
    put(&end, many ? UINT16_MAX : zip->count, 2);
    put_short(&end, bytes);
    put_short(&end, begin);
    put(&end, 0, 2);
    write_bytes(zip, end.bytes, end.length);
    zip_writer_abandon(zip);
}

void zip_writer_abandon(struct zip_writer *zip)
{
    free(zip->members);
    *zip = (struct zip_writer){.stream = zip->stream};
}
