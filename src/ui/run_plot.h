/* run_plot.h: a run's curves with their axes, legend and marks. */
#ifndef TINCA_UI_RUN_PLOT_H
#define TINCA_UI_RUN_PLOT_H

#include "ui/app.h"

/* Takes in what is new of the run, for a plot in `view`. To be called before each frame, whatever
 * it shows: the smoothed loss comes from here. */
void run_plot_gather(struct app *app, const struct run_entry *entry, struct rect view);

/* Draws the chosen picture (app->run.picture) into `view` and, where `rate` has room, the learning
 * rate below it. */
void run_plot_draw(struct app *app, struct run_entry *entry, struct rect view, struct rect rate);

/* The next picture of what this run has: its losses together, one of them, its accuracy. Returns
 * its name. */
const char *run_plot_next(struct app *app, const struct run_entry *entry);

#endif
