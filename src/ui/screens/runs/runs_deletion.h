/* runs_deletion.h: deletes runs and restores them. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_DELETION_H
#define TINCA_UI_SCREENS_RUNS_RUNS_DELETION_H

#include <stddef.h>

struct app;

/* Removes a waiting run from the queue. For a run with files, asks whether to delete the marked
 * runs that the table shows or, if none is marked, run number `index` (app_run_at). */
void runs_ask_deletion(struct app *app, size_t index);

/* Undoes the last change of a label or the last deletion, whichever came later. Without a change in
 * this session it restores the last deletion from the trash. */
void runs_undo_last(struct app *app);

/* Asks whether to remove all deleted runs for good. */
void runs_ask_empty_trash(struct app *app);

#endif
