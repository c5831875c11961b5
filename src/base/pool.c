/* The pool's workers wait on a condition variable between jobs, after a short spin: a training
 * iteration issues a hundred jobs a few microseconds apart, and waking a thread costs more than
 * that, while a paused run must not burn a core.
 *
 * Invariants: `generation` counts jobs and changes under the lock only; `next` is the ticket of the
 * next task; a job is over when `finished` workers have seen that no task is left, which pool_run
 * waits for before it returns, so no worker still looks at a job that has ended. */
#include "base/pool.h"

#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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
    atomic_uint generation;
    atomic_bool stopping;
    /* the job */
    pool_task *task;
    void *context;
    size_t tasks;
    atomic_size_t next;
    atomic_size_t finished;
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_tasks(struct pool *pool, size_t thread)
{
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (task >= pool->tasks)
            return;
        pool->task(pool->context, task, thread);
    }
}

/* Waits for a generation other than `seen`; returns it. */
static unsigned wait_for_job(struct pool *pool, unsigned seen)
{
    for (int round = 0; round < SPIN_ROUNDS; round++) {
        unsigned now = atomic_load_explicit(&pool->generation, memory_order_acquire);
        if (now != seen)
            return now;
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->work, &pool->lock);
    unsigned now = atomic_load(&pool->generation);
    pthread_mutex_unlock(&pool->lock);
    return now;
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_job(pool, seen);
        if (atomic_load(&pool->stopping))
            return NULL;
        take_tasks(pool, worker->number);
        atomic_fetch_add_explicit(&pool->finished, 1, memory_order_release);
    }
}

static void announce(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(struct pool *pool, size_t tasks, pool_task *task, void *context)
{
    if (pool->threads == 1 || tasks <= 1) {
        for (size_t i = 0; i < tasks; i++)
            task(context, i, 0);
        return;
    }
    pool->task = task;
    pool->context = context;
    pool->tasks = tasks;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
    announce(pool);
    take_tasks(pool, 0);
    int rounds = 0;
    while (atomic_load_explicit(&pool->finished, memory_order_acquire) != pool->started) {
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
    announce(pool);
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
