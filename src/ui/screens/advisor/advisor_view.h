/* advisor_view.h: draws the screen Advisor: the form and the answers. */
#ifndef TINCA_UI_SCREENS_ADVISOR_ADVISOR_VIEW_H
#define TINCA_UI_SCREENS_ADVISOR_ADVISOR_VIEW_H

#include "ui/screens/advisor/advisor_model.h"
#include "ui/terminal/draw.h"

/* Draws form and answers. Adjusts model->scroll so that the focused missing run or
 * measurement is visible. */
void advisor_draw(struct advisor_model *model, struct canvas *canvas, struct rect body);

#endif
