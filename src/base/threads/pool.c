/* A training iteration runs a few hundred jobs, an inference about fifty, and many of them take
 * only some microseconds. Waking a thread takes longer than that. Between jobs the workers
 * therefore spin for some microseconds before they sleep on a futex; the kernel is only called when
 * a thread sleeps.
 *
 * The tasks of a job are divided into one share per thread, always in the same way: the thread that
 * computed some rows of an image in one job computes the same rows in the next, and finds them in
 * its cache. A thread that has finished its share takes tasks of the others. A job therefore never
 * waits for a worker that is asleep or has no core: the threads that are awake compute its tasks.
 *
 * What one thread tells another costs the time that a cache line takes from core to core. The
 * caller and a worker share two lines: on one the worker finds a new job and takes the tasks of its
 * share, on the other the caller finds how many tasks the worker has finished.
 *
 * A share is a number of tasks that are not yet taken. A thread that decreases it has taken a task
 * of the current job, even if it has not noticed yet that a new job has begun; the fields that
 * describe the job change only when all of its tasks are finished.
 *
 * A worker that sleeps is woken once, by the next job. If it gets no core then, the jobs after that
 * one do not call the kernel again. */
#include "base/threads/pool.h"

#include "base/memory.h"
#include "base/threads/futex.h"
#include "base/threads/spin.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_LINE = 64 };

/* What a thread and the others tell each other. */
struct slot {
    _Alignas(CACHE_LINE) atomic_uint job; /* number of the last job with a share for this thread */
    atomic_uint left;                     /* tasks of the share that are not yet taken */
    atomic_uint asleep; /* the worker sleeps, or is about to, while this is the number of the job */
    _Alignas(CACHE_LINE) atomic_uint finished; /* tasks that the thread has finished, in all jobs */
};

struct worker {
    struct pool *pool;
    pthread_t thread;
    size_t number;
};

struct pool {
    size_t threads;
    struct worker *workers; /* threads - 1 of them */
    size_t started;
    struct slot *slots; /* by thread */
    /* these describe the current job */
    pool_task *task;
    void *context;
    size_t tasks;
    unsigned begun; /* tasks of all jobs so far; wraps around as `finished` does */
    atomic_bool stopping;
    _Alignas(CACHE_LINE) atomic_bool caller_sleeps;
    atomic_uint wakeups; /* increases when tasks were finished while the caller sleeps */
};

/* --- waiting --- */

/* Waits for a job whose number is not `seen`; returns its number. Either the caller of pool_run
 * sees that this worker sleeps, or the worker sees the new number. */
static unsigned wait_for_job(struct slot *slot, unsigned seen)
{
    struct spin wait = {0};
    while (atomic_load_explicit(&slot->job, memory_order_acquire) == seen)
        if (!spin_again(&wait)) {
            atomic_store(&slot->asleep, seen);
            while (atomic_load(&slot->job) == seen)
                futex_wait(&slot->job, seen);
        }
    return atomic_load_explicit(&slot->job, memory_order_acquire);
}

/* Gives a worker a new job, and wakes it if it sleeps. */
static void announce(struct slot *slot)
{
    const unsigned before = atomic_fetch_add(&slot->job, 1);
    if (atomic_load(&slot->asleep) == before)
        futex_wake(&slot->job);
}

static bool all_finished(const struct pool *pool)
{
    unsigned finished = 0;
    for (size_t i = 0; i < pool->threads; i++)
        finished += atomic_load(&pool->slots[i].finished);
    return finished == pool->begun;
}

/* Waits until all tasks of the job are finished. Either a thread that finishes sees that the caller
 * sleeps, or the caller sees what it has finished. */
static void wait_for_tasks(struct pool *pool)
{
    struct spin wait = {0};
    while (!all_finished(pool))
        if (!spin_again(&wait)) {
            atomic_store(&pool->caller_sleeps, true);
            for (;;) {
                const unsigned seen = atomic_load(&pool->wakeups);
                if (all_finished(pool))
                    break;
                futex_wait(&pool->wakeups, seen);
            }
            atomic_store(&pool->caller_sleeps, false);
        }
}

