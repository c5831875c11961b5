/* sweep_view.h: drawing of the three views of the screen Sweep. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_VIEW_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_VIEW_H

#include "ui/app/app.h"
#include "ui/screens/sweep/sweep_model.h"

/* Draws the set-up and a summary of the planned sweep. */
void sweep_draw_set_up(struct app *app, struct rect area);
/* Draws the cells of the open sweep as a table, and the selected cell's details. */
void sweep_draw_cells(struct app *app, struct rect area);
/* Draws the list of saved sweeps. */
void sweep_draw_earlier(struct app *app, struct rect area);

/* Returns the shade of a value, from 0 for the least to 7 for the greatest value of the sweep. */
size_t sweep_shade(const struct sweep *sweep, enum sweep_measure measure, double value);

#endif
