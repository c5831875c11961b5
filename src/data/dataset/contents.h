/* contents.h: the files and checksums of a data set, by which a change of the set is noticed.
 * Checksums are CRC-32 (zlib).
 *
 * - A set of files (folder, pairs) has one file for each image.
 * - A set in memory (cifar, idx) has parts, each of which was read from one file.
 * - A generated set has neither; dataset_facts.generator is the version of the code that draws it.
 */
#ifndef TINCA_DATA_DATASET_CONTENTS_H
#define TINCA_DATA_DATASET_CONTENTS_H

#include "data/dataset/dataset.h"

/* Returns the folder below which each image of the set is a file, including the folder of the
 * split, or NULL if the images are not files. Call the next two functions only if it is not NULL.
 */
const char *dataset_files_root(const struct dataset *dataset);

/* Writes the path of the file of image `index` below that folder, such as "cats/3.png", into
 * `text`. Returns `text`. */
char *dataset_file_name(const struct dataset *dataset, size_t index, char *text, size_t size);

struct file_checksum {
    uint64_t bytes;
    uint32_t crc32;
};

/* Reads the file of image `index` and fills *checksum. Returns false with an error. Thread-safe. */
bool dataset_file_checksum(const struct dataset *dataset, size_t index,
                           struct file_checksum *checksum, struct error *error);

/* A part of a set in memory. Only the images selected by the options `limit` and `only`
 * are counted. */
struct dataset_part {
    const char *name; /* the file's name without its folder; belongs to the set */
    size_t images;
    uint32_t pixels_crc32, labels_crc32;
};

/* Returns the number of parts; 0 unless the set is in memory. */
size_t dataset_part_count(const struct dataset *dataset);

/* Fills *out with part `part`. */
void dataset_part_checksum(const struct dataset *dataset, size_t part, struct dataset_part *out);

/* Returns a checksum of a set as far as it is known without reading files: of the names of its
 * files, its labels, and the pixels of a set in memory. */
uint32_t dataset_checksum(const struct dataset *dataset);

#endif
