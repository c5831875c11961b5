/* Checksums of a set in memory cover the pixels and labels of the selected images, so that another
 * layout of the same data (compressed or not) has the same checksum. */
#include "data/dataset/contents.h"

#include "base/files/file.h"
#include "data/dataset/dataset_source.h"
#include "data/formats/stored.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PATH_SIZE = 4096, READ_SIZE = 1 << 16 };

/* --- sets of files --- */

const char *dataset_files_root(const struct dataset *dataset)
{
    return dataset_source(dataset)->root;
}

char *dataset_file_name(const struct dataset *dataset, size_t index, char *text, size_t size)
{
    char path[PATH_SIZE];
    const size_t root = strlen(dataset_source(dataset)->root);
    dataset_origin(dataset, index, path, sizeof path);
    const char *name = strlen(path) > root ? path + root : path;
    snprintf(text, size, "%s", name + strspn(name, "/"));
    return text;
}

static bool read_checksum(int descriptor, const char *path, struct file_checksum *checksum,
                          struct error *error)
{
    unsigned char buffer[READ_SIZE];
    uLong crc = crc32(0, NULL, 0);
    ssize_t got;
    checksum->bytes = 0;
    while ((got = read(descriptor, buffer, sizeof buffer)) > 0) {
        crc = crc32(crc, buffer, (uInt)got);
        checksum->bytes += (uint64_t)got;
    }
    checksum->crc32 = (uint32_t)crc;
    return got == 0 || error_set_errno(error, path, "check the disk", "reading failed");
}

bool dataset_file_checksum(const struct dataset *dataset, size_t index,
                           struct file_checksum *checksum, struct error *error)
{
    char path[PATH_SIZE];
    dataset_origin(dataset, index, path, sizeof path);
    const int descriptor = file_open_regular(path, error);
    if (descriptor < 0)
        return false;
    const bool read = read_checksum(descriptor, path, checksum, error);
    close(descriptor);
    return read;
}

/* --- sets in memory --- */

/* Returns the store of a set in memory, or NULL. */
static const struct stored *stored_of(const struct dataset *dataset)
{
    const struct source *source = dataset_source(dataset);
    return source->operations == &stored_operations ? source->state : NULL;
}

size_t dataset_part_count(const struct dataset *dataset)
{
    const struct stored *stored = stored_of(dataset);
    return stored ? stored->parts : dataset_source(dataset)->file ? 1 : 0;
}

static void add_bytes(void *context, const void *bytes, size_t count)
{
    uLong *crc = context;
    *crc = crc32_z(*crc, bytes, count);
}

/* Fills *out with the one part of a set whose images are in one file. Labels count as four
 * little-endian bytes. */
static void checksum_file(const struct dataset *dataset, struct dataset_part *out)
{
    const struct source *source = dataset_source(dataset);
    uLong pixels = crc32(0, NULL, 0), labels = crc32(0, NULL, 0);
    *out = (struct dataset_part){.name = file_base_name(source->file),
                                 .images = dataset_facts(dataset)->images};
    for (size_t i = 0; i < out->images; i++) {
        const size_t label = dataset_label(dataset, i);
        const unsigned char bytes[] = {(unsigned char)label, (unsigned char)(label >> 8),
                                       (unsigned char)(label >> 16), (unsigned char)(label >> 24)};
        source->operations->bytes(source, dataset_source_index(dataset, i), add_bytes, &pixels);
        labels = crc32(labels, bytes, sizeof bytes);
    }
    out->pixels_crc32 = (uint32_t)pixels;
    out->labels_crc32 = (uint32_t)labels;
}

/* Fills *out with one of the files of a store. */
static void checksum_stored(const struct dataset *dataset, const struct stored *stored, size_t part,
                            struct dataset_part *out)
{
    const struct source *source = dataset_source(dataset);
    const size_t bytes = source->width * source->height * source->channels;
    const size_t first = stored->part[part].first;
    const size_t end = part + 1 < stored->parts ? stored->part[part + 1].first : source->images;
    uLong pixels = crc32(0, NULL, 0), labels = crc32(0, NULL, 0);
    *out = (struct dataset_part){.name = file_base_name(stored->part[part].path)};
    for (size_t i = 0; i < dataset_facts(dataset)->images; i++) {
        const size_t at = dataset_source_index(dataset, i);
        if (at < first || at >= end)
            continue;
        pixels = crc32_z(pixels, stored->pixels + at * bytes, bytes);
        labels = crc32(labels, stored->labels + at, 1);
        out->images++;
    }
    out->pixels_crc32 = (uint32_t)pixels;
    out->labels_crc32 = (uint32_t)labels;
}

void dataset_part_checksum(const struct dataset *dataset, size_t part, struct dataset_part *out)
{
    const struct stored *stored = stored_of(dataset);
    if (stored)
        checksum_stored(dataset, stored, part, out);
    else
        checksum_file(dataset, out);
}

/* --- both --- */

/* Adds a number, as eight little-endian bytes. */
static uLong add_number(uLong crc, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    return crc32(crc, bytes, sizeof bytes);
}

uint32_t dataset_checksum(const struct dataset *dataset)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    const bool labelled = facts->generator == 0 && !facts->paired;
    char name[PATH_SIZE];
    struct dataset_part part;
    uLong crc = 0;
    for (size_t i = 0; i < facts->images; i++) {
        if (dataset_files_root(dataset)) {
            dataset_file_name(dataset, i, name, sizeof name);
            crc = crc32_z(crc, (const unsigned char *)name, strlen(name) + 1);
        }
        if (labelled)
            crc = add_number(crc, dataset_label(dataset, i));
    }
    for (size_t i = 0; stored_of(dataset) && i < dataset_part_count(dataset); i++) {
        dataset_part_checksum(dataset, i, &part);
        crc = add_number(crc, part.pixels_crc32);
    }
    return (uint32_t)crc;
}
