/* Checks whether the process is alive before it reads the journal, so that everything which the
 * process has written is read before the run counts as over. */
#include "runs/history/follow.h"

#include "base/host/spawn.h"
#include "base/memory.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/folder/run_json.h"
#include "runs/history/run_owner.h"
#include "runs/record/run_reading.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct follower {
    struct journal_tail tail;
    struct run_reading reading;
    struct run_snapshot snapshot;
    struct tempo tempo;
    _Atomic(double) written; /* time at which the journal was last written; for all threads */
    atomic_long halted;      /* number of the process if it is halted; for all threads */
    bool published;          /* readers have got the facts and the series */
};

static void follower_free(struct follower *follower)
{
    if (follower)
        journal_tail_free(&follower->tail);
    free(follower);
}

static struct follower *create(struct run *run, struct error *error)
{
    struct follower *follower = memory_new(1, sizeof *follower, "a run", error);
    if (!follower)
        return NULL;
    follower->reading = (struct run_reading){
        .run = run, .snapshot = &follower->snapshot, .tempo = &follower->tempo};
    follower->snapshot = (struct run_snapshot){.eta_seconds = -1,
                                               .loss_discriminator = NAN,
                                               .loss_l1 = NAN,
                                               .validation.pixel_accuracy = NAN,
                                               .feed_wait_seconds = NAN}; /* not in the journal */
    return follower;
}

struct run *follow_open(const char *directory, struct error *error)
{
    struct run_config config;
    config_defaults(&config);
    struct run *run = run_state_create(&config, error);
    if (run && (run->directory = memory_copy_text(directory, error)) &&
        run_state_read_config(directory, &run->config, &run->early_facts, error) &&
        (run->follower = create(run, error))) {
        run->follower_free = follower_free;
        follow_step(run);
        return run;
    }
    run_free(run);
    return NULL;
}

/* Completes the snapshot of a run that is over, from its summary if there is one. */
static void read_end(struct run *run, struct run_snapshot *snapshot)
{
    snapshot->status = RUN_INTERRUPTED;
    run_files_read_summary(run->directory, snapshot);
    run_killed_read(run->directory, snapshot);
    run_state_read_inspection(run); /* written at the end of a run */
}

static void set_status(struct run *run, bool alive, enum journal_tail_result news)
{
    struct follower *follower = run->follower;
    if (!alive && news != JOURNAL_MORE)
        read_end(run, &follower->snapshot);
    else
        follower->snapshot.status =
            follower->reading.started ? follower->reading.phase : RUN_PREPARING;
}

/* Returns the number of the run's process if it is halted on this machine, or 0. */
static long find_halted(const char *directory)
{
    struct run_owner owner;
    struct process_stat stat;
    const bool known =
        run_owner_find(directory, &owner) && owner.here && process_stat_read(owner.process, &stat);
    return known && (stat.state == 'T' || stat.state == 't') ? owner.process : 0;
}

/* A halted process has no remaining time; new lines of the journal compute it again. */
static void set_halted(struct run *run, bool alive, enum journal_tail_result news)
{
    struct follower *follower = run->follower;
    const long halted = alive && news == JOURNAL_SAME ? find_halted(run->directory) : 0;
    atomic_store(&follower->halted, halted);
    if (halted > 0)
        follower->snapshot.eta_seconds = -1;
}

static void publish(struct run *run)
{
    struct follower *follower = run->follower;
    if (follower->reading.started && !follower->published) {
        run_state_publish(run, &follower->reading.facts);
        follower->published = true;
    }
    snapshot_publish(&run->snapshot, &follower->snapshot);
}

enum follow_result follow_step(struct run *run)
{
    struct follower *follower = run->follower;
    struct run_snapshot *now = follower ? &follower->snapshot : NULL;
    if (!follower || run_status_is_over(now->status))
        return FOLLOW_UNCHANGED;
    const bool alive = run_directory_is_alive(run->directory);
    const enum run_status before = now->status;
    struct error error = {0};
    const enum journal_tail_result news = journal_tail_read(
        &follower->tail, run->directory, run_reading_take, &follower->reading, &error);
    if (news == JOURNAL_CUT)
        return FOLLOW_REOPEN;
    atomic_store(&follower->written, follower->tail.written);
    if (news != JOURNAL_SAME)
        run_reading_sum_up(&follower->reading);
    now->error = error;
    set_status(run, alive, news);
    set_halted(run, alive, news);
    publish(run);
    if (news == JOURNAL_MORE)
        return FOLLOW_MORE;
    return news == JOURNAL_READ || now->status != before ? FOLLOW_UPDATED : FOLLOW_UNCHANGED;
}

double follow_silence(const struct run *run)
{
    struct timespec now;
    const double written = run->follower ? atomic_load(&run->follower->written) : 0;
    if (!(written > 0))
        return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    return fmax(0, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - written);
}

long follow_halted(const struct run *run)
{
    return run->follower ? atomic_load(&run->follower->halted) : 0;
}
