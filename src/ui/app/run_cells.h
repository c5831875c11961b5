/* run_cells.h: what the run table and other lists show of a run: its record (run_field.h), its ID
 * and its name, and whether it matches the filter of the table. */
#ifndef TINCA_UI_APP_RUN_CELLS_H
#define TINCA_UI_APP_RUN_CELLS_H

#include "runs/history/run_field.h"
#include "ui/shared/run_list.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

/* Fills in the record of a run, which borrows from the entry. A saved run whose outline is not read
 * yet has only its ID. */
void runs_record(const struct run_entry *entry, struct run_record *record);

/* Returns whether the run matches the filter of the run table (shared.runs_filter). */
bool runs_match(const struct app *app, size_t index);
/* Returns whether any run that the filter lets pass is marked. */
bool runs_any_marked(const struct app *app);

/* Returns the run's ID; "": the run has not started. */
const char *runs_id(const struct run_entry *entry);
/* Returns the run's name, or its ID if it has none. */
const char *runs_display_name(const struct run_entry *entry);

#endif
