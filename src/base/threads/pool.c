/* A training iteration runs a few hundred jobs, an inference about fifty, and many of them take only
 * some microseconds. Waking a thread takes longer than that. Between jobs the workers therefore spin
 * for some microseconds before they sleep on a futex, and a job is announced by one atomic store;
 * the kernel is only called when a worker sleeps.
 *
 * The tasks of a job are divided into one share per thread, always in the same way: the thread that
 * computed some rows of an image in one job computes the same rows in the next, and finds them in
 * its cache. A thread that has finished its share takes tasks of the others. A job therefore never
 * waits for a worker that is asleep or has no core: the threads that are awake compute its tasks.
 *
 * A share is one atomic number, of tasks that are not yet taken. Whoever decreases it has taken a
 * task of the current job, even if he has not yet noticed that a new job has begun; the fields that
 * describe the job change only when all of its tasks are finished. */
#include "base/threads/pool.h"

#include "base/clock.h"
#include "base/memory.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SPIN_NANOSECONDS = 50000,
    SPIN_ROUNDS = 32, /* between two looks at the clock */
    CACHE_LINE = 64,
};

struct share {
    _Alignas(CACHE_LINE) atomic_uint left; /* number of tasks not yet taken */
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
    struct share *shares; /* by thread */
    /* these describe the current job */
    pool_task *task;
    void *context;
    size_t tasks;
    /* what threads wait for; each on a cache line of its own */
    _Alignas(CACHE_LINE) atomic_uint job; /* number of the current job */
    atomic_uint sleepers;                 /* workers that sleep, or are about to */
    atomic_bool stopping;
    _Alignas(CACHE_LINE) atomic_uint finished; /* number of the job's tasks that are finished */
    atomic_bool caller_sleeps;
};

/* --- waiting --- */

/* Tells the processor that this is a spin loop. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleeps until wake() is called for `word`; returns at once unless it still has this value. It may
 * also return for no reason. */
static void sleep_while(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(atomic_uint *word, size_t threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads < INT_MAX ? (int)threads : INT_MAX, NULL,
            NULL, 0);
}

/* Waits for some microseconds until (*word == value) is `wanted`; returns whether it is. */
static bool spin(atomic_uint *word, unsigned value, bool wanted)
{
    uint64_t end = 0;
    for (;;) {
        for (int round = 0; round < SPIN_ROUNDS; round++) {
            if ((atomic_load_explicit(word, memory_order_acquire) == value) == wanted)
                return true;
            relax();
        }
        const uint64_t now = clock_nanoseconds();
        if (end == 0)
            end = now + SPIN_NANOSECONDS;
        else if (now >= end)
            return false;
    }
}

/* Waits for a job whose number is not `seen`; returns its number. Either the caller of pool_run sees
 * this worker among the sleepers, or this worker sees the new number. */
static unsigned wait_for_job(struct pool *pool, unsigned seen)
{
    if (!spin(&pool->job, seen, false)) {
        atomic_fetch_add(&pool->sleepers, 1);
        while (atomic_load(&pool->job) == seen)
            sleep_while(&pool->job, seen);
        atomic_fetch_sub(&pool->sleepers, 1);
    }
    return atomic_load_explicit(&pool->job, memory_order_acquire);
}

/* Waits until all tasks of the job are finished. */
static void wait_for_tasks(struct pool *pool)
{
    const unsigned tasks = (unsigned)pool->tasks;
    if (spin(&pool->finished, tasks, true))
        return;
    atomic_store(&pool->caller_sleeps, true);
    for (unsigned now; (now = atomic_load(&pool->finished)) != tasks;)
        sleep_while(&pool->finished, now);
    atomic_store(&pool->caller_sleeps, false);
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
    atomic_uint *left = &pool->shares[share].left;
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
    if (count == 0)
        return;
    atomic_fetch_add(&pool->finished, count);
    if (atomic_load(&pool->caller_sleeps))
        wake(&pool->finished, 1);
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
    }
}

/* Begins the next job; wakes as many sleeping workers as it can use. */
static void announce(struct pool *pool, size_t workers)
{
    atomic_fetch_add(&pool->job, 1);
    if (atomic_load(&pool->sleepers) > 0)
        wake(&pool->job, workers);
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
    atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
    for (size_t share = 0; share < pool->threads; share++)
        atomic_store_explicit(
            &pool->shares[share].left,
            (unsigned)(share_begin(pool, share + 1) - share_begin(pool, share)),
            memory_order_release);
    announce(pool, tasks - 1);
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
    pool->shares = memory_new_aligned(pool->threads, sizeof *pool->shares, "the thread pool", error);
    for (size_t share = 0; pool->shares && share < pool->threads; share++)
        atomic_init(&pool->shares[share].left, 0);
    if (pool->workers && pool->shares && start_workers(pool, error))
        return pool;
    pool_free(pool);
    return NULL;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->stopping, true);
    announce(pool, pool->started);
    for (size_t i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    free(pool->workers);
    free(pool->shares);
    free(pool);
}

size_t pool_threads(const struct pool *pool)
{
    return pool->threads;
}
