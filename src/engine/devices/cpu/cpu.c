/* The device `cpu`: the kernels of the strongest instruction set that this machine has (or of a
 * weaker one that TINCA_CPU names), the machine code that it leaves idle, and the limits of the
 * processor. OpenBLAS runs on one thread here, because the engine's thread pool already uses every
 * core. */
#include "config.h"

#include "engine/devices/cpu/cpu.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/host/host_load.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/pool.h"
#include "engine/devices/device.h"
#include "engine/devices/host/host_memory.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* --- idle code: the machine code of kernels that a run does not use ---
 *
 * These are the kernels of other instruction sets, and those for bf16 in a run of float32. The
 * linker places the code of a library of kernels contiguously, so the functions of a table's
 * kernels mark its extent, but for the last function. */

struct extent {
    uintptr_t begin, end;
};

static void include_function(struct extent *extent, uintptr_t function)
{
    if (function == 0)
        return;
    if (extent->begin == 0 || function < extent->begin)
        extent->begin = function;
    if (function > extent->end)
        extent->end = function;
}

static uint64_t unloaded_bytes(const struct kernel *const *kernels)
{
    struct extent extent = {0};
    for (; *kernels; kernels++) {
        include_function(&extent, (uintptr_t)(*kernels)->supports);
        include_function(&extent, (uintptr_t)(*kernels)->prepare);
        include_function(&extent, (uintptr_t)(*kernels)->forward);
        include_function(&extent, (uintptr_t)(*kernels)->backward);
    }
    return host_unloaded_bytes(extent.begin, extent.end);
}

/* Returns the bytes of kernels' machine code that is not in memory, and that plans of this
 * precision do not use; the driver's `idle_code_bytes`. */
static uint64_t cpu_idle_code_bytes(enum device_precision precision)
{
    const char *reason;
    const enum instruction_set used = host_instruction_set();
    const struct cpu_bf16_table *bf16 = cpu_bf16_table_here(&reason);
    uint64_t bytes = bf16 && precision != PRECISION_BF16 ? unloaded_bytes(bf16->kernels) : 0;
    if (cpu_amx_table() && (precision != PRECISION_BF16 || !cpu_amx_table_here()))
        bytes += unloaded_bytes(cpu_amx_table()->kernels);
    for (int set = 0; set < INSTRUCTION_SETS; set++) {
        const struct cpu_table *table = cpu_table_for((enum instruction_set)set);
        if (table && set != (int)used)
            bytes += unloaded_bytes(table->kernels);
    }
    return bytes;
}

/* --- limits: the FLOP/s and the bandwidth of this machine, with the threads of the run ---
 *
 * Each limit is the best of a few repeats, because a disturbance can only slow a repeat
 * down.
 *
 * Arithmetic: multiply-adds in registers, and OpenBLAS with one matrix product on each thread.
 * Memory: the faster of STREAM's triad and a pass that only reads, over arrays larger than every
 * cache. Bytes are counted as in traffic.h: each read and each write once. A write can make the
 * processor load the cache line first, which is not counted; the triad alone would therefore not be
 * a limit for layers that mostly read. */

enum { SGEMM_SIZE = 1536, REPEATS = 2, CHUNKS = 64 };
static const double SECONDS = 0.08; /* repeats of one limit go on for at least this long */

struct trial {
    const struct cpu_table *table;
    double (*multiply_add)(struct pool *pool);
    struct pool *pool;
    float *a, *b, *c;
    size_t count; /* floats of each array */
};

/* Does the work once; returns its amount, in FLOPs or bytes. */
typedef double trial_run(const struct trial *trial);

static double best_rate(trial_run *run, const struct trial *trial)
{
    const uint64_t began = clock_nanoseconds();
    double best = 0;
    for (int i = 0; i < REPEATS || clock_seconds(began, clock_nanoseconds()) < SECONDS; i++) {
        const uint64_t start = clock_nanoseconds();
        const double work = run(trial);
        best = fmax(best, work / clock_seconds(start, clock_nanoseconds()));
    }
    return best;
}

/* --- the work --- */

static double run_multiply_add(const struct trial *trial)
{
    return trial->multiply_add(trial->pool);
}

/* Multiplies the matrices, which all threads share, into a product of the thread's own. */
static void sgemm_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct trial *trial = context;
    float *product = trial->c + task * SGEMM_SIZE * SGEMM_SIZE;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SGEMM_SIZE, SGEMM_SIZE, SGEMM_SIZE, 1,
                trial->a, SGEMM_SIZE, trial->b, SGEMM_SIZE, 0, product, SGEMM_SIZE);
}

