/* disk_jobs.h: functions that read or change files, each in a thread of its own, and what follows
 * from their results. A key that needs the disk starts a job, and the frames go on meanwhile, so
 * that a slow disk never holds the screen up. */
#ifndef TINCA_UI_SHARED_DISK_JOBS_H
#define TINCA_UI_SHARED_DISK_JOBS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

enum { DISK_JOBS = 4 }; /* at the same time */

struct disk_job {
    struct detached_task *task; /* NULL: the place is free */
    void *state;
    void (*done)(struct app *app, void *state);
};

struct disk_jobs { /* starts as {0} */
    struct disk_job jobs[DISK_JOBS];
};

/* Starts work(state) in a thread. disk_jobs_step calls done(app, state) after it, which may be
 * NULL; `state` is a block of malloc, which then is freed. It must not point into data of the
 * drawing thread. Returns false with an error if the thread cannot start; `state` is then freed at
 * once. */
bool disk_jobs_start(struct disk_jobs *jobs, void (*work)(void *state),
                     void (*done)(struct app *app, void *state), void *state, struct error *error);

/* Calls `done` of the jobs that are over. A disk that is fast has an answer within `seconds`, for
 * which this waits, so that the next frame shows it. */
void disk_jobs_step(struct disk_jobs *jobs, struct app *app, double seconds);

/* Returns whether a job is under way. */
bool disk_jobs_busy(const struct disk_jobs *jobs);

/* Forgets all jobs; their threads end by themselves. */
void disk_jobs_drop(struct disk_jobs *jobs);

#endif
