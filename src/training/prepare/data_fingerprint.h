/* data_fingerprint.h: a description of a run's data sets with checksums, stored in RUN/data.json.
 *
 * {"format": "tinca-data", "version": 1, "checksum": "crc32", "preprocessing": that of the models
 * that the run saves (preprocessing.h), by which it goes on, with "recorded": false if they record
 * none, "training": SET, "validation": SET or null, "test": SET of a run with a test set,
 * "teacher": {"name", "bytes", "crc32"} with distillation}, where SET is
 *
 *     spec, kind                as dataset.h
 *     generator                 generated sets: the version of the code that draws them
 *     images, classes           how many images; the names of the classes, in order
 *     part                      if a share was held out: {of: "share" or "rest", share, seed}
 *     image, stored             [C, H, W] of an example, [H, W] of the image that it is cut from
 *     augment, pad, direction   how it is cut; direction of pairs: "ab" or "ba"
 *     class_weights             of training, if it has any: a number for each class
 *     preprocessing             {filter, orient} of pictures that are resized; absent: bilinear2
 *     normalisation             {name, mean: [3], deviation: [3]}
 *     measured                  of a measured one: {images, of, seed if they were drawn}; it is not
 *                               compared
 *     files                     sets of files: [name, bytes, label, crc32], an image each
 *     folders                   instead, above 100,000 files: [name, files, bytes, crc32], a
 *                               folder each; its checksum is that of the lines
 *                               "NAME BYTES LABEL CRC32\n" of its files
 *     parts                     sets in memory: [name, images, crc32 of pixels, of labels]
 */
#ifndef TINCA_TRAINING_PREPARE_DATA_FINGERPRINT_H
#define TINCA_TRAINING_PREPARE_DATA_FINGERPRINT_H

#include "base/json/json.h"
#include "training/prepare/prepare.h"

/* Returns the fingerprint of the prepared data sets, which the caller frees. Reads each file that
 * has changed since it was last read (checksum_cache.h), on all threads of the device. Returns NULL
 * with an error if a file cannot be read or there is not enough memory. */
struct json *data_fingerprint_make(const struct preparation *prepared, struct error *error);

#endif
