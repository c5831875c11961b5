/* runs_pruning.h: deletes weights of runs that are no longer needed. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_PRUNING_H
#define TINCA_UI_SCREENS_RUNS_RUNS_PRUNING_H

#include <stddef.h>

struct app;

/* Asks which weights the marked runs that the table shows or, if none is marked, run number `index`
 * (app_run_at) shall keep, and says how much each answer frees. */
void runs_ask_pruning(struct app *app, size_t index);

#endif
