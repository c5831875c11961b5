/* Each part counts the phases that it has begun, has shared and has finished. A thread of the pool
 * follows one part through its phases. Before each phase it waits until all parts of the group have
 * shared the phase before. If that takes some microseconds, it begins phases that
 * their own threads have not begun: those may be asleep, or have no core. From then on it does so
 * at once, until they are back.
 *
 * Whoever increases `begun` runs the phase, and nobody else can. A part's phase is begun when the
 * part has finished the one before. No thread waits for a phase that nobody runs: what a waiting
 * thread needs is either in work, or the thread can begin it itself. */
#include "base/threads/phases.h"

#include "base/memory.h"
#include "base/threads/futex.h"
#include "base/threads/spin.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    CACHE_LINE = 64,
    /* Of a spin loop before a thread takes a phase of another one: some microseconds. Where the
     * other is only late, what its cache has costs more than the wait. */
    HELP_ROUNDS = 4 * SPIN_ROUNDS,
};

/* Numbers of phases. The other threads only look at `shared`, unless they begin a phase of the
 * part. */
struct part {
    _Alignas(CACHE_LINE) atomic_uint shared;
    _Alignas(CACHE_LINE) atomic_uint begun;
    atomic_uint finished;
    atomic_bool absent; /* its thread: another one has run its last phase */
};

struct phases {
    struct phases_job job; /* the current one */
    _Alignas(CACHE_LINE) atomic_uint sleepers;
    atomic_uint wakeups; /* increases when a phase was finished while a thread sleeps */
    struct part parts[];
};

/* --- one phase of a part --- */

/* Tells those that sleep that a phase was finished, and shared before. */
static void wake_sleepers(struct phases *phases)
{
    unsigned sleepers = atomic_load(&phases->sleepers);
    if (sleepers == 0)
        return;
    atomic_fetch_add(&phases->wakeups, 1);
    while (sleepers-- > 0)
        futex_wake(&phases->wakeups);
}

/* Runs a phase of a part, unless it has begun, or the part has not finished the one before. Returns
 * whether it ran. */
static bool run_phase(struct phases *phases, size_t part, unsigned phase, size_t thread)
{
    const struct phases_job *job = &phases->job;
    struct part *state = &phases->parts[part];
    unsigned expected = phase;
    if (atomic_load(&state->finished) != phase ||
        !atomic_compare_exchange_strong(&state->begun, &expected, phase + 1))
        return false;
    job->shared(job->context, part, phase, thread);
    atomic_store_explicit(&state->shared, phase + 1, memory_order_release);
    job->rest(job->context, part, phase, thread);
    atomic_store(&state->finished, phase + 1);
    wake_sleepers(phases);
    return true;
}

/* --- waiting --- */

/* What a thread waits for. */
struct wait {
    struct phases *phases;
    size_t first, part; /* of the group; the thread's own */
    unsigned phase;     /* that it wants to begin */
    size_t thread;
};

/* Returns whether all parts of the group have shared the phase before. */
static bool all_shared(const struct wait *wait)
{
    const struct phases *phases = wait->phases;
    for (size_t i = 0; i < phases->job.parts; i++)
        if (atomic_load(&phases->parts[wait->first + i].shared) < wait->phase)
            return false;
    return true;
}

/* Returns whether the part's own phase can begin, or has begun. */
static bool is_over(const struct wait *wait)
{
    const struct part *own = &wait->phases->parts[wait->part];
    return atomic_load(&own->begun) > wait->phase ||
           (all_shared(wait) && atomic_load(&own->finished) == wait->phase);
}

/* Runs the phase before for a part of the group that has not begun it, of all of them or of those
 * whose threads are absent. Returns whether there was one. */
static bool help(const struct wait *wait, bool all)
{
    struct phases *phases = wait->phases;
    for (size_t i = wait->first; wait->phase > 0 && i < wait->first + phases->job.parts; i++)
        if ((all || atomic_load_explicit(&phases->parts[i].absent, memory_order_relaxed)) &&
            run_phase(phases, i, wait->phase - 1, wait->thread)) {
            atomic_store_explicit(&phases->parts[i].absent, i != wait->part, memory_order_relaxed);
            return true;
        }
    return false;
}

/* Sleeps until another thread has finished a phase, unless there is something to do. */
static void sleep_until_change(const struct wait *wait)
{
    struct phases *phases = wait->phases;
    atomic_fetch_add(&phases->sleepers, 1);
    const unsigned seen = atomic_load(&phases->wakeups);
    if (!is_over(wait) && !help(wait, true))
        futex_wait(&phases->wakeups, seen);
    atomic_fetch_sub(&phases->sleepers, 1);
}

static void wait_for_phase(const struct wait *wait)
{
    struct spin spin = {0};
    while (!is_over(wait)) {
        const bool spins = spin_goes_on(&spin);
        if (!help(wait, spin.rounds >= HELP_ROUNDS) && !spins)
            sleep_until_change(wait);
    }
}

/* --- the job --- */

static void follow_part(void *context, size_t part, size_t thread)
{
    struct phases *phases = context;
    struct wait wait = {
        .phases = phases, .first = part - part % phases->job.parts, .part = part, .thread = thread};
    for (unsigned phase = 0; phase < phases->job.phases; phase++) {
        wait.phase = phase;
        wait_for_phase(&wait);
        if (run_phase(phases, part, phase, thread))
            atomic_store_explicit(&phases->parts[part].absent, false, memory_order_relaxed);
    }
}

void phases_run(struct phases *phases, struct pool *pool, const struct phases_job *job)
{
    const size_t parts = job->groups * job->parts;
    phases->job = *job;
    for (size_t i = 0; i < parts; i++) {
        struct part *part = &phases->parts[i];
        atomic_store_explicit(&part->begun, 0, memory_order_relaxed);
        atomic_store_explicit(&part->shared, 0, memory_order_relaxed);
        atomic_store_explicit(&part->finished, 0, memory_order_relaxed);
        atomic_store_explicit(&part->absent, false, memory_order_relaxed);
    }
    pool_run(pool, parts, follow_part, phases);
}

/* --- creation --- */

struct phases *phases_create(size_t threads, struct error *error)
{
    const size_t bytes = sizeof(struct phases) + threads * sizeof(struct part);
    struct phases *phases = memory_new_aligned(1, bytes, "the threads' progress", error);
    if (phases) {
        atomic_init(&phases->sleepers, 0);
        atomic_init(&phases->wakeups, 0);
    }
    return phases;
}

void phases_free(struct phases *phases)
{
    free(phases);
}
