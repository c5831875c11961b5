/* host_load.h: the processor, the limits of this process, and how busy the machine is.
 *
 * All values come from /proc and /sys. An unknown value is NaN, "", or 0 where 0 is impossible. A
 * load is the difference between two samples.
 */
#ifndef TINCA_BASE_HOST_HOST_LOAD_H
#define TINCA_BASE_HOST_HOST_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_MAX_CORES = 512, HOST_CACHES = 3 };

struct host_processor {
    char sets[256]; /* the instruction sets that matter to kernels: "sse4_2 avx avx2 fma" */
    uint64_t caches[HOST_CACHES]; /* bytes of the caches of level 1 (data), 2 and 3; 0: unknown */
};

/* Fills *processor. */
void host_describe_processor(struct host_processor *processor);

/* The limits on this process's memory in bytes; UINT64_MAX means no limit. */
struct host_limits {
    uint64_t control_group; /* the smallest of its control groups' limits */
    uint64_t address_space; /* RLIMIT_AS */
    uint64_t data;          /* RLIMIT_DATA */
};

/* Fills *limits. */
void host_read_limits(struct host_limits *limits);

/* Returns whether the addresses that this process may map are limited (RLIMIT_AS, RLIMIT_DATA). */
bool host_addresses_are_limited(void);

/* Clock ticks since the system started. */
struct host_ticks {
    uint64_t busy, all;
};

/* Parses the text of /proc/stat: the line "cpu" into *whole, each line "cpuN" into cores[N].
 * Returns the highest N + 1. Cores that are off are left unchanged. */
size_t host_parse_ticks(const char *text, struct host_ticks *whole, struct host_ticks *cores);

struct host_load {
    double seconds;             /* time since the previous sample; 0: this is the first */
    size_t cores;               /* cores of the machine */
    float busy[HOST_MAX_CORES]; /* share of time that each core was busy, 0..1; NaN: unknown, off */
    double whole;               /* the same of all cores together */
    double process;             /* cores that this process kept busy, such as 1.5; NaN: unknown */
    double temperature;         /* the processor's temperature in degrees Celsius; NaN: unknown */
    uint64_t memory_total, memory_available, memory_process; /* bytes; 0: unknown */
};

/* The state between two samples; initialise it with {0}. For one thread. */
struct host_sampler {
    uint64_t taken; /* when, by clock_nanoseconds */
    uint64_t process_ticks;
    struct host_ticks whole, cores[HOST_MAX_CORES];
};

/* Fills *load with the load since the previous call. The first call gives no load. */
void host_sample(struct host_sampler *sampler, struct host_load *load);

#endif
