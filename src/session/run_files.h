/* run_files.h: config.json, the journal's first event, and summary.json. Internal to session/. */
#ifndef TINCA_SESSION_RUN_FILES_H
#define TINCA_SESSION_RUN_FILES_H

#include "session/run_state.h"

bool run_files_write_config(const struct run *run, struct error *error);

/* The event that says what was prepared. */
struct json *run_files_start_event(const struct run_facts *facts,
                                   const struct run_snapshot *snapshot);

bool run_files_write_summary(const struct run *run, const struct run_snapshot *snapshot,
                             struct error *error);

/* {weights, gradients, solver, activations, workspace, total} as member `key` of `parent`. */
bool run_files_add_memory(struct json *parent, const char *key,
                          const struct memory_forecast *memory);

/* Reads config.json into config, id and created of `run`'s early facts. */
bool run_files_read_config(struct run_config *config, struct run_facts *facts,
                           const char *directory, struct error *error);

/* Reads a start event; false when the line is something else. */
bool run_files_read_start(const struct json *line, struct run_facts *facts,
                          struct run_snapshot *snapshot);

/* Brings a snapshot up to date with summary.json; false when there is none (or it is damaged). */
bool run_files_read_summary(const char *directory, struct run_snapshot *snapshot);

#endif
