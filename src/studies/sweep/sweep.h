/* sweep.h: a sweep trains every configuration of a grid. Each configuration is a cell, which one
 * run computes. A sweep can be continued after any interruption.
 *
 * $XDG_STATE_HOME/tinca/sweeps/NAME/ contains
 *   grid.json         the grid (sweep_grid.h), replaced when it is changed
 *   ID/cell.json      which run computed the cell, or why its process failed
 *   ID/lock           locked while a process computes the cell
 *   ID/after/         what techniques after training have made of it (sweep_after.h)
 * The runs are in the folder of all runs. A cell's state follows from these files and from those of
 * its run, so no second copy of the state can become outdated: a cell is done when its run is.
 * Several processes may work on one sweep; the process that holds a cell's lock computes it.
 *
 * Not thread-safe.
 */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_H
#define TINCA_STUDIES_SWEEP_SWEEP_H

#include "base/error.h"
#include "runs/record/run.h"
#include "studies/sweep/sweep_grid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sweep_state {
    SWEEP_WAITING,
    SWEEP_RUNNING,       /* in this or another process */
    SWEEP_DONE,          /* is not computed again */
    SWEEP_DIVERGED,      /* the loss became NaN or infinite; this result is final */
    SWEEP_INTERRUPTED,   /* will be resumed (sweep_interrupted_run), and so are the next two */
    SWEEP_OUT_OF_MEMORY, /* its process was killed, or gave up, for a lack of memory */
    SWEEP_DISK_FULL,     /* it could not save what it had computed */
    SWEEP_FAILED,        /* is tried again only on request (sweep_reset_cell) */
    SWEEP_CANNOT_FIT,    /* the memory forecast exceeds the free memory */
    SWEEP_SKIPPED,       /* the configuration is impossible, such as shift in an mlp */
    SWEEP_STATES
};
const char *sweep_state_name(enum sweep_state state);  /* "cannot-fit": for JSON */
const char *sweep_state_words(enum sweep_state state); /* "cannot fit": translated */

/* The result of a finished run. NaN and 0 mean unknown. */
struct sweep_result {
    bool known;
    /* of the best model on the test set; the first iteration with a negative Caffe mean is 0 if
     * there is none */
    struct run_figures figures;
    double loss_caffe;
    uint64_t iterations;
    size_t images, threads;
};

struct sweep_cell {
    char id[SWEEP_ID];
    struct run_config config;
    enum sweep_state state;
    struct error reason; /* why it diverged, failed, cannot fit or is skipped */
    char run[64];        /* the ID of its run; "": none */
    struct sweep_result result;
    bool forecast_known;
    /* from the forecast: the peak of the run's process, what is free, and the flops of one image */
    uint64_t memory_needed, memory_free, flops;
    uint64_t weight_bytes, solver_bytes; /* from the forecast, in float32 */
    uint64_t iteration, iterations;      /* progress of a running cell, when last read */
    size_t after_due, after_failed;      /* results after training that wait, and that failed */
};

struct sweep {
    struct sweep_grid grid;
    char *directory; /* NULL: not written yet */
    struct sweep_cell *cells;
    size_t count;
};

/* Returns the folder of all sweeps, owned by the caller, or NULL. */
char *sweep_home(struct error *error);
/* Lists the names of the saved sweeps, sorted. The caller frees each name and the array. */
bool sweep_list(char ***names, size_t *count, struct error *error);

/* Creates a sweep from a grid: completes the grid, makes its paths absolute and expands it into
 * waiting cells. On success the sweep owns the grid's axes. Writes nothing. Refuses a grid in which
 * two cells are equal. */
bool sweep_create(struct sweep *sweep, struct sweep_grid *grid, struct error *error);
/* Creates the sweep's folder and writes grid.json. */
bool sweep_save(struct sweep *sweep, struct error *error);
/* Sets the folder of an earlier sweep of this name, if there is one, so that its states can be
 * read. */
bool sweep_find(struct sweep *sweep, struct error *error);
/* Opens an earlier sweep by its name: reads its grid and expands it. */
bool sweep_open(struct sweep *sweep, const char *name, struct error *error);
void sweep_free(struct sweep *sweep); /* sets it to {0} */

/* Reads the state of a cell from its files. Its forecast stays. */
void sweep_refresh(struct sweep *sweep, size_t index);
/* Reads the state of a cell whose lock this process holds. Call it after sweep_claim, since another
 * process may have computed the cell just before. */
void sweep_refresh_claimed(struct sweep *sweep, size_t index);
/* Reads the result of a computed cell from its whole journal, unless it was read before. */
void sweep_read_result(struct sweep *sweep, size_t index);
/* Updates the progress of a cell that another process computes. */
void sweep_read_progress(struct sweep *sweep, size_t index);

/* Returns the folder of a computed cell's run, owned by the caller, or NULL. */
char *sweep_run_directory(const struct sweep_cell *cell, struct error *error);

/* Computes the memory forecast of a waiting cell, which takes milliseconds. Sets the state to
 * SWEEP_CANNOT_FIT if the memory is too small, or SWEEP_SKIPPED if the configuration is impossible.
 * The cell may use one `share`-th of the free memory. */
void sweep_forecast(struct sweep *sweep, size_t index, size_t share);

/* Returns whether the cell waits or can be continued, so that a run should be started. */
bool sweep_is_due(const struct sweep *sweep, size_t index);
/* Returns whether there is work for the cell's process: a run, or techniques after it. */
bool sweep_has_work(const struct sweep *sweep, size_t index);
/* Returns whether the cell ended without being asked to, and can go on. */
bool sweep_was_killed(const struct sweep_cell *cell);
/* Writes the command that goes on with such a cell or, with `retry`, with one that failed, and
 * whether it begins with a checkpoint. Returns `text`. */
const char *sweep_advise_going_on(const struct sweep *sweep, const struct sweep_cell *cell,
                                  bool retry, char *text, size_t size);
/* Returns whether the cell's run is done or diverged, so that its figures are final. */
bool sweep_is_computed(const struct sweep_cell *cell);
/* Counts the cells in each state. */
void sweep_count(const struct sweep *sweep, size_t counts[SWEEP_STATES]);
/* Returns the number of computed cells. */
size_t sweep_count_computed(const struct sweep *sweep);
/* Returns the index of a cell, given its id or its number (from 1), or sweep->count if there is
 * none. */
size_t sweep_cell_find(const struct sweep *sweep, const char *id);

/* Returns the folder of the interrupted run that the cell can continue (run_resume), owned by the
 * caller, or NULL if there is none or its settings differ. */
char *sweep_interrupted_run(const struct sweep *sweep, size_t index);

/* Locks a cell. Returns a descriptor, which the caller closes when the run is over, or -1 with an
 * error. The error is of kind ERROR_NONE if another process computes the cell. */
int sweep_claim(struct sweep *sweep, size_t index, struct error *error);
/* Records which run computes the cell, or, with `run` NULL or "", the failure before there was a
 * run. */
bool sweep_record_run(struct sweep *sweep, size_t index, const char *run,
                      const struct error *failure, struct error *error);
/* Returns the state of a cell that ended with this error: SWEEP_OUT_OF_MEMORY, SWEEP_DISK_FULL or
 * SWEEP_FAILED. */
enum sweep_state sweep_state_of_error(const struct error *error);
/* Makes a failed cell wait again. Its run is not removed, and goes on from its checkpoint if its
 * process was killed. */
bool sweep_reset_cell(struct sweep *sweep, size_t index, struct error *error);

#endif
