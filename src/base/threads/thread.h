/* thread.h: starts the threads of the program. Thread-safe. */
#ifndef TINCA_BASE_THREADS_THREAD_H
#define TINCA_BASE_THREADS_THREAD_H

#include <pthread.h>

/* Starts a thread with all signals blocked, so that the main thread, which reads the terminal,
 * handles them; threads that it starts inherit this. Faults of the thread itself are not blocked:
 * the kernel would end the program without the handler that restores the terminal. That handler has
 * a stack of its own in each thread, because that of the thread may have overflowed. Returns 0 or
 * the error of pthread_create. */
int thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument);

#endif
