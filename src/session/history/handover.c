/* A process has resumed a run when it holds the lock of the run's folder and has removed the
 * summary of the earlier end (session/training/resume_work.c). It waits in the queue when the file
 * of a place names it; its turn may have come already, and it computes a run. */
#include "session/history/handover.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/threads/detached_task.h"
#include "session/history/run_owner.h"
#include "session/history/run_queue.h"

#include <stdio.h>
#include <stdlib.h>

struct handover {
    struct detached_task *background;
    long process;
    char directory[512]; /* "": the queue */
    bool taken;
};

static bool has_resumed(const struct handover *handover)
{
    struct run_owner owner;
    char *end = file_join(handover->directory, "summary.json");
    const bool taken = run_owner_find(handover->directory, &owner) &&
                       owner.process == handover->process && end && !file_exists(end);
    free(end);
    return taken;
}

static bool has_place(const struct handover *handover)
{
    struct queued_run *list;
    size_t count;
    bool found = false;
    if (!run_queue_list(&list, &count, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        found = found || (list[i].known && list[i].process == handover->process &&
                          run_queue_is_here(&list[i]));
    free(list);
    return found;
}

static bool computes(const struct handover *handover)
{
    struct live_runs live;
    bool found = false;
    run_queue_look(&live);
    for (size_t i = 0; i < live.count && i < RUN_QUEUE_LIVE; i++)
        found = found || live.runs[i].process == handover->process;
    return found;
}

static void work(void *state)
{
    struct handover *handover = state;
    handover->taken =
        handover->directory[0] ? has_resumed(handover) : has_place(handover) || computes(handover);
}

struct handover *handover_look(long process, const char *directory, struct error *error)
{
    struct handover *handover = memory_new(1, sizeof *handover, "a search for a process", error);
    if (!handover)
        return NULL;
    handover->process = process;
    snprintf(handover->directory, sizeof handover->directory, "%s", directory);
    handover->background = detached_task_start(work, free, handover, error);
    if (handover->background)
        return handover;
    free(handover);
    return NULL;
}

bool handover_result(const struct handover *handover, bool *taken)
{
    const bool done = detached_task_is_done(handover->background);
    if (done)
        *taken = handover->taken;
    return done;
}

void handover_drop(struct handover *handover)
{
    if (handover)
        detached_task_drop(handover->background);
}
