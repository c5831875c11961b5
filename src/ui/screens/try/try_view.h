/* try_view.h: drawing of the views of the screen Try it. */
#ifndef TINCA_UI_SCREENS_TRY_TRY_VIEW_H
#define TINCA_UI_SCREENS_TRY_TRY_VIEW_H

#include "ui/screens/try/try_model.h"
#include "ui/terminal/draw.h"

/* Draws the image and the model's result for it. */
void try_draw_image(struct try_model *model, struct canvas *canvas, struct rect area);

/* Draws the confusion matrix and each class's accuracy, scrolled so that the cursor is visible. */
void try_draw_matrix(struct try_model *model, struct canvas *canvas, struct rect area);

/* Draws one line for each class. */
void try_draw_classes(struct try_model *model, struct canvas *canvas, struct rect area);

/* Draws the state of the evaluation: "evaluating 40 of 130", "top-1 97.31 % of 130 images", ... */
void try_draw_status(const struct try_model *model, struct canvas *canvas, struct rect area,
                     int row, int column);

#endif
