/* live_search.h: looks in the background what other processes compute on this machine
 * (run_queue.h), so that a slow disk delays nobody. */
#ifndef TINCA_SESSION_HISTORY_LIVE_SEARCH_H
#define TINCA_SESSION_HISTORY_LIVE_SEARCH_H

#include "base/error.h"
#include "session/history/run_queue.h"

#include <stdbool.h>

struct live_search;

/* Starts to look. Returns NULL with an error if no thread can start. */
struct live_search *live_search_begin(struct error *error);

/* Returns whether the search is over; fills *live if it is. */
bool live_search_result(const struct live_search *search, struct live_runs *live);

/* Frees the search; never waits for its end. NULL is allowed. */
void live_search_drop(struct live_search *search);

#endif
