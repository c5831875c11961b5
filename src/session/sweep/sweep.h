/* sweep.h: a grid of runs that is worked off, and picked up again after whatever ended it.
 *
 * $XDG_STATE_HOME/tinca/sweeps/NAME/ holds
 *   grid.json         what was asked for (sweep_grid.h), replaced when the grid is changed
 *   ID/cell.json      which run computed the cell, or why its process failed
 *   ID/lock           held while a process works at the cell
 * The runs themselves lie among all others. What a cell's state is follows from these files and
 * from its run's own, so that nothing has to be kept up to date: a cell is done when its run is.
 * Two processes may work at one sweep: a cell belongs to whoever holds its lock.
 *
 * Not thread safe.
 */
#ifndef TINCA_SESSION_SWEEP_SWEEP_H
#define TINCA_SESSION_SWEEP_SWEEP_H

#include "base/error.h"
#include "session/record/run.h"
#include "session/sweep/sweep_grid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sweep_state {
    SWEEP_WAITING,
    SWEEP_RUNNING,     /* here or in another process */
    SWEEP_DONE,        /* is never computed again */
    SWEEP_DIVERGED,    /* the loss stopped being a number: that is its result, and as final */
    SWEEP_INTERRUPTED, /* was begun, and will be resumed (sweep_unfinished) */
    SWEEP_FAILED,      /* is tried again only when asked for */
    SWEEP_CANNOT_FIT,  /* by the forecast and what memory is free: it was not tried */
    SWEEP_SKIPPED,     /* is no configuration that could work, such as shift in an mlp */
    SWEEP_STATES
};
const char *sweep_state_name(enum sweep_state state);  /* "cannot-fit": for JSON */
const char *sweep_state_words(enum sweep_state state); /* "cannot fit": translated */

/* What a finished run says; NaN and 0: it does not. */
struct sweep_result {
    bool known;
    double ms_per_image; /* median */
    double loss, loss_caffe, top1;
    uint64_t memory_bytes;   /* the most that its process held */
    uint64_t first_negative; /* iteration at which Caffe's mean fell below zero; 0: never */
    uint64_t iterations;
    size_t images, threads;
    double seconds;
};

struct sweep_cell {
    char id[SWEEP_ID];
    struct run_config config;
    enum sweep_state state;
    struct error reason; /* of diverged, failed, cannot fit, skipped */
    char run[64];        /* the id of its run; "" : none */
    struct sweep_result result;
    bool forecast_known;
    uint64_t memory_needed, memory_free, flops; /* by the forecast; flops of one image */
    uint64_t iteration, iterations;             /* of a run that is on, as last seen */
};

struct sweep {
    struct sweep_grid grid;
    char *directory; /* NULL: not kept (yet) */
    struct sweep_cell *cells;
    size_t count;
};

/* The folder of all sweeps; owned by the caller. */
char *sweep_home(struct error *error);
/* Names of the sweeps that are kept, by name; free each and the array. */
bool sweep_list(char ***names, size_t *count, struct error *error);

/* Expands a grid, which it settles and takes over (leaves without axes) when that succeeds. Paths
 * are made absolute, so that the sweep does not depend on the current folder. Nothing is written;
 * states are those of a sweep that nobody has begun. Refuses a grid in which two cells would be the
 * same. */
bool sweep_create(struct sweep *sweep, struct sweep_grid *grid, struct error *error);
/* Makes the sweep's folder and writes grid.json. */
bool sweep_save(struct sweep *sweep, struct error *error);
/* Finds the folder of an earlier sweep of this name, if there is one, so that states can be read.
 */
bool sweep_find(struct sweep *sweep, struct error *error);
/* An earlier sweep by its name, whose grid it reads. */
bool sweep_open(struct sweep *sweep, const char *name, struct error *error);
void sweep_free(struct sweep *sweep); /* leaves it {0} */

/* Reads the state of a cell from its files. The forecast is kept. */
void sweep_refresh(struct sweep *sweep, size_t index);
/* The same for whoever holds the cell's lock: somebody else may have computed it just before. */
void sweep_refresh_claimed(struct sweep *sweep, size_t index);
/* The result of a cell that is computed, once: reads its whole journal. */
void sweep_read_result(struct sweep *sweep, size_t index);
/* How far the run of a cell has come that another process computes. */
void sweep_read_progress(struct sweep *sweep, size_t index);

/* Where the run of a cell lies that is computed; owned by the caller. */
char *sweep_run_directory(const struct sweep_cell *cell, struct error *error);

/* Makes the forecast of a cell that is to be run, and its state cannot fit or skipped where that
 * is what it says. Milliseconds. `share`: into how many parts free memory is divided. */
void sweep_forecast(struct sweep *sweep, size_t index, size_t share);

/* Whether a run of it should be started. */
bool sweep_is_due(const struct sweep *sweep, size_t index);
/* Whether its run came to its end, done or diverged: it has figures, and they are final. */
bool sweep_is_computed(const struct sweep_cell *cell);
/* Of all cells, how many in each state. */
void sweep_count(const struct sweep *sweep, size_t counts[SWEEP_STATES]);
/* How many are computed. */
size_t sweep_count_computed(const struct sweep *sweep);
/* By its id, or by its number from 1 on; sweep->count: there is none. */
size_t sweep_cell_find(const struct sweep *sweep, const char *id);

/* The directory of the interrupted run that a cell can go on with (run_resume); NULL: there is
 * none, or it was set up otherwise. Owned by the caller. */
char *sweep_unfinished(const struct sweep *sweep, size_t index);

/* Takes the lock of a cell: a descriptor to be closed when its run is over. -1 with an error, of
 * kind ERROR_NONE when another process works at it. */
int sweep_claim(struct sweep *sweep, size_t index, struct error *error);
/* Writes down which run computes the cell, or (run NULL or "") what went wrong outside a run. */
bool sweep_record_run(struct sweep *sweep, size_t index, const char *run,
                      const struct error *failure, struct error *error);
/* What failed waits again; its run stays among the runs. */
bool sweep_reset_cell(struct sweep *sweep, size_t index, struct error *error);

#endif
