/* Uses zlib's gzread, which passes uncompressed files through unchanged. Neither the
 * length that a file states nor its header is trusted: memory grows with the data that was really
 * read. */
#include "data/formats/packed.h"

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

/* --- sizes --- */

/* Returns the unpacked size of a file. A gzip file ends with it (RFC 1952, modulo 2^32). */
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

uint64_t packed_size_of(const char *path)
{
    uint64_t size = 0;
    const char *ending = strrchr(path, '.');
    FILE *file = file_open_stream(path, NULL);
    if (file) {
        size = unpacked_size(file, ending && strcmp(ending, ".gz") == 0);
        fclose(file);
    }
    return size;
}

uint64_t packed_size(const char *directory, const char *name)
{
    char *path = packed_find(directory, name, NULL);
    const uint64_t size = path ? packed_size_of(path) : 0;
    free(path);
    return size;
}

/* --- reading --- */

struct packed {
    gzFile file;
    const char *path; /* borrowed, for messages */
    size_t reached;   /* unpacked bytes that were read */
};

/* Opens the file itself, because zlib's gzopen blocks on a FIFO and reads a folder as an empty
 * file.
 */
struct packed *packed_open(const char *path, struct error *error)
{
    struct packed *packed = memory_new(1, sizeof *packed, path, error);
    const int descriptor = packed ? file_open_regular(path, error) : -1;
    if (descriptor < 0) {
        free(packed);
        return NULL;
    }
    packed->path = path;
    packed->file = gzdopen(descriptor, "rb");
    if (!packed->file) {
        close(descriptor);
        free(packed);
        error_set_memory(error, path, READ_PIECE);
        return NULL;
    }
    gzbuffer(packed->file, READ_PIECE);
    return packed;
}

void packed_close(struct packed *packed)
{
    if (packed)
        gzclose(packed->file);
    free(packed);
}

static bool set_gzip_error(const struct packed *packed, struct error *error)
{
    static const char *const advice = "unpack or download it again";
    int code;
    const char *reason = gzerror(packed->file, &code);
    if (code == Z_ERRNO)
        return error_set_errno(error, packed->path, NULL, "reading failed");
    if (code == Z_BUF_ERROR)
        return error_set(error, ERROR_INPUT, packed->path, advice,
                         "the gzip file is truncated: it ends after %zu unpacked bytes, in the "
                         "middle of its data",
                         packed->reached);
    return error_set(error, ERROR_INPUT, packed->path, advice,
                     "the gzip file is damaged after %zu unpacked bytes (%s)", packed->reached,
                     reason);
}

bool packed_next(struct packed *packed, void *to, size_t wanted, size_t *got, struct error *error)
{
    *got = 0;
    while (*got < wanted) {
        const size_t rest = wanted - *got, piece = rest < MOST_AT_ONCE ? rest : MOST_AT_ONCE;
        const int read = gzread(packed->file, (uint8_t *)to + *got, (unsigned)piece);
        if (read < 0)
            return set_gzip_error(packed, error);
        *got += (size_t)read;
        packed->reached += (size_t)read;
        if ((size_t)read < piece)
            break;
    }
    int code;
    gzerror(packed->file, &code);
    return code == Z_OK || code == Z_STREAM_END || set_gzip_error(packed, error);
}

bool packed_check_end(struct packed *packed, struct error *error)
{
    uint8_t beyond;
    size_t got;
    const size_t reached = packed->reached;
    if (!packed_next(packed, &beyond, 1, &got, error))
        return false;
    return got == 0 || error_set(error, ERROR_INPUT, packed->path, "is it the right file?",
                                 "more than the %zu bytes expected", reached);
}

/* Reads to the end of the file, in pieces, and grows the memory for each of them. */
static bool read_all(struct packed *packed, size_t limit, uint8_t **bytes, size_t *size,
                     struct error *error)
{
    size_t capacity = 0, got = READ_PIECE;
    for (size_t piece = READ_PIECE; got == piece && *size < limit; *size += got) {
        piece = limit - *size < READ_PIECE ? limit - *size : READ_PIECE;
        if (!memory_grow(bytes, &capacity, *size + piece, 1, packed->path, error) ||
            !packed_next(packed, *bytes + *size, piece, &got, error))
            return false;
    }
    return *size < limit || packed_check_end(packed, error);
}

uint8_t *packed_read(const char *path, size_t limit, size_t *size, struct error *error)
{
    uint8_t *bytes = NULL;
    *size = 0;
    struct packed *packed = packed_open(path, error);
    if (!packed)
        return NULL;
    bool read = read_all(packed, limit, &bytes, size, error);
    packed_close(packed);
    if (read && !bytes)
        bytes = memory_new(1, 1, path, error); /* an empty file is not a failure */
    if (read)
        return bytes;
    free(bytes);
    return NULL;
}
