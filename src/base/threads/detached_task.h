/* detached_task.h: slow work in a thread that nobody has to wait for.
 *
 * The thread and its starter share the task and its state, and either may finish first; the last
 * one frees them. So a disk that does not answer delays neither a key nor the end of the program.
 * Use background_job.h for work that is cancelled and joined instead.
 */
#ifndef TINCA_BASE_THREADS_DETACHED_TASK_H
#define TINCA_BASE_THREADS_DETACHED_TASK_H

#include "base/error.h"

#include <stdbool.h>

enum { DETACHED_TASKS_MAX = 8 }; /* threads at the same time, including those that were dropped */

struct detached_task;

/* Starts work(state) in a thread that receives no signals. Returns NULL with an error if the thread
 * cannot start; the state then still belongs to the caller. Otherwise `free_state` is called once,
 * after both sides are done with the state. Data that both sides use needs a lock. */
struct detached_task *detached_task_start(void (*work)(void *state),
                                          void (*free_state)(void *state), void *state,
                                          struct error *error);

/* Returns whether the work is done; the state is then the caller's alone. */
bool detached_task_is_done(const struct detached_task *task);

/* Waits until the work is done or `seconds` have passed; returns whether it is done. */
bool detached_task_wait(const struct detached_task *task, double seconds);

/* Gives up the caller's share of the task and of its state. Never waits. NULL is allowed. */
void detached_task_drop(struct detached_task *task);

#endif
