#include "base/threads/pool.h"
#include "base/threads/thread.h"
#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct work {
    atomic_uint runs[5000];
    atomic_bool wrong_thread;
    size_t threads;
};

static void count_task(void *context, size_t task, size_t thread)
{
    struct work *work = context;
    atomic_fetch_add(&work->runs[task], 1);
    if (thread >= work->threads)
        atomic_store(&work->wrong_thread, true);
}

static void test_every_task_once(size_t threads)
{
    static struct work work;
    struct pool *pool = pool_create(threads, NULL);
    if (!tap_ok(pool != NULL, "a pool of %zu threads", threads))
        return;
    bool once = true;
    for (size_t job = 0; job < 300; job++) {
        size_t tasks = job * 7 % 5000;
        memset(&work, 0, sizeof work);
        work.threads = threads;
        pool_run(pool, tasks, count_task, &work);
        for (size_t i = 0; i < 5000; i++)
            once = once && work.runs[i] == (i < tasks);
    }
    tap_ok(once, "every task of 300 jobs ran exactly once on %zu threads", threads);
    tap_ok(!work.wrong_thread, "thread numbers stay below %zu", threads);
    tap_ok(pool_threads(pool) == threads, "it knows its size");
    pool_free(pool);
}

/* --- sequences of jobs --- */

enum { JOBS = 200, MOST_TASKS = 20 };

/* What the tasks of a sequence see: each checks that all tasks of the job before are done. */
struct sequence {
    atomic_uint done[JOBS];
    size_t tasks[JOBS];
    atomic_bool too_early;
    struct place {
        struct sequence *sequence;
        size_t job;
    } places[JOBS];
};

static void check_order(void *context, size_t task, size_t thread)
{
    const struct place *place = context;
    struct sequence *sequence = place->sequence;
    (void)thread;
    if (place->job > 0 &&
        atomic_load(&sequence->done[place->job - 1]) != sequence->tasks[place->job - 1])
        atomic_store(&sequence->too_early, true);
    if (place->job % 64 == 5 && task == 0)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL); /* the others fall asleep */
    atomic_fetch_add(&sequence->done[place->job], 1);
}

/* Draws how many tasks a job has: mostly one for each thread, sometimes none, one or many. */
static size_t draw_tasks(unsigned *state, size_t threads)
{
    *state = *state * 1664525u + 1013904223u;
    const unsigned draw = *state >> 24;
    return draw < 160 ? threads : draw % MOST_TASKS;
}

static void test_sequences(size_t threads)
{
    static struct sequence sequence;
    struct pool_job jobs[JOBS];
    unsigned state = 1;
    struct pool *pool = pool_create(threads, NULL);
    bool complete = pool;
    for (size_t round = 0; complete && round < 200; round++) {
        const size_t count = round % JOBS;
        memset(&sequence, 0, sizeof sequence);
        for (size_t j = 0; j < count; j++) {
            sequence.places[j] = (struct place){&sequence, j};
            sequence.tasks[j] = draw_tasks(&state, threads);
            jobs[j] = (struct pool_job){sequence.tasks[j], check_order, &sequence.places[j]};
        }
        pool_run_jobs(pool, jobs, count);
        for (size_t j = 0; j < count; j++)
            complete = complete && sequence.done[j] == sequence.tasks[j];
        complete = complete && !sequence.too_early;
    }
    tap_ok(complete, "sequences of jobs run in their order on %zu threads", threads);
    pool_free(pool);
}

/* --- few tasks --- */

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static atomic_uint begun;
static atomic_bool waited_in_vain;

/* Waits until all tasks of the job have begun, for twenty seconds at most. */
static void meet(void *context, size_t task, size_t thread)
{
    const size_t *tasks = context;
    (void)task;
    (void)thread;
    atomic_fetch_add(&begun, 1);
    for (size_t i = 0; i < 20000 && atomic_load(&begun) < *tasks; i++)
        rest();
    if (atomic_load(&begun) < *tasks)
        atomic_store(&waited_in_vain, true);
}

