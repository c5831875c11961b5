/* form_panel.h: what the form's choice would take: parameters, memory, time, the learning rate over
 * the run, pictures of the data. Where not all of it fits, what matters most is shown. */
#ifndef TINCA_UI_SCREENS_SETUP_FORM_PANEL_H
#define TINCA_UI_SCREENS_SETUP_FORM_PANEL_H

#include "ui/app/app.h"

/* `pictures`: whether the panel shows them too (where they have no place of their own). */
void form_panel_draw(struct app *app, struct rect area, bool pictures);

/* The same in one line. */
void form_panel_draw_summary(struct app *app, struct rect area);

#endif
