/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_APP_INTERNAL_H
#define TINCA_UI_APP_INTERNAL_H

#include <stdbool.h>

/* --- app_runs.c --- */

/* The event loop polls the runs of this session. */

struct app;

/* Copies the newest snapshots of the session's runs, starts the next run of the queue or of the
 * sweep, and shows what has changed as messages. */
void app_poll_runs(struct app *app);

/* --- background.c --- */

/* Work between two frames: it reads saved runs, and calls the screens' `work` functions
 * (measurements, for example), which continue while another screen is in front. */

struct app;

/* Lets the readers and every screen do a little work. Returns whether a screen wants to be called
 * again at once. */
bool background_step(struct app *app);

/* Returns in how many seconds background_step must be called again; INFINITY: only after the next
 * key. */
double background_seconds_to_next(const struct app *app);

#endif
