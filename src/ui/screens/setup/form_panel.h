/* form_panel.h: the panel beside the form, which describes the configured run before it starts:
 * parameters, memory, time, learning rate, pictures of the data. If not all parts fit, the most
 * important ones are shown. */
#ifndef TINCA_UI_SCREENS_SETUP_FORM_PANEL_H
#define TINCA_UI_SCREENS_SETUP_FORM_PANEL_H

#include "ui/app/app.h"

/* Draws the panel. `pictures`: it includes the pictures of the data, which do not have their own
 * area. */
void form_panel_draw(struct app *app, struct rect area, bool pictures);

/* Draws the panel's most important values in one line, or a problem that no row of the form
 * explains in as many lines as it takes. Returns the row after. */
int form_panel_draw_summary(struct app *app, struct rect area);

#endif
