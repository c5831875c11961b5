/* run_view.h: the run screen's drawing. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_VIEW_H
#define TINCA_UI_SCREENS_RUN_RUN_VIEW_H

#include "ui/terminal/layout.h"

struct app;

/* Draws the run that is shown: the view in front, figures, progress and the tabs of the views. */
void run_view_draw(struct app *app, struct rect body);

#endif
