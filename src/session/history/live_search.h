/* live_search.h: looks in the background what other processes compute on this machine
 * (run_queue.h), so that a slow disk delays nobody. */
#ifndef TINCA_SESSION_HISTORY_LIVE_SEARCH_H
#define TINCA_SESSION_HISTORY_LIVE_SEARCH_H

#include "base/error.h"
#include "session/history/run_queue.h"

#include <stdbool.h>

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

#endif
