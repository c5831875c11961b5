/* event_reader.h: reads the scalars of a TensorBoard event file, piece by piece.
 *
 * A file is a row of records: the length (8 bytes), its masked CRC-32C, the message, and the masked
 * CRC-32C of the message. A record that is not complete waits for its rest. Damaged bytes are
 * skipped up to the next length whose checksum is right. */
#ifndef TINCA_EXCHANGE_TENSORBOARD_EVENT_READER_H
#define TINCA_EXCHANGE_TENSORBOARD_EVENT_READER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_value {
    const char *tag;
    int64_t step;
    double wall; /* seconds since 1970 */
    double value;
};

/* Takes a scalar. Returns false with an error. */
typedef bool event_visit(void *context, const struct event_value *scalar, struct error *error);

struct event_reader;

/* Returns a new reader, which the caller frees, or NULL with an error; ERROR_UNSUPPORTED if the
 * build has no protobuf-c. */
struct event_reader *event_reader_create(struct error *error);
void event_reader_free(struct event_reader *reader); /* NULL is allowed */

/* Reads the next bytes of the file, and visits the scalars of the records that are complete.
 * Returns false with an error if memory runs out or if `visit` returned false. */
bool event_reader_feed(struct event_reader *reader, const char *bytes, size_t count,
                       event_visit *visit, void *context, struct error *error);

/* Returns how many records, or stretches of bytes between records, were damaged so far; 0 for NULL.
 */
size_t event_reader_damaged(const struct event_reader *reader);

#endif
