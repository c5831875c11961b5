/* Creates struct run, and publishes facts, curves, findings and inspections to readers. */
#include "session/record/run_state.h"

#include "base/memory.h"
#include "base/threads/condition.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Uses the monotonic clock, so that run_wait does not depend on changes of the time of day. */
static void create_condition(struct run *run)
{
    condition_create(&run->became_over);
    pthread_mutex_init(&run->lock_over, NULL);
}

struct run *run_state_create(const struct run_config *config, struct error *error)
{
    struct run *run = memory_new(1, sizeof *run, "a run", error);
    if (!run)
        return NULL;
    run->config = *config;
    run->hold = (struct run_hold){.lock = -1, .directory = -1};
    if (!commands_create(&run->commands, error)) {
        free(run);
        return NULL;
    }
    atomic_init(&run->users, 1);
    atomic_init(&run->has_inspection_error, false);
    atomic_init(&run->facts, &run->early_facts);
    atomic_init(&run->series, &run->no_series);
    atomic_init(&run->finding_count, 0);
    atomic_init(&run->inspection_new, NULL);
    pthread_mutex_init(&run->lock_ranks, NULL);
    create_condition(run);
    return run;
}

void run_state_publish(struct run *run, const struct run_facts *facts)
{
    run->prepared_facts = *facts;
    atomic_store_explicit(&run->facts, &run->prepared_facts, memory_order_release);
    atomic_store_explicit(&run->series, &run->own_series, memory_order_release);
}

bool run_state_add_finding(struct run *run, const struct finding *finding)
{
    size_t count = atomic_load_explicit(&run->finding_count, memory_order_relaxed);
    if (count == FINDINGS_MAX)
        return false;
    run->findings[count] = *finding;
    atomic_store_explicit(&run->finding_count, count + 1, memory_order_release);
    return true;
}

void run_state_put_inspection(struct run *run, struct inspection *inspection)
{
    inspection_free(
        atomic_exchange_explicit(&run->inspection_new, inspection, memory_order_acq_rel));
}

void run_state_put_ranks(struct run *run, const struct run_ranks *ranks)
{
    pthread_mutex_lock(&run->lock_ranks);
    if (run_ranks_copy(&run->ranks, ranks)) /* else the old figures stay */
        atomic_store(&run->rank_count, ranks->count);
    pthread_mutex_unlock(&run->lock_ranks);
}

void run_state_read_inspection(struct run *run)
{
    struct error error;
    struct inspection *kept = inspection_load(run->directory, &error);
    if (kept)
        run_state_put_inspection(run, kept);
    if (error.kind == ERROR_NONE || atomic_load(&run->has_inspection_error))
        return;
    run->inspection_error = error;
    atomic_store_explicit(&run->has_inspection_error, true, memory_order_release);
}

/* --- for readers --- */

const struct inspection *run_inspection(struct run *run, struct error *error)
{
    struct inspection *newer =
        atomic_exchange_explicit(&run->inspection_new, NULL, memory_order_acq_rel);
    if (newer) {
        inspection_free(run->inspection);
        run->inspection = newer;
    }
    *error = (struct error){0};
    if (atomic_load_explicit(&run->has_inspection_error, memory_order_acquire))
        *error = run->inspection_error;
    return run->inspection;
}

size_t run_rank_count(const struct run *run)
{
    return atomic_load(&run->rank_count);
}

bool run_ranks(const struct run *run, struct run_ranks *ranks)
{
    pthread_mutex_t *lock = &((struct run *)run)->lock_ranks;
    pthread_mutex_lock(lock);
    const bool copied = run_ranks_copy(ranks, &run->ranks);
    pthread_mutex_unlock(lock);
    return copied;
}

struct run *run_share(struct run *run)
{
    atomic_fetch_add(&run->users, 1);
    return run;
}

const struct run_config *run_config(const struct run *run)
{
    return &run->config;
}

const struct run_facts *run_facts(const struct run *run)
{
    return atomic_load_explicit(&run->facts, memory_order_acquire);
}

const struct series *run_series(const struct run *run)
{
    return atomic_load_explicit(&run->series, memory_order_acquire);
}

const struct error *run_notice(const struct run *run)
{
    return &run->notice;
}

const struct error *run_damage(const struct run *run)
{
    return &run->damage;
}

void run_snapshot(const struct run *run, struct run_snapshot *snapshot)
{
    snapshot_read(&run->snapshot, snapshot);
}

void run_finding(const struct run *run, size_t index, struct finding *finding)
{
    size_t count = atomic_load_explicit(&run->finding_count, memory_order_acquire);
    *finding = index < count ? run->findings[index] : (struct finding){0};
}