static void report_finished(struct pool *pool, size_t thread, unsigned count)
{
    atomic_fetch_add(&pool->slots[thread].finished, count);
    if (atomic_load(&pool->caller_sleeps)) {
        atomic_fetch_add(&pool->wakeups, 1);
        futex_wake(&pool->wakeups);
    }
}

/* --- tasks --- */

/* Returns the first task of a share. */
static size_t share_begin(const struct pool *pool, size_t share)
{
    return pool->tasks * share / pool->threads;
}

/* Takes a task of a share of the current job; returns false if none is left. */
static bool take_task(struct pool *pool, size_t share, size_t *task)
{
    atomic_uint *left = &pool->slots[share].left;
    unsigned count = atomic_load_explicit(left, memory_order_relaxed);
    do {
        if (count == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(left, &count, count - 1, memory_order_acquire,
                                                    memory_order_relaxed));
    *task = share_begin(pool, share + 1) - count;
    return true;
}

/* Computes the tasks of the thread's own share, then what is left of the others. */
static void take_tasks(struct pool *pool, size_t thread)
{
    unsigned count = 0;
    size_t task;
    for (size_t i = 0; i < pool->threads; i++)
        for (const size_t share = (thread + i) % pool->threads; take_task(pool, share, &task);
             count++)
            pool->task(pool->context, task, thread);
    if (count > 0)
        report_finished(pool, thread, count);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_job(&pool->slots[worker->number], seen);
        if (atomic_load(&pool->stopping))
            return NULL;
        take_tasks(pool, worker->number);
    }
}

void pool_run(struct pool *pool, size_t tasks, pool_task *task, void *context)
{
    /* tasks are counted in an unsigned; the caller alone computes a job with more */
    if (pool->threads == 1 || tasks <= 1 || tasks > UINT_MAX) {
        for (size_t i = 0; i < tasks; i++)
            task(context, i, 0);
        return;
    }
    pool->task = task;
    pool->context = context;
    pool->tasks = tasks;
    pool->begun += (unsigned)tasks;
    for (size_t i = pool->threads; i-- > 0;) {
        const size_t share = share_begin(pool, i + 1) - share_begin(pool, i);
        atomic_store_explicit(&pool->slots[i].left, (unsigned)share, memory_order_release);
        if (i > 0 && share > 0)
            announce(&pool->slots[i]);
    }
    take_tasks(pool, 0);
    wait_for_tasks(pool);
}

/* --- creation --- */

static bool start_workers(struct pool *pool, struct error *error)
{
    for (; pool->started < pool->threads - 1; pool->started++) {
        struct worker *worker = &pool->workers[pool->started];
        *worker = (struct worker){.pool = pool, .number = pool->started + 1};
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
            return error_set(error, ERROR_SYSTEM, "the thread pool", "ask for fewer threads",
                             "could not start thread %zu of %zu", worker->number + 1,
                             pool->threads);
    }
    return true;
}

struct pool *pool_create(size_t threads, struct error *error)
{
    struct pool *pool = memory_new_aligned(1, sizeof *pool, "the thread pool", error);
    if (!pool)
        return NULL;
    *pool = (struct pool){.threads = threads ? threads : 1};
    pool->workers = memory_new(pool->threads, sizeof *pool->workers, "the thread pool", error);
    pool->slots = memory_new_aligned(pool->threads, sizeof *pool->slots, "the thread pool", error);
    if (pool->slots)
        memset(pool->slots, 0, pool->threads * sizeof *pool->slots);
    if (pool->workers && pool->slots && start_workers(pool, error))
        return pool;
    pool_free(pool);
    return NULL;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->stopping, true);
    for (size_t i = 0; i < pool->started; i++)
        announce(&pool->slots[i + 1]);
    for (size_t i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    free(pool->workers);
    free(pool->slots);
    free(pool);
}

size_t pool_threads(const struct pool *pool)
{
    return pool->threads;
}
