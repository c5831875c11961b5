/* The outline is made in two passes over the file, of which the first counts its bytes. */
#include "base/protobuf/message_outline.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 4096, LENGTH_BYTES = 5, VARINT_BYTES = 10 };
enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };
#define FILE_LIMIT ((uint64_t)INT32_MAX) /* protobuf's own limit */

struct copier {
    const struct message_paths *paths;
    FILE *stream;
    uint64_t at, arrays;
    uint8_t *bytes; /* NULL in the first pass, which only counts bytes */
    size_t count, capacity;
    bool failed; /* the file ends too early, or is no message */
};

/* --- bytes --- */

static void put(struct copier *copier, const void *bytes, size_t count)
{
    if (copier->bytes && count > copier->capacity - copier->count)
        copier->failed = true; /* the file has grown since the first pass */
    else if (copier->bytes)
        memcpy(copier->bytes + copier->count, bytes, count);
    copier->count += copier->failed ? 0 : count;
}

/* Appends a number in at least `least` bytes. */
static void put_varint(struct copier *copier, uint64_t value, size_t least)
{
    uint8_t bytes[VARINT_BYTES];
    size_t count = 0;
    do {
        bytes[count++] = (uint8_t)(value & 127) | 128;
        value >>= 7;
    } while (value > 0 || count < least);
    bytes[count - 1] &= 127;
    put(copier, bytes, count);
}

static uint64_t get_varint(struct copier *copier)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
        const int byte = getc(copier->stream);
        if (byte == EOF)
            break;
        copier->at++;
        value |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
        if (byte < 128)
            return value;
    }
    copier->failed = true;
    return 0;
}

static void copy(struct copier *copier, uint64_t count)
{
    char block[LARGE];
    while (count > 0 && !copier->failed) {
        const size_t part = count < sizeof block ? (size_t)count : sizeof block;
        copier->failed = fread(block, 1, part, copier->stream) != part;
        put(copier, block, part);
        copier->at += part;
        count -= part;
    }
}

/* --- messages --- */

/* Returns the number of the message type in a field of message type `outer`; 0 if the field cannot
 * contain an array. */
static int message_within(const struct copier *copier, int outer, uint64_t field)
{
    for (size_t i = 0; i < copier->paths->count; i++)
        if (copier->paths->steps[i].outer == outer && copier->paths->steps[i].field == field)
            return copier->paths->steps[i].inner;
    return 0;
}

static void copy_fields(struct copier *copier, uint64_t end, int message);

/* Appends a message, preceded by its length, which is written last. */
static void copy_message(struct copier *copier, uint64_t length, int message)
{
    const size_t place = copier->count;
    put(copier, (const char[LENGTH_BYTES]){0}, LENGTH_BYTES);
    copy_fields(copier, copier->at + length, message);
    const size_t end = copier->count;
    if (copier->failed)
        return;
    copier->count = place;
    put_varint(copier, end - place - LENGTH_BYTES, LENGTH_BYTES);
    copier->count = end;
}

static void put_place(struct copier *copier, uint64_t length)
{
    put_varint(copier, (uint64_t)MESSAGE_OFFSET << 3 | WIRE_VARINT, 1);
    put_varint(copier, copier->at, 1);
    put_varint(copier, (uint64_t)MESSAGE_LENGTH << 3 | WIRE_VARINT, 1);
    put_varint(copier, length, 1);
    copier->failed |= fseeko(copier->stream, (off_t)length, SEEK_CUR) != 0;
    copier->at += length;
    copier->arrays += length;
}

static void copy_bytes(struct copier *copier, uint64_t tag, uint64_t end, int message)
{
    const int inner = message_within(copier, message, tag >> 3);
    const uint64_t length = get_varint(copier);
    copier->failed |= copier->at > end || length > end - copier->at;
    if (copier->failed)
        return;
    if (message == copier->paths->array && tag >> 3 == copier->paths->field && length >= LARGE) {
        put_place(copier, length);
        return;
    }
    put_varint(copier, tag, 1);
    if (inner) {
        copy_message(copier, length, inner);
    } else {
        put_varint(copier, length, 1);
        copy(copier, length);
    }
}

/* Copies the fields up to position `end`. */
static void copy_fields(struct copier *copier, uint64_t end, int message)
{
    while (copier->at < end && !copier->failed) {
        const uint64_t tag = get_varint(copier), field = tag >> 3;
        const bool reserved =
            message == copier->paths->array && (field == MESSAGE_OFFSET || field == MESSAGE_LENGTH);
        const enum wire wire = (enum wire)(tag & 7);
        copier->failed |= reserved;
        if (copier->failed)
            return;
        if (wire == WIRE_BYTES) {
            copy_bytes(copier, tag, end, message);
            continue;
        }
        put_varint(copier, tag, 1);
        if (wire == WIRE_VARINT)
            put_varint(copier, get_varint(copier), 1);
        else if (wire == WIRE_32 || wire == WIRE_64)
            copy(copier, wire == WIRE_32 ? 4 : 8);
        else
            copier->failed = true;
    }
    copier->failed |= copier->at != end;
}

static bool pass(struct copier *copier, uint64_t size)
{
    copier->at = copier->count = copier->arrays = 0;
    rewind(copier->stream);
    copy_fields(copier, size, MESSAGE_FILE);
    return !copier->failed;
}

/* Opens the file, whose size becomes *size. Returns NULL with an error. */
static FILE *open_file(const char *path, uint64_t *size, struct error *error)
{
    FILE *stream = file_open_stream(path, error);
    if (!stream)
        return NULL;
    const off_t end = fseeko(stream, 0, SEEK_END) == 0 ? ftello(stream) : -1;
    *size = end > 0 ? (uint64_t)end : 0;
    if (end >= 0 && *size <= FILE_LIMIT)
        return stream;
    error_set(error, ERROR_INPUT, path, NULL,
              "the file is larger than the %zu bytes that are read of its kind",
              (size_t)FILE_LIMIT);
    fclose(stream);
    return NULL;
}

static uint8_t *copy_outline(struct copier *copier, uint64_t size, const char *path,
                             struct error *error)
{
    copier->capacity = copier->count;
    copier->bytes = memory_new(copier->count, 1, path, error);
    if (!copier->bytes || pass(copier, size))
        return copier->bytes;
    error_set(error, ERROR_INPUT, path, "try again", "it was changed while it was read");
    free(copier->bytes);
    return NULL;
}

bool message_outline_read(struct message_outline *outline, const char *path,
                          const struct message_paths *paths, message_room *room, const char *what,
                          struct error *error)
{
    uint64_t size;
    struct copier copier = {.paths = paths, .stream = open_file(path, &size, error)};
    *outline = (struct message_outline){0};
    if (!copier.stream)
        return false;
    if (!pass(&copier, size))
        error_set(error, ERROR_INPUT, path, "copy the file again, or export the model again",
                  "it is not %s, or ends too early", language_text(what));
    else if (room(path, copier.count, copier.arrays, error))
        outline->bytes = copy_outline(&copier, size, path, error);
    outline->count = copier.count;
    fclose(copier.stream);
    return outline->bytes;
}
