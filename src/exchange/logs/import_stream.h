/* import_stream.h: reads what a trainer writes, piece by piece. An import gives all of it at once,
 * a watch as it comes; both read the same lines. Creates no run.
 *
 * The bytes are text (logs, tables, JSON lines) or one of TensorBoard's event files. */
#ifndef TINCA_EXCHANGE_LOGS_IMPORT_STREAM_H
#define TINCA_EXCHANGE_LOGS_IMPORT_STREAM_H

#include "base/error.h"
#include "exchange/logs/import_log.h"

#include <stdbool.h>
#include <stddef.h>

struct import_stream;

/* Returns a new stream, which the caller frees, or NULL with an error. `request` is not copied and
 * must stay as it is. */
struct import_stream *import_stream_create(const struct import_request *request,
                                           struct error *error);
void import_stream_free(struct import_stream *stream); /* NULL is allowed */

/* Reads the next bytes. `arrival` is the time when they were written, in seconds since any moment,
 * for lines that have no time; NaN if unknown. Returns false with an error if memory runs out, if
 * this cannot be the text of a trainer, or if the build cannot read event files. */
bool import_stream_feed(struct import_stream *stream, const char *bytes, size_t count,
                        double arrival, struct error *error);

/* The next bytes are the beginning of another file of the same training: the last one was rotated,
 * or written anew. An incomplete line of the last one is dropped. `validation`: values in it belong
 * to validations, whatever their names say. Streams of the same training may read several files in
 * turns if each has its own `place` (0 or 1). */
void import_stream_begin_file(struct import_stream *stream, size_t place, bool validation);

/* Chooses the place to which the next bytes belong. */
void import_stream_choose(struct import_stream *stream, size_t place);

/* Notes that the file is complete. An incomplete last line is read without its last word. */
bool import_stream_end(struct import_stream *stream, struct error *error);

/* Copies what was read so far: no log, one, or one for each framework whose lines are there.
 * `live`: the source still grows; values that may still change are left out then, unless there was
 * no news for a while (`idle`, in seconds). Returns false if memory runs out. The caller frees the
 * logs. */
bool import_stream_logs(const struct import_stream *stream, bool live, double idle,
                        struct imported_logs *logs, struct error *error);

/* Fills *error for a stream without any loss (`empty`: it has nothing at all), or with two
 * frameworks. Returns false. */
bool import_stream_refuse(const struct import_request *request, const struct imported_logs *logs,
                          bool empty, struct error *error);

/* Returns whether nothing but white space was read. */
bool import_stream_is_empty(const struct import_stream *stream);

#endif
