/* study_draw.h: the screen of perceptual studies: the form, the runs, the results. */
#ifndef TINCA_UI_SCREENS_STUDY_STUDY_VIEW_H
#define TINCA_UI_SCREENS_STUDY_STUDY_VIEW_H

#include "ui/screens/study/study_model.h"
#include "ui/terminal/draw.h"

/* Sets model->scroll so that it is within the page, and follows the focus. */
void study_draw(struct study_model *model, struct canvas *canvas, struct rect body);

#endif
