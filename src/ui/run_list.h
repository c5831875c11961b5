/* run_list.h: the runs of this sitting. One trains at a time; the others wait their turn. */
#ifndef TINCA_UI_RUN_LIST_H
#define TINCA_UI_RUN_LIST_H

#include "session/run.h"

#include <stdbool.h>
#include <stddef.h>

struct run_entry {
    struct run_config config;
    struct run_options options;
    struct run *run;  /* NULL: still waiting, or refused */
    bool refused;     /* see `error` */
    bool pause_asked; /* ahead of the snapshot, which learns of it later */
    struct error error;
    struct run_snapshot snapshot; /* as of the last step */
};

struct run_list {
    struct run_entry *entries;
    size_t count, capacity;
};

/* Puts a run at the end. It starts with the next step when nothing else is on. */
bool run_list_add(struct run_list *list, const struct run_config *config,
                  const struct run_options *options, struct error *error);

/* Copies what is new of every run, and starts the next one when none is on. Returns the index of a
 * run that has ended since the last step, or list->count. */
size_t run_list_step(struct run_list *list);

/* The run that is on, or NULL. */
struct run_entry *run_list_active(const struct run_list *list);
bool run_entry_waits(const struct run_entry *entry);
bool run_entry_is_on(const struct run_entry *entry);
const char *run_entry_status(const struct run_entry *entry); /* "waiting", "running", ... */
size_t run_list_waiting(const struct run_list *list);

/* Takes a waiting run out. False when it does not wait. */
bool run_list_remove(struct run_list *list, size_t index);

/* Drops what waits and tells the run that is on to stop. */
void run_list_stop(struct run_list *list, enum run_command command);

/* Waits for what is on, and frees everything. */
void run_list_free(struct run_list *list);

/* The started runs, for an export; `runs` holds list->count. Returns how many. */
size_t run_list_started(const struct run_list *list, struct run **runs);

#endif
