/* run_json.h: writes and reads the JSON files of a run's folder. Internal to session/.
 *
 * Each file has a checksum of its text (base/json/json_checksum.h), except files of earlier
 * versions. Code that only shows a run reads config.json and summary.json without checking it;
 * resuming, measuring and comparing need files whose checksums match. */
#ifndef TINCA_SESSION_FILES_RUN_JSON_H
#define TINCA_SESSION_FILES_RUN_JSON_H

#include "base/json/json.h"

/* Writes a tree as the file `name` of the folder, and frees the tree. `complete` must be false if
 * there was not enough memory for the whole tree. Returns false with an error. */
bool run_json_write(const char *directory, const char *name, struct json *tree, bool complete,
                    struct error *error);

/* Reads a file of the folder; document->root is NULL if it is missing. Returns false with an error
 * if it cannot be read, is not a JSON object, or its checksum does not match; `advice` becomes part
 * of the error (json_verify_checksum). */
bool run_json_open(struct json_document *document, const char *directory, const char *name,
                   size_t limit, const char *advice, struct error *error);

#endif
