/* instruction_sets.h: the device cpu with the kernels of each instruction set in turn.
 *
 *   for (int set = 0; set < INSTRUCTION_SETS; set++)
 *       if (instruction_set_force((enum instruction_set)set))
 *           ... what device_open("cpu") gives has kernels of that set ...
 *   instruction_set_release();
 *
 * A set that cannot run here is a skipped test point. A test that was itself started with TINCA_CPU
 * tries that set alone. Needs tap.h. Not thread safe, as setenv is not.
 */
#ifndef TINCA_TESTS_INSTRUCTION_SETS_H
#define TINCA_TESTS_INSTRUCTION_SETS_H

#include "tap.h"

#include "base/host/host.h"
#include "engine/devices/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

/* The value of TINCA_CPU at the start of the test; NULL: not set. */
static inline const char *instruction_set_asked(void)
{
    static char asked[16];
    static bool known;
    const char *value = known ? NULL : getenv("TINCA_CPU");
    if (value)
        snprintf(asked, sizeof asked, "%s", value);
    known = true;
    return *asked ? asked : NULL;
}

/* Makes devices that are opened from now on use `set`. Returns false, with a skipped test, if it
 * cannot run here. */
static inline bool instruction_set_force(enum instruction_set set)
{
    const char *name = instruction_set_name(set), *asked = instruction_set_asked();
    struct host host;
    host_describe(&host);
    if (asked && strcmp(asked, name) != 0)
        tap_skip("%s: TINCA_CPU asks for %s", name, asked);
    else if (!cpu_table_for(set))
        tap_skip("%s: this build has no such kernels", name);
    else if (set > host.instruction_set)
        tap_skip("%s: this processor runs %s at most", name,
                 instruction_set_name(host.instruction_set));
    else {
        tap_note("TINCA_CPU=%s", name);
        return setenv("TINCA_CPU", name, 1) == 0;
    }
    return false;
}

/* Restores the state before the first instruction_set_force. */
static inline void instruction_set_release(void)
{
    if (instruction_set_asked())
        setenv("TINCA_CPU", instruction_set_asked(), 1);
    else
        unsetenv("TINCA_CPU");
}

/* Kernels to test: those of an instruction set, or those that work on bf16. */
struct kernel_set {
    const char *name;
    const struct kernel *const *kernels; /* NULL-terminated */
    size_t channel_block;
    bool bf16;
};

static inline struct kernel_set kernel_set_of(enum instruction_set set)
{
    const struct cpu_table *table = cpu_table_for(set);
    return (struct kernel_set){instruction_set_name(set), table->kernels, table->channel_block,
                               false};
}

/* Returns whether kernels for bf16 can run here, and sets *kernels; else skips a test. */
static inline bool kernel_set_bf16(struct kernel_set *kernels)
{
    const char *reason;
    const struct cpu_bf16_table *table = cpu_bf16_table_here(&reason);
    if (table)
        *kernels = (struct kernel_set){"bf16", table->kernels,
                                       cpu_table_for(ISA_AVX512)->channel_block, true};
    else
        tap_skip("bf16: %s", reason);
    return table;
}

#endif
