/* Takes the stamp of a journal: what stat(2) says, and a checksum of both ends of the file. */
#include "session/columns/internal.h"

#include "base/files/file.h"
#include "base/portable/portable.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* A longer journal has no column file: a hostile one would have tinca read for minutes. */
#define JOURNAL_MOST ((uint64_t)8 << 30)

enum { STAMP_END = 4096 };

static uint64_t nanoseconds(struct timespec time)
{
    return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool has_holes(const struct stat *status)
{
    const uint64_t size = (uint64_t)status->st_size, blocks = (uint64_t)status->st_blocks;
    return blocks == 0 ? size > STAMP_END : blocks * 512 + STAMP_END < size;
}

/* Adds the CRC-32 of the bytes from `offset` on, up to STAMP_END of them. */
static bool add_end(int descriptor, uint64_t offset, uint64_t size, uint64_t *crc32)
{
    unsigned char bytes[STAMP_END];
    const size_t length = size - offset < STAMP_END ? (size_t)(size - offset) : STAMP_END;
    if (!file_read_at(descriptor, (char *)bytes, length, offset))
        return false;
    *crc32 = crc32_z((uLong)*crc32, bytes, length);
    return true;
}

bool journal_stamp_take(struct journal_stamp *stamp, const char *path)
{
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDONLY | O_NOFOLLOW, &status);
    *stamp = (struct journal_stamp){0};
    if (descriptor < 0)
        return false;
    const uint64_t size = (uint64_t)status.st_size;
    uint64_t crc32 = 0;
    const bool taken = size > 0 && size <= JOURNAL_MOST && !has_holes(&status) &&
                       add_end(descriptor, 0, size, &crc32) &&
                       add_end(descriptor, size < STAMP_END ? 0 : size - STAMP_END, size, &crc32);
    close(descriptor);
    if (taken)
        *stamp = (struct journal_stamp){.device = status.st_dev,
                                        .inode = status.st_ino,
                                        .size = size,
                                        .modified = nanoseconds(status.st_mtim),
                                        .changed = nanoseconds(status.st_ctim),
                                        .ends = crc32};
    return taken;
}

bool journal_stamp_same(const struct journal_stamp *a, const struct journal_stamp *b)
{
    return a->size > 0 && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified == b->modified && a->changed == b->changed && a->ends == b->ends;
}

bool journal_stamp_is_settled(const struct journal_stamp *stamp, uint64_t now)
{
    const uint64_t last = stamp->modified > stamp->changed ? stamp->modified : stamp->changed;
    return stamp->size > 0 && now > last && now - last > JOURNAL_STAMP_SETTLES;
}

uint64_t journal_stamp_clock(const char *path)
{
    struct file_writer writer;
    struct stat status;
    if (!file_writer_open(&writer, path, true, NULL))
        return 0;
    const bool known = fstat(fileno(writer.stream), &status) == 0;
    file_writer_abandon(&writer);
    return known ? nanoseconds(status.st_mtim) : 0;
}
