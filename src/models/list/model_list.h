/* model_list.h: the model files that commands have written anywhere on disk, for the table of
 * models. $XDG_STATE_HOME/tinca/model-files has one a line: an absolute path and, behind a tab, the
 * SPEC of the data set that the command measured it on, if any. Files that are gone leave the list
 * when the next one joins. Several processes may add at the same time: the file model-files.lock is
 * locked meanwhile. */
#ifndef TINCA_MODELS_LIST_MODEL_LIST_H
#define TINCA_MODELS_LIST_MODEL_LIST_H

#include "base/error.h"

/* Adds a file that exists, with the SPEC of a data set ("": none), at the end of the list. Returns
 * false with an error if the list cannot be written. */
bool model_list_add(const char *path, const char *data, struct error *error);

/* Is called for each file of the list that exists, in the order in which they joined. */
typedef void model_list_visit(void *context, const char *path, const char *data);
void model_list_each(model_list_visit *visit, void *context);

#endif
