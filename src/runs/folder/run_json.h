/* run_json.h: writes and reads the JSON files of a run's folder; two small ones as a whole.
 *
 * Each file has a checksum of its text (base/json/json_checksum.h), except files of earlier
 * versions. Code that only shows a run reads config.json and summary.json without checking it;
 * resuming, measuring and comparing need files whose checksums match. */
#ifndef TINCA_RUNS_FOLDER_RUN_JSON_H
#define TINCA_RUNS_FOLDER_RUN_JSON_H

#include "base/error.h"
#include "base/json/json.h"
#include "runs/values/run_snapshot.h"

#include <stdbool.h>

/* Writes a tree as the file `name` of the folder, and frees the tree. `complete` must be false if
 * there was not enough memory for the whole tree. Returns false with an error. */
bool run_json_write(const char *directory, const char *name, struct json *tree, bool complete,
                    struct error *error);

/* Reads a file of the folder; document->root is NULL if it is missing. Returns false with an error
 * if it cannot be read, is not a JSON object, or its checksum does not match; `advice` becomes part
 * of the error (json_verify_checksum). */
bool run_json_open(struct json_document *document, const char *directory, const char *name,
                   size_t limit, const char *advice, struct error *error);

/* --- killed.json --- */

/* The file says why the run's process ended without saving. The process that had started it writes
 * the file; a resumed run removes it. */

/* Records the reason. Returns false with an error if the file cannot be written. */
bool run_killed_write(const char *directory, const struct error *reason, struct error *error);

/* Takes the reason into the snapshot, which becomes RUN_INTERRUPTED, if there is a record. Returns
 * false with an error if it is damaged. */
bool run_killed_load(const char *directory, struct run_snapshot *snapshot, struct error *error);

/* Makes the snapshot of a run that is over RUN_INTERRUPTED, with the reason, if its process was
 * killed after its summary, if any, was written: while it was being resumed. A damaged record says
 * nothing. */
void run_killed_read(const char *directory, struct run_snapshot *snapshot);

/* Removes the record, if there is one. */
void run_killed_remove(const char *directory);

/* --- outputs.json --- */

/* The file names what a run writes outside its folder at its end, so that a run which is resumed
 * writes that as well. */

/* The paths, owned by the struct; NULL: none. */
struct run_outputs {
    char *save;               /* --save: the weights */
    char *session;            /* --export: the session of this run */
    char *group_session;      /* --export: the session of its group of seeds */
    struct run_outputs_lost { /* why a stored path is not among them; kind ERROR_NONE: it is */
        struct error save, session, group_session;
    } lost;
};

/* Stores those of the given paths that name files, as absolute paths, and keeps the stored ones of
 * the others. Standard output, FIFOs and devices are not stored: they belong to the command that
 * named them. Returns false with an error. */
bool run_outputs_write(const char *directory, const struct run_outputs *outputs,
                       struct error *error);

/* Reads those stored paths that may be written: this user has stored them on this host, since the
 * folder of a stranger could name any file, and their folders are there. Free them with
 * run_outputs_free. Returns false with an error if the file is damaged. */
bool run_outputs_read(struct run_outputs *outputs, const char *directory, struct error *error);
void run_outputs_free(struct run_outputs *outputs);

#endif
