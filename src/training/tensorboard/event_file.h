/* event_file.h: a TensorBoard event file that grows while a run trains.
 *
 * Records reach the file within a second, if event_file_step is called as often, and the disk with
 * event_file_sync, or when a MiB of them has gathered. A disk that cannot be written (it is full,
 * read-only, unplugged) does not fail the run: records wait in memory and are written with the next
 * ones, and `trouble` says why the last attempt failed. If more than 16 MiB wait, the file ends
 * there: `stopped`, and later records are dropped. */
#ifndef TINCA_TRAINING_TENSORBOARD_EVENT_FILE_H
#define TINCA_TRAINING_TENSORBOARD_EVENT_FILE_H

#include "base/error.h"
#include "training/tensorboard/internal.h"

struct event_file {
    struct event_log log;
    char *path;           /* NULL: there is no file */
    int descriptor;       /* -1: it must be opened again */
    uint64_t base;        /* where log.records begins in the file; all before is on the disk */
    size_t done;          /* bytes of log.records that are in the file */
    uint64_t flushed;     /* clock_nanoseconds of the last attempt */
    bool stopped;         /* the file has ended before the run */
    struct error trouble; /* kind ERROR_NONE: none */
};

/* Creates a file in `folder`, which is made if it is missing. Its name sorts after those of all
 * event files there, since TensorBoard reads them in this order. `host` becomes part of the name.
 * Returns false with an error. */
bool event_file_open(struct event_file *file, const char *folder, const char *host,
                     struct event_time start, struct error *error);

/* Writes the waiting records, at most once a second. `now` is clock_nanoseconds. */
void event_file_step(struct event_file *file, uint64_t now);

/* Writes the waiting records. Returns false if some still wait (`trouble`) or were dropped. */
bool event_file_flush(struct event_file *file);

/* Writes the waiting records and syncs the file (fdatasync). Returns false if something is not on
 * the disk (`trouble`) or was dropped. */
bool event_file_sync(struct event_file *file);

/* Returns whether records wait that are not in the file. */
bool event_file_waits(const struct event_file *file);

/* Cuts off a record that is not complete, closes the file and leaves {0}. Does nothing for {0}. */
void event_file_close(struct event_file *file);

/* Returns whether the folder has event files. */
bool event_file_exists_in(const char *folder);

#endif
