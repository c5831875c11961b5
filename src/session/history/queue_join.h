/* queue_join.h: takes and gives up places of the queue (run_queue.h) in the background, so that a
 * slow disk delays nobody. */
#ifndef TINCA_SESSION_HISTORY_QUEUE_JOIN_H
#define TINCA_SESSION_HISTORY_QUEUE_JOIN_H

#include "session/history/run_queue.h"

#include <stdbool.h>

struct queue_join;

/* Begins to take the last place for `run`. Returns NULL with an error if no thread can start. */
struct queue_join *queue_join_begin(const struct queued_run *run, struct error *error);

/* Returns whether that is over. If it is, moves the place into *place; its number is 0, with an
 * error, if none could be taken. */
bool queue_join_result(struct queue_join *join, struct run_queue_place *place, struct error *error);

/* Frees the join; never waits for its end. A place that was not moved is given up. NULL is allowed.
 */
void queue_join_drop(struct queue_join *join);

/* Gives a place up in the background, and sets *place to {0}. Does nothing if there is none. */
void queue_join_leave(struct run_queue_place *place);

#endif
