/* pool.h: the thread pool that devices compute with.
 *
 * A job is a number of tasks; idle threads, the caller's too, take the next task until none is
 * left. Which thread runs a task is not determined, so a task must only depend on its number: then
 * the results are the same for every number of threads. One job runs at a time; the pool belongs to
 * the thread that created it, and jobs do not nest.
 */
#ifndef TINCA_BASE_THREADS_POOL_H
#define TINCA_BASE_THREADS_POOL_H

#include "base/error.h"

#include <stddef.h>

struct pool;

/* `task` is in [0, tasks); `thread` in [0, pool_threads) tells apart what runs at the same time
 * (for scratch memory only; results must not depend on it). */
typedef void pool_task(void *context, size_t task, size_t thread);

/* A pool of `threads` threads in all, the caller counted (1 starts none). */
struct pool *pool_create(size_t threads, struct error *error);
void pool_free(struct pool *pool);

size_t pool_threads(const struct pool *pool);

/* Runs task(context, 0..tasks-1) and returns when all are done. */
void pool_run(struct pool *pool, size_t tasks, pool_task *task, void *context);

#endif
