/* run_files.h: config.json, the journal's first event, and summary.json. Internal to session/. */
#ifndef TINCA_SESSION_FILES_RUN_FILES_H
#define TINCA_SESSION_FILES_RUN_FILES_H

#include "session/config/config.h"
#include "session/files/journal.h"
#include "session/values/run_facts.h"
#include "session/values/run_snapshot.h"

bool run_files_write_config(const char *directory, const struct run_config *config,
                            const struct run_facts *facts, struct error *error);

/* The event that says what was prepared. */
struct json *run_files_start_event(const struct run_facts *facts,
                                   const struct run_snapshot *snapshot);

/* Writes summary.json. The run's journal must be synced: the summary says how long it is and which
 * CRC-32 it has. */
bool run_files_write_summary(const char *directory, const struct journal *journal,
                             const struct run_snapshot *snapshot, struct error *error);

/* {weights, gradients, solver, activations, workspace, total} as member `key` of `parent`. */
bool run_files_add_memory(struct json *parent, const char *key,
                          const struct memory_forecast *memory);

/* Returns whether config.json and summary.json, where they are there, can be read and have the
 * checksum of their text. What only shows a run does without that. */
bool run_files_verify(const char *directory, struct error *error);

/* Reads config.json into `config`, and into id, created, host and origin of `facts`. */
bool run_files_read_config(struct run_config *config, struct run_facts *facts,
                           const char *directory, struct error *error);

/* Reads a start event; false when the line is something else. */
bool run_files_read_start(const struct json *line, struct run_facts *facts,
                          struct run_snapshot *snapshot);

/* Returns whether summary.json says how long the journal was at the run's end, and its CRC-32. */
bool run_files_read_journal_sum(const char *directory, uint64_t *length, uint32_t *sum);

/* Brings a snapshot up to date with summary.json; false when there is none (or it is damaged). */
bool run_files_read_summary(const char *directory, struct run_snapshot *snapshot);

#endif
