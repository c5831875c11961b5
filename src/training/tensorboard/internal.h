/* internal.h: the checksums and records that the files of this folder share; no other folder
 * includes it. */
#ifndef TINCA_TRAINING_TENSORBOARD_INTERNAL_H
#define TINCA_TRAINING_TENSORBOARD_INTERNAL_H

#include "base/text.h"
#include "runs/settings/config.h"
#include "runs/values/run_facts.h"
#include "runs/values/series.h"
#include "training/prepare/prepare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- CRC-32C --- */

/* The checksum of the records of an event file: CRC-32C (Castagnoli's polynomial, as in iSCSI),
 * masked. zlib has the other CRC-32 only. */

/* Tables that step over eight bytes at a time; table[k] is for a byte with k bytes after it. */
struct crc32c {
    uint32_t table[8][256];
};

/* Fills the tables. */
void crc32c_prepare(struct crc32c *crc);

/* Returns the CRC-32C of `count` bytes. */
uint32_t crc32c_of(const struct crc32c *crc, const void *bytes, size_t count);

/* Returns a CRC-32C as files store it: rotated right by 15 bits, plus a constant. Otherwise a
 * checksum of data that contain checksums would be of little use. */
uint32_t crc32c_mask(uint32_t crc);

/* --- event_log.c --- */

/* The records of a TensorBoard event file, collected in memory.
 *
 * A record is a protobuf message (events.proto) in a frame: the length as 8 bytes, the masked
 * CRC-32C of these, the message, and its masked CRC-32C, little-endian. Functions that add a record
 * report nothing: when memory runs out, the record is left out and `lost` counts it. */

struct event_log {
    struct crc32c crc;
    struct text records; /* binary; the owner takes bytes away at its beginning */
    uint64_t lost;       /* records that were left out */
};

/* The time of an event, and its step: the iterations that were done. */
struct event_time {
    double wall; /* seconds since 1970 */
    uint64_t step;
};

/* Begins a log with the file's version. Marks the records of earlier files of the same folder as
 * obsolete from time.step on: 0, or the first step that a resumed run computes. */
void event_log_begin(struct event_log *log, struct event_time time);

/* Frees the records. */
void event_log_free(struct event_log *log);

struct event_scalar {
    const char *tag;
    float value;
};

/* Adds some scalars of one step as one record. */
void event_log_add_scalars(struct event_log *log, struct event_time time,
                           const struct event_scalar *scalars, size_t count);

/* Adds a text, which TensorBoard shows as Markdown. */
void event_log_add_text(struct event_log *log, struct event_time time, const char *tag,
                        const char *text);

/* A picture as a PNG file. */
struct event_image {
    const void *png;
    size_t bytes, width, height, channels;
    const char *description; /* NULL: none */
};

void event_log_add_image(struct event_log *log, struct event_time time, const char *tag,
                         const struct event_image *image);

/* Adds the histogram of the finite values. Adds nothing if there are none. */
void event_log_add_histogram(struct event_log *log, struct event_time time, const char *tag,
                             const float *values, size_t count);

/* A hyperparameter. */
struct event_hparam {
    const char *name;
    enum { EVENT_TEXT = 1, EVENT_FLAG, EVENT_NUMBER } type; /* numbers of the format */
    const char *text;
    double number;
    bool flag;
};

enum { EVENT_HPARAMS = 80 }; /* at most */

/* Adds the hyperparameters of a run. Runs with the same `group` are repetitions of one another. */
void event_log_add_hparams(struct event_log *log, struct event_time time, const char *group,
                           const struct event_hparam *hparams, size_t count);

/* Adds that the run has ended, and how. */
void event_log_add_end(struct event_log *log, struct event_time time, bool success);

/* --- run_records.c --- */

/* Writes the values and settings of a run as records of an event file. Series have the names of
 * series.h. */

/* Add the values of an iteration, and of a validation; `time.step` is their iteration. */
void run_records_add_point(struct event_log *log, struct event_time time,
                           const struct series_point *point);
void run_records_add_validation(struct event_log *log, struct event_time time,
                                const struct series_validation *validation);

/* Adds the result on the test set, as series_test_row gives it. */
void run_records_add_test(struct event_log *log, struct event_time time,
                          const struct series_validation *row);

/* Adds the settings: as a table in the text "configuration", and as hyperparameters. */
void run_records_add_settings(struct event_log *log, struct event_time time,
                              const struct run_config *config, const struct run_facts *facts);

/* Adds the first images of a batch as "samples/N", with their classes. Adds nothing if they do not
 * have 1 or 3 channels. */
void run_records_add_batch(struct event_log *log, struct event_time time,
                           const struct preparation *prepared, const struct execution_batch *batch);

/* Adds a picture of generated samples, a PNG file, as "generated". Adds nothing if it cannot be
 * read. */
void run_records_add_generated(struct event_log *log, struct event_time time, const char *path);

/* Adds the histogram of each learnable array, as "PREFIX/NAME", from values in host memory. */
void run_records_add_weights(struct event_log *log, struct event_time time, const char *prefix,
                             const struct weights *weights);

#endif
