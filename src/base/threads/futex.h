/* futex.h: a thread sleeps until another one of this process changes a word.
 * Thread-safe. */
#ifndef TINCA_BASE_THREADS_FUTEX_H
#define TINCA_BASE_THREADS_FUTEX_H

#include <stdatomic.h>

/* Sleeps until futex_wake is called for `word`; returns at once unless it still has this value. It
 * may also return for no reason. */
void futex_wait(atomic_uint *word, unsigned value);

/* Wakes the threads that sleep for `word`. The word must have been changed before. */
void futex_wake(atomic_uint *word);

#endif
