/* sweep_view.h: the sweep that is set up, and the one that is in sight or on. No drawing.
 *
 * A sweep that is on puts one cell at a time at the end of the list of runs, when that has nothing
 * else to do; so a run that the form adds comes between two cells. What takes time (forecasts,
 * results of finished runs) is done a cell at a time by sweep_model_work. */
#ifndef TINCA_UI_SHARED_SWEEP_MODEL_H
#define TINCA_UI_SHARED_SWEEP_MODEL_H

#include "session/sweep/sweep.h"
#include "session/sweep/sweep_estimate.h"
#include "session/sweep/sweep_table.h"
#include "ui/shared/run_list.h"
#include "ui/shared/sweep_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sweep_kind { SWEEP_SET_UP, SWEEP_CELLS, SWEEP_EARLIER, SWEEP_KINDS };

struct sweep_model {
    enum sweep_kind kind;

    struct sweep_set set;
    bool begun;           /* the set-up is filled from the form */
    struct sweep plan;    /* what the set-up comes to */
    struct error problem; /* why there is none; kind ERROR_NONE: there is */
    size_t planned;       /* cells of it that are forecast */

    struct sweep sweep;             /* in sight; count 0: none */
    struct sweep_estimate estimate; /* from kept runs and from its cells */
    bool learnt;                    /* from the kept runs */
    size_t read;                    /* cells whose state and result are read */
    bool on, paused, stop_after;    /* stop_after: this cell is the last */
    bool *tried;                    /* a flag a cell: none is tried twice */
    const struct run *run;          /* of the cell that is on, NULL: none; belongs to the list */
    size_t cell;
    int lock;
    uint64_t looked; /* at what other processes do */

    enum sweep_measure measure;
    size_t selected, top, left; /* cell; first row and column in sight */

    char **names; /* of earlier sweeps */
    size_t name_count, name_selected, name_top;
};

void sweep_model_free(struct sweep_model *view); /* stops nothing: the runs are the list's */

/* Fills the set-up from a configuration, the first time; `afresh`: again. */
void sweep_model_begin(struct sweep_model *view, const struct run_config *config, bool afresh);

/* A little of what takes time; true: there is more. */
bool sweep_model_work(struct sweep_model *view);

/* Starts what is set up, or goes on with the sweep in sight. */
bool sweep_model_start(struct sweep_model *view, struct error *error);
bool sweep_model_go_on(struct sweep_model *view, struct error *error);
/* Opens an earlier sweep; not while one is on. */
bool sweep_model_open(struct sweep_model *view, const char *name, struct error *error);
bool sweep_model_list(struct sweep_model *view, struct error *error); /* looks for earlier ones */

/* What a step of the list of runs brought: takes the end of a cell, starts the next. True when the
 * sweep has ended with this. */
bool sweep_model_step(struct sweep_model *view, struct run_list *runs);
/* Whether steps bring anything: it is on, here or in another process. */
bool sweep_model_is_live(const struct sweep_model *view);
void sweep_model_stop(struct sweep_model *view); /* no more cells; what is on stays on */

/* The entry of the cell's run, NULL: it is not one of this sitting's. */
struct run_entry *sweep_model_entry(const struct sweep_model *view, struct run_list *runs,
                                    size_t cell);

/* Cells that are still to be run. */
size_t sweep_model_due(const struct sweep_model *view);

/* Writes how many cells there are in each state: "12 cells, 9 to run, 3 done". Returns `text`. */
char *sweep_counts_text(const struct sweep *sweep, char *text, size_t size);

#endif
