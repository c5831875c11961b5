/* Reads a compressed file, whole and in part, with a limit that stops a compressed bomb. */
#include "data/formats/gzip_file.h"

#include "fuzz.h"

#include <stdlib.h>

enum { LIMIT = 1 << 20 };

void fuzz_gz(const uint8_t *data, size_t size)
{
    struct error error;
    size_t got;
    const char *path = scratch_write("file.gz", data, size);
    free(gzip_file_read(path, LIMIT, &got, &error));
    uint8_t header[16];
    struct gzip_file *file = gzip_file_open(path, &error);
    if (file && gzip_file_next(file, header, sizeof header, &got, &error))
        gzip_file_check_end(file, &error);
    gzip_file_close(file);
}
