/* data_fingerprint.h: what a run's data sets consist of, as RUN/data.json keeps it. Internal to
 * session/.
 *
 * {"format": "tinca-data", "version": 1, "checksum": "crc32", "training": SET, "validation": SET or
 * null}, where SET is
 *   spec, kind                    as dataset.h
 *   generator                     generated sets: the version of the code that draws them
 *   images, classes               how many images; the names of the classes, in order
 *   image, stored                 [C, H, W] of an example, [H, W] of the image that it is cut from
 *   augment, pad, direction       how it is cut; direction of pairs: "ab" or "ba"
 *   normalisation                 {name, mean: [3], deviation: [3]}
 *   files                         sets of files: [name, bytes, label, crc32], an image each
 *   folders                       instead, above 100,000 files: [name, files, bytes, crc32], a
 *                                 folder each; its checksum is that of the lines
 *                                 "NAME BYTES LABEL CRC32\n" of its files
 *   parts                         sets in memory: [name, images, crc32 of pixels, of labels]
 */
#ifndef TINCA_SESSION_RUN_DATA_FINGERPRINT_H
#define TINCA_SESSION_RUN_DATA_FINGERPRINT_H

#include "base/json/json.h"
#include "session/run/prepare.h"

/* Returns the fingerprint of what was prepared, owned by the caller. Reads each file of a set of
 * files that has changed since it was read last (checksum_cache.h), on all threads of the device.
 * NULL with an error: a file cannot be read, or memory is out.
 */
struct json *data_fingerprint_make(const struct preparation *prepared,
                                   const struct run_config *config, struct error *error);

#endif
