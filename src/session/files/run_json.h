/* run_json.h: the JSON files of a run's folder. Internal to session/.
 *
 * Each carries a checksum of its text (base/json/json_checksum.h), but for those that an earlier
 * version wrote. What only shows a run reads config.json and summary.json without looking at it; a
 * run is resumed, measured or compared only with files whose checksum is right. */
#ifndef TINCA_SESSION_FILES_RUN_JSON_H
#define TINCA_SESSION_FILES_RUN_JSON_H

#include "base/json/json.h"

/* Writes a tree as the file `name` of the folder and frees it; `complete` is false when memory was
 * out while the tree was built. */
bool run_json_write(const char *directory, const char *name, struct json *tree, bool complete,
                    struct error *error);

/* Reads a file of the folder, which may be missing: document->root is NULL then. Returns false when
 * it cannot be read or its checksum is wrong, which the error says with `advice`
 * (json_verify_checksum). */
bool run_json_open(struct json_document *document, const char *directory, const char *name,
                   size_t limit, const char *advice, struct error *error);

#endif
