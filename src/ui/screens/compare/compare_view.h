/* compare_draw.h: the comparison's table, settings and curves on the screen. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_VIEW_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_VIEW_H

#include "ui/app/app.h"
#include "ui/screens/compare/compare_model.h"

void compare_draw_table(struct app *app, struct rect area);
/* The rows that the table would like to have. */
int compare_table_rows(const struct compare_model *model);
void compare_draw_settings(struct app *app, struct rect area);
void compare_draw_curves(struct app *app, struct rect area);

/* The colour of a row. */
enum role compare_row_role(const struct compare_model *model, size_t row);

#endif
