/* background.h: slow work in a thread of its own, for which nobody has to wait.
 *
 * The work belongs to two: the thread that does it and whoever asked for it. Either may let go
 * first; the last one frees the state. So a folder on a disk that does not answer holds up neither
 * a key nor the end of the program.
 */
#ifndef TINCA_BASE_THREADS_DETACHED_TASK_H
#define TINCA_BASE_THREADS_DETACHED_TASK_H

#include "base/error.h"

#include <stdbool.h>

enum { DETACHED_TASKS_MAX = 8 }; /* threads at the same time, those that were let go of counted */

struct detached_task;

/* Begins work(state) in a thread that takes no signals. `free_state` is called once, by whichever
 * of the two is last; when NULL is returned it was not called. What both sides touch in the state
 * needs a lock of its own. */
struct detached_task *detached_task_start(void (*work)(void *state),
                                          void (*free_state)(void *state), void *state,
                                          struct error *error);

/* Whether the work has returned; the state is then the caller's alone. */
bool detached_task_is_done(const struct detached_task *background);

/* Returns whether the work has returned; false when `seconds` have passed without. */
bool detached_task_wait(const struct detached_task *background, double seconds);

/* Lets go of the work and its state; never waits. May be NULL. */
void detached_task_drop(struct detached_task *background);

#endif
