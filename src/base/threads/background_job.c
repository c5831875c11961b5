/* The job's thread and its owner share three atomic values: progress, cancellation and the end. */
#include "base/threads/background_job.h"

#include "base/memory.h"
#include "base/threads/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct background_job {
    pthread_t thread;
    background_job_work *work;
    void *subject;
    atomic_bool cancelled, over;
    atomic_uint_least64_t done, of;
    bool succeeded; /* this and `error` belong to the thread until it is joined */
    struct error error;
};

static void *run(void *argument)
{
    struct background_job *job = argument;
    job->succeeded = job->work(job->subject, job, &job->error);
    atomic_store(&job->over, true);
    return NULL;
}

struct background_job *background_job_start(background_job_work *work, void *subject,
                                            struct error *error)
{
    struct background_job *job = memory_new(1, sizeof *job, "a thread", error);
    if (!job)
        return NULL;
    job->work = work;
    job->subject = subject;
    if (thread_start(&job->thread, run, job) == 0)
        return job;
    free(job);
    error_set(error, ERROR_SYSTEM, "a thread", "end other programs",
              "the system cannot start another thread");
    return NULL;
}

bool background_job_progress(void *context, uint64_t done, uint64_t of, struct error *error)
{
    struct background_job *job = context;
    atomic_store(&job->done, done);
    atomic_store(&job->of, of);
    return !atomic_load(&job->cancelled) ||
           error_set(error, ERROR_INTERRUPTED, "the work", NULL, "it was cancelled");
}

bool background_job_poll(struct background_job *job, uint64_t *done, uint64_t *of)
{
    *done = atomic_load(&job->done);
    *of = atomic_load(&job->of);
    return atomic_load(&job->over);
}

void background_job_cancel(struct background_job *job)
{
    atomic_store(&job->cancelled, true);
}

bool background_job_finish(struct background_job *job, struct error *error)
{
    pthread_join(job->thread, NULL);
    bool succeeded = job->succeeded;
    if (!succeeded && error)
        *error = job->error;
    free(job);
    return succeeded;
}
