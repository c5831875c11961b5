/* run_reading.h: a journal's lines becoming a run's series, findings and snapshot. Internal to
 * session/; for a run that is opened (run_open.c), resumed, or followed (follow.c). */
#ifndef TINCA_SESSION_RECORD_RUN_READING_H
#define TINCA_SESSION_RECORD_RUN_READING_H

#include "base/json/json.h"
#include "session/record/run_state.h"

struct run_reading {
    struct run *run;
    struct run_snapshot *snapshot;
    struct tempo *tempo;
    struct run_facts facts; /* the start event's */
    bool started;           /* that event has come: there is a series */
    enum run_status phase;  /* of a run that is on: running, paused or validating */
};

/* Takes a line in; a journal_visit whose context is a struct run_reading. */
bool run_reading_take(void *context, const struct json *line, struct error *error);

/* What follows from all lines so far. */
void run_reading_sum_up(struct run_reading *reading);

/* Reads config.json, and sets what follows from it. */
bool run_state_read_config(const char *directory, struct run_config *config,
                           struct run_facts *facts, struct error *error);
/* Creates the series and fills it, the findings, `snapshot` and `tempo` from
 * the first `limit` bytes of the journal; publishes nothing. `tempo` starts as {0}. */
bool run_state_read_journal(struct run *run, uint64_t limit, struct run_snapshot *snapshot,
                            struct tempo *tempo, struct error *error);

#endif
