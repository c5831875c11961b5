/* advisor_draw.h: the advisor's form and its answers. */
#ifndef TINCA_UI_ADVISOR_DRAW_H
#define TINCA_UI_ADVISOR_DRAW_H

#include "ui/advisor_view.h"
#include "ui/draw.h"

/* Sets view->scroll so that it is within the answer, and follows the focus. */
void advisor_draw(struct advisor_view *view, struct canvas *canvas, struct rect body);

#endif
