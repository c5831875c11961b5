/* Asks the processor for products of integers of 8 bits. */
#include "config.h"

#include "base/host/host.h"

#if defined(HAVE_VNNI_KERNELS)

#include <cpuid.h>
#include <stdatomic.h>

/* Leaf 7 of CPUID, subleaf 1: Intel Architecture Instruction Set Extensions Programming Reference.
 */
enum { EAX_AVX_VNNI = 1 << 4 };

/* Asks once, since a question to the processor costs tens of microseconds in a virtual machine. */
static bool has_avx_vnni(void)
{
    enum { UNKNOWN, LACKS, HAS };
    static atomic_int known;
    unsigned eax, ebx, ecx, edx;
    if (atomic_load(&known) == UNKNOWN)
        atomic_store(&known, __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & EAX_AVX_VNNI)
                                 ? HAS
                                 : LACKS);
    return atomic_load(&known) == HAS;
}

enum host_vnni host_vnni(void)
{
    const enum instruction_set set = host_instruction_set();
    if (set == ISA_AVX512 && __builtin_cpu_supports("avx512vnni"))
        return VNNI_AVX512;
    return set == ISA_AVX2 && has_avx_vnni() ? VNNI_AVX : VNNI_NONE;
}

#else

enum host_vnni host_vnni(void)
{
    return VNNI_NONE;
}

#endif
