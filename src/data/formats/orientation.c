/* EXIF data are a TIFF directory in a segment APP1 of a JPEG file, or in the chunk eXIf of a PNG
 * file, before the pixels. Only the entry of the orientation is read, where it lies in the file, so
 * that a false length costs no memory. */
#include "data/formats/orientation.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { UPRIGHT = 1, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, ENTRY = 12, MAX_PARTS = 10000 };

/* --- TIFF --- */

struct tiff {
    FILE *stream;
    long start, size; /* of the data in the file */
    bool little;      /* numbers begin with their lowest byte */
};

/* Reads bytes at an offset of the data. */
static bool read_at(const struct tiff *tiff, long offset, uint8_t *bytes, long count)
{
    return offset >= 0 && offset <= tiff->size - count &&
           fseek(tiff->stream, tiff->start + offset, SEEK_SET) == 0 &&
           fread(bytes, 1, (size_t)count, tiff->stream) == (size_t)count;
}

static unsigned short_of(const struct tiff *tiff, const uint8_t *bytes)
{
    return tiff->little ? bytes[0] | (unsigned)bytes[1] << 8 : (unsigned)bytes[0] << 8 | bytes[1];
}

static uint32_t long_of(const struct tiff *tiff, const uint8_t *bytes)
{
    const uint32_t first = short_of(tiff, bytes), second = short_of(tiff, bytes + 2);
    return tiff->little ? first | second << 16 : first << 16 | second;
}

/* Returns the orientation that the first directory names. */
static unsigned read_directory(const struct tiff *tiff, long offset)
{
    uint8_t bytes[ENTRY];
    if (!read_at(tiff, offset, bytes, 2))
        return UPRIGHT;
    const unsigned entries = short_of(tiff, bytes);
    for (unsigned i = 0; i < entries; i++) {
        if (!read_at(tiff, offset + 2 + (long)i * ENTRY, bytes, ENTRY))
            return UPRIGHT;
        if (short_of(tiff, bytes) != TAG_ORIENTATION)
            continue;
        const unsigned value = short_of(tiff, bytes + 8);
        const bool valid = short_of(tiff, bytes + 2) == TYPE_SHORT && value >= 1 && value <= 8;
        return valid ? value : UPRIGHT;
    }
    return UPRIGHT;
}

static unsigned read_tiff(FILE *stream, long start, long size)
{
    struct tiff tiff = {stream, start, size, false};
    uint8_t head[8];
    if (!read_at(&tiff, 0, head, sizeof head))
        return UPRIGHT;
    tiff.little = memcmp(head, "II", 2) == 0;
    if ((!tiff.little && memcmp(head, "MM", 2) != 0) || short_of(&tiff, head + 2) != 42)
        return UPRIGHT;
    const uint32_t directory = long_of(&tiff, head + 4);
    return directory <= (uint32_t)size ? read_directory(&tiff, (long)directory) : UPRIGHT;
}

/* --- files --- */

/* Looks for APP1 with EXIF data among the segments before the pixels. */
static unsigned read_jpeg(FILE *stream)
{
    enum { FILL = 0xff, APP1 = 0xe1, SOS = 0xda, EOI = 0xd9 };
    long at = 2; /* behind the SOI */
    for (int i = 0; i < MAX_PARTS; i++) {
        uint8_t head[10];
        if (fseek(stream, at, SEEK_SET) != 0 || fread(head, 1, 4, stream) != 4 || head[0] != FILL)
            break;
        if (head[1] == FILL) { /* a segment may have any number of these bytes before it */
            at++;
            continue;
        }
        const long length = head[2] << 8 | head[3];
        if (head[1] == SOS || head[1] == EOI || length < 2)
            break;
        if (head[1] == APP1 && length >= 8 && fread(head + 4, 1, 6, stream) == 6 &&
            memcmp(head + 4, "Exif\0", 6) == 0)
            return read_tiff(stream, at + 10, length - 8);
        at += 2 + length;
    }
    return UPRIGHT;
}

/* Looks for the chunk eXIf, which comes before the pixels. */
static unsigned read_png(FILE *stream)
{
    long at = 8; /* behind the signature */
    for (int i = 0; i < MAX_PARTS; i++) {
        uint8_t head[8];
        if (fseek(stream, at, SEEK_SET) != 0 || fread(head, 1, sizeof head, stream) != sizeof head)
            break;
        const uint32_t length =
            (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
        if (length > INT32_MAX || memcmp(head + 4, "IDAT", 4) == 0)
            break;
        if (memcmp(head + 4, "eXIf", 4) == 0)
            return read_tiff(stream, at + 8, (long)length);
        at += 12 + (long)length;
    }
    return UPRIGHT;
}

unsigned orientation_read(FILE *stream)
{
    uint8_t start[4] = {0};
    unsigned orientation = UPRIGHT;
    rewind(stream);
    if (fread(start, 1, sizeof start, stream) == sizeof start)
        orientation = memcmp(start, "\x89PNG", 4) == 0       ? read_png(stream)
                      : start[0] == 0xff && start[1] == 0xd8 ? read_jpeg(stream)
                                                             : UPRIGHT;
    rewind(stream);
    return orientation;
}
