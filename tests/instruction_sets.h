/* instruction_sets.h: the device cpu with the kernels of each instruction set in turn.
 *
 *   for (int set = ISA_GENERIC; set <= ISA_AVX512; set++)
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

/* What TINCA_CPU was when the test began; NULL: not set. */
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

/* Devices opened from now on use `set`. False, with a skipped test point, where it cannot run. */
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

/* As it was before the first instruction_set_force. */
static inline void instruction_set_release(void)
{
    if (instruction_set_asked())
        setenv("TINCA_CPU", instruction_set_asked(), 1);
    else
        unsetenv("TINCA_CPU");
}

#endif
