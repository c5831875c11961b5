/* models_view.h: draws the screen Models. */
#ifndef TINCA_UI_SCREENS_MODELS_MODELS_VIEW_H
#define TINCA_UI_SCREENS_MODELS_MODELS_VIEW_H

#include "ui/screens/models/models_model.h"
#include "ui/terminal/layout.h"

/* Draws the whole screen. */
void models_draw(struct app *app, struct rect body);
/* Draws the scatter plot into `area`. */
void models_draw_scatter(struct app *app, struct rect area);
/* Draws the layers of the selected model into `area`. */
void models_draw_layers(struct app *app, struct rect area);

/* Returns the name of a cost, translated. */
const char *models_cost_name(enum models_cost cost);

#endif
