/* export_job.h: an export in a child process, so that neither keys nor running experiments wait for
 * it, or end with it.
 *
 * A job writes one document at a time. It borrows open runs until it has ended; the child reads the
 * folders of all of them. */
#ifndef TINCA_EXCHANGE_EXPORT_JOB_H
#define TINCA_EXCHANGE_EXPORT_JOB_H

#include "base/error.h"
#include "exchange/formats.h"
#include "runs/record/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct export_item {
    struct run *run;     /* a run of this process; NULL: another one */
    char directory[512]; /* its folder */
};

/* Writes a report of the runs to `path`; `chart` is the path of their chart, or NULL. */
typedef bool export_report_writer(struct run *const *runs, size_t count, const char *chart,
                                  const char *path, struct error *error);

struct export_request {
    const struct format *format;
    bool picture; /* of a report: its chart is written, too, to REPORT.png */
    const struct export_item *items;
    size_t count;
    const char *path;
    export_report_writer *write_report; /* needed for reports only */
};

/* Starts as {0}; do not move it while `on` is true. */
struct export_job {
    bool on; /* the thread has not been joined yet */
    const struct format *format;
    bool picture;
    char path[512];
    struct export_item *items;
    size_t count;
    export_report_writer *write_report;

    pthread_t thread;
    atomic_bool ended;
    bool written;
    struct error error; /* with `written`: what is damaged in a run */
};

/* Starts the export and copies what `request` points to. Returns false if the thread cannot be
 * created or another export is still running. */
bool export_job_start(struct export_job *job, const struct export_request *request,
                      struct error *error);

/* Returns true once, when the job has ended: `written` and `error` hold its result. */
bool export_job_poll(struct export_job *job);

/* Waits until the job has ended, if it is running. */
void export_job_finish(struct export_job *job);

/* Writes the path of a report's chart into `picture`: the report's path with the ending .png.
 * Returns `picture`. */
char *export_chart_path(const char *report, char *picture, size_t size);

#endif
