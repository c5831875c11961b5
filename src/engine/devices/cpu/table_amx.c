/* The kernels of the device cpu that multiply bf16 with AMX. Processors that have it use those for
 * AVX512-BF16 (table_bf16.c) for everything else. */
#include "engine/devices/cpu/amx.h"
#include "engine/devices/cpu/cpu.h"

#define CPU_KERNEL(name)
#define ELEMENT_KERNEL(name)
#define AMX_KERNEL(name) extern const struct kernel KERNEL(name);
#include "engine/devices/cpu/kernels.inc"

double KERNEL(multiply_add)(struct pool *pool);

static const struct kernel *const kernels[] = {
#define CPU_KERNEL(name)
#define ELEMENT_KERNEL(name)
#define AMX_KERNEL(name) &KERNEL(name),
#include "engine/devices/cpu/kernels.inc"
    NULL,
};

extern const struct cpu_amx_table cpu_amx_table_avx512;
const struct cpu_amx_table cpu_amx_table_avx512 = {
    .kernels = kernels,
    .multiply_add = KERNEL(multiply_add),
};
