/* model_list.h: the model files that commands have written anywhere on disk, so that the table of
 * models finds them without being told: a list of absolute paths, one a line, in
 * $XDG_STATE_HOME/tinca/model-files. Files that are gone leave the list when the next one joins. */
#ifndef TINCA_SESSION_MODELS_MODEL_LIST_H
#define TINCA_SESSION_MODELS_MODEL_LIST_H

#include "base/error.h"

/* Adds a file that exists; one that is in the list stays where it is. Returns false with an error
 * if the list cannot be written. */
bool model_list_add(const char *path, struct error *error);

/* Is called for each file of the list that exists, in the order in which they joined. */
typedef void model_list_visit(void *context, const char *path);
void model_list_each(model_list_visit *visit, void *context);

#endif
