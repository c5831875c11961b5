/* watch_source.h: one training that is watched: the files that it writes, what was read of them,
 * and the run that shows it. Internal to this folder. */
#ifndef TINCA_SESSION_WATCH_WATCH_SOURCE_H
#define TINCA_SESSION_WATCH_WATCH_SOURCE_H

#include "session/import/import_run.h"
#include "session/import/import_stream.h"
#include "session/watch/watch.h"
#include "session/watch/watch_tail.h"

enum { WATCH_PARTS = 2 }; /* of the data: training and validation */

/* The files of a part, read one after another. */
struct watch_part {
    struct watch_tail tail; /* the one that is read; descriptor -1: none yet */
    char **paths;           /* of a folder: its files, in the order of their times */
    size_t count, capacity, next;
    bool ended;
};

struct watch_source {
    struct watch_state state;
    struct import_request request;
    struct import_stream *stream;
    struct watch_part parts[WATCH_PARTS];
    struct import_run *run; /* NULL: there are no values yet */
    bool folder;            /* its files come from a folder */
    bool news;              /* bytes that the run does not show yet */
    bool ended;             /* the run is complete */
    double last_news;       /* when bytes came, on the watch's clock */
    double due;             /* when the run may be updated again */
    double shown_idle;      /* the silence at the last update */
};

/* Begins a source named `path`, which has no files yet. Returns NULL with an error. */
struct watch_source *watch_source_new(const struct import_request *request, const char *path,
                                      struct error *error);
/* Frees the source. NULL is allowed. */
void watch_source_free(struct watch_source *source);

/* Adds a file of a folder, if the source does not have it yet. Returns false with an error. */
bool watch_source_add_file(struct watch_source *source, const char *path, bool validation,
                           struct error *error);

/* Reads what is new, and brings the run up to date. Errors end the source (state.error). Returns
 * whether there is more to read at once. */
bool watch_source_step(struct watch_source *source, double now, struct import_memory memory);

/* Ends the run. `stopped`: the watch ends before the training. */
void watch_source_end(struct watch_source *source, bool stopped, struct import_memory memory);

#endif
