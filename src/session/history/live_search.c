#include "session/history/live_search.h"

#include "base/memory.h"
#include "base/threads/detached_task.h"

#include <stdlib.h>

struct live_search {
    struct detached_task *background;
    struct live_runs live;
};

static void work(void *state)
{
    struct live_search *search = state;
    run_queue_look(&search->live);
}

struct live_search *live_search_begin(struct error *error)
{
    struct live_search *search = memory_new(1, sizeof *search, "a search for live runs", error);
    if (!search)
        return NULL;
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

void live_search_drop(struct live_search *search)
{
    if (search)
        detached_task_drop(search->background);
}
