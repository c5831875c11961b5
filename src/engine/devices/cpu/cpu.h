/* cpu.h: the fast kernels, one table for each instruction set. */
#ifndef TINCA_ENGINE_DEVICES_CPU_CPU_H
#define TINCA_ENGINE_DEVICES_CPU_CPU_H

#include "base/host.h"
#include "engine/device.h"

struct cpu_table {
    const struct kernel *const *kernels; /* all operators', best first for each; NULL-terminated */
    void (*update)(const struct solver_update *update, struct pool *pool);
};

/* NULL: this build has no kernels for that instruction set. */
const struct cpu_table *cpu_table_for(enum instruction_set set);

#endif
