/* Runs one export in a thread. The thread writes `written` and `error`, then sets `ended`; the
 * caller reads them after that. */
#include "session/export/export_job.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/threads/thread.h"
#include "session/export/chart.h"
#include "session/export/export.h"
#include "session/export/export_tables.h"
#include "session/record/run_open.h"
#include "session/tensorboard/tensorboard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *export_chart_path(const char *report, char *picture, size_t size)
{
    const char *name = file_base_name(report), *dot = strrchr(name, '.');
    int length = (int)(dot && dot > name ? dot - report : (long)strlen(report));
    snprintf(picture, size, "%.*s.png", length, report);
    return picture;
}

static bool write_chart(struct export_job *job, struct run *const *runs, enum canvas_format format,
                        const char *path)
{
    const struct chart_settings settings = {.format = format};
    return chart_write(runs, job->count, &settings, path, &job->error);
}

static bool write_report(struct export_job *job, struct run *const *runs)
{
    char picture[sizeof job->path + 8];
    bool pictured = job->format == EXPORT_REPORT_PICTURE;
    export_chart_path(job->path, picture, sizeof picture);
    return (!pictured || write_chart(job, runs, CANVAS_PNG, picture)) &&
           job->write_report(runs, job->count, pictured ? picture : NULL, job->path, &job->error);
}

static bool write_runs(struct export_job *job, struct run *const *runs)
{
    switch (job->format) {
    case EXPORT_JSON:
        return export_session(runs, job->count, job->path, &job->error);
    case EXPORT_CSV:
        return export_csv(runs, job->count, job->path, &job->error);
    case EXPORT_CSV_LONG:
        return export_csv_long(runs, job->count, job->path, &job->error);
    case EXPORT_NPZ:
        return export_npz(runs, job->count, job->path, &job->error);
    case EXPORT_TFEVENTS:
        return tensorboard_export(runs, job->count, job->path, &job->error);
    case EXPORT_PNG:
        return write_chart(job, runs, CANVAS_PNG, job->path);
    case EXPORT_SVG:
        return write_chart(job, runs, CANVAS_SVG, job->path);
    case EXPORT_PDF:
        return write_chart(job, runs, CANVAS_PDF, job->path);
    default:
        return write_report(job, runs);
    }
}

static void *work(void *context)
{
    struct export_job *job = context;
    struct run **runs = memory_new(job->count, sizeof *runs, "an export", &job->error);
    bool opened = runs;
    for (size_t i = 0; opened && i < job->count; i++) {
        struct export_item *item = &job->items[i];
        runs[i] = item->run ? item->run : run_open(item->directory, &job->error);
        opened = runs[i];
    }
    job->written = opened && write_runs(job, runs);
    for (size_t i = 0; runs && i < job->count; i++)
        if (!job->items[i].run)
            run_free(runs[i]);
    free(runs);
    atomic_store(&job->ended, true);
    return NULL;
}

static bool create_thread(struct export_job *job, struct error *error)
{
    int code = thread_start(&job->thread, work, job);
    if (code == 0)
        return true;
    return error_set(error, ERROR_SYSTEM, "an export", "end other programs",
                     "no thread can be made: %s", strerror(code));
}

bool export_job_start(struct export_job *job, const struct export_request *request,
                      struct error *error)
{
    const size_t bytes = request->count * sizeof *request->items;
    if (job->on)
        return error_set(error, ERROR_USAGE, request->path, "wait until the other export ends",
                         "another export is still being written");
    if (strlen(request->path) >= sizeof job->path)
        return error_set(error, ERROR_USAGE, "an export", "choose a shorter one",
                         "its path is too long");
    *job = (struct export_job){
        .format = request->format, .count = request->count, .write_report = request->write_report};
    snprintf(job->path, sizeof job->path, "%s", request->path);
    job->items = memory_new(request->count, sizeof *request->items, "an export", error);
    if (!job->items)
        return false;
    memcpy(job->items, request->items, bytes);
    job->on = create_thread(job, error);
    if (!job->on)
        free(job->items);
    return job->on;
}

void export_job_finish(struct export_job *job)
{
    if (!job->on)
        return;
    pthread_join(job->thread, NULL);
    free(job->items);
    job->items = NULL;
    job->on = false;
}

bool export_job_poll(struct export_job *job)
{
    if (!job->on || !atomic_load(&job->ended))
        return false;
    export_job_finish(job);
    return true;
}
