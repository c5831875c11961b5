/* ranks_work.h: measures the work of the ranks in their iterations, and records it.
 *
 * Each rank measures itself with a ranks_meter and tells rank 0 once a second (cluster_set_work).
 * Rank 0 publishes the figures of all (run_state_put_ranks) and writes them into the journal: soon
 * after the start, then at growing intervals, as means over the iterations since the previous
 * record; and at the end as means over all. Without a cluster nothing is measured or recorded. */
#ifndef TINCA_TRAINING_RANKS_RANKS_WORK_H
#define TINCA_TRAINING_RANKS_RANKS_WORK_H

#include "engine/cluster/cluster.h"
#include "runs/record/run_state.h"

/* Measures the iterations of this rank. Starts as {0}. */
struct ranks_meter {
    struct cluster *cluster; /* NULL: nothing is measured */
    struct cluster_work work;
    uint64_t began, waited; /* at the start of the iteration */
};

/* Begins a run. */
void ranks_meter_begin(struct ranks_meter *meter, struct cluster *cluster);
/* Adds the time since `began` (clock_nanoseconds) as waiting for data. */
void ranks_meter_add_data(struct ranks_meter *meter, uint64_t began);
/* Enclose the computation of an iteration, with its sums. */
void ranks_meter_start(struct ranks_meter *meter);
void ranks_meter_stop(struct ranks_meter *meter);

/* The record of all ranks, on rank 0. Starts as {0}. */
struct ranks_record {
    struct ranks_meter *meter;   /* borrowed: that of rank 0 */
    struct run *run;             /* NULL: nothing is recorded */
    struct cluster_work *before; /* of each rank, at the last record */
    struct run_ranks ranks;      /* as they were recorded last */
    uint64_t began, due;         /* clock_nanoseconds */
};

/* Begins the record of a run that all ranks have prepared, and the meter of rank 0. A run of one
 * process gets an empty one. Does nothing else if out of memory. */
void ranks_record_begin(struct ranks_record *record, struct run *run, struct ranks_meter *meter);
/* Records if it is due; `now` is clock_nanoseconds. */
void ranks_record_step(struct ranks_record *record, uint64_t iteration, uint64_t now);
/* Records the means over all iterations. */
void ranks_record_end(struct ranks_record *record, uint64_t iteration);
void ranks_record_free(struct ranks_record *record);

#endif
