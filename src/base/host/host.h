/* host.h: describes this machine and what this process uses of it. */
#ifndef TINCA_BASE_HOST_HOST_H
#define TINCA_BASE_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The vector instruction sets that kernels are compiled for, weakest first. */
enum instruction_set {
#define INSTRUCTION_SET(constant, name) ISA_##constant,
#include "base/host/instruction_sets.inc"
    INSTRUCTION_SETS /* how many there are */
};

struct host {
    char name[128];                       /* host name */
    char cpu[128];                        /* the processor's model name, or the architecture */
    size_t cores;                         /* cores that this process may run on */
    uint64_t memory_bytes;                /* 0: unknown */
    enum instruction_set instruction_set; /* the strongest that the processor supports */
};

/* Fills *host. */
void host_describe(struct host *host);

/* Returns the strongest instruction set that kernels may use: the processor's, or a weaker one if
 * the environment variable TINCA_CPU names it (generic, avx2, avx512). */
enum instruction_set host_instruction_set(void);

/* Returns whether kernels may use AVX512-BF16, the products of bf16: the processor has it, and
 * TINCA_CPU names no instruction set below avx512. */
bool host_has_bf16(void);

/* Returns whether kernels may use AMX tiles of bf16: host_has_bf16, the processor has AMX-BF16, the
 * kernel permits its use, and TINCA_CPU names no instruction set. Linux permits it from
 * version 5.16 on. */
bool host_has_amx(void);

/* The products of integers of 8 bits that kernels may use. */
enum host_vnni {
    VNNI_NONE,
    VNNI_AVX,   /* AVX-VNNI, on processors without AVX-512 */
    VNNI_AVX512 /* AVX512-VNNI */
};

/* Returns those that the processor has beside the instruction set of host_instruction_set. */
enum host_vnni host_vnni(void);

/* Returns whether kernels may use AMX tiles of integers of 8 bits: host_vnni is VNNI_AVX512, and
 * the conditions of host_has_amx, but with AMX-INT8. */
bool host_has_amx_int8(void);

/* Returns the name of an instruction set, as in TINCA_CPU. */
const char *instruction_set_name(enum instruction_set set);

/* --- memory --- */

/* The reason why no more memory is available. */
enum memory_bound { BOUND_UNKNOWN, BOUND_MACHINE, BOUND_CONTROL_GROUP, BOUND_ULIMIT };

/* Bytes that this process could allocate now: the least of what the machine, its control groups
 * (control_group.h) and the limits RLIMIT_AS and RLIMIT_DATA leave. */
struct available_memory {
    uint64_t without_swap;
    uint64_t with_swap;      /* swap does not help against RLIMIT_AS and RLIMIT_DATA */
    enum memory_bound bound; /* what limits `without_swap`; BOUND_UNKNOWN: nothing is known */
};

/* Fills *available. */
void host_available_memory(struct available_memory *available);

/* Returns available_memory.without_swap, or 0 if it is unknown. */
uint64_t host_available_bytes(void);

/* Returns the resident memory of this process in bytes; 0 if unknown. */
uint64_t host_process_memory(void);

/* Returns the resident bytes of another process of this machine; 0: unknown. */
uint64_t host_memory_of_process(long process);

/* Returns the number of cores that this process may run on. */
size_t host_cores(void);

/* Returns a number that processes of one machine share if they may run on the same cores. */
uint32_t host_cores_mark(void);

/* Returns the highest resident memory of this process so far, in bytes; 0 if unknown. */
uint64_t host_process_peak(void);

/* Resets the peak to the present value. */
void host_process_reset_peak(void);

/* Returns how many bytes of the program's code and constants are not in memory yet. The process may
 * grow by as much while it uses more of its code. 0 if unknown. */
uint64_t host_program_unloaded_bytes(void);

/* Returns the bytes of the pages between two addresses that are not in memory; 0 if unknown. */
uint64_t host_unloaded_bytes(uintptr_t begin, uintptr_t end);

/* --- priority --- */

/* Asks the kernel to run the calling thread soon after it wakes up, even while other threads keep
 * all cores busy: with short time slices, which do not increase its share of the processor. Threads
 * and processes that it starts later get the usual slices. Linux does so from version 6.12 on;
 * earlier ones ignore it. */
void host_prefer_low_latency(void);

/* Lowers the priority of this process below that of other programs: sets the nice value of each
 * thread to 10 (getpriority(2)), and that of the session if the kernel schedules sessions as groups
 * (sched(7), autogroups). Ignores failures. */
void host_yield_processor(void);

#endif
