/* app_runs.h: the event loop polls the runs of this session. */
#ifndef TINCA_UI_APP_APP_RUNS_H
#define TINCA_UI_APP_APP_RUNS_H

struct app;

/* Copies the newest snapshots of the session's runs, starts the next run of the queue or of the
 * sweep, and shows what has changed as messages. */
void app_poll_runs(struct app *app);

#endif
