/* Both numbers of the error message include the memory that the process already has, so the first
 * one is the size of a control group that would suffice. */
#include "base/host/memory_room.h"

#include "base/host/host.h"
#include "base/host/host_load.h"
#include "base/language.h"
#include "base/text.h"

#include <sys/resource.h>

enum { UNCHECKED = 1 << 20 }; /* bytes; reading the limits is not worth it for less */

#define MEBIBYTES(n) ((uint64_t)(n) << 20)

/* Returns the addresses that pthread_create reserves for a thread's stack. */
static uint64_t stack_bytes(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return MEBIBYTES(2);
    return limit.rlim_cur;
}

/* Counts the 128 MiB that OpenBLAS maps for each thread that computes a product, and without which
 * it retries for ever; the memory that version 0.3.29 maps when it is loaded does not serve tinca's
 * threads. Also counts the threads' stacks: of the run, the other compute threads, and two decode
 * workers. malloc reserves nothing, because main.c limits it to one arena in this case. */
uint64_t memory_room_reserve(size_t threads, bool beforehand)
{
    if (!host_addresses_are_limited())
        return 0;
    return threads * MEBIBYTES(128) + (beforehand ? threads + 2 : 2) * stack_bytes();
}

/* Returns what the user can do about too little memory. */
static const char *advice_of(enum memory_bound bound)
{
    return bound == BOUND_ULIMIT ? N_("give fewer --threads, or raise the limit (ulimit)")
           : bound == BOUND_CONTROL_GROUP
               ? N_("raise the memory limit of its control group, or choose a smaller model")
               : N_("free some memory, or choose a smaller model");
}

bool memory_room_check(const char *subject, uint64_t bytes, struct error *error)
{
    char needed[32], room[32];
    struct available_memory available;
    if (bytes < UNCHECKED)
        return true;
    host_available_memory(&available);
    if (available.bound == BOUND_UNKNOWN || bytes <= available.with_swap)
        return true;
    const uint64_t held = host_process_memory();
    return error_set(error, ERROR_MEMORY, subject, advice_of(available.bound),
                     "it needs %s of memory, and %s are free for it",
                     text_bytes(held + bytes, needed, sizeof needed),
                     text_bytes(held + available.with_swap, room, sizeof room));
}
