/* run_listing.h: the IDs of all runs, read in a thread of their own, so that no key waits for a
 * slow disk. */
#ifndef TINCA_SESSION_HISTORY_RUN_LISTING_H
#define TINCA_SESSION_HISTORY_RUN_LISTING_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct run_listing;

struct run_ids {
    char *home; /* the folder of all runs; NULL: see `error` */
    char **ids; /* oldest first; NULL: nothing has changed since `known` */
    size_t count;
    struct timespec changed; /* when a run was last added to the folder or taken away */
    struct error error;
};

/* Begins to read the folder of all runs; `known`: only if it has changed since then (NULL: in any
 * case). Returns NULL with an error when there can be no thread. */
struct run_listing *run_listing_start(const struct timespec *known, struct error *error);

/* Returns whether it is complete; false when `seconds` have passed without. */
bool run_listing_wait(const struct run_listing *listing, double seconds);

/* Returns what was read, once it is complete; it lives as long as the listing. */
const struct run_ids *run_listing_result(const struct run_listing *listing);

/* Lets go of it; never waits. May be NULL. */
void run_listing_drop(struct run_listing *listing);

#endif
