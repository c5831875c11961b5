/* condition.h: condition variables whose waits end at a time that no change of the date affects,
 * where the system allows it. */
#ifndef TINCA_BASE_THREADS_CONDITION_H
#define TINCA_BASE_THREADS_CONDITION_H

#include <pthread.h>
#include <time.h>

/* Initialises a condition variable; pthread_cond_destroy releases it. */
void condition_create(pthread_cond_t *condition);

/* Sets *now to the clock by which pthread_cond_timedwait waits for such a variable. */
void condition_now(struct timespec *now);

#endif
