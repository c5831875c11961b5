/* spin.h: a short wait without a call of the kernel, after which the thread should sleep. Waking a
 * sleeping thread takes some microseconds, which is longer than many waits. */
#ifndef TINCA_BASE_THREADS_SPIN_H
#define TINCA_BASE_THREADS_SPIN_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SPIN_NANOSECONDS = 50000,
    SPIN_ROUNDS = 32, /* between two looks at the clock */
    /* the first rounds, which do not relax: that takes up to 140 cycles, as long as many waits */
    SPIN_UNRELAXED = 32,
};

/* A wait that has begun; {0}: it begins now. */
struct spin {
    unsigned rounds;
    uint64_t end; /* when to stop spinning; 0: not known yet */
};

/* Tells the processor that this is a spin loop. */
static inline void spin_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits a moment; returns false if the wait has taken so long that the thread should sleep. */
static inline bool spin_again(struct spin *wait)
{
    if (wait->rounds >= SPIN_UNRELAXED)
        spin_relax();
    if (++wait->rounds % SPIN_ROUNDS != 0)
        return true;
    const uint64_t now = clock_nanoseconds();
    if (wait->end == 0)
        wait->end = now + SPIN_NANOSECONDS;
    return now < wait->end;
}

#endif
