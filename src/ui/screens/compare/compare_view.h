/* compare_view.h: drawing of a comparison: table, settings, curves, scatter plot and parallel
 * coordinates. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_VIEW_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_VIEW_H

#include "ui/app/app.h"
#include "ui/screens/compare/compare_model.h"

/* Returns the width of the panel that names the runs beside a plot; 0: it stands elsewhere. */
int compare_panel_columns(int columns);
/* Draws the table, with notes about the selected row below it. */
void compare_draw_table(struct app *app, struct rect area);
/* Returns how many rows the table needs to show everything. */
int compare_table_rows(const struct compare_model *model);
/* Draws the settings in which the runs differ. */
void compare_draw_settings(struct app *app, struct rect area);
/* Draws the curves of all runs and the legend that names them. */
void compare_draw_curves(struct app *app, struct rect area);
/* Draws the scatter plot of two figures, and the selected point's values. */
void compare_draw_scatter(struct app *app, struct rect area);
/* Draws the parallel coordinates. */
void compare_draw_parallel(struct app *app, struct rect area);
/* Returns the colour of a row and of its curve. */
enum role compare_row_role(const struct compare_model *model, size_t row);

#endif
