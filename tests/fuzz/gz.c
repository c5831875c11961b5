/* Reads a compressed file, whole and in part, with a limit that stops a compressed bomb. */
#include "data/formats/packed.h"

#include "fuzz.h"

#include <stdlib.h>

enum { LIMIT = 1 << 20 };

void fuzz_gz(const uint8_t *data, size_t size)
{
    struct error error;
    size_t got;
    const char *path = scratch_write("file.gz", data, size);
    free(packed_read(path, LIMIT, &got, &error));
    uint8_t header[16];
    struct packed *file = packed_open(path, &error);
    if (file && packed_next(file, header, sizeof header, &got, &error))
        packed_check_end(file, &error);
    packed_close(file);
}
