/* study_view.h: drawing of the screen Study: the form, the runs, the results. */
#ifndef TINCA_UI_SCREENS_STUDY_STUDY_VIEW_H
#define TINCA_UI_SCREENS_STUDY_STUDY_VIEW_H

#include "ui/screens/study/study_model.h"
#include "ui/terminal/draw.h"

/* Draws the page. Adjusts model->scroll so that the focused line is visible. */
void study_draw(struct study_model *model, struct canvas *canvas, struct rect body);

#endif
