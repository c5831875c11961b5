/* runs_choosers.h: the lists that open above the run table: the field to group by, the saved views,
 * and the columns. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_CHOOSERS_H
#define TINCA_UI_SCREENS_RUNS_RUNS_CHOOSERS_H

#include <stdbool.h>

struct app;
struct key_table;

/* Open the list of fields to group by, the list of saved views, and the list of columns. */
void runs_choose_group(struct app *app);
void runs_choose_view(struct app *app);
void runs_choose_columns(struct app *app);

/* Asks for a name under which filter, columns, order and groups are saved. */
void runs_ask_view_name(struct app *app);

/* Handles a key of the list that is open. Returns false if none is. */
bool runs_choosers_key(struct app *app, int key);

/* Returns the keys of the list that is open, or NULL. */
const struct key_table *runs_choosers_keys(const struct app *app);

/* Draws the list that is open. */
void runs_choosers_draw(struct app *app);

#endif
