#include "config.h"

#include "base/threads/condition.h"

#if HAVE_PTHREAD_CONDATTR_SETCLOCK
static const clockid_t condition_clock = CLOCK_MONOTONIC;
#else
static const clockid_t condition_clock = CLOCK_REALTIME; /* as on macOS */
#endif

void condition_create(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#if HAVE_PTHREAD_CONDATTR_SETCLOCK
    pthread_condattr_setclock(&attributes, condition_clock);
#endif
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void condition_now(struct timespec *now)
{
    clock_gettime(condition_clock, now);
}
