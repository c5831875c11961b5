/* The format is that of zip.c. A member comes after its local header, which has its size and
 * CRC-32; the list of members is at the end of the archive. In a number of 32 bits that is too
 * small, all bits are set, and an extra field has the number in 64 bits. Times are the earliest
 * that the format has, so that equal members give equal bytes. */
#include "data/formats/zip_writer.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ZIP_NAME_MOST = 320, HEADER_MOST = 128 };
enum { LOCAL_MAGIC = 0x04034b50, ENTRY_MAGIC = 0x02014b50, END_MAGIC = 0x06054b50 };
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

/* Puts what local header and list have in common: version, flags, method, time, CRC-32, sizes,
 * lengths of the name and of the extra field. */
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

/* Writes the end record of ZIP64, and where it is. */
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
