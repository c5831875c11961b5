/* phases.h: a job of several phases, for a pool of threads.
 *
 * The work is divided into parts, each of which has the same phases, one after the other. A part
 * may begin a phase as soon as all parts of its group have computed what others need of the phase
 * before; each computes that first, and then the rest. Where the threads take equally long, no
 * thread waits for another one: what it needs was computed while the other one went on with its
 * rest. (This is a split-phase or fuzzy barrier: Gupta, "The fuzzy barrier", ASPLOS 1989.)
 *
 * When a part is in a phase, every other part of its group has finished the phase before the last
 * one. */
#ifndef TINCA_BASE_THREADS_PHASES_H
#define TINCA_BASE_THREADS_PHASES_H

#include "base/error.h"
#include "base/threads/pool.h"

#include <stddef.h>

struct phases;

/* A job. The parts [0, parts) of the first group come first, then those of the second group. */
struct phases_job {
    size_t groups, parts, phases; /* groups * parts: at most as many as the pool has threads */
    /* Computes of a part what the others need of a phase, and the rest of it. `part` is in [0,
     * groups * parts); `thread` is that of the pool. Which thread calls them is not determined. */
    void (*shared)(void *context, size_t part, size_t phase, size_t thread);
    void (*rest)(void *context, size_t part, size_t phase, size_t thread);
    void *context;
};

/* Returns what jobs of a pool of `threads` threads need, or NULL with an error. */
struct phases *phases_create(size_t threads, struct error *error);

/* Frees it. NULL is allowed. */
void phases_free(struct phases *phases);

/* Runs all phases of all parts. Never waits for a thread that is asleep or has no core, unless that
 * thread is within a call of the job. */
void phases_run(struct phases *phases, struct pool *pool, const struct phases_job *job);

#endif
