/* run_reader.h: reads stored runs in a separate thread, so that a slow disk delays no key.
 *
 * Results are counted as ready in the order of the directories. No thread touches a result after
 * run_reader_ready has counted it. */
#ifndef TINCA_STUDIES_COMPARE_RUN_READER_H
#define TINCA_STUDIES_COMPARE_RUN_READER_H

#include "base/error.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_owner.h"
#include "runs/history/run_queue.h"
#include "runs/record/run_open.h"
#include "studies/compare/compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum run_depth {
    RUN_DEPTH_ALIVE,    /* whether a process trains the run */
    RUN_DEPTH_OUTLINE,  /* its settings, its name, its end and its saved files */
    RUN_DEPTH_WHOLE,    /* also the curves */
    RUN_DEPTH_COMPARED, /* also what a comparison shows */
    RUN_DEPTH_UPDATE,   /* for an open run: its process, and what is new in its journal */
};

enum { RUN_SAVED_BEST, RUN_SAVED_LAST, RUN_SAVED_KINDS };
extern const char *const run_saved_files[RUN_SAVED_KINDS]; /* best.safetensors, ... */

/* Sets saved[kind] to whether the run's folder has run_saved_files[kind]. */
void run_saved_find(const char *directory, bool *saved);

struct run_read {
    char *directory;
    bool alive;    /* RUN_DEPTH_ALIVE */
    bool outlined; /* `outline`, `name`, `tags` and `note` are valid; else `error` says why not */
    struct run_outline outline;
    char name[RUN_NAME_SIZE], tags[RUN_TAGS_SIZE], note[RUN_NOTE_SIZE];
    uint64_t disk_bytes;         /* of its folder's files, 0: unknown; not for RUN_DEPTH_ALIVE */
    bool saved[RUN_SAVED_KINDS]; /* which of run_saved_files exist; not for RUN_DEPTH_ALIVE */
    struct run *run; /* from RUN_DEPTH_WHOLE on; NULL with `error`. To take it, set it to NULL */
    struct compare_files files; /* RUN_DEPTH_COMPARED; if incomplete, `files_error` says why */
    struct error files_error;
    bool opened;            /* RUN_DEPTH_UPDATE: `run` was opened again, it is not the given one */
    struct run_owner owner; /* RUN_DEPTH_UPDATE */
    struct error error;
};

struct run_reader;

/* Begins to read `count` directories; copies their names. Returns NULL with an error if no thread
 * can start. */
struct run_reader *run_reader_start(enum run_depth depth, const char *const *directories,
                                    size_t count, struct error *error);

/* Begins to read runs of which some are open: runs[i] is the open run of directory i, or NULL. Open
 * runs are shared instead of read a second time. At RUN_DEPTH_UPDATE the reader brings them up to
 * date (follow.h; one reader at a time), and opens them again if they were resumed. */
struct run_reader *run_reader_start_open(enum run_depth depth, const char *const *directories,
                                         struct run *const *runs, size_t count,
                                         struct error *error);

/* Returns how many results are complete. Never waits. */
size_t run_reader_ready(struct run_reader *reader);

/* Waits until all results are complete or `seconds` have passed; returns whether they are. */
bool run_reader_wait(const struct run_reader *reader, double seconds);

/* Returns whether all results are complete. */
bool run_reader_done(const struct run_reader *reader);

/* Returns result `index` (below run_reader_ready), which lives as long as the reader. */
struct run_read *run_reader_result(struct run_reader *reader, size_t index);

/* Cancels the reading and frees the runs that were not taken. Never waits. NULL is allowed. */
void run_reader_drop(struct run_reader *reader);

/* --- the list of runs --- */

/* Lists the IDs of all runs and what waits in the queue, and counts the runs in the trash, in a
 * separate thread, so that a slow disk delays no key. */

struct run_listing;

struct run_ids {
    char *home; /* the folder of all runs; NULL: `error` says why it is unknown */
    char **ids; /* oldest first; NULL: the folder has not changed since `known` */
    size_t count;
    size_t deleted;          /* runs in the trash */
    struct timespec changed; /* when a run was last added to the folder or taken away */
    struct error error;
};

/* Begins to read the folder of all runs, if it has changed since `known` (NULL: in any case).
 * Returns NULL with an error if no thread can start. */
struct run_listing *run_listing_start(const struct timespec *known, struct error *error);

/* Waits until the listing is complete or `seconds` have passed; returns whether it is complete. */
bool run_listing_wait(const struct run_listing *listing, double seconds);

/* Returns the result of a complete listing; it lives as long as the listing. */
const struct run_ids *run_listing_result(const struct run_listing *listing);

/* Hands over what waits in the queue: the caller frees *queue. Returns false if it could not be
 * read, or was handed over before. */
bool run_listing_take_queue(struct run_listing *listing, struct queued_run **queue, size_t *count);

/* Cancels the listing and frees its result. Never waits. NULL is allowed. */
void run_listing_drop(struct run_listing *listing);

#endif