static void test_few_tasks(size_t threads, size_t tasks)
{
    struct pool *pool = pool_create(threads, NULL);
    bool met = pool;
    for (size_t i = 0; met && i < 3; i++) {
        atomic_store(&begun, 0);
        pool_run(pool, tasks, meet, &tasks);
        met = !atomic_load(&waited_in_vain);
    }
    tap_ok(met, "%zu tasks run at the same time on %zu threads", tasks, threads);
    pool_free(pool);
}

/* --- threads that sleep --- */

static void count_slowly(void *context, size_t task, size_t thread)
{
    if (thread > 0)
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL); /* longer than the caller spins */
    count_task(context, task, thread);
}

/* Between the jobs the workers fall asleep, and during a job the caller does. */
static void test_sleepers(size_t threads)
{
    static struct work work;
    struct pool *pool = pool_create(threads, NULL);
    bool once = pool;
    for (size_t job = 0; once && job < 40; job++) {
        const size_t tasks = job % 9;
        memset(&work, 0, sizeof work);
        work.threads = threads;
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        pool_run(pool, tasks, job % 2 ? count_slowly : count_task, &work);
        for (size_t i = 0; i < 16; i++)
            once = once && work.runs[i] == (i < tasks);
    }
    tap_ok(once, "every task ran exactly once on %zu threads that sleep in between", threads);
    pool_free(pool);
}

/* --- a worker that has no core --- */

static pthread_t worker;
static atomic_bool worker_known, is_held, may_go_on;

/* Notes the thread if it is the worker, and lets it take the signal that holds it up. */
static void note_worker(size_t thread)
{
    sigset_t held;
    if (thread != 1)
        return;
    sigemptyset(&held);
    sigaddset(&held, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &held, NULL);
    worker = pthread_self();
    atomic_store(&worker_known, true);
}

static void meet_worker(void *context, size_t task, size_t thread)
{
    (void)context;
    (void)task;
    note_worker(thread);
    rest();
}

static void hold(int number)
{
    (void)number;
    atomic_store(&is_held, true);
    while (!atomic_load(&may_go_on))
        rest();
}

static void test_held_worker(void)
{
    static struct work work;
    struct pool *pool = pool_create(2, NULL);
    bool once = true;
    if (!tap_ok(pool != NULL, "a pool of 2 threads"))
        return;
    work.threads = 1;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = hold}, NULL);
    while (!atomic_load(&worker_known))
        pool_run(pool, 2, meet_worker, NULL);
    pthread_kill(worker, SIGUSR1);
    while (!atomic_load(&is_held))
        rest();
    alarm(60); /* ends a test that would wait for the worker for ever */
    pool_run(pool, 100, count_task, &work);
    const struct pool_job job = {2, count_task, &work};
    struct pool_job jobs[70];
    for (size_t i = 0; i < 70; i++)
        jobs[i] = job;
    pool_run_jobs(pool, jobs, 70);
    alarm(0);
    atomic_store(&may_go_on, true);
    for (size_t i = 0; i < 100; i++)
        once = once && work.runs[i] == (i < 2 ? 71 : 1);
    tap_ok(once && !work.wrong_thread, "no job waits for a worker that gets no core");
    pool_free(pool);
}

/* --- a worker that is late inside a sequence --- */

static void short_task(void *context, size_t task, size_t thread)
{
    note_worker(thread);
    count_task(context, task, thread);
}

/* Holds the worker at any instant, for many times as long as a sequence takes; if it has taken a
 * task, the caller waits for it. */
static void delay(int number)
{
    (void)number;
    rest();
}

/* Runs a sequence and checks that each task ran once. */
static bool run_short_tasks(struct pool *pool, struct work *work, size_t length)
{
    struct pool_job jobs[70];
    bool once = true;
    for (size_t i = 0; i < 16; i++)
        atomic_store(&work->runs[i], 0);
    for (size_t i = 0; i < length; i++)
        jobs[i] = (struct pool_job){2 + i % 5, short_task, work};
    pool_run_jobs(pool, jobs, length);
    for (size_t task = 0; task < 16; task++) {
        size_t wanted = 0;
        for (size_t i = 0; i < length; i++)
            wanted += task < 2 + i % 5;
        once = once && atomic_load(&work->runs[task]) == wanted;
    }
    return once;
}

