/* A detached task reads the runs. Outlines of many runs are read by several threads, each of which
 * begins with a share of its own; a result counts as ready once all before it are complete. */
#include "studies/compare/run_reader.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "base/threads/detached_task.h"
#include "base/threads/pool.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_prune.h"
#include "runs/history/follow.h"
#include "runs/history/run_trash.h"
#include "runs/record/run_open.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MANY = 64, THREADS = 4 }; /* from MANY outlines on, THREADS threads wait for the disk */

const char *const run_saved_files[RUN_SAVED_KINDS] = {
    [RUN_SAVED_BEST] = "best.safetensors", [RUN_SAVED_LAST] = "weights.safetensors"};

struct run_reader {
    struct detached_task *background; /* used by the caller's thread alone */
    enum run_depth depth;
    size_t count;
    struct run_read *results;
    atomic_bool *complete; /* of each result */
    size_t ready;          /* results counted so far, by the caller's thread */
    atomic_bool dropped;
};

static void free_reader(void *state)
{
    struct run_reader *reader = state;
    for (size_t i = 0; i < reader->count; i++) {
        run_free(reader->results[i].run);
        compare_files_free(&reader->results[i].files);
        free(reader->results[i].directory);
    }
    free(reader->results);
    free(reader->complete);
    free(reader);
}

/* Opens a run that another process trains, and reads its journal to the end. */
static struct run *open_live(const char *directory, const atomic_bool *dropped, struct error *error)
{
    struct run *run = follow_open(directory, error);
    while (run && !atomic_load(dropped) && follow_step(run) == FOLLOW_MORE) {
    }
    return run;
}

void run_saved_find(const char *directory, bool *saved)
{
    for (size_t kind = 0; kind < RUN_SAVED_KINDS; kind++) {
        char *path = file_join(directory, run_saved_files[kind]);
        saved[kind] = path && file_exists(path);
        free(path);
    }
}

static void read_outline(struct run_read *result)
{
    result->outlined = run_peek(result->directory, &result->outline, &result->error);
    if (!result->outlined)
        return;
    run_name_read(result->directory, result->name);
    run_tags_read(result->directory, result->tags);
    run_note_read(result->directory, result->note);
    run_saved_find(result->directory, result->saved);
    result->disk_bytes = run_disk_bytes(result->directory);
}

static void open_whole(const struct run_reader *reader, struct run_read *result)
{
    result->opened = true;
    read_outline(result);
    if (result->outlined)
        result->run = run_status_is_over(result->outline.snapshot.status)
                          ? run_open(result->directory, &result->error)
                          : open_live(result->directory, &reader->dropped, &result->error);
}

static void read_news(const struct run_reader *reader, struct run_read *result)
{
    enum follow_result step = FOLLOW_MORE;
    run_owner_find(result->directory, &result->owner);
    while (result->run && step == FOLLOW_MORE && !atomic_load(&reader->dropped))
        step = follow_step(result->run);
    run_saved_find(result->directory, result->saved);
    result->disk_bytes = run_disk_bytes(result->directory);
    if (result->run && step != FOLLOW_REOPEN)
        return;
    run_free(result->run);
    result->run = NULL;
    open_whole(reader, result);
}

static void read_one(const struct run_reader *reader, struct run_read *result)
{
    switch (reader->depth) {
    case RUN_DEPTH_ALIVE:
        result->alive = run_directory_is_alive(result->directory);
        break;
    case RUN_DEPTH_OUTLINE:
        read_outline(result);
        break;
    case RUN_DEPTH_WHOLE:
    case RUN_DEPTH_COMPARED:
        if (!result->run)
            open_whole(reader, result);
        if (result->run && reader->depth == RUN_DEPTH_COMPARED)
            compare_read_files(&result->files, run_facts(result->run), &result->files_error);
        break;
    case RUN_DEPTH_UPDATE:
        read_news(reader, result);
        break;
    }
}

static void read_task(void *context, size_t task, size_t thread)
{
    struct run_reader *reader = context;
    (void)thread;
    if (atomic_load(&reader->dropped))
        return;
    read_one(reader, &reader->results[task]);
    atomic_store(&reader->complete[task], true);
}

static void work(void *state)
{
    struct run_reader *reader = state;
    const bool many = reader->depth == RUN_DEPTH_OUTLINE && reader->count >= MANY;
    struct pool *pool = many ? pool_create(THREADS, NULL) : NULL;
    if (pool)
        pool_run(pool, reader->count, read_task, reader);
    for (size_t i = 0; !pool && i < reader->count; i++)
        read_task(reader, i, 0);
    pool_free(pool);
}

