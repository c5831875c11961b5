/* past_run.h: finds out how long the same work took in an earlier run on this machine.
 *
 * The work is the same if network, rates, widths, technique, groups, batch, device and threads are.
 * A search goes through the stored runs in the background, newest first.
 */
#ifndef TINCA_RUNS_HISTORY_PAST_RUN_H
#define TINCA_RUNS_HISTORY_PAST_RUN_H

#include "runs/record/run_open.h"
#include "runs/settings/config.h"

#include <stdbool.h>

struct past_run {
    bool found;
    char id[RUN_ID_SIZE];
    double ms_per_image; /* the median of that run */
    double age_seconds;  /* since it was started; negative: not known */
};

struct past_search;

/* Starts a search. Returns NULL with an error if no thread can start. */
struct past_search *past_search_begin(const struct run_config *config, struct error *error);

/* Returns whether the search is over; fills *found if it is. */
bool past_search_result(const struct past_search *search, struct past_run *found);

/* Cancels the search. Never waits. NULL is allowed. */
void past_search_drop(struct past_search *search);

/* Returns whether two configurations need the same work per image. */
bool past_run_is_alike(const struct run_config *a, const struct run_config *b);

/* Returns whether a stored run is complete and did the work of `config` on this machine; fills
 * *found if so. `host` is this machine's name, `now` the time in seconds since 1970. */
bool past_run_matches(const struct run_outline *outline, const struct run_config *config,
                      const char *host, double now, struct past_run *found);

#endif
