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
 * A value that one thread writes and another reads costs the time that a cache line takes from core
 * to core. The caller announces a sequence of jobs once to each worker. From one job of the
 * sequence to the next the threads go by themselves: each counts, on a line of its own, the tasks
 * that it has finished, and begins the next job when the counts of all show that the job before is
 * done. What describes a job is only written where it differs from what the same place of the
 * sequence before had, so that it stays in the caches of all.
 *
 * Jobs have running numbers. A share is the number of a job and how many of its tasks are not yet
 * taken; one compare-and-exchange takes a task, which is thus a task of that job. Whoever comes to
 * a share first after the job before is done begins it. A late worker may still hold the numbers of
 * a finished sequence. It does no harm: before the caller describes a new sequence, it closes all
 * shares. A thread that has read anything of the new description therefore cannot take a task by
 * it, because the share is no longer what it was, and finds that the first job has another number.
 *
 * A worker that sleeps between sequences is woken once, by the next one. If it gets no core then,
 * the sequences after that one do not call the kernel again. Threads that sleep inside a sequence
 * are woken when the job is done that they wait for. */
#include "base/threads/pool.h"

#include "base/memory.h"
#include "base/threads/futex.h"
#include "base/threads/spin.h"
#include "base/threads/thread.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CACHE_LINE = 64,
    SEQUENCE_JOBS = 64, /* at most; a longer sequence is divided */
    /* rounds of a wait before a thread takes the single tasks of others */
    HELP_ROUNDS = SPIN_UNRELAXED + 32,
};

#define CLOSED UINT_MAX /* tasks left of a share while a new sequence is described */
#define MOST_TASKS                                                                                 \
    INT_MAX /* the most of a sequence, since differences of counts are compared as int */

/* The state of a thread that it shares with the others. */
struct slot {
    _Alignas(CACHE_LINE) atomic_uint announced; /* increases with each sequence for this thread */
    atomic_uint asleep;      /* the worker sleeps, or is about to, while this equals `announced` */
    _Atomic(uint64_t) share; /* a job, and how many tasks of the share are not yet taken */
    /* the current sequence: its first and its last job, and the sum of all `finished` before it */
    atomic_uint first_job, last_job, finished_before;
    _Alignas(CACHE_LINE) atomic_uint finished; /* tasks that the thread has finished, in all jobs */
};

/* A job, at its place in the sequence. */
struct description {
    atomic_uint tasks;
    atomic_uint tasks_so_far; /* tasks of the sequence up to the end of this job */
    pool_task *task;
    void *context;
};

struct worker {
    struct pool *pool;
    pthread_t thread;
    size_t number;
};

struct pool {
    /* all threads read these lines often: nothing that changes often is on them */
    size_t threads;
    struct worker *workers; /* threads - 1 of them */
    size_t started;
    struct slot *slots; /* by thread */
    atomic_bool stopping;
    _Alignas(CACHE_LINE) struct description sequence[SEQUENCE_JOBS];
    /* jobs and tasks of all sequences so far, which the caller alone counts; both wrap around */
    _Alignas(CACHE_LINE) unsigned next_job;
    unsigned tasks;
    _Alignas(CACHE_LINE) atomic_uint sleepers; /* threads that sleep until a job is done */
    atomic_uint wakeups; /* increases when a job is done while threads sleep */
};

/* A thread's part in a sequence. */
struct member {
    struct pool *pool;
    size_t thread;
    unsigned first_job, last_job, finished_before;
};

/* --- shares --- */

static uint64_t share_of(unsigned job, unsigned left)
{
    return (uint64_t)job << 32 | left;
}

static unsigned share_job(uint64_t share)
{
    return (unsigned)(share >> 32);
}

static unsigned share_left(uint64_t share)
{
    return (unsigned)share;
}

/* Returns whether number a comes after number b, where both wrap around. */
static bool is_after(unsigned a, unsigned b)
{
    return (int)(a - b) > 0;
}

