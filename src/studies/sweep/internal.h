/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_STUDIES_SWEEP_INTERNAL_H
#define TINCA_STUDIES_SWEEP_INTERNAL_H

#include "studies/sweep/sweep.h"

/* --- sweep_files.c --- */

/* The files of a sweep's folder. */

/* Returns the folder of the sweep `name`, which need not exist; owned by the caller. */
char *sweep_files_directory(const char *name, struct error *error);

/* Writes grid.json, unless it has this content already: several processes may work on one sweep. */
bool sweep_files_write_grid(const char *directory, const struct sweep_grid *grid,
                            struct error *error);
/* Reads grid.json and sets the grid's name. The error for an unknown name lists the sweeps. */
bool sweep_files_read_grid(const char *name, struct sweep_grid *grid, struct error *error);

/* Fills run and reason from cell.json, or leaves them if the file is missing or damaged. */
void sweep_files_read_cell(const char *directory, struct sweep_cell *cell);

/* Writes run and reason to cell.json. */
bool sweep_files_write_cell(const char *directory, const struct sweep_cell *cell,
                            const struct error *failure, struct error *error);

/* Locks a cell. Returns a descriptor, or -1 with an error, of kind ERROR_NONE if another process
 * holds the lock. */
int sweep_files_claim(const char *directory, const char *id, struct error *error);

/* Returns whether a process holds the lock of a cell. */
bool sweep_files_is_claimed(const char *directory, const char *id);

/* Returns the folder of a cell's run, owned by the caller, or NULL if it has none or memory runs
 * out. */
char *sweep_files_run(const char *run);

/* Reads cell.json again and sets iteration and iterations from the end of its run's journal. */
void sweep_files_read_progress(const char *directory, struct sweep_cell *cell);

/* --- sweep_after.c --- */

/* Returns the folder of a cell's results after training, and the path of one of the files of a
 * chain, owned by the caller; NULL if out of memory. */
char *sweep_after_folder(const struct sweep *sweep, size_t index);
char *sweep_after_path(const struct sweep *sweep, size_t index, const char *chain,
                       const char *ending);

/* Reads the error of a result or of a step. Returns false if the document has none. */
bool sweep_failure_from_json(const struct json *root, struct error *failure);

#endif
