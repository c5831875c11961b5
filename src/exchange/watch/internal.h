/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_EXCHANGE_WATCH_INTERNAL_H
#define TINCA_EXCHANGE_WATCH_INTERNAL_H

#include "base/error.h"
#include "exchange/logs/import_run.h"
#include "exchange/logs/import_stream.h"
#include "exchange/watch/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- watch_folder.c --- */

/* Finds the files of trainings below a folder: TensorBoard's event files, and the metrics.csv of
 * PyTorch Lightning in folders without event files.
 *
 * A folder with such files is a training. A folder named after a part of the data belongs to the
 * training in the folder above: train or validation (Keras), eval (TensorFlow's Estimator). */

struct watch_found {
    char *path;     /* of the file */
    char *training; /* of the folder */
    bool validation;
};

struct watch_files {
    struct watch_found *items; /* sorted by training, then by name: the order of their times */
    size_t count, capacity;
};

/* --- watch_tail.c --- */

/* Reads a file that another program writes, as it grows.
 *
 * It notices that the file was cut, that it was written anew under the same name, and that another
 * file has taken its name (rotation). A pipe is read until its other end is closed. */

enum { WATCH_HEAD = 256 };

struct watch_tail {
    char *path; /* NULL: a pipe without a name */
    int descriptor;
    bool pipe;
    dev_t device;
    ino_t inode;
    uint64_t offset, old; /* bytes read; bytes that were there when it was opened */
    char head[WATCH_HEAD];
    size_t head_length; /* the first bytes, to recognise a file that was written anew */
};

enum watch_news {
    WATCH_FAILED,
    WATCH_NOTHING, /* nothing new at present */
    WATCH_BYTES,
    WATCH_ANOTHER, /* the next bytes are the beginning of another file */
    WATCH_END      /* the other end of the pipe is closed */
};

/* Opens a file or a named pipe. Returns false with an error. */
bool watch_tail_open(struct watch_tail *tail, const char *path, struct error *error);

/* Takes an open pipe or file, which is closed at the end. */
bool watch_tail_take(struct watch_tail *tail, int descriptor, struct error *error);

/* --- watch_source.c --- */

/* One training that is watched: the files that it writes, what was read of them, and the run that
 * shows it. */

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
