/* event_log.h: the records of a TensorBoard event file, collected in memory.
 *
 * A record is a protobuf message (events.proto) in a frame: the length as 8 bytes, the masked
 * CRC-32C of these, the message, and its masked CRC-32C, little-endian. Functions that add a record
 * report nothing: when memory runs out, the record is left out and `lost` counts it. */
#ifndef TINCA_SESSION_TENSORBOARD_EVENT_LOG_H
#define TINCA_SESSION_TENSORBOARD_EVENT_LOG_H

#include "base/text.h"
#include "session/tensorboard/crc32c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_log {
    struct crc32c crc;
    struct text records; /* binary; the owner takes bytes away at its beginning */
    uint64_t lost;       /* records that were left out */
};

/* When something happened, and at which step: the iterations done. */
struct event_time {
    double wall; /* seconds since 1970 */
    uint64_t step;
};

/* Begins a log with the file's version, and says that what earlier files of the same folder have
 * from time.step on is obsolete: 0, or the first step that a resumed run computes. */
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

#endif
