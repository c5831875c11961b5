#include "base/threads/detached_task.h"

#include "base/clock.h"
#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
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

static atomic_int threads;

static void let_go(struct detached_task *background)
{
    if (atomic_fetch_sub(&background->owners, 1) != 1)
        return;
    background->free_state(background->state);
    free(background);
}

static void *run(void *argument)
{
    struct detached_task *background = argument;
    background->work(background->state);
    atomic_store(&background->done, true);
    let_go(background);
    atomic_fetch_sub(&threads, 1);
    return NULL;
}

/* Signals are for the thread that waits for them. */
static int start_thread(struct detached_task *background)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&thread, NULL, run, background);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        pthread_detach(thread);
    return code;
}

struct detached_task *detached_task_start(void (*work)(void *state),
                                          void (*free_state)(void *state), void *state,
                                          struct error *error)
{
    struct detached_task *background = memory_new(1, sizeof *background, "the work", error);
    if (!background)
        return NULL;
    *background = (struct detached_task){.work = work, .free_state = free_state, .state = state};
    atomic_init(&background->owners, 2);
    atomic_init(&background->done, false);
    int code = 0;
    if (atomic_fetch_add(&threads, 1) >= DETACHED_TASKS_MAX)
        error_set(error, ERROR_SYSTEM, "work in the background", "wait a moment",
                  "%d such threads are still busy", DETACHED_TASKS_MAX);
    else if ((code = start_thread(background)) == 0)
        return background;
    if (code)
        error_set(error, ERROR_SYSTEM, "a thread", "end other programs", "cannot be started: %s",
                  strerror(code));
    atomic_fetch_sub(&threads, 1);
    free(background);
    return NULL;
}

bool detached_task_is_done(const struct detached_task *background)
{
    return atomic_load(&background->done);
}

bool detached_task_wait(const struct detached_task *background, double seconds)
{
    const uint64_t from = clock_nanoseconds();
    while (!detached_task_is_done(background) && clock_seconds(from, clock_nanoseconds()) < seconds)
        clock_sleep(0.0005);
    return detached_task_is_done(background);
}

void detached_task_drop(struct detached_task *background)
{
    if (background)
        let_go(background);
}
