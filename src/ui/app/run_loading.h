/* run_loading.h: saved runs that threads read in the background
 * (studies/compare/run_reader.h): the list of all runs, an outline of each (settings and last
 * snapshot), and the whole of the run that the user wants to see. Reading never blocks the keyboard
 * for long: each function waits at most a tenth of a second.
 */
#ifndef TINCA_UI_APP_RUN_LOADING_H
#define TINCA_UI_APP_RUN_LOADING_H

#include "ui/app/screen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct app;
struct run_entry;
struct run_listing;
struct run_reader;

typedef void loading_action(struct app *app);

struct run_loading {             /* starts as {0} */
    struct run_listing *listing; /* lists the folder of all runs; NULL: not now */
    bool listed;                 /* it was listed at least once */
    bool reports_errors;         /* the user has asked for the list: a failure is shown */
    struct timespec changed;     /* modification time of that folder when it was listed */
    uint64_t settles;            /* until then (clock_nanoseconds) new runs may lack files */
    loading_action *action;      /* called when the list is complete; NULL: none waits */
    bool outlines_first;         /* `action` also needs the outlines of all runs */
    struct run_reader *session;  /* reads outlines of this session's runs, for `action` */
    struct run_reader *outlines; /* reads outlines of saved runs; NULL: not now */
    size_t taken;                /* results of `outlines` that are in the list already */
    size_t next;                 /* where loading_find_entry looks first */
    struct run_reader *whole;    /* reads the run that is to be shown; NULL: none */
    enum screen_id waiting;      /* screen on which `whole` or `action` waits */
    bool attached;               /* `whole` was requested by `tinca attach` */
};

/* Frees all readers and resets the struct. Threads that still read end on their own. */
void loading_free(struct run_loading *loading);

/* Takes over what the threads have read, calls the waiting action and shows the requested run. */
void loading_step(struct app *app);

/* Returns whether a thread reads something that loading_step must take over soon. */
bool loading_is_busy(const struct app *app);

/* Starts to list the folder of runs. Without `afresh`, a folder whose modification time has not
 * changed is not listed again. */
void loading_list_runs(struct app *app, bool afresh);

/* Returns whether the folder of runs is still being listed. */
bool loading_is_listing(const struct app *app);

/* Lists the runs and then calls `action`: at once if the disk is fast, else as soon as the screen
 * that is in front now is in front again. Esc cancels it. */
void loading_list_runs_then(struct app *app, loading_action *action);

/* Lists the runs, reads the outline and the saved models (entry->models) of each, and then calls
 * `action` as loading_list_runs_then does. */
void loading_read_all_then(struct app *app, loading_action *action);

/* Reads outlines of saved runs that have none yet, the newest first. Returns true if some were read
 * already, so that the caller should call it again at once. */
bool loading_read_outlines(struct app *app);

/* Returns whether outlines are being read now. */
bool loading_is_reading_outlines(const struct app *app);

/* Returns whether the entry is a saved run whose outline was not read yet. */
bool loading_is_unread(const struct run_entry *entry);

/* Returns whether there is a saved run whose outline was not read yet. */
bool loading_any_unread(const struct app *app);

/* Reads a saved run completely and then shows it on the run screen. Esc cancels it. `attached`:
 * `tinca attach` asked for it, so a message says if the run is no longer active. */
void loading_open_run(struct app *app, const struct run_entry *entry, bool attached);

/* Cancels what the screen in front waits for. Returns false if it waits for nothing. */
bool loading_cancel(struct app *app);

/* Returns the saved run in `directory`, or NULL. */
struct run_entry *loading_find_entry(struct app *app, const char *directory);

#endif
