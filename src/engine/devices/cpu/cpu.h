/* cpu.h: the fast kernels, one table for each instruction set (base/host/instruction_sets.inc). */
#ifndef TINCA_ENGINE_DEVICES_CPU_CPU_H
#define TINCA_ENGINE_DEVICES_CPU_CPU_H

#include "base/host/host.h"
#include "engine/devices/device.h"

struct cpu_table {
    const struct kernel *const *kernels; /* in the order of kernels.inc; NULL-terminated */
    size_t channel_block;                /* channels of a block in channel-blocked layouts */
    void (*copy_to_plain)(struct pool *pool, struct tensor_layout layout, struct shape shape,
                          size_t batch, const void *from, float *to);
    /* These are the driver's functions of the same names. */
    void (*quantize)(struct pool *pool, struct quantization quantization,
                     struct tensor_layout layout, struct shape shape, size_t batch,
                     const float *from, uint8_t *to);
    void (*dequantize)(struct pool *pool, struct quantization quantization,
                       struct tensor_layout layout, struct shape shape, size_t batch,
                       const uint8_t *from, float *to);
    void (*update)(const struct solver_update *update, struct pool *pool);
    /* Loops that measure one limit of the machine each: limit_loops.c. */
    double (*multiply_add)(struct pool *pool); /* returns the number of its FLOPs */
    void (*triad)(struct pool *pool, float *a, const float *b, const float *c, size_t count);
    void (*read)(struct pool *pool, const float *values, size_t count);
};

/* The kernels that work on arrays of bf16. */
struct cpu_bf16_table {
    const struct kernel *const *kernels; /* in the order of kernels.inc; NULL-terminated */
    void (*copy_to_plain)(struct pool *pool, struct tensor_layout layout, struct shape shape,
                          size_t batch, const void *from, float *to);
    void (*round)(struct pool *pool, const float *from, float *to, size_t count);
    double (*multiply_add)(struct pool *pool); /* as in cpu_table */
};

/* The kernels among them that AMX makes faster. */
struct cpu_amx_table {
    const struct kernel *const *kernels;       /* in the order of kernels.inc; NULL-terminated */
    double (*multiply_add)(struct pool *pool); /* as in cpu_table */
};

/* The kernels of int8 that VNNI or AMX makes faster. */
struct cpu_int8_table {
    const char *name;                    /* "avx512-vnni" */
    const struct kernel *const *kernels; /* in the order of kernels.inc; NULL-terminated */
};

/* Returns the int8 kernels for the fastest VNNI that this processor, this build and TINCA_CPU
 * allow, or NULL. */
const struct cpu_int8_table *cpu_int8_table_here(void);

/* Returns the int8 kernels for AMX-INT8, which serve only large products and come before the
 * others, or NULL if this processor or this build has none, or TINCA_CPU names an instruction set.
 */
const struct cpu_int8_table *cpu_amx_int8_table_here(void);

/* Returns the kernels for AMX, or NULL if this build has none. */
const struct cpu_amx_table *cpu_amx_table(void);

/* Returns the same if this processor has AMX, and TINCA_CPU names no weaker instruction set, else
 * NULL. */
const struct cpu_amx_table *cpu_amx_table_here(void);

/* Returns the kernels for bf16, or NULL with a reason, marked N_, if this processor or this build
 * has none, or TINCA_CPU names a weaker instruction set. */
const struct cpu_bf16_table *cpu_bf16_table_here(const char **reason);

/* Returns the table of an instruction set, or NULL if this build has no kernels for it. */
const struct cpu_table *cpu_table_for(enum instruction_set set);

/* Measures the figures of the machine; the driver's `measure_machine` (measure_machine.c). */
bool cpu_measure_machine(struct device *device, struct machine_model *model, struct error *error);

#endif
