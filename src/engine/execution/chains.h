/* chains.h: runs a chain of steps as one job (plan/chains.c). Internal to engine/execution. */
#ifndef TINCA_ENGINE_EXECUTION_CHAINS_H
#define TINCA_ENGINE_EXECUTION_CHAINS_H

#include "engine/execution/backend.h"

/* A chain of steps as the threads see it. */
struct execution_chain {
    const struct execution *execution;
    size_t first, end;       /* end: first + 1 if the steps do not run as one job */
    size_t bands, row_pairs; /* of an image */
};

/* Sets execution->chains for a new batch: which chains can run, and the bands of rows into which
 * they divide an image, which change only if the batch has a new size. */
void chains_set(struct execution *execution, bool new_size);

/* Runs the chain that begins with step `first`. */
void chains_run(const struct execution *execution, size_t first);

#endif
