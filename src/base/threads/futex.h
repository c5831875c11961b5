/* futex.h: a thread sleeps until another one, of this or another process, changes a word.
 * Thread-safe. */
#ifndef TINCA_BASE_THREADS_FUTEX_H
#define TINCA_BASE_THREADS_FUTEX_H

#include <stdatomic.h>

/* Sleeps until futex_wake is called for `word`; returns at once unless it still has this value. It
 * may also return for no reason. */
void futex_wait(atomic_uint *word, unsigned value);

/* Wakes the threads that sleep for `word`. The word must have been changed before. */
void futex_wake(atomic_uint *word);

/* Sleeps as futex_wait does, for at most `milliseconds`, until futex_wake_shared is called for a
 * word in memory that several processes share. Where the kernel has no such call, sleeps for a
 * moment. */
void futex_wait_shared(atomic_uint *word, unsigned value, unsigned milliseconds);

/* Wakes all threads of all processes that sleep for such a word. */
void futex_wake_shared(atomic_uint *word);

#endif
