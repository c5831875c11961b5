/* The functions that the owner of a run calls: snapshots, commands, waiting, freeing. */
#include "session/record/run_state.h"

#include "base/clock.h"
#include "base/threads/condition.h"

#include <stdlib.h>
#include <time.h>

bool run_send(struct run *run, enum run_command command, double value)
{
    if (!run->has_worker)
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
    if (!run->has_worker)
        return true;
    struct timespec deadline = deadline_in(seconds < 0 ? 0 : seconds);
    int result = 0;
    pthread_mutex_lock(&run->lock_over);
    while (!run->over && result == 0)
        result = seconds < 0
                     ? pthread_cond_wait(&run->became_over, &run->lock_over)
                     : pthread_cond_timedwait(&run->became_over, &run->lock_over, &deadline);
    bool over = run->over;
    pthread_mutex_unlock(&run->lock_over);
    return over;
}

void run_free(struct run *run)
{
    if (!run || atomic_fetch_sub(&run->users, 1) != 1)
        return;
    if (run->has_worker) {
        commands_send(&run->commands, COMMAND_STOP, 0);
        pthread_join(run->worker, NULL);
    }
    journal_close(&run->journal);
    run_hold_release(&run->hold);
    series_free(&run->own_series);
    run_state_put_inspection(run, NULL);
    inspection_free(run->inspection);
    if (run->follower_free)
        run->follower_free(run->follower);
    commands_free(&run->commands);
    pthread_cond_destroy(&run->became_over);
    pthread_mutex_destroy(&run->lock_over);
    pthread_mutex_destroy(&run->lock_ranks);
    run_ranks_free(&run->ranks);
    free(run->save_path);
    free(run->directory);
    free(run);
}
