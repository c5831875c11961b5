/* The kernels of the device cpu for one instruction set, with the functions that are not kernels of
 * an operator: the solver's step and the loops that measure the machine. */
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/cpu.h"
#include "engine/devices/cpu/int8.h"

#define CPU_KERNEL(name) extern const struct kernel KERNEL(name);
#include "engine/devices/cpu/kernels.inc"

void KERNEL(update)(const struct solver_update *update, struct pool *pool);
double KERNEL(multiply_add)(struct pool *pool);
void KERNEL(triad)(struct pool *pool, float *a, const float *b, const float *c, size_t count);
void KERNEL(read)(struct pool *pool, const float *values, size_t count);

static const struct kernel *const kernels[] = {
#define CPU_KERNEL(name) &KERNEL(name),
#include "engine/devices/cpu/kernels.inc"
    NULL,
};

extern const struct cpu_table KERNEL(table);
const struct cpu_table KERNEL(table) = {
    .kernels = kernels,
    .channel_block = LANES,
    .copy_to_plain = KERNEL(copy_to_plain),
    .quantize = KERNEL(quantize),
    .dequantize = KERNEL(dequantize),
    .update = KERNEL(update),
    .multiply_add = KERNEL(multiply_add),
    .triad = KERNEL(triad),
    .read = KERNEL(read),
};
