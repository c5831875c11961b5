/* clock.h: time. Durations come from a monotonic clock, which no change of the date affects. */
#ifndef TINCA_BASE_CLOCK_H
#define TINCA_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Returns the monotonic clock in nanoseconds. Only differences between two readings mean anything.
 */
uint64_t clock_nanoseconds(void);

/* Returns the seconds between two readings of clock_nanoseconds. */
static inline double clock_seconds(uint64_t from, uint64_t to)
{
    return (double)(to - from) * 1e-9;
}

/* Writes the current date and time in UTC as RFC 3339, 2026-01-31T12:00:00Z, into `text` of at
 * least 21 bytes. Returns `text`. */
char *clock_now_rfc3339(char *text, size_t size);

/* Returns the seconds since 1970 (UTC), with a fraction. */
double clock_unix_seconds(void);

/* Sleeps for `seconds`, whatever signals arrive. */
void clock_sleep(double seconds);

#endif
