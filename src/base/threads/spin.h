/* spin.h: a wait that spins for some microseconds before the thread sleeps. Internal to
 * base/threads. */
#ifndef TINCA_BASE_THREADS_SPIN_H
#define TINCA_BASE_THREADS_SPIN_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SPIN_NANOSECONDS = 50000,
    SPIN_ROUNDS = 32, /* of a spin loop between two looks at the clock: about a microsecond */
};

/* A wait that has begun. Initialise with {0}. */
struct spin {
    unsigned rounds;
    uint64_t end; /* when to stop spinning; 0: not known yet */
};

/* Waits a moment; returns false if the wait has taken so long that the thread should sleep. */
static inline bool spin_goes_on(struct spin *wait)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
    if (++wait->rounds % SPIN_ROUNDS != 0)
        return true;
    const uint64_t now = clock_nanoseconds();
    if (wait->end == 0)
        wait->end = now + SPIN_NANOSECONDS;
    return now < wait->end;
}

#endif
