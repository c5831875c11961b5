/* Whoever frees the state last, the thread or its starter, gives up a place that nobody has taken
 * over. */
#include "runs/history/queue_background.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/threads/detached_task.h"
#include "runs/history/run_owner.h"
#include "runs/history/run_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct queue_join {
    struct detached_task *background;
    struct queued_run run;
    struct run_queue_place place;
    struct error error;
};

static void join_queue(void *state)
{
    struct queue_join *join = state;
    run_queue_join(&join->place, &join->run, &join->error);
}

static void free_join(void *state)
{
    struct queue_join *join = state;
    run_queue_leave(&join->place);
    free(join);
}

struct queue_join *queue_join_begin(const struct queued_run *run, struct error *error)
{
    struct queue_join *join = memory_new(1, sizeof *join, "the queue", error);
    if (!join)
        return NULL;
    join->run = *run;
    join->background = detached_task_start(join_queue, free_join, join, error);
    if (join->background)
        return join;
    free(join);
    return NULL;
}

bool queue_join_result(struct queue_join *join, struct run_queue_place *place, struct error *error)
{
    if (!detached_task_is_done(join->background))
        return false;
    *place = join->place;
    *error = join->error;
    join->place = (struct run_queue_place){.descriptor = -1};
    return true;
}

void queue_join_drop(struct queue_join *join)
{
    if (join)
        detached_task_drop(join->background);
}

/* --- leaving --- */

static void leave(void *state)
{
    run_queue_leave(state);
}

void queue_join_leave(struct run_queue_place *place)
{
    if (place->number == 0)
        return;
    struct run_queue_place *copy = memory_new(1, sizeof *copy, "the queue", NULL);
    struct detached_task *task = NULL;
    if (copy) {
        *copy = *place;
        task = detached_task_start(leave, free, copy, NULL);
    }
    if (task) {
        detached_task_drop(task);
        *place = (struct run_queue_place){.descriptor = -1};
        return;
    }
    free(copy);
    run_queue_leave(place);
}

/* --- what other processes compute --- */

struct live_search {
    struct detached_task *background;
    struct run_queue_place place; /* number 0: none */
    struct live_runs live;
    bool turn;
    char id[RUN_ID_SIZE];
};

static void look(void *state)
{
    struct live_search *search = state;
    struct error error; /* a queue that cannot be locked now is looked at again */
    if (search->place.number > 0)
        search->turn = run_queue_is_turn(&search->place, search->id, &error);
    else
        run_queue_look(&search->live);
}

struct live_search *live_search_begin(const struct run_queue_place *place, struct error *error)
{
    struct live_search *search = memory_new(1, sizeof *search, "a search for live runs", error);
    if (!search)
        return NULL;
    search->place = place ? *place : (struct run_queue_place){0};
    search->background = detached_task_start(look, free, search, error);
    if (search->background)
        return search;
    free(search);
    return NULL;
}

bool live_search_result(const struct live_search *search, struct live_runs *live)
{
    const bool done = detached_task_is_done(search->background);
    if (done)
        *live = search->live;
    return done;
}

bool live_search_turn(const struct live_search *search, bool *turn, char *id)
{
    const bool done = detached_task_is_done(search->background);
    if (done) {
        *turn = search->turn;
        memcpy(id, search->id, RUN_ID_SIZE);
    }
    return done;
}

void live_search_drop(struct live_search *search)
{
    if (search)
        detached_task_drop(search->background);
}

/* --- whether another process has taken a run over --- */

/* A process has resumed a run when it holds the lock of the run's folder and has removed the
 * summary of the earlier end (training/resume_work.c). It waits in the queue when the file
 * of a place names it; its turn may have come already, and it computes a run. */

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

static void look_for_process(void *state)
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
    handover->background = detached_task_start(look_for_process, free, handover, error);
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
