/* runs_filter_line.h: the line below the run table in which a filter is typed, with completion. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_FILTER_LINE_H
#define TINCA_UI_SCREENS_RUNS_RUNS_FILTER_LINE_H

#include "ui/terminal/layout.h"

#include <stdbool.h>

struct app;

/* Begins to edit the filter, with the present text. */
void runs_filter_begin(struct app *app);

/* Sets the filter. An invalid one is shown with its error; the table keeps the one before. */
void runs_filter_set(struct app *app, const char *text);

/* Handles a key while the filter is edited, and Esc while one is in effect. Returns whether it did.
 */
bool runs_filter_key(struct app *app, int key);

/* Returns how many rows above the line the candidates or the error need; 0: none. */
int runs_filter_rows(const struct app *app, struct rect body);

/* Draws the candidates of the completion, or what is wrong with the filter. */
void runs_filter_draw_candidates(struct app *app, struct rect area);

/* Draws the line. */
void runs_filter_draw(struct app *app, struct rect area);

#endif
