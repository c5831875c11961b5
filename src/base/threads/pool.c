/* The pool's workers wait on a condition variable between jobs, after a short spin: a training
 * iteration issues a hundred jobs a few microseconds apart, and waking a thread costs more than
 * that, while a paused run must not burn a core.
 *
 * A job does not wait for workers that are still asleep, or have no core: whoever is awake computes
 * its tasks. One word holds the job's number and how many of its tasks nobody has taken, so that a
 * worker that comes late takes a task of the job that is on, or none. The job is over when all its
 * tasks have finished; until then the fields that describe it stay as they are. */
#include "base/threads/pool.h"

#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { SPIN_ROUNDS = 4000 };

struct worker {
    struct pool *pool;
    pthread_t thread;
    size_t number;
};

struct pool {
    size_t threads;
    struct worker *workers; /* threads - 1 of them */
    size_t started;
    pthread_mutex_t lock;
    pthread_cond_t work;
    atomic_bool stopping;
    atomic_uint_least64_t job; /* its number << 32 | how many tasks nobody has taken */
    /* what describes the job */
    pool_task *task;
    void *context;
    size_t tasks;
    atomic_size_t finished; /* how many tasks have */
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint32_t number_of(uint64_t job)
{
    return (uint32_t)(job >> 32);
}

/* Takes a task of the job that is on; false: none is left. */
static bool take_task(struct pool *pool, size_t *task)
{
    uint64_t job = atomic_load_explicit(&pool->job, memory_order_acquire);
    do {
        if ((uint32_t)job == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&pool->job, &job, job - 1, memory_order_acq_rel,
                                                    memory_order_acquire));
    *task = pool->tasks - (uint32_t)job;
    return true;
}

static void take_tasks(struct pool *pool, size_t thread)
{
    size_t task, count = 0;
    for (; take_task(pool, &task); count++)
        pool->task(pool->context, task, thread);
    if (count > 0)
        atomic_fetch_add_explicit(&pool->finished, count, memory_order_release);
}

/* Waits for a job with another number than `seen`; returns its number. */
static uint32_t wait_for_job(struct pool *pool, uint32_t seen)
{
    for (int round = 0; round < SPIN_ROUNDS; round++) {
        const uint32_t now = number_of(atomic_load_explicit(&pool->job, memory_order_acquire));
        if (now != seen)
            return now;
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    while (number_of(atomic_load(&pool->job)) == seen)
        pthread_cond_wait(&pool->work, &pool->lock);
    const uint32_t now = number_of(atomic_load(&pool->job));
    pthread_mutex_unlock(&pool->lock);
    return now;
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    uint32_t seen = 0;
    for (;;) {
        seen = wait_for_job(pool, seen);
        if (atomic_load(&pool->stopping))
            return NULL;
        take_tasks(pool, worker->number);
    }
}

/* Begins the next job. It holds the lock, so that a worker that is about to sleep has seen the
 * job's number or will be woken. */
static void announce(struct pool *pool, uint32_t tasks)
{
    pthread_mutex_lock(&pool->lock);
    const uint32_t number = number_of(atomic_load(&pool->job)) + 1;
    atomic_store(&pool->job, (uint64_t)number << 32 | tasks);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(struct pool *pool, size_t tasks, pool_task *task, void *context)
{
    /* `job` has 32 bits to count tasks with; more of them are left to the caller alone */
    if (pool->threads == 1 || tasks <= 1 || tasks > UINT32_MAX) {
        for (size_t i = 0; i < tasks; i++)
            task(context, i, 0);
        return;
    }
    pool->task = task;
    pool->context = context;
    pool->tasks = tasks;
    atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
    announce(pool, (uint32_t)tasks);
    take_tasks(pool, 0);
    int rounds = 0;
    while (atomic_load_explicit(&pool->finished, memory_order_acquire) != tasks) {
        relax();
        if (++rounds % SPIN_ROUNDS == 0)
            sched_yield(); /* more threads than cores */
    }
}

struct pool *pool_create(size_t threads, struct error *error)
{
    struct pool *pool = memory_new(1, sizeof *pool, "the thread pool", error);
    if (!pool)
        return NULL;
    pool->threads = threads ? threads : 1;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->workers = memory_new(pool->threads, sizeof *pool->workers, "the thread pool", error);
    if (!pool->workers) {
        pool_free(pool);
        return NULL;
    }
    for (; pool->started < pool->threads - 1; pool->started++) {
        struct worker *worker = &pool->workers[pool->started];
        *worker = (struct worker){.pool = pool, .number = pool->started + 1};
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            error_set(error, ERROR_SYSTEM, "the thread pool", "ask for fewer threads",
                      "could not start thread %zu of %zu", worker->number + 1, pool->threads);
            pool_free(pool);
            return NULL;
        }
    }
    return pool;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->stopping, true);
    announce(pool, 0);
    for (size_t i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

size_t pool_threads(const struct pool *pool)
{
    return pool->threads;
}
