/* Whoever frees the state last, the thread or its starter, gives up a place that nobody has taken
 * over. */
#include "session/history/queue_join.h"

#include "base/memory.h"
#include "base/threads/detached_task.h"

#include <stdlib.h>

struct queue_join {
    struct detached_task *background;
    struct queued_run run;
    struct run_queue_place place;
    struct error error;
};

static void work(void *state)
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
    join->background = detached_task_start(work, free_join, join, error);
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
