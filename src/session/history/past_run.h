/* past_run.h: how long the same work took before, on this machine.
 *
 * The same work: network, its rates and widths, technique, groups, batch, device and threads. What
 * is looked through are the kept runs, the newest first, in the background.
 */
#ifndef TINCA_SESSION_HISTORY_PAST_RUN_H
#define TINCA_SESSION_HISTORY_PAST_RUN_H

#include "session/config/config.h"
#include "session/record/run_open.h"

#include <stdbool.h>

struct past_run {
    bool found;
    char id[RUN_ID_SIZE];
    double ms_per_image; /* the median of that run */
    double age_seconds;  /* since it was started; negative: not known */
};

struct past_search;

struct past_search *past_search_begin(const struct run_config *config, struct error *error);
/* True when the search is over, with what it found. */
bool past_search_result(const struct past_search *search, struct past_run *found);
void past_search_drop(struct past_search *search); /* never waits; may be NULL */

/* Whether the two ask for the same work an image. */
bool past_run_is_alike(const struct run_config *a, const struct run_config *b);

/* Whether a kept run tells how long such work takes; fills `found`. `host` is this machine's name,
 * `now` the time. */
bool past_run_matches(const struct run_outline *outline, const struct run_config *config,
                      const char *host, double now, struct past_run *found);

#endif
