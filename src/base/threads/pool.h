/* pool.h: the thread pool that devices compute with.
 *
 * A job is a number of independent tasks. Each thread, the caller included, begins with an equal
 * share of neighbouring tasks, the same in every job of as many tasks, and then helps the others.
 * Which thread runs a task is therefore not determined, so the result of a task must depend on its
 * number alone; then results are the same for every number of threads. One job runs at a time,
 * started by the thread that created the pool. Jobs do not nest.
 */
#ifndef TINCA_BASE_THREADS_POOL_H
#define TINCA_BASE_THREADS_POOL_H

#include "base/error.h"

#include <stddef.h>

struct pool;

/* Runs one task. `task` is in [0, tasks). `thread` is in [0, pool_threads) and differs between
 * tasks that run at the same time; use it to choose scratch memory, never to choose a result. */
typedef void pool_task(void *context, size_t task, size_t thread);

/* Returns a pool of `threads` threads, the caller included, or NULL with an error. */
struct pool *pool_create(size_t threads, struct error *error);

/* Ends the threads and frees the pool. NULL is allowed. */
void pool_free(struct pool *pool);

/* Returns the number of threads, the caller included. */
size_t pool_threads(const struct pool *pool);

/* A job: task(context, 0..tasks-1). */
struct pool_job {
    size_t tasks;
    pool_task *task;
    void *context;
};

/* Runs jobs one after the other; returns when all are done. A job begins when the one before is
 * done; the threads go on to it by themselves, which takes less time than several calls of
 * pool_run. */
void pool_run_jobs(struct pool *pool, const struct pool_job *jobs, size_t count);

/* Runs one job. */
void pool_run(struct pool *pool, size_t tasks, pool_task *task, void *context);

#endif
