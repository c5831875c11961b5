/* chains.h: runs a chain of steps as one job of the thread pool (plan/step_order.c), and chains
 * that follow each other as one sequence of jobs. Internal to engine/execution. */
#ifndef TINCA_ENGINE_EXECUTION_CHAINS_H
#define TINCA_ENGINE_EXECUTION_CHAINS_H

#include "base/threads/pool.h"
#include "engine/execution/backend.h"

/* A chain of steps as the threads see it. */
struct execution_chain {
    const struct execution *execution;
    size_t first, end;       /* its steps */
    size_t bands, row_pairs; /* of an image */
    bool is_job;             /* else its steps run one by one */
    /* the first of chains that follow each other: how many they are, and the step after them */
    size_t sequence_jobs, sequence_end;
};

/* Sets execution->chains and execution->jobs for a new batch: which chains can run, and the bands
 * of rows into which they divide an image, which change only if the batch has a new size. */
void chains_set(struct execution *execution, bool new_size);

/* Runs the chain that begins with step `first`, and those of its sequence after it. Returns the
 * next step. */
size_t chains_run(const struct execution *execution, size_t first);

#endif
