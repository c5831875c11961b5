/* A run as its owner, its readers and its worker see it: commands go to the worker, and the worker
 * publishes a snapshot, facts, curves, findings and inspections.
 *
 * Every command is idempotent, and of COMMAND_PAUSE and COMMAND_GO_ON only the last one counts, so
 * a word of bits is enough for a queue. It is never full. Sending is a compare-and-swap and a
 * wake_send, both async-signal-safe. The worker polls with one exchange per iteration.
 *
 * The snapshot is behind a sequence lock (Boehm, "Can seqlocks get along with programming language
 * memory models?", 2012): the writer makes the sequence odd, writes, makes it even; a reader that
 * sees the same even number before and after has a consistent copy. The words are atomic, so that
 * nothing here is a data race; the release stores keep them behind the odd number, the acquire
 * loads before the second look at it. On x86 all of these are plain moves. */
#include "runs/record/run_state.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads/condition.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- the queue of commands --- */

static unsigned bit(enum run_command command)
{
    return 1u << command;
}

bool commands_create(struct command_box *box, struct error *error)
{
    atomic_init(&box->pending, 0);
    atomic_init(&box->rate_bits, 0);
    return wake_create(&box->wake) ||
           error_set_errno(error, "the run", NULL, "no semaphore could be made");
}

void commands_free(struct command_box *box)
{
    wake_free(&box->wake);
}

void commands_send(struct command_box *box, enum run_command command, double value)
{
    unsigned cancelled = command == COMMAND_PAUSE   ? bit(COMMAND_GO_ON)
                         : command == COMMAND_GO_ON ? bit(COMMAND_PAUSE)
                                                    : 0;
    if (command == COMMAND_LEARNING_RATE) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        atomic_store_explicit(&box->rate_bits, bits, memory_order_relaxed);
    }
    unsigned old = atomic_load_explicit(&box->pending, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&box->pending, &old,
                                                  (old & ~cancelled) | bit(command),
                                                  memory_order_release, memory_order_relaxed))
        ;
    wake_send(&box->wake);
}

struct commands commands_take(struct command_box *box)
{
    struct commands commands = {0};
    if (atomic_load_explicit(&box->pending, memory_order_relaxed) == 0)
        return commands;
    commands.set = atomic_exchange_explicit(&box->pending, 0, memory_order_acquire);
    uint64_t bits = atomic_load_explicit(&box->rate_bits, memory_order_relaxed);
    memcpy(&commands.learning_rate, &bits, sizeof bits);
    return commands;
}

void commands_wait(struct command_box *box)
{
    while (atomic_load_explicit(&box->pending, memory_order_relaxed) == 0)
        wake_wait(&box->wake);
}

/* --- the snapshot --- */

void snapshot_publish(struct snapshot_cell *cell, const struct run_snapshot *snapshot)
{
    uint64_t words[SNAPSHOT_WORDS] = {0};
    memcpy(words, snapshot, sizeof *snapshot);
    unsigned sequence = atomic_load_explicit(&cell->sequence, memory_order_relaxed);
    atomic_store_explicit(&cell->sequence, sequence + 1, memory_order_relaxed);
    for (size_t i = 0; i < SNAPSHOT_WORDS; i++)
        atomic_store_explicit(&cell->words[i], words[i], memory_order_release);
    atomic_store_explicit(&cell->sequence, sequence + 2, memory_order_release);
}

void snapshot_read(const struct snapshot_cell *cell, struct run_snapshot *snapshot)
{
    uint64_t words[SNAPSHOT_WORDS];
    for (;;) {
        unsigned before = atomic_load_explicit(&cell->sequence, memory_order_acquire);
        for (size_t i = 0; i < SNAPSHOT_WORDS; i++)
            words[i] = atomic_load_explicit(&cell->words[i], memory_order_acquire);
        unsigned after = atomic_load_explicit(&cell->sequence, memory_order_relaxed);
        if (before == after && before % 2 == 0)
            break;
        sched_yield(); /* the writer may have lost the processor in the middle */
    }
    memcpy(snapshot, words, sizeof *snapshot);
}

/* --- its life --- */

