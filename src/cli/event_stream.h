/* event_stream.h: prints a run's events on standard output while it trains, a line of JSON each:
 * first {"event": "run", "id", "directory"}, then the lines of the run's journal (an iteration has
 * no "event"), at last {"event": "result", "status", "error"}. */
#ifndef TINCA_CLI_EVENT_STREAM_H
#define TINCA_CLI_EVENT_STREAM_H

#include "session/record/run.h"

#include <stdio.h>

struct event_stream {
    char *path; /* the journal; NULL: not begun */
    FILE *file; /* NULL: the journal does not exist yet */
};

/* Prints the first line. Returns false with an error if out of memory. */
bool event_stream_begin(struct event_stream *stream, const struct run *run, struct error *error);

/* Prints the lines that have come since the last call. */
void event_stream_print(struct event_stream *stream);

/* Prints what is left and the last line, and frees the stream. */
void event_stream_end(struct event_stream *stream, const struct run *run);

#endif
