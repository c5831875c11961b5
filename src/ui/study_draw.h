/* study_draw.h: the screen of perceptual studies: the form, the runs, the results. */
#ifndef TINCA_UI_STUDY_DRAW_H
#define TINCA_UI_STUDY_DRAW_H

#include "ui/draw.h"
#include "ui/study_view.h"

/* Sets view->scroll so that it is within the page, and follows the focus. */
void study_draw(struct study_view *view, struct canvas *canvas, struct rect body);

#endif
