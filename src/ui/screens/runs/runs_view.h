/* runs_view.h: draws the run table: headings, rows with the heads of groups, the line below. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_VIEW_H
#define TINCA_UI_SCREENS_RUNS_RUNS_VIEW_H

#include "ui/terminal/layout.h"

struct app;

/* Draws the table, and the preview beside it where there is room. */
void runs_view_draw(struct app *app, struct rect body);

#endif