static bool copy_directories(struct run_reader *reader, const char *const *directories,
                             size_t count, struct error *error)
{
    reader->results = memory_new(count, sizeof *reader->results, "runs to be read", error);
    reader->complete = memory_new(count, sizeof *reader->complete, "runs to be read", error);
    if (!reader->complete)
        return false;
    for (size_t i = 0; reader->results && i < count; i++) {
        reader->results[i].directory = memory_copy_text(directories[i], error);
        if (!reader->results[i].directory)
            return false;
        reader->count++;
    }
    return reader->results;
}

struct run_reader *run_reader_start_open(enum run_depth depth, const char *const *directories,
                                         struct run *const *runs, size_t count, struct error *error)
{
    struct run_reader *reader = memory_new(1, sizeof *reader, "runs to be read", error);
    if (!reader)
        return NULL;
    reader->depth = depth;
    atomic_init(&reader->dropped, false);
    const bool copied = copy_directories(reader, directories, count, error);
    for (size_t i = 0; copied && runs && i < count; i++)
        if (runs[i])
            reader->results[i].run = run_share(runs[i]);
    if (copied && (reader->background = detached_task_start(work, free_reader, reader, error)))
        return reader;
    free_reader(reader);
    return NULL;
}

struct run_reader *run_reader_start(enum run_depth depth, const char *const *directories,
                                    size_t count, struct error *error)
{
    return run_reader_start_open(depth, directories, NULL, count, error);
}

size_t run_reader_ready(struct run_reader *reader)
{
    while (reader->ready < reader->count && atomic_load(&reader->complete[reader->ready]))
        reader->ready++;
    return reader->ready;
}

bool run_reader_done(const struct run_reader *reader)
{
    return detached_task_is_done(reader->background);
}

bool run_reader_wait(const struct run_reader *reader, double seconds)
{
    return detached_task_wait(reader->background, seconds);
}

struct run_read *run_reader_result(struct run_reader *reader, size_t index)
{
    return &reader->results[index];
}

void run_reader_drop(struct run_reader *reader)
{
    if (!reader)
        return;
    struct detached_task *background = reader->background;
    atomic_store(&reader->dropped, true);
    detached_task_drop(background);
}

/* --- the list of runs --- */

/* The thread fills the result in; the caller reads it once the task is done. The queue is read each
 * time, the names only if the folder has changed. */

struct run_listing {
    struct detached_task *background; /* used by the caller's thread alone */
    bool only_changed;
    struct timespec known;
    struct run_ids result;
    bool queue_read;
    struct queued_run *queue;
    size_t queue_count;
};

static void free_listing(void *state)
{
    struct run_listing *listing = state;
    for (size_t i = 0; i < listing->result.count; i++)
        free(listing->result.ids[i]);
    free(listing->result.ids);
    free(listing->result.home);
    free(listing->queue);
    free(listing);
}

/* Reads the folder. Takes its time before the names, so that a run which is added meanwhile counts
 * as a change the next time. */
static void list_runs(void *state)
{
    struct run_listing *listing = state;
    struct run_ids *result = &listing->result;
    struct stat status;
    result->home = run_directory_home(&result->error);
    if (!result->home)
        return;
    listing->queue_read = run_queue_list(&listing->queue, &listing->queue_count, NULL);
    result->deleted = run_trash_count();
    if (stat(result->home, &status) == 0)
        result->changed = status.st_mtim;
    if (listing->only_changed && result->changed.tv_sec == listing->known.tv_sec &&
        result->changed.tv_nsec == listing->known.tv_nsec)
        return;
    if (!run_directory_list(&result->ids, &result->count, &result->error)) {
        result->ids = NULL;
        result->count = 0;
    }
}

struct run_listing *run_listing_start(const struct timespec *known, struct error *error)
{
    struct run_listing *listing = memory_new(1, sizeof *listing, "the list of runs", error);
    if (!listing)
        return NULL;
    listing->only_changed = known;
    if (known)
        listing->known = *known;
    listing->background = detached_task_start(list_runs, free_listing, listing, error);
    if (listing->background)
        return listing;
    free_listing(listing);
    return NULL;
}

bool run_listing_wait(const struct run_listing *listing, double seconds)
{
    return detached_task_wait(listing->background, seconds);
}

const struct run_ids *run_listing_result(const struct run_listing *listing)
{
    return &listing->result;
}

bool run_listing_take_queue(struct run_listing *listing, struct queued_run **queue, size_t *count)
{
    const bool read = listing->queue_read;
    *queue = listing->queue;
    *count = listing->queue_count;
    listing->queue = NULL;
    listing->queue_read = false;
    return read;
}

void run_listing_drop(struct run_listing *listing)
{
    if (listing)
        detached_task_drop(listing->background);
}
