/* `owners` counts the thread and the starter; the one that lowers it to 0 frees the task. */
#include "base/threads/detached_task.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct detached_task {
    void (*work)(void *state);
    void (*free_state)(void *state);
    void *state;
    atomic_int owners;
    atomic_bool done;
};

static atomic_int threads; /* number of running threads */

/* Drops one of the two references. */
static void release(struct detached_task *task)
{
    if (atomic_fetch_sub(&task->owners, 1) != 1)
        return;
    task->free_state(task->state);
    free(task);
}

static void *run(void *argument)
{
    struct detached_task *task = argument;
    task->work(task->state);
    atomic_store(&task->done, true);
    release(task);
    atomic_fetch_sub(&threads, 1);
    return NULL;
}

static int start_thread(struct detached_task *task)
{
    pthread_t thread;
    int code = thread_start(&thread, run, task);
    if (code == 0)
        pthread_detach(thread);
    return code;
}

struct detached_task *detached_task_start(void (*work)(void *state),
                                          void (*free_state)(void *state), void *state,
                                          struct error *error)
{
    struct detached_task *task = memory_new(1, sizeof *task, "the work", error);
    if (!task)
        return NULL;
    *task = (struct detached_task){.work = work, .free_state = free_state, .state = state};
    atomic_init(&task->owners, 2);
    atomic_init(&task->done, false);
    int code = 0;
    if (atomic_fetch_add(&threads, 1) >= DETACHED_TASKS_MAX)
        error_set(error, ERROR_SYSTEM, "work in the background", "wait a moment",
                  "%d such threads are still busy", DETACHED_TASKS_MAX);
    else if ((code = start_thread(task)) == 0)
        return task;
    if (code)
        error_set(error, ERROR_SYSTEM, "a thread", "end other programs", "cannot be started: %s",
                  strerror(code));
    atomic_fetch_sub(&threads, 1);
    free(task);
    return NULL;
}

bool detached_task_is_done(const struct detached_task *task)
{
    return atomic_load(&task->done);
}

bool detached_task_wait(const struct detached_task *task, double seconds)
{
    const uint64_t from = clock_nanoseconds();
    while (!detached_task_is_done(task) && clock_seconds(from, clock_nanoseconds()) < seconds)
        clock_sleep(0.0005);
    return detached_task_is_done(task);
}

void detached_task_drop(struct detached_task *task)
{
    if (task)
        release(task);
}
