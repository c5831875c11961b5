/* try_sources.h: which files of weights there are to try: those of this session's and the kept
 * runs, the newest first. */
#ifndef TINCA_UI_SCREENS_TRY_TRY_SOURCES_H
#define TINCA_UI_SCREENS_TRY_TRY_SOURCES_H

#include "ui/screens/try/try_model.h"

struct app;
struct run_entry;

/* Fills view->sources afresh, as far as there is room, from what loading_read_all_then has read. */
bool try_sources_find(struct app *app, struct error *error);

/* The best weights of a run, else its last ones; false: it has saved none. */
bool try_source_of_run(const struct run_entry *entry, struct try_source *source);

/* A file that somebody named, with no data set. */
void try_source_of_file(const char *path, struct try_source *source);

#endif
