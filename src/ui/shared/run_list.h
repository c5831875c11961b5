/* run_list.h: the runs of this sitting, of which one trains at a time while the others wait their
 * turn; and, in a list of their own, the kept runs of earlier ones, which are only looked at. */
#ifndef TINCA_UI_SHARED_RUN_LIST_H
#define TINCA_UI_SHARED_RUN_LIST_H

#include "session/files/run_name.h"
#include "session/history/run_owner.h"
#include "session/history/run_reader.h"
#include "session/run/run_start.h"

#include <stdbool.h>
#include <stddef.h>

struct run_entry {
    struct run_config config;
    struct run_options options;
    struct run *run;          /* NULL: still waiting, refused, or kept and not opened yet */
    bool refused;             /* see `error`; kept: it cannot be read */
    bool deletion_candidate;  /* the question in sight is whether to delete it */
    bool marked;              /* for a comparison, an export or deletion */
    char name[RUN_NAME_SIZE]; /* the user's own for it; "": none, or not read yet */
    bool pause_asked;         /* ahead of the snapshot, which learns of it later */
    struct error error;
    struct run_snapshot snapshot; /* as of the last step */

    char resumes[512];            /* where the run lies that this one goes on with; "": a new one */
    char directory[512];          /* kept: where it lies; else "" */
    bool outline_known;           /* kept: config and snapshot are there */
    bool outdated;                /* kept: they are to be read again */
    bool models[RUN_SAVED_KINDS]; /* which models are there, as of the last look (run_reader.h) */
    char imported[16]; /* the framework whose log it was taken from; "": none, or not read yet */

    bool live;              /* kept: another process has it, and it is not over */
    bool followed;          /* kept: its journal has been read to where it grows (others.h) */
    struct run_owner owner; /* of a live one, as of the last look */
    bool reopen_due;        /* kept: another process goes on with it; `run` is out of date */
};

struct run_list {
    struct run_entry *entries;
    size_t count, capacity;
};

/* Puts a run at the end. It starts with the next step when nothing else is on. */
bool run_list_add(struct run_list *list, const struct run_config *config,
                  const struct run_options *options, struct error *error);

/* The same for a run that is to go on in its directory (session/run/resume.h). */
bool run_list_resume(struct run_list *list, const struct run_config *config, const char *directory,
                     struct error *error);

/* Copies what is new of every run, and starts the next one when none is on. Returns the index of a
 * run that has ended since the last step, or list->count. */
size_t run_list_step(struct run_list *list);

/* The run that is on, or NULL. */
struct run_entry *run_list_active(const struct run_list *list);
bool run_entry_is_waiting(const struct run_entry *entry);
bool run_entry_is_active(const struct run_entry *entry);
const char *run_entry_status(const struct run_entry *entry); /* "waiting", "running", ... */
size_t run_list_waiting(const struct run_list *list);

/* Takes a waiting run out. False when it does not wait. */
bool run_list_remove(struct run_list *list, size_t index);

/* Frees a run that is not on and takes it out of the list; its files stay. */
void run_list_drop(struct run_list *list, size_t index);

/* The directory of a run that has one, or NULL. */
const char *run_entry_directory(const struct run_entry *entry);

/* Drops what waits and tells the run that is on to stop. */
void run_list_stop(struct run_list *list, enum run_command command);

/* Waits for what is on, and frees everything. */
void run_list_free(struct run_list *list);

/* The started runs, for an export; `runs` holds list->count. Returns how many. */
size_t run_list_started(const struct run_list *list, struct run **runs);

/* --- kept runs --- */

bool run_entry_is_saved(const struct run_entry *entry);

/* Adds the runs `ids` (sorted) of the folder `home` that are not in the list yet and are none of
 * this sitting's; nothing of them is read yet. Those that were not over when they were read will be
 * read again. */
bool run_list_add_saved_ids(struct run_list *kept, const struct run_list *sitting, const char *home,
                            char *const *ids, size_t count, struct error *error);

/* Adds one that lies elsewhere. */
bool run_list_add_saved(struct run_list *kept, const char *directory, struct error *error);

/* Takes over what a reader has read of a kept run; curves that it has read are the entry's from
 * then on, in the place of those that were there. */
void run_entry_update(struct run_entry *entry, struct run_read *read);

/* Forgets the curves of a kept run. */
void run_entry_unload_curves(struct run_entry *entry);

#endif
