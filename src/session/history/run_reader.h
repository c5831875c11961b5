/* run_reader.h: kept runs read in a thread of their own, so that no key waits for a slow disk.
 *
 * The results come one after the other in the order of the directories. The thread never touches a
 * result again once run_reader_ready counts it. */
#ifndef TINCA_SESSION_HISTORY_RUN_READER_H
#define TINCA_SESSION_HISTORY_RUN_READER_H

#include "session/files/run_name.h"
#include "session/history/run_owner.h"
#include "session/measure/compare_files.h"
#include "session/record/run_open.h"

#include <stdbool.h>
#include <stddef.h>

enum run_depth {
    RUN_DEPTH_ALIVE,    /* whether a process has the run */
    RUN_DEPTH_OUTLINE,  /* its settings, its name, how it ended and what it has saved */
    RUN_DEPTH_WHOLE,    /* the curves as well */
    RUN_DEPTH_COMPARED, /* and what a comparison wants to know */
    RUN_DEPTH_NEWS,     /* who has it, and what its journal holds by now */
};

enum { RUN_SAVED_BEST, RUN_SAVED_LAST, RUN_SAVED_KINDS };
extern const char *const run_saved_files[RUN_SAVED_KINDS]; /* best.safetensors, ... */

struct run_read {
    char *directory;
    bool alive;    /* RUN_DEPTH_ALIVE */
    bool outlined; /* `outline` and `name` are valid; else `error` says why not */
    struct run_outline outline;
    char name[RUN_NAME_SIZE];
    bool saved[RUN_SAVED_KINDS]; /* which of the files are there; but for RUN_DEPTH_ALIVE */
    struct run
        *run; /* RUN_DEPTH_WHOLE and beyond; NULL with `error`. Who takes it puts NULL here */
    struct compare_files files; /* RUN_DEPTH_COMPARED; what is wrong with them: `files_error` */
    struct error files_error;
    bool opened;            /* RUN_DEPTH_NEWS: `run` is not the one that was given */
    struct run_owner owner; /* RUN_DEPTH_NEWS */
    struct error error;
};

struct run_reader;

/* Begins to read `count` directories, whose names are copied. Returns NULL with an error when there
 * can be no thread. */
struct run_reader *run_reader_start(enum run_depth depth, const char *const *directories,
                                    size_t count, struct error *error);

/* The same for runs that may be open: `runs` has one for each directory, NULL where none is. They
 * are shared, not read a second time, at the depth RUN_DEPTH_NEWS read on to the newest of them
 * (follow.h; one reader at a time), and opened anew when their process has begun again. */
struct run_reader *run_reader_start_open(enum run_depth depth, const char *const *directories,
                                         struct run *const *runs, size_t count,
                                         struct error *error);

/* Returns how many results are complete. Never waits. */
size_t run_reader_ready(const struct run_reader *reader);

/* Whether all are complete, or `seconds` have passed without. */
bool run_reader_wait(const struct run_reader *reader, double seconds);

/* Whether all are complete. */
bool run_reader_done(const struct run_reader *reader);

/* Returns result `index` (below run_reader_ready), which lives as long as the reader. */
struct run_read *run_reader_result(struct run_reader *reader, size_t index);

/* Lets go of the reader and of the runs that nobody took; never waits. May be NULL. */
void run_reader_drop(struct run_reader *reader);

#endif
