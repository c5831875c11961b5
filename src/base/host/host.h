/* host.h: what machine this is, and what this process uses of it. */
#ifndef TINCA_BASE_HOST_HOST_H
#define TINCA_BASE_HOST_HOST_H

#include <stddef.h>
#include <stdint.h>

/* The vector instruction sets that kernels are compiled for, weakest first. */
enum instruction_set { ISA_GENERIC, ISA_AVX2, ISA_AVX512 };

struct host {
    char name[128]; /* host name */
    char cpu[128];  /* the processor's own words for itself, or the architecture */
    size_t cores;   /* that this process may run on */
    uint64_t memory_bytes;
    enum instruction_set instruction_set; /* the strongest that it can run */
};

void host_describe(struct host *host);

/* The strongest instruction set to use: the processor's, or less when the environment variable
 * TINCA_CPU names generic, avx2 or avx512. */
enum instruction_set host_instruction_set(void);
const char *instruction_set_name(enum instruction_set set);

/* What leaves the least memory. */
enum memory_bound { BOUND_UNKNOWN, BOUND_MACHINE, BOUND_CONTROL_GROUP, BOUND_ULIMIT };

/* Bytes that could be allocated now, without swapping and with it: the least of what the machine,
 * the control groups (control_group.h) and RLIMIT_AS / RLIMIT_DATA leave. Of the latter two, swap
 * is no way out. */
struct available_memory {
    uint64_t without_swap, with_swap;
    enum memory_bound bound; /* of `without_swap`; BOUND_UNKNOWN: nothing is known */
};

void host_available_memory(struct available_memory *room);
/* Its `without_swap` alone; 0: not known. */
uint64_t host_available_bytes(void);

/* Lets the other programs of the machine go first from now on: each thread of this process gets the
 * nice value 10 (getpriority(2)), and so does its session where the kernel shares out the processor
 * by sessions (sched(7), autogroups). What cannot be set stays as it is. */
void host_yield_processor(void);

/* Resident memory of this process in bytes, now and at its highest. 0: not known. */
uint64_t host_process_memory(void);
uint64_t host_process_peak(void);
/* From now on the highest is of what follows. */
void host_process_reset_peak(void);

/* Bytes of this program's own code and constants that are not in memory yet: it will be more by up
 * to so much once it has done all it can. 0: not known. */
uint64_t host_program_unloaded_bytes(void);

#endif
