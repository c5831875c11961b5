#include "base/threads/background_job.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct errand {
    pthread_t thread;
    errand_work *work;
    void *subject;
    atomic_bool called_off, over;
    atomic_uint_least64_t done, of;
    bool good; /* these two are the thread's until it has ended */
    struct error error;
};

static void *run(void *argument)
{
    struct errand *errand = argument;
    errand->good = errand->work(errand->subject, errand, &errand->error);
    atomic_store(&errand->over, true);
    return NULL;
}

struct errand *errand_start(errand_work *work, void *subject, struct error *error)
{
    struct errand *errand = memory_new(1, sizeof *errand, "a thread", error);
    if (!errand)
        return NULL;
    errand->work = work;
    errand->subject = subject;
    if (pthread_create(&errand->thread, NULL, run, errand) == 0)
        return errand;
    free(errand);
    error_set(error, ERROR_SYSTEM, "a thread", "end other programs",
              "the system gives no more threads");
    return NULL;
}

bool errand_progress(void *context, uint64_t done, uint64_t of, struct error *error)
{
    struct errand *errand = context;
    atomic_store(&errand->done, done);
    atomic_store(&errand->of, of);
    return !atomic_load(&errand->called_off) ||
           error_set(error, ERROR_INTERRUPTED, "the work", NULL, "it was called off");
}

bool errand_look(struct errand *errand, uint64_t *done, uint64_t *of)
{
    *done = atomic_load(&errand->done);
    *of = atomic_load(&errand->of);
    return atomic_load(&errand->over);
}

void errand_call_off(struct errand *errand)
{
    atomic_store(&errand->called_off, true);
}

bool errand_finish(struct errand *errand, struct error *error)
{
    pthread_join(errand->thread, NULL);
    bool good = errand->good;
    if (!good && error)
        *error = errand->error;
    free(errand);
    return good;
}
