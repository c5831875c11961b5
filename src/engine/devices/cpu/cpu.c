/* The device `cpu`: the kernels of the strongest instruction set that this machine has (or of a
 * weaker one that TINCA_CPU names). OpenBLAS runs on one thread here, because the engine's thread
 * pool already uses every core. */
#include "config.h"

#include "engine/devices/cpu/cpu.h"

#include "base/language.h"
#include "base/threads/pool.h"
#include "engine/devices/drivers.h"
#include "engine/devices/host/host_memory.h"

#include <cblas.h>
#include <stdio.h>

#if !defined(HAVE_X86_KERNELS)
#define X86_INSTRUCTION_SET(constant, name)
#endif
#define INSTRUCTION_SET(constant, name) extern const struct cpu_table cpu_table_##name;
#include "base/host/instruction_sets.inc"

/* The kernels by instruction set; NULL: this build has none for it. */
static const struct cpu_table *const tables[INSTRUCTION_SETS] = {
#if !defined(HAVE_X86_KERNELS)
#define X86_INSTRUCTION_SET(constant, name)
#endif
#define INSTRUCTION_SET(constant, name) [ISA_##constant] = &cpu_table_##name,
#include "base/host/instruction_sets.inc"
};

const struct cpu_table *cpu_table_for(enum instruction_set set)
{
    return tables[set];
}

static const struct cpu_table *table_here(void)
{
    const struct cpu_table *table = cpu_table_for(host_instruction_set());
    return table ? table : &cpu_table_generic;
}

static bool cpu_available(char *reason, size_t size)
{
    snprintf(reason, size, "%s kernels", instruction_set_name(host_instruction_set()));
    return true;
}

static bool cpu_open(struct device *device, struct error *error)
{
    openblas_set_num_threads(1);
    device->state = (void *)table_here();
    device->pool = pool_create(device->threads, error);
    return device->pool;
}

static void cpu_close(struct device *device)
{
    pool_free(device->pool);
}

static size_t cpu_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    size_t count = 0;
    for (const struct kernel *const *kernel = table_here()->kernels; *kernel; kernel++)
        if ((*kernel)->op == op && count < capacity)
            list[count++] = *kernel;
    return count;
}

static size_t cpu_channel_block(void)
{
    return table_here()->channel_block;
}

static void cpu_copy_to_plain(struct device *device, struct tensor_layout layout,
                              struct shape shape, size_t batch, const float *from, float *to)
{
    const struct cpu_table *table = device->state;
    table->copy_to_plain(device->pool, layout, shape, batch, from, to);
}

static void cpu_update(struct device *device, const struct solver_update *update)
{
    const struct cpu_table *table = device->state;
    table->update(update, device->pool);
}

const struct device_driver device_cpu = {
    .name = "cpu",
    .description = N_("SIMD kernels and OpenBLAS on all cores"),
    .available = cpu_available,
    .open = cpu_open,
    .close = cpu_close,
    .kernels = cpu_kernels,
    .channel_block = cpu_channel_block,
    .copy_to_plain = cpu_copy_to_plain,
    .update = cpu_update,
    .limits = cpu_limits,
    .allocate = device_allocate_host,
    .release = device_release_host,
    .computes_on_host = true,
};
