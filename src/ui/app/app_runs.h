/* app_runs.h: the loop's part of what the workbench does with runs. */
#ifndef TINCA_UI_APP_APP_RUNS_H
#define TINCA_UI_APP_APP_RUNS_H

struct app;

/* Takes what the runs and the sweep have published, starts what waits, and says what is new. */
void app_poll_runs(struct app *app);

#endif
