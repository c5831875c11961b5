/* The kernels of the device cpu that multiply integers of 8 bits with VNNI or AMX (int8.h). The
 * kernels of the next weaker instruction set compute everything else. */
#include "engine/devices/cpu/cpu.h"
#include "engine/devices/cpu/int8.h"

#define CPU_KERNEL(name)
#define INT8_PRODUCT_KERNEL(name) extern const struct kernel KERNEL(name);
#include "engine/devices/cpu/kernels.inc"

static const struct kernel *const kernels[] = {
#define CPU_KERNEL(name)
#define INT8_PRODUCT_KERNEL(name) &KERNEL(name),
#include "engine/devices/cpu/kernels.inc"
    NULL,
};

extern const struct cpu_int8_table KERNEL(int8_table);
const struct cpu_int8_table KERNEL(int8_table) = {.kernels = kernels, .name = INT8_ISA_NAME};
