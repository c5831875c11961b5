/* The thread fills the result in; the caller reads it once the task is done. The queue is read each
 * time, the names only if the folder has changed. */
#include "session/history/run_listing.h"

#include "base/memory.h"
#include "base/portable/portable.h"
#include "base/threads/detached_task.h"
#include "session/files/run_directory.h"
#include "session/history/run_trash.h"

#include <stdlib.h>
#include <sys/stat.h>

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
static void work(void *state)
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
    listing->background = detached_task_start(work, free_listing, listing, error);
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
