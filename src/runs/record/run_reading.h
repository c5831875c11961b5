/* run_reading.h: fills the series, findings and snapshot of a run from the lines of its journal,
 * when the run is opened (run_open.c), resumed, or followed (follow.c). */
#ifndef TINCA_RUNS_RECORD_RUN_READING_H
#define TINCA_RUNS_RECORD_RUN_READING_H

#include "base/json/json.h"
#include "runs/folder/journal.h"
#include "runs/record/run_state.h"
#include "runs/values/pace.h"

struct run_reading {
    struct run *run;
    struct run_snapshot *snapshot;
    struct tempo *tempo;
    struct pace pace;           /* since the run was begun or resumed */
    struct run_facts facts;     /* the facts in the start event */
    bool keeps_scalars;         /* they are kept in the run */
    bool started;               /* the start event was read, so there is a series */
    struct journal_found found; /* what the journal was found to be */
    enum run_status phase;      /* state of a live run: running, paused or validating */
};

/* Adds a line; it is a journal_visit whose context is a struct run_reading. */
bool run_reading_take(void *context, const struct journal_line *line, struct error *error);

/* Updates the snapshot from all lines so far. */
void run_reading_sum_up(struct run_reading *reading);

/* Reads config.json, and sets what follows from it. */
bool run_state_read_config(const char *directory, struct run_config *config,
                           struct run_facts *facts, struct error *error);
/* Creates the series, and fills it, the findings, `snapshot` and `tempo` from the journal up to a
 * place; publishes nothing. `tempo` starts as {0}. */
bool run_state_read_journal(struct run *run, const struct journal_mark *until,
                            struct run_snapshot *snapshot, struct tempo *tempo,
                            struct error *error);

#endif
