#include "session/history/live_search.h"

#include "base/memory.h"
#include "base/threads/detached_task.h"

#include <stdlib.h>
#include <string.h>

struct live_search {
    struct detached_task *background;
    struct run_queue_place place; /* number 0: none */
    struct live_runs live;
    bool turn;
    char id[RUN_ID_SIZE];
};

static void work(void *state)
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
    search->background = detached_task_start(work, free, search, error);
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
