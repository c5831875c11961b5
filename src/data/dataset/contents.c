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

static const struct stored *stored_of(const struct dataset *dataset)
{
    const struct source *source = dataset_source(dataset);
    return source->operations == &stored_operations ? source->state : NULL;
}

size_t dataset_part_count(const struct dataset *dataset)
{
    const struct stored *stored = stored_of(dataset);
    return stored ? stored->parts : 0;
}

void dataset_part_checksum(const struct dataset *dataset, size_t part, struct dataset_part *out)
{
    const struct source *source = dataset_source(dataset);
    const struct stored *stored = stored_of(dataset);
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
