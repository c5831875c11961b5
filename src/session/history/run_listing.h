/* run_listing.h: lists the IDs of all runs and what waits in the queue, and counts the runs in the
 * trash, in a separate thread, so that a slow disk delays no key.
 */
#ifndef TINCA_SESSION_HISTORY_RUN_LISTING_H
#define TINCA_SESSION_HISTORY_RUN_LISTING_H

#include "base/error.h"
#include "session/history/run_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct run_listing;

struct run_ids {
    char *home; /* the folder of all runs; NULL: `error` says why it is unknown */
    char **ids; /* oldest first; NULL: the folder has not changed since `known` */
    size_t count;
    size_t deleted;          /* runs in the trash */
    struct timespec changed; /* when a run was last added to the folder or taken away */
    struct error error;
};

/* Begins to read the folder of all runs, if it has changed since `known` (NULL: in any case).
 * Returns NULL with an error if no thread can start. */
struct run_listing *run_listing_start(const struct timespec *known, struct error *error);

/* Waits until the listing is complete or `seconds` have passed; returns whether it is complete. */
bool run_listing_wait(const struct run_listing *listing, double seconds);

/* Returns the result of a complete listing; it lives as long as the listing. */
const struct run_ids *run_listing_result(const struct run_listing *listing);

/* Hands over what waits in the queue: the caller frees *queue. Returns false if it could not be
 * read, or was handed over before. */
bool run_listing_take_queue(struct run_listing *listing, struct queued_run **queue, size_t *count);

/* Cancels the listing and frees its result. Never waits. NULL is allowed. */
void run_listing_drop(struct run_listing *listing);

#endif
