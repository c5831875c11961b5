#include "config.h"

#include "base/host/core_set.h"

#include <sched.h>

#if HAVE_SCHED_GETAFFINITY
enum { BYTES = CORE_SET_MOST / 8 };

struct core_set core_set_here(void)
{
    struct core_set set = {0};
    cpu_set_t *cores = CPU_ALLOC(CORE_SET_MOST);
    if (cores && sched_getaffinity(0, BYTES, cores) == 0)
        for (size_t i = 0; i < CORE_SET_MOST; i++)
            if (CPU_ISSET_S(i, BYTES, cores))
                set.bits[i / 64] |= UINT64_C(1) << i % 64;
    CPU_FREE(cores);
    return set;
}

bool core_set_bind(const struct core_set *set)
{
    cpu_set_t *cores = CPU_ALLOC(CORE_SET_MOST);
    if (!cores)
        return false;
    CPU_ZERO_S(BYTES, cores);
    for (size_t i = 0; i < CORE_SET_MOST; i++)
        if (set->bits[i / 64] >> i % 64 & 1)
            CPU_SET_S(i, BYTES, cores);
    const bool bound = sched_setaffinity(0, BYTES, cores) == 0;
    CPU_FREE(cores);
    return bound;
}
#else
struct core_set core_set_here(void)
{
    return (struct core_set){0};
}

bool core_set_bind(const struct core_set *set)
{
    (void)set;
    return false;
}
#endif

void core_set_add(struct core_set *set, const struct core_set *other)
{
    for (size_t i = 0; i < CORE_SET_MOST / 64; i++)
        set->bits[i] |= other->bits[i];
}

size_t core_set_count(const struct core_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < CORE_SET_MOST / 64; i++)
        for (uint64_t bits = set->bits[i]; bits; bits &= bits - 1)
            count++;
    return count;
}
