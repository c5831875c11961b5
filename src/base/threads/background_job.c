#include "base/threads/background_job.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct background_job {
    pthread_t thread;
    background_job_work *work;
    void *subject;
    atomic_bool called_off, over;
    atomic_uint_least64_t done, of;
    bool good; /* these two are the thread's until it has ended */
    struct error error;
};

static void *run(void *argument)
{
    struct background_job *background_job = argument;
    background_job->good =
        background_job->work(background_job->subject, background_job, &background_job->error);
    atomic_store(&background_job->over, true);
    return NULL;
}

struct background_job *background_job_start(background_job_work *work, void *subject,
                                            struct error *error)
{
    struct background_job *background_job =
        memory_new(1, sizeof *background_job, "a thread", error);
    if (!background_job)
        return NULL;
    background_job->work = work;
    background_job->subject = subject;
    if (pthread_create(&background_job->thread, NULL, run, background_job) == 0)
        return background_job;
    free(background_job);
    error_set(error, ERROR_SYSTEM, "a thread", "end other programs",
              "the system gives no more threads");
    return NULL;
}

bool background_job_progress(void *context, uint64_t done, uint64_t of, struct error *error)
{
    struct background_job *background_job = context;
    atomic_store(&background_job->done, done);
    atomic_store(&background_job->of, of);
    return !atomic_load(&background_job->called_off) ||
           error_set(error, ERROR_INTERRUPTED, "the work", NULL, "it was called off");
}

bool background_job_poll(struct background_job *background_job, uint64_t *done, uint64_t *of)
{
    *done = atomic_load(&background_job->done);
    *of = atomic_load(&background_job->of);
    return atomic_load(&background_job->over);
}

void background_job_cancel(struct background_job *background_job)
{
    atomic_store(&background_job->called_off, true);
}

bool background_job_finish(struct background_job *background_job, struct error *error)
{
    pthread_join(background_job->thread, NULL);
    bool good = background_job->good;
    if (!good && error)
        *error = background_job->error;
    free(background_job);
    return good;
}
