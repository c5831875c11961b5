/* The small parts of struct shared: jobs of the disk, the log, the queue of all processes. */
#include "ui/shared/shared.h"

#include "base/threads/detached_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool disk_jobs_start(struct disk_jobs *jobs, void (*work)(void *state),
                     void (*done)(struct app *app, void *state), void *state, struct error *error)
{
    size_t i = 0;
    while (i < DISK_JOBS && jobs->jobs[i].task)
        i++;
    struct detached_task *task =
        i < DISK_JOBS ? detached_task_start(work, free, state, error) : NULL;
    if (task) {
        jobs->jobs[i] = (struct disk_job){.task = task, .state = state, .done = done};
        return true;
    }
    free(state);
    return i < DISK_JOBS ? false
                         : error_set(error, ERROR_SYSTEM, "the disk", "try again in a moment",
                                     "it has not answered to earlier keys yet");
}

void disk_jobs_step(struct disk_jobs *jobs, struct app *app, double seconds)
{
    for (size_t i = 0; i < DISK_JOBS; i++) {
        const struct disk_job job = jobs->jobs[i];
        if (!job.task || !detached_task_wait(job.task, seconds))
            continue;
        jobs->jobs[i] = (struct disk_job){0}; /* before `done`, which may start another one */
        if (job.done)
            job.done(app, job.state);
        detached_task_drop(job.task);
    }
}

bool disk_jobs_busy(const struct disk_jobs *jobs)
{
    bool busy = false;
    for (size_t i = 0; i < DISK_JOBS; i++)
        busy = busy || jobs->jobs[i].task;
    return busy;
}

void disk_jobs_drop(struct disk_jobs *jobs)
{
    for (size_t i = 0; i < DISK_JOBS; i++)
        detached_task_drop(jobs->jobs[i].task);
    *jobs = (struct disk_jobs){0};
}

/* --- log model --- */

void log_add(struct log *log, enum role role, const char *text)
{
    size_t place = (log->first + log->count) % LOG_LINES;
    if (log->count < LOG_LINES)
        log->count++;
    else {
        log->first = (log->first + 1) % LOG_LINES;
    }
    struct log_line *line = &log->lines[place];
    *line = (struct log_line){.when = time(NULL), .role = role};
    snprintf(line->text, sizeof line->text, "%s", text);
}

void log_set_run_directory(struct log *log, const char *directory)
{
    if (log->count == 0 || !directory)
        return;
    struct log_line *line = &log->lines[(log->first + log->count - 1) % LOG_LINES];
    snprintf(line->directory, sizeof line->directory, "%s", directory);
}

const struct log_line *log_line(const struct log *log, size_t n)
{
    return &log->lines[(log->first + n) % LOG_LINES];
}

bool log_matches(const struct log_line *line, const char *search)
{
    return !search[0] || strcasestr(line->text, search);
}

/* --- queue list ---
 *
 * Places change rarely: the entries are made again only then. */

static bool is_own(const struct queued_run *place)
{
    return place->known && place->process == (long)getpid() && run_queue_is_here(place);
}

static bool is_resumed(const struct queued_run *place)
{
    return place->known && place->kind == QUEUED_RESUME;
}

static bool same_places(const struct queue_list *list, const struct queued_run *places,
                        size_t count)
{
    bool same = list->count == count;
    for (size_t i = 0; same && i < count; i++)
        same = list->places[i].place == places[i].place &&
               list->places[i].process == places[i].process;
    return same;
}

/* Marks an entry as waiting at the place of this rank. */
static void mark(struct run_entry *entry, const struct queued_run *place, size_t rank)
{
    struct error error;
    entry->queue.rank = rank;
    entry->queue.stops = run_queue_may_stop(place, &error);
}

/* Makes the entries of the new runs. One that memory is short for is missing until the next
 * change. */
static void make_entries(struct queue_list *list)
{
    run_list_free(&list->runs);
    for (size_t i = 0; i < list->count; i++) {
        const struct queued_run *place = &list->places[i];
        if (is_own(place) || is_resumed(place) ||
            !run_list_add(&list->runs, &place->config, NULL, NULL))
            continue;
        mark(&list->runs.entries[list->runs.count - 1], place, i + 1);
    }
}

/* Returns the rank of the place at which another process waits to resume the run; 0: none does. */
static size_t rank_of(const struct queue_list *list, const char *directory)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_resumed(&list->places[i]) && !is_own(&list->places[i]) &&
            strcmp(list->places[i].directory, directory) == 0)
            return i + 1;
    return 0;
}

static bool mark_saved(const struct queue_list *list, struct run_list *saved)
{
    bool changed = false;
    for (size_t i = 0; i < saved->count; i++) {
        struct run_entry *entry = &saved->entries[i];
        const size_t rank = list->count > 0 ? rank_of(list, entry->directory) : 0;
        changed = changed || rank != entry->queue.rank;
        entry->queue.rank = 0;
        if (rank > 0)
            mark(entry, &list->places[rank - 1], rank);
    }
    return changed;
}

bool queue_list_take(struct queue_list *list, struct run_list *saved, struct queued_run *places,
                     size_t count)
{
    bool changed = !same_places(list, places, count);
    free(list->places);
    list->places = places;
    list->count = count;
    if (changed)
        make_entries(list);
    return mark_saved(list, saved) || changed;
}

const struct queued_run *queue_list_place(const struct queue_list *list,
                                          const struct run_entry *entry)
{
    const size_t rank = entry ? entry->queue.rank : 0;
    return rank > 0 && rank <= list->count ? &list->places[rank - 1] : NULL;
}

void queue_list_free(struct queue_list *list)
{
    run_list_free(&list->runs);
    free(list->places);
    *list = (struct queue_list){0};
}
