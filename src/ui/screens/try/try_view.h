/* try_draw.h: the views of the screen that tries a model out. */
#ifndef TINCA_UI_SCREENS_TRY_TRY_VIEW_H
#define TINCA_UI_SCREENS_TRY_TRY_VIEW_H

#include "ui/screens/try/try_model.h"
#include "ui/terminal/draw.h"

/* The picture and what the model says of it. */
void try_draw_image(struct try_model *model, struct canvas *canvas, struct rect area);

/* Which class was taken for which, and each class's figures. The cursor stays in sight. */
void try_draw_matrix(struct try_model *model, struct canvas *canvas, struct rect area);

/* One line a class. */
void try_draw_classes(struct try_model *model, struct canvas *canvas, struct rect area);

/* "evaluating 40 of 130", "top-1 97.31 % of 130 images", ...: how the data set stands. */
void try_draw_status(const struct try_model *model, struct canvas *canvas, struct rect area,
                     int row, int column);

#endif
