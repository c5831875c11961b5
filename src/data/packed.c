#include "data/packed.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { READ_PIECE = 1 << 18 };

char *packed_find(const char *directory, const char *name, struct error *error)
{
    static const char *const endings[] = {"", ".gz"};
    size_t size = strlen(directory) + strlen(name) + sizeof "/.gz";
    char *path = memory_new(size, 1, "a path", error);
    for (size_t i = 0; path && i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, size, "%s/%s%s", directory, name, endings[i]);
        if (file_exists(path))
            return path;
    }
    free(path);
    return NULL;
}

/* zlib's gzopen waits for ever on a FIFO, and takes a directory for an empty file. */
static gzFile open_regular(const char *path, struct error *error)
{
    int descriptor = file_open_regular(path, error);
    if (descriptor < 0)
        return NULL;
    gzFile file = gzdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        error_set_memory(error, path, READ_PIECE);
        return NULL;
    }
    gzbuffer(file, READ_PIECE);
    return file;
}

static bool set_gzip_error(gzFile file, const char *path, size_t reached, struct error *error)
{
    static const char *const advice = "unpack or download it again";
    int code;
    const char *reason = gzerror(file, &code);
    if (code == Z_ERRNO)
        return error_set_errno(error, path, NULL, "reading failed");
    if (code == Z_BUF_ERROR)
        return error_set(error, ERROR_INPUT, path, advice,
                         "the gzip file is truncated: it ends after %zu unpacked bytes, in the "
                         "middle of its data",
                         reached);
    return error_set(error, ERROR_INPUT, path, advice,
                     "the gzip file is damaged after %zu unpacked bytes (%s)", reached, reason);
}

static bool read_all(gzFile file, const char *path, size_t limit, bool whole, uint8_t **bytes,
                     size_t *size, struct error *error)
{
    size_t capacity = 0;
    /* one byte beyond the limit tells a file that is too long from one that fits */
    size_t wanted = limit + (whole ? 1 : 0);
    while (*size < wanted) {
        size_t piece = wanted - *size < READ_PIECE ? wanted - *size : READ_PIECE;
        if (!memory_grow(bytes, &capacity, *size + piece, 1, path, error))
            return false;
        int got = gzread(file, *bytes + *size, (unsigned)piece);
        if (got < 0)
            return set_gzip_error(file, path, *size, error);
        *size += (size_t)got;
        if ((size_t)got < piece)
            break;
    }
    int code;
    gzerror(file, &code);
    if (code != Z_OK && code != Z_STREAM_END)
        return set_gzip_error(file, path, *size, error);
    if (*size > limit)
        return error_set(error, ERROR_INPUT, path, "is it the right file?",
                         "more than the %zu bytes expected", limit);
    return true;
}

/* A gzip file ends with the length of what it holds (RFC 1952, modulo 2^32). */
static uint64_t unpacked_size(FILE *file, bool packed)
{
    unsigned char last[4];
    off_t size = fseeko(file, 0, SEEK_END) == 0 ? ftello(file) : 0;
    if (!packed || size <= 0)
        return size > 0 ? (uint64_t)size : 0;
    if (fseeko(file, -(off_t)sizeof last, SEEK_END) != 0 ||
        fread(last, 1, sizeof last, file) != sizeof last)
        return 0;
    return last[0] | (uint64_t)last[1] << 8 | (uint64_t)last[2] << 16 | (uint64_t)last[3] << 24;
}

uint64_t packed_size(const char *directory, const char *name)
{
    uint64_t size = 0;
    char *path = packed_find(directory, name, NULL);
    FILE *file = path ? file_open_stream(path, NULL) : NULL;
    if (file) {
        const char *ending = strrchr(path, '.');
        size = unpacked_size(file, ending && strcmp(ending, ".gz") == 0);
        fclose(file);
    }
    free(path);
    return size;
}

uint8_t *packed_read(const char *path, size_t limit, bool whole, size_t *size, struct error *error)
{
    uint8_t *bytes = NULL;
    *size = 0;
    gzFile file = open_regular(path, error);
    if (!file)
        return NULL;
    bool read = read_all(file, path, limit, whole, &bytes, size, error);
    gzclose(file);
    if (read && !bytes)
        bytes = memory_new(1, 1, path, error); /* an empty file is not a failure */
    if (read)
        return bytes;
    free(bytes);
    return NULL;
}
