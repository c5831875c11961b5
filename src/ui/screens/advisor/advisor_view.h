/* advisor_draw.h: the advisor's form and its answers. */
#ifndef TINCA_UI_SCREENS_ADVISOR_ADVISOR_VIEW_H
#define TINCA_UI_SCREENS_ADVISOR_ADVISOR_VIEW_H

#include "ui/screens/advisor/advisor_model.h"
#include "ui/terminal/draw.h"

/* Sets model->scroll so that it is within the answer, and follows the focus. */
void advisor_draw(struct advisor_model *model, struct canvas *canvas, struct rect body);

#endif
