/* reading.h: what is being read of the runs in the background (session/history/run_listing.h,
 * run_reader.h): which there are, the outlines of the kept ones, and the one that is to be shown.
 * No key waits for them. */
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
    struct run_listing *listing; /* NULL: the folder of all runs is not being read */
    bool listed;                 /* it has been, once */
    bool asked;                  /* the user is to hear why it cannot be read */
    struct timespec changed;     /* when that folder was changed last */
    uint64_t settles;            /* until then a new run may still be without its files */
    loading_action *then;        /* is called when that is done; NULL: nothing is */
    bool outlines_first;         /* and the outlines are known, too */
    struct run_reader *sitting;  /* those of this sitting's runs, for `then` */
    struct run_reader *outlines; /* NULL: none are being read */
    size_t taken;                /* of the outlines' results */
    struct run_reader *whole;    /* the run that is to be shown; NULL: none */
    enum screen_id from;         /* that, or `then`, waits until this screen is in front */
    bool attached;               /* `tinca attach` asked for it */
};

void loading_free(struct run_loading *view);

/* Takes what has been read, and shows the run that was asked for. */
void loading_step(struct app *app);

/* Whether something is being read. */
bool loading_is_busy(const struct app *app);

/* Looks which runs there are; `afresh`: even if none seems to have been added. */
void loading_list_runs(struct app *app, bool afresh);

/* Returns whether the folder of runs is still being listed. */
bool loading_is_listing(const struct app *app);

/* Calls `then` once it is known which runs there are: at once where the disk is fast, else when the
 * screen that is in front now is there. Esc abandons it. */
void loading_list_runs_then(struct app *app, loading_action *then);

/* The same once their outlines and saved models (entry->models) are known as well. */
void loading_read_all_then(struct app *app, loading_action *then);

/* Reads the kept runs that are not known yet, the newest first. True: call it again at once. */
bool loading_read_outlines(struct app *app);

/* Whether the run is not known yet. */
bool loading_is_unread(const struct run_entry *entry);

/* Whether any kept run is not known yet. */
bool loading_any_unread(const struct app *app);

/* Reads the whole of a kept run and shows it then; Esc abandons that. */
void loading_open_run(struct app *app, const struct run_entry *entry, bool attached);

/* Esc on the screen that waits for a run, or for all. False: none waits. */
bool loading_cancel(struct app *app);

/* The kept run that lies there, or NULL. */
struct run_entry *loading_find_entry(struct app *app, const char *directory);

#endif
