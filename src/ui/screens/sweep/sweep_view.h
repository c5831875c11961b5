/* sweep_draw.h: the three views of the screen Sweep. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_VIEW_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_VIEW_H

#include "ui/app/app.h"
#include "ui/screens/sweep/sweep_model.h"

void sweep_draw_set_up(struct app *app, struct rect area);
void sweep_draw_cells(struct app *app, struct rect area);
void sweep_draw_earlier(struct app *app, struct rect area);

/* How dark the shade of a value is, 0 to 7, between the least and the greatest one of the sweep. */
size_t sweep_shade(const struct sweep *sweep, enum sweep_measure measure, double value);

#endif
