/* runs_list.h: the runs of the folder of all runs as `tinca runs` shows, sorts, deletes and prunes
 * them. Functions that return int return the exit status. Not thread-safe. */
#ifndef TINCA_CLI_RUNS_LIST_H
#define TINCA_CLI_RUNS_LIST_H

#include "runs/folder/run_name.h"
#include "runs/history/run_filter.h"
#include "runs/history/run_queue.h"
#include "runs/values/run_facts.h"

#include <stdbool.h>
#include <stddef.h>

/* A run with everything that a row, the filter and the order read. Its curves are freed. */
struct listed_run {
    char *id, *directory;
    bool read; /* else `error` says why not, and only ID, directory and status are valid */
    struct error error;
    struct run_config config;
    struct run_facts facts;
    struct run_snapshot snapshot;
    char name[RUN_NAME_SIZE], tags[RUN_TAGS_SIZE], note[RUN_NOTE_SIZE];
    const struct queued_run *queued; /* its place in the queue, to be resumed; NULL: none */
    size_t place;                    /* the rank of that place, from 1 */
    struct run_record record;        /* borrows from the above */
};

/* Runs that match, and what else the list shows. */
struct runs_list {
    struct listed_run **runs;
    size_t count;
    bool disk;                 /* record.disk_bytes is known */
    size_t all;                /* runs of the folder, whether they match or not */
    char **incomplete;         /* folders in which no run began */
    size_t incomplete_count;   /* 0 with a filter */
    struct queued_run *queued; /* what waits */
    size_t queued_count;
};

/* Reads the runs that match; with `disk`, or if the filter needs it, also the space that each
 * takes. Returns false with an error if the folder cannot be listed. runs_list_free frees the list
 * in any case. */
bool runs_list_read(struct runs_list *list, const struct run_filter *filter, bool disk,
                    struct error *error);
void runs_list_free(struct runs_list *list);

/* Sorts by a field of run_field.h. Unknown values come last. */
void runs_list_sort(struct runs_list *list, size_t field, bool backwards);

/* Prints the runs as one JSON document. */
int runs_list_print_json(const struct runs_list *list, const struct run_filter *filter);

/* Prints the runs as a table; with `disk` also the space that each takes, and the sums. A group of
 * seeds is one row; its runs have rows of their own only with `members`. */
int runs_list_print(const struct runs_list *list, const struct run_filter *filter, bool disk,
                    bool members);

/* Says that no run matches, or that there is none. */
void runs_list_print_none(const struct runs_list *list);

#endif
