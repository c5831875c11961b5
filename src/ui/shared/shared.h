/* shared.h: the data that several screens show and change: the runs, the form with its
 * configuration, the preferences, the sweep, the running export and the log. No drawing. */
#ifndef TINCA_UI_SHARED_SHARED_H
#define TINCA_UI_SHARED_SHARED_H

#include "base/error.h"
#include "exchange/export_job.h"
#include "runs/history/run_filter.h"
#include "ui/plot/curves.h"
#include "ui/shared/form.h"
#include "ui/shared/preferences.h"
#include "ui/shared/run_list.h"
#include "ui/shared/sweep_job.h"
#include "ui/terminal/theme.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* --- work of the disk --- */

/* Functions that read or change files, each in a thread of its own, and what follows from their
 * results. A key that needs the disk starts a job, and the frames go on meanwhile, so that a slow
 * disk never holds the screen up. */

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

/* --- the log --- */

/* The messages of this session: findings, starts and ends of runs, errors. They form a ring buffer
 * of LOG_LINES lines, in which new lines replace the oldest. No drawing. */

enum { LOG_LINES = 500 };

struct log_line {
    time_t when;
    enum role role;
    char text[480];
    char directory[512]; /* folder of the run that the line is about; "": none */
};

struct log { /* starts as {0} */
    struct log_line lines[LOG_LINES];
    size_t first, count; /* the index of the oldest line; the number of lines */
};

/* Adds a line with the present time. */
void log_add(struct log *log, enum role role, const char *text);

/* Records that the newest line is about the run in `directory`; NULL changes nothing. */
void log_set_run_directory(struct log *log, const char *directory);

/* Returns the n-th line, the oldest first. */
const struct log_line *log_line(const struct log *log, size_t n);

/* Returns whether the line contains the text in upper or lower case; every line contains "". */
bool log_matches(const struct log_line *line, const char *search);

/* --- the queue --- */

/* The runs that wait in other processes (runs/history/run_queue.h) are shown in the list of
 * runs. A new run that waits has an entry of its own here; one that waits to be resumed is marked
 * in the list of saved runs. */

struct queue_list {            /* starts as {0} */
    struct queued_run *places; /* of all processes, first come first */
    size_t count;
    struct run_list runs; /* the new runs of other processes, in their order */
};

/* Replaces the places by those that were read now, and marks the saved runs that wait. Takes
 * ownership of `places`. Returns whether something has changed. */
bool queue_list_take(struct queue_list *list, struct run_list *saved, struct queued_run *places,
                     size_t count);

/* Returns the place of an entry that waits in another process, or NULL. */
const struct queued_run *queue_list_place(const struct queue_list *list,
                                          const struct run_entry *entry);

void queue_list_free(struct queue_list *list);

/* The axes of all plots of curves. */
struct axes {
    enum curve_x x, previous_x; /* previous_x: before the last change of x */
    bool log_x, log_y;
    bool all_values;  /* the y axis shows outliers too */
    size_t smoothing; /* index of smoothing_names */
};

/* A run that the user has asked for. */
struct start_request {
    struct run_config config;
    struct fork_request fork; /* {0}: it is no fork */
};

struct shared {
    struct preferences preferences;       /* in force */
    struct preferences saved_preferences; /* the contents of the configuration file */
    struct axes axes;

    struct form form;
    struct fork_request fork;     /* the form's run is a fork of this one; {0}: it is none */
    bool fork_has[FORK_SOURCES];  /* the sources that the open question about a fork offers */
    struct run_fork fork_place;   /* where it begins, if the settings stay as they were */
    struct start_request request; /* the run that is about to start */
    bool request_open;            /* a thread looks whether it can */
    uint64_t forecast_at;         /* when a stale forecast is made again (clock_nanoseconds) */

    struct run_list runs;          /* the runs of this session */
    struct run_list saved_runs;    /* saved by earlier sessions or by other processes */
    struct queue_list queue;       /* what waits in other processes */
    bool shown_is_saved;           /* the run screen shows one of `saved_runs`, not of `runs` */
    size_t shown;                  /* the index of its run in that list; SIZE_MAX: none */
    bool runs_changed;             /* the run table has to be sorted again */
    size_t deleted_runs;           /* runs in the trash when the runs were last listed */
    struct line_edit runs_search;  /* the filter of the run table as text */
    struct run_filter runs_filter; /* the last valid filter of it: what the table shows */
    char subject[512];             /* the directory of the run that the open dialog is about */

    char votes[512]; /* the file of the screen Study; "": STUDY_FILE */

    struct disk_jobs disk;
    struct sweep_job sweep;
    struct export_job export;
    struct log log;
};

#endif
