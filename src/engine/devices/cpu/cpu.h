/* cpu.h: the fast kernels, one table for each instruction set. */
#ifndef TINCA_ENGINE_DEVICES_CPU_CPU_H
#define TINCA_ENGINE_DEVICES_CPU_CPU_H

#include "base/host/host.h"
#include "engine/devices/device.h"

struct cpu_table {
    const struct kernel *const *kernels; /* all operators', best first for each; NULL-terminated */
    void (*update)(const struct solver_update *update, struct pool *pool);
    /* Loops that do nothing but reach a limit: limit_loops.c. */
    double (*multiply_add)(struct pool *pool); /* returns the FLOPs that it did */
    void (*triad)(struct pool *pool, float *a, const float *b, const float *c, size_t count);
    void (*read)(struct pool *pool, const float *values, size_t count);
};

/* NULL: this build has no kernels for that instruction set. */
const struct cpu_table *cpu_table_for(enum instruction_set set);

/* The driver's `limits`: limits.c. device->state is the table. */
bool cpu_limits(struct device *device, struct device_limits *limits, struct error *error);

#endif