static void test_late_worker(void)
{
    static struct work work;
    struct pool *pool = pool_create(2, NULL);
    bool once = pool;
    work.threads = 2;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = delay}, NULL);
    atomic_store(&worker_known, false);
    alarm(300);
    while (once && !atomic_load(&worker_known))
        once = run_short_tasks(pool, &work, 60);
    for (size_t round = 0; once && round < 2000; round++) {
        if (round % 10 == 0)
            pthread_kill(worker, SIGUSR1);
        once = run_short_tasks(pool, &work, 1 + round * 7 % 70);
    }
    alarm(0);
    tap_ok(once && !work.wrong_thread, "a worker that is late in a sequence takes no wrong task");
    pool_free(pool);
}

/* --- faults --- */

enum { CAUGHT = 7 };

static void end_caught(int number)
{
    (void)number;
    _exit(CAUGHT);
}

static void *fault(void *page)
{
    *(volatile char *)page = 1;
    return NULL;
}

/* The kernel ends a program at once if the signal of a fault is blocked in the thread. */
static void test_faulty_thread(void)
{
    int status = 0;
    pthread_t thread;
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const pid_t child = page != MAP_FAILED ? fork() : -1;
    if (child == 0) {
        sigaction(SIGSEGV, &(struct sigaction){.sa_handler = end_caught}, NULL);
        sigaction(SIGBUS, &(struct sigaction){.sa_handler = end_caught}, NULL);
        if (thread_start(&thread, fault, page) == 0)
            pthread_join(thread, NULL);
        _exit(0);
    }
    tap_ok(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == CAUGHT,
           "a thread's own fault reaches the program's handler");
}

/* Returns the sum of more numbers than the stack has room for. */
static size_t sum_down(volatile size_t *number)
{
    volatile size_t lower[64] = {*number - 1};
    return *number == 0 ? 0 : sum_down(lower) + lower[0];
}

static void *overflow(void *context)
{
    volatile size_t number = SIZE_MAX;
    (void)context;
    return (void *)sum_down(&number);
}

/* A handler that has to run on an overflowed stack ends the program without a word. */
static void test_overflowing_thread(void)
{
    int status = 0;
    pthread_t thread;
    const pid_t child = fork();
    if (child == 0) {
        const struct sigaction action = {.sa_handler = end_caught, .sa_flags = SA_ONSTACK};
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGBUS, &action, NULL);
        if (thread_start(&thread, overflow, NULL) == 0)
            pthread_join(thread, NULL);
        _exit(0);
    }
    tap_ok(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == CAUGHT,
           "so does the overflow of its stack");
}

/* Overflows the stack of the pool's worker; the thread that started the pool waits for the end. */
static void overflow_worker(void *context, size_t task, size_t thread)
{
    (void)task;
    if (thread > 0)
        overflow(context);
    alarm(60);
    while (thread == 0)
        rest();
}

static void test_overflowing_worker(void)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const struct sigaction action = {.sa_handler = end_caught, .sa_flags = SA_ONSTACK};
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGBUS, &action, NULL);
        struct pool *pool = pool_create(2, NULL);
        if (pool)
            pool_run(pool, 2, overflow_worker, NULL);
        _exit(0);
    }
    tap_ok(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == CAUGHT,
           "and that of a worker of a pool");
}

TEST_CASE(pool_test)
{
    test_faulty_thread();
    test_overflowing_thread();
    test_overflowing_worker();
    for (size_t threads = 1; threads <= 5; threads++)
        test_every_task_once(threads);
    for (size_t threads = 1; threads <= 5; threads++)
        test_sequences(threads);
    for (size_t threads = 2; threads <= 8; threads += 3)
        test_sleepers(threads);
    test_few_tasks(4, 2);
    test_few_tasks(5, 3);
    test_few_tasks(8, 4);
    test_held_worker();
    test_late_worker();
    pool_free(NULL);
    tap_ok(true, "freeing no pool is allowed");
    return tap_done();
}
