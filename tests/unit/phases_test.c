/* Tests jobs of several phases (phases.h): each phase of each part runs once, in order, and when a
 * phase begins, the others of its group have shared the phase before and finished the one before
 * that; with threads that sleep, that take unequal times, and with one that gets no core. */
#include "base/threads/phases.h"
#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PARTS = 8, PHASES = 50 };

struct part_state {
    atomic_uint shared, finished; /* calls that have ended */
};

struct work {
    size_t parts; /* of a group */
    struct part_state states[MOST_PARTS];
    long delays[MOST_PARTS]; /* nanoseconds that a call takes for each part, at most */
    size_t threads;
    atomic_uint wrong; /* calls that found something else than they should */
};

static void pause_for(long nanoseconds)
{
    if (nanoseconds > 0)
        nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

static void note(struct work *work, bool right)
{
    if (!right)
        atomic_fetch_add(&work->wrong, 1);
}

/* Returns whether a part may be in a phase: the others of its group are far enough. */
static bool others_are_ready(const struct work *work, size_t part, size_t phase)
{
    const size_t first = part - part % work->parts;
    bool ready = true;
    for (size_t i = first; i < first + work->parts; i++)
        ready &= atomic_load(&work->states[i].shared) >= phase &&
                 atomic_load(&work->states[i].finished) + 1 >= phase;
    return ready;
}

static void share(void *context, size_t part, size_t phase, size_t thread)
{
    struct work *work = context;
    struct part_state *state = &work->states[part];
    note(work, thread < work->threads && others_are_ready(work, part, phase));
    note(work, atomic_load(&state->finished) == phase);
    pause_for(work->delays[part] * (long)((phase * 7 + part) % 3) / 2);
    note(work, atomic_fetch_add(&state->shared, 1) == phase);
}

static void finish(void *context, size_t part, size_t phase, size_t thread)
{
    struct work *work = context;
    struct part_state *state = &work->states[part];
    note(work, thread < work->threads && others_are_ready(work, part, phase));
    note(work, atomic_load(&state->shared) == phase + 1);
    pause_for(work->delays[part] * (long)((phase * 5 + part) % 3) / 2);
    note(work, atomic_fetch_add(&state->finished, 1) == phase);
}

/* Returns whether a job of `groups` groups does what it should. */
static bool run_once(struct phases *phases, struct pool *pool, struct work *work, size_t groups)
{
    const struct phases_job job = {.groups = groups,
                                   .parts = work->parts,
                                   .phases = PHASES,
                                   .shared = share,
                                   .rest = finish,
                                   .context = work};
    memset(work->states, 0, sizeof work->states);
    atomic_store(&work->wrong, 0);
    phases_run(phases, pool, &job);
    bool good = atomic_load(&work->wrong) == 0;
    for (size_t i = 0; i < groups * work->parts; i++)
        good = good && work->states[i].shared == PHASES && work->states[i].finished == PHASES;
    return good;
}

/* `delay`: nanoseconds that a call takes, about; each part another share of it. */
static void test_jobs(size_t threads, long delay, size_t jobs, const char *what)
{
    struct error error;
    struct work work = {.threads = threads};
    struct pool *pool = pool_create(threads, &error);
    struct phases *phases = phases_create(threads, &error);
    size_t good = 0, run = 0;
    for (size_t i = 0; i < MOST_PARTS; i++)
        work.delays[i] = i % 3 == 1 ? delay : delay / 8;
    for (size_t job = 0; pool && phases && job < jobs; job++)
        for (size_t groups = 1; groups <= 2; groups++)
            for (work.parts = 1; work.parts * groups <= threads; work.parts++, run++)
                good += run_once(phases, pool, &work, groups);
    tap_ok(good == run && run > 0, "%zu threads, %s: all %zu of %zu jobs", threads, what, good,
           run);
    phases_free(phases);
    pool_free(pool);
}

/* --- a worker that has no core --- */

static pthread_t worker;
static atomic_bool worker_known, is_held, may_go_on;

static void meet_worker(void *context, size_t task, size_t thread)
{
    (void)context;
    (void)task;
    if (thread == 1) {
        worker = pthread_self();
        atomic_store(&worker_known, true);
    }
    pause_for(1000000);
}

static void hold(int number)
{
    (void)number;
    atomic_store(&is_held, true);
    while (!atomic_load(&may_go_on))
        pause_for(1000000);
}

static void test_held_worker(void)
{
    struct error error;
    struct work work = {.threads = 1, .parts = 2};
    struct pool *pool = pool_create(2, &error);
    struct phases *phases = phases_create(2, &error);
    if (!tap_ok(pool && phases, "a pool of 2 threads"))
        return;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = hold}, NULL);
    while (!atomic_load(&worker_known))
        pool_run(pool, 2, meet_worker, NULL);
    pthread_kill(worker, SIGUSR1);
    while (!atomic_load(&is_held))
        pause_for(1000000);
    alarm(60); /* ends a test that would wait for the worker for ever */
    const bool good = run_once(phases, pool, &work, 1);
    alarm(0);
    atomic_store(&may_go_on, true);
    tap_ok(good, "a job does not wait for a worker that gets no core");
    phases_free(phases);
    pool_free(pool);
}

int main(void)
{
    for (size_t threads = 1; threads <= MOST_PARTS; threads += threads < 3 ? 1 : 5)
        test_jobs(threads, 0, 200, "at full speed");
    for (size_t threads = 2; threads <= 4; threads++)
        test_jobs(threads, 300000, 1, "which sleep");
    test_held_worker();
    phases_free(NULL);
    tap_ok(true, "freeing nothing is allowed");
    return tap_done();
}
