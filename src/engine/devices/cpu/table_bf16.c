/* The kernels of the device cpu for bf16 (elements.h), for processors with AVX512-BF16. The
 * solver's step and the loops over memory are those of AVX-512. */
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/cpu.h"

#define CPU_KERNEL(name)
#define ELEMENT_KERNEL(name) extern const struct kernel KERNEL(name);
#define BF16_KERNEL          ELEMENT_KERNEL
#include "engine/devices/cpu/kernels.inc"

void KERNEL(round)(struct pool *pool, const float *from, float *to, size_t count);
double KERNEL(multiply_add)(struct pool *pool);

static const struct kernel *const kernels[] = {
#define CPU_KERNEL(name)
#define ELEMENT_KERNEL(name) &KERNEL(name),
#define BF16_KERNEL          ELEMENT_KERNEL
#include "engine/devices/cpu/kernels.inc"
    NULL,
};

extern const struct cpu_bf16_table cpu_bf16_table_avx512;
const struct cpu_bf16_table cpu_bf16_table_avx512 = {
    .kernels = kernels,
    .copy_to_plain = KERNEL(copy_to_plain),
    .round = KERNEL(round),
    .multiply_add = KERNEL(multiply_add),
};
