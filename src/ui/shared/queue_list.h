/* queue_list.h: what waits in the queue of other processes (session/history/run_queue.h), as
 * entries of the list of runs. A new run that waits has an entry of its own here; one that waits to
 * be resumed is marked in the list of saved runs. */
#ifndef TINCA_UI_SHARED_QUEUE_LIST_H
#define TINCA_UI_SHARED_QUEUE_LIST_H

#include "ui/shared/run_list.h"

struct queue_list {            /* starts as {0} */
    struct queued_run *places; /* of all processes, first come first */
    size_t count;
    struct run_list runs; /* the new runs of other processes, in their order */
};

/* Replaces the places by those that were read now, and marks the saved runs that wait. Takes
 * ownership of `places`. Returns whether something has changed. */
bool queue_list_take(struct queue_list *list, struct run_list *saved, struct queued_run *places,
                     size_t count);

/* Returns the place of an entry that waits in another process, or NULL. */
const struct queued_run *queue_list_place(const struct queue_list *list,
                                          const struct run_entry *entry);

void queue_list_free(struct queue_list *list);

#endif
