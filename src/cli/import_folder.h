/* import_folder.h: tinca import of a folder, in which trainings have left event files. */
#ifndef TINCA_CLI_IMPORT_FOLDER_H
#define TINCA_CLI_IMPORT_FOLDER_H

#include "session/import/import.h"
#include "session/watch/watch.h"

#include <stdbool.h>

/* Takes a training that became a run. Returns false if memory runs out. */
typedef bool import_folder_visit(void *context, const struct watch_state *training);

/* Imports each training in the folder request->path, which is searched as tinca watch does, and
 * visits those that have become runs. Returns false with an error if there is none, or with that of
 * the first training that failed. */
bool import_folder(const struct import_request *request, import_folder_visit *visit, void *context,
                   struct error *error);

#endif
