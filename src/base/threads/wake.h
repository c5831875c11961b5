/* wake.h: one thread waits until another one, or a signal handler, wakes it. */
#ifndef TINCA_BASE_THREADS_WAKE_H
#define TINCA_BASE_THREADS_WAKE_H

#include "config.h"

#include <stdbool.h>
#if HAVE_UNNAMED_SEMAPHORES
#include <semaphore.h>
#endif

struct wake {
#if HAVE_UNNAMED_SEMAPHORES
    sem_t semaphore;
#else
    int ends[2]; /* the ends of a pipe */
#endif
};

/* Prepares to wait; wake_free releases it. Returns false with errno. */
bool wake_create(struct wake *wake);
void wake_free(struct wake *wake);

/* Ends a wait, or the next one if nobody waits. Async-signal-safe; keeps errno. */
void wake_send(struct wake *wake);

/* Waits until wake_send was called. It may also return for no reason. */
void wake_wait(struct wake *wake);

#endif
