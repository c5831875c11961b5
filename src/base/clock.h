/* clock.h: time. Durations are nanoseconds of a clock that never jumps. */
#ifndef TINCA_BASE_CLOCK_H
#define TINCA_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

uint64_t clock_nanoseconds(void);

/* Seconds between two readings of clock_nanoseconds. */
static inline double clock_seconds(uint64_t from, uint64_t to)
{
    return (double)(to - from) * 1e-9;
}

/* The date and time now as RFC 3339 in UTC: 2026-01-31T12:00:00Z. `size` is 21 at least. */
char *clock_now_rfc3339(char *text, size_t size);

void clock_sleep(double seconds);

#endif
