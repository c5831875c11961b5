/* A thread starts this very program as `tinca export` and waits for it, so that neither a folder
 * that was damaged on purpose nor a fault of a chart can end the process that trains. Only a run
 * that the disk refuses is written by the thread itself, because its folder lacks what waits in
 * memory. The thread writes `written` and `error`, then sets `ended`; the caller reads them after
 * that. */
#include "exchange/export_job.h"

#include "base/files/file.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/thread.h"
#include "runs/record/run_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { WORDS = 10 }; /* of the command line, but for the runs */

char *export_chart_path(const char *report, char *picture, size_t size)
{
    const char *name = file_base_name(report), *dot = strrchr(name, '.');
    int length = (int)(dot && dot > name ? dot - report : (long)strlen(report));
    snprintf(picture, size, "%.*s.png", length, report);
    return picture;
}

static bool write_runs(struct export_job *job, struct run *const *runs)
{
    const struct chart_settings settings = {.format = CANVAS_PNG};
    char picture[sizeof job->path + 8];
    export_chart_path(job->path, picture, sizeof picture);
    if (!format_is_report(job->format))
        return format_write_runs(job->format, runs, job->count, &settings, job->path, &job->error);
    return (!job->picture || chart_write(runs, job->count, &settings, picture, &job->error)) &&
           job->write_report(runs, job->count, job->picture ? picture : NULL, job->path,
                             &job->error);
}

/* --- in this process --- */

/* Returns whether a run of this process has values that could not be written to its folder. */
static bool waits_in_memory(const struct export_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        struct run_snapshot snapshot;
        if (!job->items[i].run)
            continue;
        run_snapshot(job->items[i].run, &snapshot);
        if (snapshot.error.kind != ERROR_NONE && snapshot.status != RUN_FAILED &&
            snapshot.status != RUN_REFUSED)
            return true;
    }
    return false;
}

static bool write_here(struct export_job *job)
{
    struct run **runs = memory_new(job->count, sizeof *runs, "an export", &job->error);
    bool opened = runs;
    for (size_t i = 0; opened && i < job->count; i++) {
        struct export_item *item = &job->items[i];
        runs[i] = item->run ? item->run : run_open(item->directory, &job->error);
        opened = runs[i];
    }
    const bool written = opened && write_runs(job, runs);
    for (size_t i = 0; runs && i < job->count; i++)
        if (!job->items[i].run)
            run_free(runs[i]);
    free(runs);
    return written;
}

/* --- in a child process --- */

static bool same_state(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Sets the error from the first line that the child has printed, "tinca: what: why". */
static bool take_message(struct export_job *job, FILE *messages)
{
    static const char name[] = "tinca: ";
    char text[400];
    rewind(messages);
    text[fread(text, 1, sizeof text - 1, messages)] = '\0';
    text[strcspn(text, "\n")] = '\0';
    const bool named = strncmp(text, name, sizeof name - 1) == 0;
    return error_set(&job->error, ERROR_SYSTEM, job->path, NULL, "%s",
                     text[0] ? text + (named ? sizeof name - 1 : 0)
                             : _("it ended without a message"));
}

/* Judges how the child has ended. One that has exported a damaged run as far as it can be read has
 * written the document and failed. */
static bool judge(struct export_job *job, int status, FILE *messages, const struct stat *before)
{
    struct stat after = {0};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        return error_set(&job->error, ERROR_SYSTEM, job->path,
                         N_("tinca runs --check names damaged files"),
                         "signal %d (%s) ended the process that writes it", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    take_message(job, messages);
    return stat(job->path, &after) == 0 && !same_state(before, &after);
}

/* Starts the child and waits for its end. Returns false with an error if it cannot be started. */
static bool run_child(struct export_job *job, const char *const *words, FILE *messages, int *status)
{
    pid_t process;
    const struct spawn spawn = {
        .words = words, .messages = fileno(messages), .group = SPAWN_GROUP_TIED};
    errno = spawn_start(&spawn, &process);
    if (errno != 0)
        return error_set_errno(&job->error, job->path, N_("end other programs first"),
                               "no process can be started");
    while (waitpid(process, status, 0) < 0 && errno == EINTR)
        continue;
    return true;
}

/* Returns the command line, which borrows its words from the job and `picture`; NULL with an error.
 */
static const char **make_words(struct export_job *job, const char *picture)
{
    const char *const first[] = {"tinca", "export", "--format", job->format->name, "-o", job->path};
    size_t count = sizeof first / sizeof *first;
    const char **words = memory_new(job->count + WORDS, sizeof *words, "an export", &job->error);
    if (!words)
        return NULL;
    memcpy(words, first, sizeof first);
    if (job->picture) {
        words[count++] = "--picture";
        words[count++] = picture;
    }
    words[count++] = "--";
    for (size_t i = 0; i < job->count; i++)
        words[count++] = job->items[i].directory;
    return words;
}

/* The child reads the folders of the runs. */
static void flush_runs(const struct export_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->items[i].run)
            run_flush(job->items[i].run);
}

static bool write_in_child(struct export_job *job)
{
    char picture[sizeof job->path + 8];
    struct stat before = {0};
    int status = 0;
    FILE *messages = tmpfile();
    if (!messages)
        return error_set_errno(&job->error, job->path,
                               N_("check the space in the folder of temporary files"),
                               "no temporary file can be made");
    const char **words = make_words(job, export_chart_path(job->path, picture, sizeof picture));
    if (stat(job->path, &before) != 0)
        before = (struct stat){0};
    const bool written =
        words && run_child(job, words, messages, &status) && judge(job, status, messages, &before);
    fclose(messages);
    free(words);
    return written;
}

static void *work(void *context)
{
    struct export_job *job = context;
    flush_runs(job);
    job->written = waits_in_memory(job) ? write_here(job) : write_in_child(job);
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
    if (strlen(request->path) + strlen("./") >= sizeof job->path)
        return error_set(error, ERROR_USAGE, "an export", "choose a shorter one",
                         "its path is too long");
    *job = (struct export_job){.format = request->format,
                               .picture = request->picture,
                               .count = request->count,
                               .write_report = request->write_report};
    /* a file whose name begins with a hyphen, or is one, is no option and no standard output */
    snprintf(job->path, sizeof job->path, "%s%s", request->path[0] == '-' ? "./" : "",
             request->path);
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
