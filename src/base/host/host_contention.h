/* host_contention.h: how much other work on this machine kept this process from its processors, so
 * that a measurement of time can say whether it was disturbed. Thread-safe.
 *
 * On Linux the kernel counts how long each thread was ready to run and waited for a processor
 * (/proc/self/task/TID/schedstat), and how long a hypervisor ran another machine meanwhile (the
 * column "steal" of /proc/stat). Elsewhere only the processor time of the process is known. */
#ifndef TINCA_BASE_HOST_HOST_CONTENTION_H
#define TINCA_BASE_HOST_HOST_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

/* The counters at one moment. */
struct host_contention {
    uint64_t taken;         /* by clock_nanoseconds */
    uint64_t computed;      /* processor time of the process, nanoseconds */
    uint64_t waited;        /* nanoseconds, the sum of all threads */
    uint64_t stolen, ticks; /* clock ticks of all cores: the stolen ones, and all */
    bool knows_wait, knows_steal;
};

/* Reads the counters. */
void host_contention_read(struct host_contention *now);

/* Returns the largest known share of the time between two readings, 0..1 and above, in which the
 * process could have computed and did not: its threads waited for a processor (their times add up),
 * or a hypervisor had taken it away. If `busy_thread`, one thread was to compute all the time, so
 * wall time without processor time counts, too; that is the only measure where the kernel counts
 * nothing else. */
double host_contention_share(const struct host_contention *before,
                             const struct host_contention *after, bool busy_thread);

#endif
