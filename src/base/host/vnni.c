/* Asks the processor for products of integers of 8 bits. */
#include "config.h"

#include "base/host/host.h"

#if defined(HAVE_VNNI_KERNELS)

#include <cpuid.h>

/* Leaf 7 of CPUID, subleaf 1: Intel Architecture Instruction Set Extensions Programming Reference.
 */
enum { EAX_AVX_VNNI = 1 << 4 };

static bool has_avx_vnni(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & EAX_AVX_VNNI);
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
