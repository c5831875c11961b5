/* runs_labels.h: asks for what the user writes about a run: its name, its tags and a note. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_LABELS_H
#define TINCA_UI_SCREENS_RUNS_RUNS_LABELS_H

#include <stdbool.h>
#include <stddef.h>

struct app;

enum runs_label { RUNS_LABEL_NAME, RUNS_LABEL_TAGS, RUNS_LABEL_NOTE };

/* Asks for the name or the note of run number `index` (app_run_at), or for the tags of the marked
 * runs that the table shows; without marks those of this run. */
void runs_ask_label(struct app *app, enum runs_label label, size_t index);

/* Undoes the newest step of the model's undo, which is a change of labels. */
void runs_undo_label(struct app *app);

/* Returns whether the run is marked, has files and is shown by the table. */
bool runs_is_marked(const struct app *app, size_t index);

/* Returns how many such runs there are. */
size_t runs_marked_count(const struct app *app);

#endif
