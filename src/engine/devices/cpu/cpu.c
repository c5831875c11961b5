/* The device `cpu`: the kernels of the strongest instruction set that this machine has (or of a
 * weaker one that TINCA_CPU names). OpenBLAS runs on one thread here, because the engine's thread
 * pool already uses every core. */
#include "config.h"

#include "engine/devices/cpu/cpu.h"

#include "base/language.h"
#include "base/threads/pool.h"
#include "engine/devices/device.h"
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

const struct cpu_bf16_table *cpu_bf16_table_here(const char **reason)
{
#if defined(HAVE_BF16_KERNELS)
    extern const struct cpu_bf16_table cpu_bf16_table_avx512;
    *reason = N_("it needs a processor with AVX512-BF16");
    return host_has_bf16() ? &cpu_bf16_table_avx512 : NULL;
#else
    *reason = N_("this build has no kernels for it");
    return NULL;
#endif
}

const struct cpu_amx_table *cpu_amx_table(void)
{
#if defined(HAVE_AMX_KERNELS)
    extern const struct cpu_amx_table cpu_amx_table_avx512;
    return &cpu_amx_table_avx512;
#else
    return NULL;
#endif
}

const struct cpu_amx_table *cpu_amx_table_here(void)
{
    return host_has_amx() ? cpu_amx_table() : NULL;
}

const struct cpu_int8_table *cpu_int8_table_here(void)
{
#if defined(HAVE_VNNI_KERNELS)
    extern const struct cpu_int8_table cpu_int8_table_avx512_vnni, cpu_int8_table_avx_vnni;
    switch (host_vnni()) {
    case VNNI_AVX512:
        return &cpu_int8_table_avx512_vnni;
    case VNNI_AVX:
        return &cpu_int8_table_avx_vnni;
    case VNNI_NONE:
        break;
    }
#endif
    return NULL;
}

const struct cpu_int8_table *cpu_amx_int8_table_here(void)
{
#if defined(HAVE_AMX_INT8_KERNELS)
    extern const struct cpu_int8_table cpu_int8_table_avx512_amx_int8;
    return host_has_amx_int8() ? &cpu_int8_table_avx512_amx_int8 : NULL;
#else
    return NULL;
#endif
}

static bool cpu_plans_bf16(const char **reason)
{
    return cpu_bf16_table_here(reason);
}

static void cpu_round(struct device *device, const float *from, float *to, size_t count)
{
    const char *reason;
    cpu_bf16_table_here(&reason)->round(device->pool, from, to, count);
}

/* Appends the kernels of an operator to list[count..capacity); returns the new count. */
static size_t add_kernels(const struct kernel *const *kernels, const struct op *op,
                          const struct kernel **list, size_t count, size_t capacity)
{
    for (; *kernels; kernels++)
        if ((*kernels)->op == op && count < capacity)
            list[count++] = *kernels;
    return count;
}

static size_t cpu_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    const char *reason;
    const struct cpu_bf16_table *bf16 = cpu_bf16_table_here(&reason);
    const struct cpu_amx_table *amx = cpu_amx_table_here();
    const struct cpu_int8_table *amx_int8 = cpu_amx_int8_table_here();
    const struct cpu_int8_table *int8 = cpu_int8_table_here();
    size_t count = amx ? add_kernels(amx->kernels, op, list, 0, capacity) : 0;
    count = amx_int8 ? add_kernels(amx_int8->kernels, op, list, count, capacity) : count;
    count = int8 ? add_kernels(int8->kernels, op, list, count, capacity) : count;
    count = bf16 ? add_kernels(bf16->kernels, op, list, count, capacity) : count;
    return add_kernels(table_here()->kernels, op, list, count, capacity);
}

static size_t cpu_channel_block(void)
{
    return table_here()->channel_block;
}

static void cpu_copy_to_plain(struct device *device, struct tensor_layout layout,
                              struct shape shape, size_t batch, const void *from, float *to)
{
    const char *reason;
    const struct cpu_table *table = device->state;
    if (layout.bf16)
        cpu_bf16_table_here(&reason)->copy_to_plain(device->pool, layout, shape, batch, from, to);
    else
        table->copy_to_plain(device->pool, layout, shape, batch, from, to);
}

static void cpu_quantize(struct device *device, struct quantization quantization,
                         struct tensor_layout layout, struct shape shape, size_t batch,
                         const float *from, uint8_t *to)
{
    const struct cpu_table *table = device->state;
    table->quantize(device->pool, quantization, layout, shape, batch, from, to);
}

static void cpu_dequantize(struct device *device, struct quantization quantization,
                           struct tensor_layout layout, struct shape shape, size_t batch,
                           const uint8_t *from, float *to)
{
    const struct cpu_table *table = device->state;
    table->dequantize(device->pool, quantization, layout, shape, batch, from, to);
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
    .measure_machine = cpu_measure_machine,
    .idle_code_bytes = cpu_idle_code_bytes,
    .plans_bf16 = cpu_plans_bf16,
    .round = cpu_round,
    .int8_block = 16,
    .quantize = cpu_quantize,
    .dequantize = cpu_dequantize,
    .allocate = device_allocate_host,
    .release = device_release_host,
    .computes_on_host = true,
};
