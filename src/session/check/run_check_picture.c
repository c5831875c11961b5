/* A sample's PNG, chunk by chunk: each has a CRC-32 of its own, and nothing stands between them. */
#include "session/check/run_check_internal.h"

#include "base/files/file.h"
#include "base/language.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Returns whether `left` bytes and their CRC-32 follow and agree. `type` is the chunk's. */
static bool read_chunk(FILE *stream, const unsigned char *type, uint32_t left)
{
    unsigned char block[4096];
    unsigned long sum = crc32_z(0, type, 4);
    while (left > 0) {
        const size_t most = left < sizeof block ? left : sizeof block;
        const size_t got = fread(block, 1, most, stream);
        if (got == 0)
            return false;
        sum = crc32_z(sum, block, got);
        left -= (uint32_t)got;
    }
    return fread(block, 1, 4, stream) == 4 && big_endian(block) == sum;
}

static bool is_whole(FILE *stream)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char head[8];
    if (fread(head, 1, 8, stream) != 8 || memcmp(head, signature, 8) != 0)
        return false;
    while (fread(head, 1, 8, stream) == 8) {
        if (!read_chunk(stream, head + 4, big_endian(head)))
            return false;
        if (memcmp(head + 4, "IEND", 4) == 0)
            return fgetc(stream) == EOF;
    }
    return false;
}

void check_picture(struct check *check, const char *file)
{
    struct error error = {0};
    char *path = check_path(check, file);
    FILE *stream = path ? file_open_stream(path, &error) : NULL;
    free(path);
    if (!stream)
        check_report(check, file, RUN_PROBLEM_ERROR, REMEDY_DELETE, "%s", error.why);
    else if (!is_whole(stream))
        check_report(check, file, RUN_PROBLEM_ERROR, REMEDY_DELETE,
                     _("it is no whole picture: its checksums do not fit"));
    if (stream)
        fclose(stream);
}