/* Uses the monotonic clock, so that run_wait does not depend on changes of the time of day. */
static void create_condition(struct run *run)
{
    condition_create(&run->thread.became_over);
    pthread_mutex_init(&run->thread.lock, NULL);
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
    atomic_init(&run->inspections.has_error, false);
    atomic_init(&run->facts, &run->early_facts);
    atomic_init(&run->series, &run->no_series);
    atomic_init(&run->finding_count, 0);
    atomic_init(&run->inspections.published, NULL);
    pthread_mutex_init(&run->lock_ranks, NULL);
    create_condition(run);
    return run;
}

void run_free(struct run *run)
{
    if (!run || atomic_fetch_sub(&run->users, 1) != 1)
        return;
    if (run->thread.started) {
        commands_send(&run->commands, COMMAND_STOP, 0);
        pthread_join(run->thread.worker, NULL);
    }
    journal_close(&run->journal);
    run_hold_release(&run->hold);
    series_free(&run->own_series);
    scalars_free(&run->scalars);
    run_state_put_inspection(run, NULL);
    inspection_free(run->inspections.taken);
    if (run->follower_free)
        run->follower_free(run->follower);
    commands_free(&run->commands);
    pthread_cond_destroy(&run->thread.became_over);
    pthread_mutex_destroy(&run->thread.lock);
    pthread_mutex_destroy(&run->lock_ranks);
    run_ranks_free(&run->ranks);
    free(run->save_path);
    free(run->directory);
    free(run);
}

/* --- what the worker publishes --- */

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
        atomic_exchange_explicit(&run->inspections.published, inspection, memory_order_acq_rel));
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
    if (error.kind == ERROR_NONE || atomic_load(&run->inspections.has_error))
        return;
    run->inspections.error = error;
    atomic_store_explicit(&run->inspections.has_error, true, memory_order_release);
}

/* --- for readers --- */

const struct inspection *run_inspection(struct run *run, struct error *error)
{
    struct inspection *newer =
        atomic_exchange_explicit(&run->inspections.published, NULL, memory_order_acq_rel);
    if (newer) {
        inspection_free(run->inspections.taken);
        run->inspections.taken = newer;
    }
    *error = (struct error){0};
    if (atomic_load_explicit(&run->inspections.has_error, memory_order_acquire))
        *error = run->inspections.error;
    return run->inspections.taken;
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

const struct scalars *run_scalars(const struct run *run)
{
    return &run->scalars;
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

/* --- what the owner asks for --- */

bool run_send(struct run *run, enum run_command command, double value)
{
    if (!run->thread.started)
        return false;
    commands_send(&run->commands, command, value);
    return true;
}

void run_flush(struct run *run)
{
    enum { POLLS = 200, MILLISECONDS = 5 };
    const unsigned before = atomic_load(&run->flushes);
    struct run_snapshot now;
    bool waits = run_send(run, COMMAND_FLUSH, 0);
    for (int i = 0; waits && i < POLLS; i++) {
        clock_sleep(MILLISECONDS / 1e3);
        run_snapshot(run, &now);
        waits = atomic_load(&run->flushes) == before && !run_status_is_over(now.status);
    }
}

static struct timespec deadline_in(double seconds)
{
    struct timespec deadline;
    condition_now(&deadline);
    double whole = seconds > 1e9 ? 1e9 : seconds;
    deadline.tv_sec += (time_t)whole;
    deadline.tv_nsec += (long)((whole - (double)(time_t)whole) * 1e9);
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000;
    }
    return deadline;
}

bool run_wait(struct run *run, double seconds)
{
    if (!run->thread.started)
        return true;
    struct timespec deadline = deadline_in(seconds < 0 ? 0 : seconds);
    int result = 0;
    pthread_mutex_lock(&run->thread.lock);
    while (!run->thread.over && result == 0)
        result = seconds < 0 ? pthread_cond_wait(&run->thread.became_over, &run->thread.lock)
                             : pthread_cond_timedwait(&run->thread.became_over, &run->thread.lock,
                                                      &deadline);
    bool over = run->thread.over;
    pthread_mutex_unlock(&run->thread.lock);
    return over;
}
