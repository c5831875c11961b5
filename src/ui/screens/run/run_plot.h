/* run_plot.h: a run's curves with their axes, legends and marks: a plot for each unit, above each
 * other on one x axis. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_PLOT_H
#define TINCA_UI_SCREENS_RUN_RUN_PLOT_H

#include "ui/app/app.h"

/* Takes in what is new of the run, for plots in `view` and, where there is room for it, `rate`. To
 * be called before each frame, whatever it shows: the smoothed loss comes from here. */
void run_plot_update(struct app *app, const struct run_entry *entry, const struct run_layout *run);

/* Draws what was gathered. */
void run_plot_draw(struct app *app, const struct run_entry *entry, const struct run_layout *run);

/* The curves that are drawn: those chosen, and the learning rate where it has a strip of its own.
 */
unsigned run_plot_traces(const struct app *app, const struct run_entry *entry,
                         const struct run_layout *run);

/* The list in which curves are switched on and off. */
void trace_list_draw(struct app *app, const struct run_entry *entry, struct rect body);

/* Keys: to the best epoch, to the next finding. */
void run_plot_to_best(struct app *app, const struct run_entry *entry);
void run_plot_to_finding(struct app *app, const struct run_entry *entry);

#endif
