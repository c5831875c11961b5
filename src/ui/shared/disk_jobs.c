#include "ui/shared/shared.h"

#include "base/threads/detached_task.h"

#include <stdlib.h>

bool disk_jobs_start(struct disk_jobs *jobs, void (*work)(void *state),
                     void (*done)(struct app *app, void *state), void *state, struct error *error)
{
    size_t i = 0;
    while (i < DISK_JOBS && jobs->jobs[i].task)
        i++;
    struct detached_task *task =
        i < DISK_JOBS ? detached_task_start(work, free, state, error) : NULL;
    if (task) {
        jobs->jobs[i] = (struct disk_job){.task = task, .state = state, .done = done};
        return true;
    }
    free(state);
    return i < DISK_JOBS ? false
                         : error_set(error, ERROR_SYSTEM, "the disk", "try again in a moment",
                                     "it has not answered to earlier keys yet");
}

void disk_jobs_step(struct disk_jobs *jobs, struct app *app, double seconds)
{
    for (size_t i = 0; i < DISK_JOBS; i++) {
        const struct disk_job job = jobs->jobs[i];
        if (!job.task || !detached_task_wait(job.task, seconds))
            continue;
        jobs->jobs[i] = (struct disk_job){0}; /* before `done`, which may start another one */
        if (job.done)
            job.done(app, job.state);
        detached_task_drop(job.task);
    }
}

bool disk_jobs_busy(const struct disk_jobs *jobs)
{
    bool busy = false;
    for (size_t i = 0; i < DISK_JOBS; i++)
        busy = busy || jobs->jobs[i].task;
    return busy;
}

void disk_jobs_drop(struct disk_jobs *jobs)
{
    for (size_t i = 0; i < DISK_JOBS; i++)
        detached_task_drop(jobs->jobs[i].task);
    *jobs = (struct disk_jobs){0};
}
