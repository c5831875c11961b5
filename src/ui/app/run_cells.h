/* run_cells.h: what the run table says about a run, column by column. */
#ifndef TINCA_UI_APP_RUN_CELLS_H
#define TINCA_UI_APP_RUN_CELLS_H

#include "ui/shared/run_list.h"
#include "ui/widgets/table.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

enum runs_column {
    RUNS_MARK,
    RUNS_NUMBER,
    RUNS_STATUS,
    RUNS_NETWORK,
    RUNS_TECHNIQUE,
    RUNS_NAME, /* the user's own; there when some run has one */
    RUNS_DATA,
    RUNS_BATCH,
    RUNS_DEVICE,
    RUNS_EPOCHS,
    RUNS_LOSS,
    RUNS_TOP1,
    RUNS_SPEED,
    RUNS_BEGUN,
    RUNS_COLUMNS
};

/* Returns the RUNS_COLUMNS columns with their headings, widths and ranks. */
const struct table_column *runs_table_columns(void);
/* Returns the heading of a column in the user's language. */
const char *runs_heading(enum runs_column column);

/* Writes the cell of run number `index` (app_run_at). Returns `text`. */
char *runs_cell(const struct app *app, size_t index, enum runs_column column, char *text,
                size_t size);
/* Returns whether a column holds figures, by which it is sorted; the others hold words. */
bool runs_is_numeric(enum runs_column column);
/* Returns the figure in a column of figures; NaN: unknown. */
double runs_value(const struct run_entry *entry, enum runs_column column);
/* Returns the words in a column of words, or NULL for other columns. */
const char *runs_text(const struct run_entry *entry, enum runs_column column);

/* Returns whether every word of the search (shared.runs_search) occurs in the run's line, its ID or
 * its name. */
bool runs_match(const struct app *app, size_t index);

/* Returns the run's ID; "": it has not begun. */
const char *runs_id(const struct run_entry *entry);
/* Returns the run's name, or its ID if it has none. */
const char *runs_display_name(const struct run_entry *entry);

#endif
