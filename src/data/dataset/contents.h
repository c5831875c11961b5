/* contents.h: what a data set consists of, by name, size and checksum, so that a change of it can
 * be noticed. Checksums are CRC-32 (zlib's).
 *
 * A set of files (folder, pairs) has a file for each image. A set that lies in memory (cifar, idx)
 * has one or more parts, each unpacked from a file. A generated set has neither:
 * dataset_facts()->generator is the version of the code that draws it.
 */
#ifndef TINCA_DATA_DATASET_CONTENTS_H
#define TINCA_DATA_DATASET_CONTENTS_H

#include "data/dataset/dataset.h"

/* Returns the folder below which each image of the set is a file, with the split's folder; NULL:
 * the images are no files. The functions for files need them. */
const char *dataset_files_root(const struct dataset *dataset);

/* Writes the path of the file of image `index`, below the set's folder ("cats/3.png"), into `text`.
 * Returns `text`. */
char *dataset_file_name(const struct dataset *dataset, size_t index, char *text, size_t size);

struct file_checksum {
    uint64_t bytes;
    uint32_t crc32;
};

/* Reads the file of image `index` and fills *checksum. Thread safe. */
bool dataset_file_checksum(const struct dataset *dataset, size_t index,
                           struct file_checksum *checksum, struct error *error);

/* One of the files that a set in memory was unpacked from; only images of the set count, after the
 * options limit and only. */
struct dataset_part {
    const char *name; /* of the file, without its folder; belongs to the set */
    size_t images;
    uint32_t pixels_crc32, labels_crc32;
};

/* Returns the number of parts: 0 unless the set lies in memory. */
size_t dataset_part_count(const struct dataset *dataset);
void dataset_part_checksum(const struct dataset *dataset, size_t part, struct dataset_part *out);

#endif
