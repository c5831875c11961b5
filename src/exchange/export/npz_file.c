#include "exchange/export/internal.h"

#include "base/memory.h"
#include "data/formats/npy.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_MOST = 256, NAME_MOST = 300 };

bool npz_file_open(struct npz_file *npz, const char *path, struct error *error)
{
    *npz = (struct npz_file){.zip = {.stream = NULL}};
    if (!output_file_open(&npz->output, path, OUTPUT_BINARY, error))
        return false;
    npz->zip.stream = npz->output.stream;
    return true;
}

bool npz_file_add(struct npz_file *npz, const char *name, const char *type, const size_t *shape,
                  size_t dimensions, const void *data, size_t bytes, struct error *error)
{
    uint8_t header[HEADER_MOST];
    char member[NAME_MOST];
    const size_t length = npy_header_write(header, type, shape, dimensions);
    if ((size_t)snprintf(member, sizeof member, "%s.npy", name) >= sizeof member)
        return error_set(error, ERROR_INPUT, name, NULL, "the name is too long for an array");
    return zip_writer_add(&npz->zip, member, header, length, data, bytes, error);
}

/* Decodes UTF-8, and any byte that is none as itself. Returns the number of characters. */
static size_t decode(const char *text, uint32_t *out)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t count = 0;
    while (*at) {
        const size_t more = *at >= 0xf0 && *at < 0xf5 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc2 ? 1 : 0;
        uint32_t character = *at < 0xf5 && more > 0 ? *at & (0x3fu >> more) : *at;
        size_t taken = 0;
        while (taken < more && (at[1 + taken] & 0xc0) == 0x80)
            character = character << 6 | (at[1 + taken++] & 0x3f);
        const bool valid =
            taken == more && character < 0x110000 && !(character >= 0xd800 && character < 0xe000);
        out[count++] = valid ? character : *at;
        at += valid ? 1 + more : 1;
    }
    return count;
}

bool npz_file_add_text(struct npz_file *npz, const char *name, const char *text,
                       struct error *error)
{
    char type[24];
    uint32_t *characters = memory_new(strlen(text) + 1, sizeof *characters, "a text", error);
    if (!characters)
        return false;
    const size_t count = decode(text, characters);
    snprintf(type, sizeof type, "<U%zu", count > 0 ? count : 1);
    const bool added = npz_file_add(npz, name, type, NULL, 0, characters,
                                    (count > 0 ? count : 1) * sizeof *characters, error);
    free(characters);
    return added;
}

bool npz_file_close(struct npz_file *npz, bool complete, struct error *error)
{
    if (complete) {
        zip_writer_end(&npz->zip);
        return output_file_commit(&npz->output, error);
    }
    zip_writer_abandon(&npz->zip);
    output_file_abandon(&npz->output);
    return false;
}
