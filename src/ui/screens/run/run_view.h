/* run_view.h: drawing of the run screen. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_VIEW_H
#define TINCA_UI_SCREENS_RUN_RUN_VIEW_H

#include "ui/terminal/layout.h"

struct app;

/* Draws the shown run: the tabs, the view in front, the run's values and its progress. */
void run_view_draw(struct app *app, struct rect body);

#endif
