/* try_sources.h: the weight files that can be tried: those of this session's runs and of the saved
 * runs, the newest first. */
#ifndef TINCA_UI_SCREENS_TRY_TRY_SOURCES_H
#define TINCA_UI_SCREENS_TRY_TRY_SOURCES_H

#include "ui/screens/try/try_model.h"

struct app;
struct run_entry;

/* Fills in model->sources, at most TRY_SOURCES, from the runs that loading_read_all_then has read.
 * Returns false with an error when there is no memory. */
bool try_sources_find(struct app *app, struct error *error);

/* Fills in the best weights of a run or, if it has none, its last ones. Returns false if the run
 * has saved no weights. */
bool try_source_of_run(const struct run_entry *entry, struct try_source *source);

/* Fills in a file that the user has named. It has no data set. */
void try_source_of_file(const char *path, struct try_source *source);

#endif
