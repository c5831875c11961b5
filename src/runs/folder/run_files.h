/* run_files.h: config.json, the journal's first event, summary.json, and the position in the run at
 * which a checkpoint was written. */
#ifndef TINCA_RUNS_FOLDER_RUN_FILES_H
#define TINCA_RUNS_FOLDER_RUN_FILES_H

#include "base/error.h"
#include "engine/weights/safetensors.h"
#include "runs/folder/journal.h"
#include "runs/settings/config.h"
#include "runs/values/run_facts.h"
#include "runs/values/run_ranks.h"
#include "runs/values/run_snapshot.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes config.json. Returns false with an error. */
bool run_files_write_config(const char *directory, const struct run_config *config,
                            const struct run_facts *facts, struct error *error);

/* Returns the event "start", which describes what was prepared; NULL if out of memory.
 */
struct json *run_files_start_event(const struct run_facts *facts,
                                   const struct run_snapshot *snapshot);

/* Add a result on the test set to an object, and read it back. Return false if out of memory, and
 * if the object (NULL: none) has none; *test is then {0}. */
bool run_files_add_test(struct json *object, const struct run_test *test);
bool run_files_read_test(const struct json *object, struct run_test *test);

/* Writes summary.json, which records length and checksum of the journal; the journal must be
 * synced. `ranks` may be NULL or empty. Returns false with an error. */
bool run_files_write_summary(const char *directory, const struct journal *journal,
                             const struct run_snapshot *snapshot, const struct run_ranks *ranks,
                             struct error *error);

/* Adds {weights, gradients, solver, activations, workspace, total} as member `key` of `parent`. */
bool run_files_add_memory(struct json *parent, const char *key,
                          const struct memory_forecast *memory);

/* Returns whether config.json and summary.json, if they exist, can be read and match their
 * checksums. Code that only shows a run does not check that. */
bool run_files_verify(const char *directory, struct error *error);

/* Reads config.json into `config`, and into id, created, host, imported and fork of `facts`. */
bool run_files_read_config(struct run_config *config, struct run_facts *facts,
                           const char *directory, struct error *error);

/* Reads a start event. Returns false if the line is another one. */
bool run_files_read_start(const struct json *line, struct run_facts *facts,
                          struct run_snapshot *snapshot);

/* Reads into `facts` what the start event says, the first line of the folder's journal. Returns
 * false if there is none. */
bool run_files_peek_start(const char *directory, struct run_facts *facts);

/* Reads the end of the journal that summary.json records. Returns false if it does not have it. */
bool run_files_read_end(const char *directory, struct journal_mark *mark);

/* Reads the same from the document. */
bool run_files_parse_end(const struct json *summary, struct journal_mark *mark);

/* Updates a snapshot from summary.json. Returns false if there is none, or if it is damaged. */
bool run_files_read_summary(const char *directory, struct run_snapshot *snapshot);

/* --- the position of a checkpoint --- */

/* Returns the metadata "tinca.KEY" of a checkpoint, or NULL. */
const char *checkpoint_text(const struct safetensors *file, const char *key);

/* Sets the iteration at which an opened checkpoint was written, and the end of the journal at that
 * time. Returns false with an error if one is missing. */
bool checkpoint_place(const struct safetensors *file, uint64_t *iteration,
                      struct journal_mark *journal, struct error *error);

#endif
