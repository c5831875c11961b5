/* Measures the limits of the roofline of this machine (FLOP/s and bandwidth), with the threads of
 * the run. Each limit is the best of a few repeats, because a disturbance can only slow a repeat
 * down.
 *
 * Arithmetic: multiply-adds in registers, and OpenBLAS with one matrix product on each thread.
 * Memory: the faster of STREAM's triad and a pass that only reads, over arrays larger than every
 * cache. Bytes are counted as in traffic.h: each read and each write once. A write can make the
 * processor load the cache line first, which is not counted; the triad alone would therefore not be
 * a limit for layers that mostly read. */
#include "engine/devices/cpu/cpu.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/host/host_load.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/pool.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { SGEMM_SIZE = 1536, REPEATS = 2, PIECES = 64 };
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

/* All threads read the same matrices; each writes a product of its own. */
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
    for (size_t i = trial->count * task / PIECES; i < trial->count * (task + 1) / PIECES; i++)
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
        pool_run(trial->pool, PIECES, fill_task, trial);
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

bool cpu_limits(struct device *device, struct device_limits *limits, struct error *error)
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
