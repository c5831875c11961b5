/* Uses zlib's gzread, which passes uncompressed files through unchanged. Neither the length that a
 * file states nor its header is trusted: memory grows with the data that was really read. */
#include "data/formats/gzip_file.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { READ_PIECE = 1 << 18, MOST_AT_ONCE = 1 << 30 };

char *gzip_file_find(const char *directory, const char *name, struct error *error)
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

/* --- sizes --- */

/* Returns the decompressed size of a file. A gzip file ends with it (RFC 1952, modulo 2^32). */
static uint64_t decompressed_size(FILE *file, bool compressed)
{
    unsigned char last[4];
    off_t size = fseeko(file, 0, SEEK_END) == 0 ? ftello(file) : 0;
    if (!compressed || size <= 0)
        return size > 0 ? (uint64_t)size : 0;
    if (fseeko(file, -(off_t)sizeof last, SEEK_END) != 0 ||
        fread(last, 1, sizeof last, file) != sizeof last)
        return 0;
    return last[0] | (uint64_t)last[1] << 8 | (uint64_t)last[2] << 16 | (uint64_t)last[3] << 24;
}

uint64_t gzip_file_size_of(const char *path)
{
    uint64_t size = 0;
    const char *ending = strrchr(path, '.');
    FILE *file = file_open_stream(path, NULL);
    if (file) {
        size = decompressed_size(file, ending && strcmp(ending, ".gz") == 0);
        fclose(file);
    }
    return size;
}

uint64_t gzip_file_size(const char *directory, const char *name)
{
    char *path = gzip_file_find(directory, name, NULL);
    const uint64_t size = path ? gzip_file_size_of(path) : 0;
    free(path);
    return size;
}

/* --- reading --- */

struct gzip_file {
    gzFile file;
    const char *path; /* borrowed, for messages */
    size_t reached;   /* decompressed bytes that were read */
};

/* Takes an open file, which is closed if that fails. */
static struct gzip_file *take_open(int descriptor, const char *path, struct error *error)
{
    struct gzip_file *gzip = memory_new(1, sizeof *gzip, path, error);
    if (!gzip) {
        close(descriptor);
        return NULL;
    }
    gzip->path = path;
    gzip->file = gzdopen(descriptor, "rb");
    if (!gzip->file) {
        close(descriptor);
        free(gzip);
        error_set_memory(error, path, READ_PIECE);
        return NULL;
    }
    gzbuffer(gzip->file, READ_PIECE);
    return gzip;
}

/* Opens the file itself, because zlib's gzopen blocks on a FIFO and reads a folder as an empty
 * file. */
struct gzip_file *gzip_file_open(const char *path, struct error *error)
{
    const int descriptor = file_open_regular(path, error);
    return descriptor < 0 ? NULL : take_open(descriptor, path, error);
}

void gzip_file_close(struct gzip_file *gzip)
{
    if (gzip)
        gzclose(gzip->file);
    free(gzip);
}

static bool set_gzip_error(const struct gzip_file *gzip, struct error *error)
{
    static const char *const advice = "unpack or download it again";
    int code;
    const char *reason = gzerror(gzip->file, &code);
    if (code == Z_ERRNO)
        return error_set_errno(error, gzip->path, NULL, "reading failed");
    if (code == Z_BUF_ERROR)
        return error_set(error, ERROR_INPUT, gzip->path, advice,
                         "the gzip file is truncated: it ends after %zu unpacked bytes, in the "
                         "middle of its data",
                         gzip->reached);
    return error_set(error, ERROR_INPUT, gzip->path, advice,
                     "the gzip file is damaged after %zu unpacked bytes (%s)", gzip->reached,
                     reason);
}

bool gzip_file_next(struct gzip_file *gzip, void *to, size_t wanted, size_t *got,
                    struct error *error)
{
    *got = 0;
    while (*got < wanted) {
        const size_t rest = wanted - *got, piece = rest < MOST_AT_ONCE ? rest : MOST_AT_ONCE;
        const int read = gzread(gzip->file, (uint8_t *)to + *got, (unsigned)piece);
        if (read < 0)
            return set_gzip_error(gzip, error);
        *got += (size_t)read;
        gzip->reached += (size_t)read;
        if ((size_t)read < piece)
            break;
    }
    int code;
    gzerror(gzip->file, &code);
    return code == Z_OK || code == Z_STREAM_END || set_gzip_error(gzip, error);
}

bool gzip_file_check_end(struct gzip_file *gzip, struct error *error)
{
    uint8_t beyond;
    size_t got;
    const size_t reached = gzip->reached;
    if (!gzip_file_next(gzip, &beyond, 1, &got, error))
        return false;
    return got == 0 || error_set(error, ERROR_INPUT, gzip->path, "is it the right file?",
                                 "more than the %zu bytes expected", reached);
}

/* Reads to the end of the file, in pieces, and grows the memory for each of them. */
static bool read_all(struct gzip_file *gzip, size_t limit, uint8_t **bytes, size_t *size,
                     struct error *error)
{
    size_t capacity = 0, got = READ_PIECE;
    for (size_t piece = READ_PIECE; got == piece && *size < limit; *size += got) {
        piece = limit - *size < READ_PIECE ? limit - *size : READ_PIECE;
        if (!memory_grow(bytes, &capacity, *size + piece, 1, gzip->path, error) ||
            !gzip_file_next(gzip, *bytes + *size, piece, &got, error))
            return false;
    }
    return *size < limit || gzip_file_check_end(gzip, error);
}

/* Reads all of a file, which is closed then; NULL is allowed. */
static uint8_t *read_and_close(struct gzip_file *gzip, size_t limit, size_t *size,
                               struct error *error)
{
    uint8_t *bytes = NULL;
    *size = 0;
    if (!gzip)
        return NULL;
    const char *path = gzip->path;
    bool read = read_all(gzip, limit, &bytes, size, error);
    gzip_file_close(gzip);
    if (read && !bytes)
        bytes = memory_new(1, 1, path, error); /* an empty file is not a failure */
    if (read)
        return bytes;
    free(bytes);
    return NULL;
}

uint8_t *gzip_file_read(const char *path, size_t limit, size_t *size, struct error *error)
{
    return read_and_close(gzip_file_open(path, error), limit, size, error);
}

uint8_t *gzip_file_read_open(int descriptor, const char *name, size_t limit, size_t *size,
                             struct error *error)
{
    return read_and_close(take_open(descriptor, name, error), limit, size, error);
}
