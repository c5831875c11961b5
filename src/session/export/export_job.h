/* export_job.h: an export in a thread of its own, so that neither keys nor runs wait for it.
 *
 * One job at a time. Runs that are given as such are borrowed until the job has ended; those given
 * by their directories are opened, and freed, by the job. */
#ifndef TINCA_SESSION_EXPORT_EXPORT_JOB_H
#define TINCA_SESSION_EXPORT_EXPORT_JOB_H

#include "base/error.h"
#include "session/record/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum export_format {
    EXPORT_JSON,
    EXPORT_CSV, /* the path is a folder */
    EXPORT_PNG,
    EXPORT_REPORT,
    EXPORT_REPORT_PICTURE, /* and the curves beside it: REPORT.png */
    EXPORT_FORMATS
};

struct export_item {
    struct run *run;     /* NULL: from the directory */
    char directory[512]; /* of a kept run */
};

/* Starts as {0}; must not be moved while it is on. */
struct export_job {
    bool on;
    enum export_format format;
    char path[512];
    struct export_item *items;
    size_t count;

    pthread_t thread;
    atomic_bool ended;
    bool written;
    struct error error;
};

/* Copies the items. False: it could not be begun, or one is on already. */
bool export_job_start(struct export_job *job, enum export_format format,
                      const struct export_item *items, size_t count, const char *path,
                      struct error *error);

/* True once, when the job has ended: `written` and `error` tell how; it is not on any more. */
bool export_job_poll(struct export_job *job);

/* Waits for a job that is on. */
void export_job_finish(struct export_job *job);

/* Where the picture of a report goes: its path with the ending .png. Returns `picture`. */
char *export_chart_path(const char *report, char *picture, size_t size);

#endif
