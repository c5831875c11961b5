/* host_load.h: what the processor is, what may be used of it, and how busy it is.
 *
 * Read from /proc and /sys; what the system does not tell is not known: NaN, or 0 bytes for sizes
 * that cannot be 0, or "". A load is a difference: it is of the seconds between two samples. */
#ifndef TINCA_BASE_HOST_HOST_LOAD_H
#define TINCA_BASE_HOST_HOST_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_MAX_CORES = 512, HOST_CACHES = 3 };

struct host_processor {
    char sets[256]; /* instruction sets that matter to kernels: "sse4_2 avx avx2 fma" */
    uint64_t caches[HOST_CACHES]; /* bytes of level 1 (data), 2 and 3; 0: not known */
};

void host_describe_processor(struct host_processor *processor);

/* What limits this process's memory, in bytes; UINT64_MAX: no limit. */
struct host_limits {
    uint64_t control_group; /* the narrowest of its control groups' */
    uint64_t address_space; /* RLIMIT_AS */
    uint64_t data;          /* RLIMIT_DATA */
};

void host_read_limits(struct host_limits *limits);

/* Returns whether this process has a limit of addresses that it may map (RLIMIT_AS, RLIMIT_DATA).
 */
bool host_addresses_are_limited(void);

/* Clock ticks since the system started. */
struct host_ticks {
    uint64_t busy, all;
};

/* Reads the lines "cpu" (into *whole) and "cpuN" of /proc/stat's text; returns the highest N + 1.
 * Cores that are off keep {0, 0}. */
size_t host_parse_ticks(const char *text, struct host_ticks *whole, struct host_ticks *cores);

struct host_load {
    double seconds;             /* the load is of these last seconds; 0: there is no load yet */
    size_t cores;               /* of the machine */
    float busy[HOST_MAX_CORES]; /* 0..1; NaN: not known, the core is off */
    double whole;               /* 0..1 of all cores; NaN: not known */
    double process;             /* cores that this process keeps busy: 1.5; NaN: not known */
    double temperature;         /* degrees Celsius of the processor; NaN: not known */
    uint64_t memory_total, memory_available, memory_process; /* bytes; 0: not known */
};

/* Starts as {0}; one thread. */
struct host_sampler {
    uint64_t taken; /* clock_nanoseconds */
    uint64_t process_ticks;
    struct host_ticks whole, cores[HOST_MAX_CORES];
};

/* The load since the last call; the first one has none. */
void host_sample(struct host_sampler *sampler, struct host_load *load);

#endif
