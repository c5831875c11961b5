/* run_plot.h: the curves of a run with axes, legends and marks. Each unit (loss, percent, learning
 * rate) has its own panel; the panels stand above each other and share the x axis. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_PLOT_H
#define TINCA_UI_SCREENS_RUN_RUN_PLOT_H

#include "ui/app/app.h"

/* Adds the run's new points to the curves, for panels in run->view and run->rate. Call it before
 * each frame, whichever view is in front, because it also computes the smoothed loss. */
void run_plot_update(struct app *app, const struct run_entry *entry, const struct run_layout *run);

/* Draws the panels. */
void run_plot_draw(struct app *app, const struct run_entry *entry, const struct run_layout *run);

/* Returns bits of the traces that are drawn: those chosen, and the learning rate if it has a panel.
 */
unsigned run_plot_traces(const struct app *app, const struct run_entry *entry,
                         const struct run_layout *run);

/* Draws the list in which curves are switched on and off (trace_list.c). */
void trace_list_draw(struct app *app, const struct run_entry *entry, struct rect body);

/* Moves the cursor to the best epoch. */
void run_plot_to_best(struct app *app, const struct run_entry *entry);
/* Moves the cursor to the next finding. */
void run_plot_to_finding(struct app *app, const struct run_entry *entry);
/* Moves the cursor to the next mark of any kind. */
void run_plot_to_mark(struct app *app);

#endif
