/* amx_emulator.h: executes the instructions of AMX on processors that have none.
 *
 * Such a processor stops at the instruction with SIGILL. The handler decodes it, does to a copy of
 * the tile registers what the instruction would do to them, and lets the thread go on behind it.
 * Kernels can thus be tested with the machine code that other processors run. An instruction takes
 * some microseconds. Each thread has its own registers.
 *
 * It knows LDTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDPBF16PS and TDPBUSD, and
 * raises the signal again for anything else. It ends the program with a message where the
 * instruction would fault: tiles that are not configured, or sizes that do not fit together.
 */
#ifndef TINCA_TESTS_AMX_EMULATOR_H
#define TINCA_TESTS_AMX_EMULATOR_H

#include "instruction_sets.h"

#include <stdbool.h>

/* Installs the handler for the rest of the program; on a processor that has AMX, gets permission to
 * use its own tiles instead. Returns false if this build has no kernels for
 * AMX or the processor cannot run the rest of their code (AVX512-BF16). */
bool amx_emulator_start(void);

/* Does the same for kernels whose other code the processor can run. */
bool amx_emulator_install(void);

/* Returns how many products of tiles have been executed in this thread. */
unsigned long amx_emulator_products(void);

/* Returns whether kernels for AMX can run here, perhaps with the emulator, and sets *kernels; else
 * skips a test. */
static inline bool kernel_set_amx(struct kernel_set *kernels)
{
    const struct cpu_amx_table *table = cpu_amx_table();
    const bool native = table && host_has_amx();
    if (!table || (!native && !amx_emulator_start())) {
        tap_skip("amx: %s", table ? "this processor has no AVX512-BF16" : "not in this build");
        return false;
    }
    *kernels = (struct kernel_set){native ? "amx" : "amx, emulated", table->kernels,
                                   cpu_table_for(ISA_AVX512)->channel_block, true};
    return true;
}

#endif