static double run_sgemm(const struct trial *trial)
{
    const size_t threads = pool_threads(trial->pool);
    pool_run(trial->pool, threads, sgemm_task, (void *)trial);
    return 2.0 * (double)threads * SGEMM_SIZE * SGEMM_SIZE * SGEMM_SIZE;
}

static double run_triad(const struct trial *trial)
{
    trial->table->triad(trial->pool, trial->a, trial->b, trial->c, trial->count);
    return 3.0 * sizeof(float) * (double)trial->count;
}

static double run_read(const struct trial *trial)
{
    trial->table->read(trial->pool, trial->b, trial->count);
    return sizeof(float) * (double)trial->count;
}

/* --- the arrays --- */

static size_t largest_cache(void)
{
    struct host_processor processor;
    uint64_t largest = 0;
    host_describe_processor(&processor);
    for (size_t i = 0; i < HOST_CACHES; i++)
        largest = processor.caches[i] > largest ? processor.caches[i] : largest;
    return (size_t)largest;
}

/* Returns the floats of an array: twice the largest cache, and at least 8 MiB for each thread, so
 * that the caches of several processors are exceeded too. */
static size_t array_floats(size_t threads)
{
    const size_t least = (size_t)64 << 20, each = ((size_t)8 << 20) * threads;
    const size_t cached = 2 * largest_cache();
    const size_t bytes = each > cached ? each : cached;
    const size_t product = (size_t)SGEMM_SIZE * SGEMM_SIZE * threads;
    const size_t floats = (bytes > least ? bytes : least) / sizeof(float);
    return floats > product ? floats : product;
}

/* Refuses arrays that could push other programs out of memory: a measurement is not worth that. */
static bool check_free_memory(size_t bytes, struct error *error)
{
    const uint64_t memory = host_available_bytes();
    return memory == 0 || bytes < memory / 2 ||
           error_set(error, ERROR_MEMORY, "the machine's limits", "free some memory",
                     "measuring them takes %zu MiB, too much of the %zu MiB that are free",
                     bytes >> 20, (size_t)(memory >> 20));
}

static void fill_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct trial *trial = context;
    for (size_t i = trial->count * task / CHUNKS; i < trial->count * (task + 1) / CHUNKS; i++)
        trial->a[i] = trial->b[i] = trial->c[i] = 1;
}

static bool make_arrays(struct trial *trial, struct error *error)
{
    static const char what[] = N_("the machine's limits");
    trial->count = array_floats(pool_threads(trial->pool));
    if (!check_free_memory(3 * trial->count * sizeof(float), error))
        return false;
    trial->a = memory_new_aligned(trial->count, sizeof(float), what, error);
    trial->b = trial->a ? memory_new_aligned(trial->count, sizeof(float), what, error) : NULL;
    trial->c = trial->b ? memory_new_aligned(trial->count, sizeof(float), what, error) : NULL;
    if (trial->c)
        pool_run(trial->pool, CHUNKS, fill_task, trial);
    return trial->c;
}

/* Sets the loop that measures products of the device's precision. */
static void set_multiply_add(struct trial *trial, enum device_precision precision)
{
    const char *reason;
    const struct cpu_bf16_table *bf16 = cpu_bf16_table_here(&reason);
    const struct cpu_amx_table *amx = cpu_amx_table_here();
    trial->multiply_add = trial->table->multiply_add;
    if (precision == PRECISION_BF16 && bf16)
        trial->multiply_add = amx ? amx->multiply_add : bf16->multiply_add;
}

/* Measures the limits of the machine; the driver's `limits`. device->state must be the table of an
 * instruction set. */
static bool cpu_limits(struct device *device, struct device_limits *limits, struct error *error)
{
    struct trial trial = {.table = device->state, .pool = device->pool};
    set_multiply_add(&trial, device->precision);
    const bool made = make_arrays(&trial, error);
    if (made) {
        limits->bytes = fmax(best_rate(run_triad, &trial), best_rate(run_read, &trial));
        limits->sgemm_flops = best_rate(run_sgemm, &trial);
        limits->flops = fmax(best_rate(run_multiply_add, &trial), limits->sgemm_flops);
    }
    free(trial.a);
    free(trial.b);
    free(trial.c);
    return made;
}

/* --- the driver --- */

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
