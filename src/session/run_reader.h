/* run_reader.h: kept runs read in a thread of their own, so that no key waits for a slow disk.
 *
 * The results come one after the other in the order of the directories. The thread never touches a
 * result again once run_reader_ready counts it. */
#ifndef TINCA_SESSION_RUN_READER_H
#define TINCA_SESSION_RUN_READER_H

#include "session/run.h"
#include "session/run_name.h"

#include <stdbool.h>
#include <stddef.h>

enum run_depth {
    RUN_DEPTH_ALIVE,   /* whether a process has the run */
    RUN_DEPTH_OUTLINE, /* its settings, its name and how it ended */
    RUN_DEPTH_WHOLE,   /* the curves as well */
};

struct run_read {
    char *directory;
    bool alive;    /* RUN_DEPTH_ALIVE */
    bool outlined; /* `outline` and `name` are valid; else `error` says why not */
    struct run_outline outline;
    char name[RUN_NAME_SIZE];
    struct run *run; /* RUN_DEPTH_WHOLE; NULL with `error`. Who takes it puts NULL here */
    struct error error;
};

struct run_reader;

/* Begins to read `count` directories, whose names are copied. Returns NULL with an error when there
 * can be no thread. */
struct run_reader *run_reader_start(enum run_depth depth, const char *const *directories,
                                    size_t count, struct error *error);

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