/* Returns the first task of a thread's share. With no more tasks than threads, the first threads
 * have one each. Many jobs have as many tasks as threads, and need no division. */
static unsigned share_begin(const struct pool *pool, unsigned tasks, size_t thread)
{
    if (tasks <= pool->threads)
        return thread < tasks ? (unsigned)thread : tasks;
    return (unsigned)(((uint64_t)tasks * thread + pool->threads - 1) / pool->threads);
}

static unsigned share_size(const struct pool *pool, unsigned tasks, size_t thread)
{
    return share_begin(pool, tasks, thread + 1) - share_begin(pool, tasks, thread);
}

static const struct description *describe(const struct member *member, unsigned job)
{
    /* a late thread may look for a job that this sequence does not have */
    return &member->pool->sequence[(job - member->first_job) % SEQUENCE_JOBS];
}

static unsigned tasks_of(const struct member *member, unsigned job)
{
    return atomic_load_explicit(&describe(member, job)->tasks, memory_order_acquire);
}

/* Takes a task of a share of a job, and begins the share if nobody has. Returns false if no task is
 * left. */
static bool take_task(const struct member *member, size_t owner, unsigned job, size_t *task)
{
    _Atomic(uint64_t) *place = &member->pool->slots[owner].share;
    uint64_t share = atomic_load_explicit(place, memory_order_acquire);
    const unsigned tasks = tasks_of(member, job);
    unsigned left;
    do {
        left = share_left(share);
        if (left == CLOSED || is_after(share_job(share), job))
            return false;
        if (share_job(share) != job)
            left = share_size(member->pool, tasks, owner);
        if (left == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(place, &share, share_of(job, left - 1),
                                                    memory_order_acq_rel, memory_order_acquire));
    *task = share_begin(member->pool, tasks, owner + 1) - left;
    return true;
}

/* --- waiting --- */

/* Waits for a sequence; `seen` counts the sequences announced before. Either the caller of
 * pool_run_jobs sees that this worker sleeps, or the worker sees the announcement. */
static unsigned wait_for_sequence(struct slot *slot, unsigned seen)
{
    struct spin wait = {0};
    while (atomic_load_explicit(&slot->announced, memory_order_acquire) == seen)
        if (!spin_again(&wait)) {
            atomic_store(&slot->asleep, seen);
            while (atomic_load(&slot->announced) == seen)
                futex_wait(&slot->announced, seen);
        }
    return atomic_load_explicit(&slot->announced, memory_order_acquire);
}

/* Announces a sequence to a worker, and wakes it if it sleeps. */
static void announce(struct slot *slot)
{
    const unsigned before = atomic_fetch_add(&slot->announced, 1);
    if (atomic_load(&slot->asleep) == before)
        futex_wake(&slot->announced);
}

/* Returns whether no other sequence has begun: then everything read before belongs to this one. */
static bool is_current(const struct member *member)
{
    return atomic_load_explicit(&member->pool->slots[member->thread].first_job,
                                memory_order_acquire) == member->first_job;
}

/* Returns whether all tasks of the sequence up to those of a job are finished. */
static bool is_done(const struct member *member, unsigned job)
{
    const unsigned expected =
        member->finished_before +
        atomic_load_explicit(&describe(member, job)->tasks_so_far, memory_order_acquire);
    unsigned finished = 0;
    for (size_t i = 0; i < member->pool->threads; i++)
        finished += atomic_load(&member->pool->slots[i].finished);
    return !is_after(expected, finished) || !is_current(member);
}

/* Sleeps until a job is done. Either the thread that finishes the last task sees that this one
 * sleeps, or this one sees that the job is done. */
static void sleep_until_done(const struct member *member, unsigned job)
{
    struct pool *pool = member->pool;
    atomic_fetch_add(&pool->sleepers, 1);
    for (;;) {
        const unsigned seen = atomic_load(&pool->wakeups);
        if (is_done(member, job))
            break;
        futex_wait(&pool->wakeups, seen);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
}

/* Counts tasks that the thread has finished; if the job is done, wakes the threads that wait. */
static void report_finished(const struct member *member, unsigned job, unsigned count)
{
    struct pool *pool = member->pool;
    atomic_fetch_add(&pool->slots[member->thread].finished, count);
    if (atomic_load(&pool->sleepers) > 0 && is_done(member, job)) {
        atomic_fetch_add(&pool->wakeups, 1);
        futex_wake(&pool->wakeups);
    }
}

/* --- tasks --- */

/* Computes the rest of a share of a job. */
static void take_share(const struct member *member, size_t owner, unsigned job)
{
    unsigned count = 0;
    size_t task;
    for (; take_task(member, owner, job, &task); count++) {
        const struct description *description = describe(member, job);
        description->task(description->context, task, member->thread);
    }
    if (count > 0)
        report_finished(member, job, count);
}

static void help_others(const struct member *member, unsigned job)
{
    const size_t threads = member->pool->threads;
    for (size_t i = 1; i < threads; i++)
        take_share(member, (member->thread + i) % threads, job);
}

/* Waits until a job is done; `helps`: takes tasks of the others once if that is not soon. */
static void wait_until_done(const struct member *member, unsigned job, bool helps)
{
    struct spin wait = {0};
    while (!is_done(member, job)) {
        const bool spins = spin_again(&wait);
        if (helps && wait.rounds >= HELP_ROUNDS) {
            help_others(member, job);
            helps = false;
        }
        if (!spins)
            sleep_until_done(member, job);
    }
}

/* Computes the jobs of the sequence from `job` on, with the others. A look at another thread's
 * share takes the cache line from it, and a share of one task has nearly always been taken: a
 * thread then waits for a moment before it looks. After the last job only the caller waits. */
static void run_sequence(const struct member *member, unsigned job)
{
    for (;; job++) {
        const bool single_tasks = tasks_of(member, job) <= member->pool->threads;
        const bool waits = job != member->last_job || member->thread == 0;
        take_share(member, member->thread, job);
        if (!single_tasks)
            help_others(member, job);
        if (waits)
            wait_until_done(member, job, single_tasks);
        if (job == member->last_job || !is_current(member))
            return;
    }
}

/* Joins the current sequence, at the job of the thread's share. Returns false if another one is
 * about to begin, which will be announced. */
static bool join(struct pool *pool, size_t thread, struct member *member, unsigned *job)
{
    const struct slot *slot = &pool->slots[thread];
    member->pool = pool;
    member->thread = thread;
    member->first_job = atomic_load_explicit(&slot->first_job, memory_order_acquire);
    const uint64_t share = atomic_load_explicit(&slot->share, memory_order_acquire);
    member->last_job = atomic_load_explicit(&slot->last_job, memory_order_acquire);
    member->finished_before = atomic_load_explicit(&slot->finished_before, memory_order_acquire);
    *job = share_job(share);
    return share_left(share) != CLOSED && is_current(member);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    unsigned seen = 0, job;
    for (;;) {
        struct member member;
        seen = wait_for_sequence(&pool->slots[worker->number], seen);
        if (atomic_load(&pool->stopping))
            return NULL;
        if (join(pool, worker->number, &member, &job))
            run_sequence(&member, job);
    }
}

/* --- sequences --- */

static void set_if_other(atomic_uint *place, unsigned value)
{
    if (atomic_load_explicit(place, memory_order_relaxed) != value)
        atomic_store_explicit(place, value, memory_order_release);
}

/* Writes the descriptions of the jobs of a sequence; returns the largest number of tasks. */
static unsigned describe_jobs(struct pool *pool, const struct pool_job *jobs, size_t count)
{
    unsigned most = 0, so_far = 0;
    for (size_t i = 0; i < count; i++) {
        struct description *description = &pool->sequence[i];
        const unsigned tasks = (unsigned)jobs[i].tasks;
        so_far += tasks;
        most = tasks > most ? tasks : most;
        set_if_other(&description->tasks, tasks);
        set_if_other(&description->tasks_so_far, so_far);
        if (description->task != jobs[i].task || description->context != jobs[i].context) {
            description->task = jobs[i].task;
            description->context = jobs[i].context;
        }
    }
    return most;
}

/* Closes a share before a sequence is described. The order matters: a thread that reads the new
 * first job also reads the closed share, and one that reads a new description reads both. */
static void close_share(struct pool *pool, size_t thread)
{
    struct slot *slot = &pool->slots[thread];
    atomic_store_explicit(&slot->share, share_of(pool->next_job, CLOSED), memory_order_release);
    atomic_store_explicit(&slot->first_job, pool->next_job, memory_order_release);
}

/* Begins a thread's share of the first job of a sequence of `count` jobs. */
static void open_share(struct pool *pool, size_t thread, size_t count)
{
    struct slot *slot = &pool->slots[thread];
    const unsigned tasks = atomic_load_explicit(&pool->sequence[0].tasks, memory_order_relaxed);
    atomic_store_explicit(&slot->last_job, pool->next_job + (unsigned)count - 1,
                          memory_order_release);
    atomic_store_explicit(&slot->finished_before, pool->tasks, memory_order_release);
    atomic_store_explicit(&slot->share, share_of(pool->next_job, share_size(pool, tasks, thread)),
                          memory_order_release);
}

static void run_together(struct pool *pool, const struct pool_job *jobs, size_t count)
{
    struct member member;
    unsigned job;
    for (size_t i = 0; i < pool->threads; i++)
        close_share(pool, i);
    const unsigned most = describe_jobs(pool, jobs, count);
    for (size_t i = pool->threads; i-- > 0;) {
        open_share(pool, i, count);
        if (i > 0 && i < most)
            announce(&pool->slots[i]);
    }
    pool->next_job += (unsigned)count;
    pool->tasks +=
        atomic_load_explicit(&pool->sequence[count - 1].tasks_so_far, memory_order_relaxed);
    if (join(pool, 0, &member, &job))
        run_sequence(&member, job);
}

static void run_alone(const struct pool_job *job)
{
    for (size_t i = 0; i < job->tasks; i++)
        job->task(job->context, i, 0);
}

/* Returns whether the caller alone should compute a job: it has nothing to share, or more tasks
 * than a sequence may have. */
static bool is_for_one(const struct pool *pool, const struct pool_job *job)
{
    return pool->threads == 1 || job->tasks <= 1 || job->tasks > MOST_TASKS;
}

/* Returns how many of the jobs can be one sequence; 0 if the first is for one thread. */
static size_t sequence_length(const struct pool *pool, const struct pool_job *jobs, size_t count)
{
    size_t length = 0, tasks = 0;
    for (; length < count && length < SEQUENCE_JOBS && !is_for_one(pool, &jobs[length]); length++) {
        tasks += jobs[length].tasks;
        if (tasks > MOST_TASKS)
            break;
    }
    return length;
}

void pool_run_jobs(struct pool *pool, const struct pool_job *jobs, size_t count)
{
    for (size_t i = 0; i < count;) {
        const size_t length = sequence_length(pool, jobs + i, count - i);
        if (length > 0)
            run_together(pool, jobs + i, length);
        else
            run_alone(&jobs[i]);
        i += length > 0 ? length : 1;
    }
}

void pool_run(struct pool *pool, size_t tasks, pool_task *task, void *context)
{
    pool_run_jobs(pool, &(struct pool_job){.tasks = tasks, .task = task, .context = context}, 1);
}

/* --- creation --- */

static bool start_workers(struct pool *pool, struct error *error)
{
    for (; pool->started < pool->threads - 1; pool->started++) {
        struct worker *worker = &pool->workers[pool->started];
        *worker = (struct worker){.pool = pool, .number = pool->started + 1};
        if (thread_start(&worker->thread, worker_main, worker) != 0)
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
    memset(pool, 0, sizeof *pool);
    pool->threads = threads ? threads : 1;
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
