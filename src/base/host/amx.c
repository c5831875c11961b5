/* Asks the processor for AMX and the kernel for permission to use it. The functions have a file
 * of their own so that a test can bring another one, with an emulator of the instructions. */
#include "config.h"

#include "base/host/host.h"

#if defined(HAVE_AMX_KERNELS)

#include <cpuid.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if HAVE_SYS_SYSCALL_H
#include <sys/syscall.h>
#endif
#include <unistd.h>

/* See the kernel's Documentation/arch/x86/xstate.rst: the state of the tiles is large (8 KiB), so
 * that a process has to ask for it, once for all of its threads. */
enum { REQUEST_STATE_PERMISSION = 0x1023, STATE_OF_TILES = 18 };

/* Leaf 7 of CPUID: Intel Architecture Instruction Set Extensions Programming Reference. */
enum { EDX_AMX_BF16 = 1 << 22, EDX_AMX_TILE = 1 << 24, EDX_AMX_INT8 = 1 << 25 };

/* Returns whether TINCA_CPU names an instruction set, all of which are weaker than AMX. */
static bool weaker_set_wanted(void)
{
    const char *wanted = getenv("TINCA_CPU");
    for (int set = 0; wanted && set < INSTRUCTION_SETS; set++)
        if (strcmp(wanted, instruction_set_name((enum instruction_set)set)) == 0)
            return true;
    return false;
}

/* Asks the kernel for permission to use tiles; only Linux has such a call. */
static bool may_use_tiles(void)
{
#ifdef SYS_arch_prctl
    return syscall(SYS_arch_prctl, REQUEST_STATE_PERMISSION, STATE_OF_TILES) == 0;
#else
    return false;
#endif
}

/* Returns EDX of leaf 7 of CPUID, for which the processor is asked once: in a virtual machine each
 * question costs tens of microseconds, and a plan asks for each kernel of each layer. */
static unsigned features(void)
{
    static atomic_uint known; /* never 0 once it is known */
    enum { ASKED = 1 };       /* a bit that is reserved */
    unsigned eax, ebx, ecx, edx = atomic_load(&known);
    if (edx == 0) {
        edx = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) ? edx | ASKED : ASKED;
        atomic_store(&known, edx);
    }
    return edx;
}

/* Returns whether the processor has tiles and their products `product`, and the kernel lets this
 * process use them. */
static bool has_tiles(unsigned product)
{
    return !weaker_set_wanted() && (features() & product) && (features() & EDX_AMX_TILE) &&
           may_use_tiles();
}

bool host_has_amx(void)
{
    return host_has_bf16() && has_tiles(EDX_AMX_BF16);
}

bool host_has_amx_int8(void)
{
    return host_vnni() == VNNI_AVX512 && has_tiles(EDX_AMX_INT8);
}

#else

bool host_has_amx(void)
{
    return false;
}

bool host_has_amx_int8(void)
{
    return false;
}

#endif
