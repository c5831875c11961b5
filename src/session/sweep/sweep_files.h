/* sweep_files.h: the files of a sweep's folder. Internal to session/. */
#ifndef TINCA_SESSION_SWEEP_SWEEP_FILES_H
#define TINCA_SESSION_SWEEP_SWEEP_FILES_H

#include "session/sweep/sweep.h"

/* Where the sweep of a name lies, or would lie; owned by the caller. */
char *sweep_files_directory(const char *name, struct error *error);

/* Writes nothing when the file is so already: many processes may work at one sweep. */
bool sweep_files_write_grid(const char *directory, const struct sweep_grid *grid,
                            struct error *error);
/* Also sets the grid's name. An error says what sweeps there are. */
bool sweep_files_read_grid(const char *name, struct sweep_grid *grid, struct error *error);

/* Fills run and reason; leaves them when there is no file, or a damaged one. */
void sweep_files_read_cell(const char *directory, struct sweep_cell *cell);
bool sweep_files_write_cell(const char *directory, const struct sweep_cell *cell,
                            const struct error *failure, struct error *error);

int sweep_files_claim(const char *directory, const char *id, struct error *error);
bool sweep_files_is_claimed(const char *directory, const char *id);

/* The folder of a cell's run, owned by the caller; NULL: it has none, or memory is out. */
char *sweep_files_run(const char *run);

/* Reads cell.json anew and the end of its run's journal: iteration, iterations. */
void sweep_files_read_progress(const char *directory, struct sweep_cell *cell);

#endif
