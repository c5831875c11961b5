/* queue_background.h: looks at the queue (run_queue.h) and takes and gives up its places in the
 * background, so that a slow disk delays nobody. */
#ifndef TINCA_RUNS_HISTORY_QUEUE_BACKGROUND_H
#define TINCA_RUNS_HISTORY_QUEUE_BACKGROUND_H

#include "base/error.h"
#include "runs/history/run_queue.h"

#include <stdbool.h>

/* --- a place of this process --- */

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

/* --- what other processes compute --- */

struct live_search;

/* Starts to look: at the live runs (live_search_result) or, with a `place`, whether it is that
 * place's turn (live_search_turn). Returns NULL with an error if no thread can start. */
struct live_search *live_search_begin(const struct run_queue_place *place, struct error *error);

/* Returns whether the search is over; fills *live if it is. */
bool live_search_result(const struct live_search *search, struct live_runs *live);

/* Returns whether the search is over. If it is, sets *turn to whether the place's turn has come,
 * and fills `id` as run_queue_is_turn does. */
bool live_search_turn(const struct live_search *search, bool *turn, char *id);

/* Frees the search; never waits for its end. NULL is allowed. */
void live_search_drop(struct live_search *search);

/* --- whether another process has taken a run over: computes it, or waits for it --- */

struct handover;

/* Begins to look whether `process` has resumed the run in `directory` or, if that is "", has a
 * place in the queue. Returns NULL with an error if no thread can start. */
struct handover *handover_look(long process, const char *directory, struct error *error);

/* Returns whether the look is over; sets *taken to whether the process has taken over. */
bool handover_result(const struct handover *handover, bool *taken);

/* Frees the look; never waits for its end. NULL is allowed. */
void handover_drop(struct handover *handover);

#endif
