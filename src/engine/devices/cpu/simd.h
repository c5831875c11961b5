/* simd.h: what the kernel sources share. Not for use outside this room.
 *
 * Every kernel source is compiled once for each instruction set, with TINCA_ISA naming it; KERNEL()
 * adds that name to what a source exports. Vectors are GCC's, of the widest register: LANES floats.
 *
 * Results must not depend on the number of threads: work is cut into tasks by shapes alone, and
 * sums that several tasks share go through a fixed number of partial results, added in order.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_SIMD_H
#define TINCA_ENGINE_DEVICES_CPU_SIMD_H

#include "base/threads/pool.h"
#include "engine/devices/profile.h"
#include "engine/graph/kernel.h"
#include "engine/ops/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_PASTE(name, isa)  cpu_##name##_##isa
#define KERNEL_EXPAND(name, isa) KERNEL_PASTE(name, isa)
#define KERNEL(name)             KERNEL_EXPAND(name, TINCA_ISA)

/* TILE_ROWS x TILE_VECTORS accumulators, a row of vectors and one broadcast fit the registers. On
 * aarch64, whose multiply-add takes the factor from a register, all TILE_ROWS factors must fit with
 * them: 18 + 3 + 6 of 32; with 8 rows the compiler keeps some accumulators in memory. */
#if defined(__AVX512F__)
enum { LANES = 16, TILE_ROWS = 8, TILE_VECTORS = 3 };
#define ISA_NAME "avx512"
#elif defined(__AVX2__)
enum { LANES = 8, TILE_ROWS = 4, TILE_VECTORS = 3 };
#define ISA_NAME "avx2"
#elif defined(__aarch64__)
enum { LANES = 4, TILE_ROWS = 6, TILE_VECTORS = 3 };
#define ISA_NAME "any"
#else
enum { LANES = 4, TILE_ROWS = 4, TILE_VECTORS = 3 };
#define ISA_NAME "any"
#endif

typedef int vector_indices __attribute__((vector_size(LANES * sizeof(int))));
typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef vector vector_in_memory __attribute__((aligned(4), may_alias));

static inline vector vector_load(const float *from)
{
    return *(const vector_in_memory *)from;
}

static inline void vector_store(float *to, vector value)
{
    *(vector_in_memory *)to = value;
}

/* The sum of all lanes, in a fixed order. */
static inline float vector_sum(vector value)
{
    float lane[LANES];
    vector_store(lane, value);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

static inline size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static inline size_t round_up(size_t a, size_t b)
{
    return divide_up(a, b) * b;
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The beginning of piece i when `count` is cut into `pieces` as equal as can be. */
static inline size_t piece_begin(size_t count, size_t pieces, size_t i)
{
    return count * i / pieces;
}

/* Parts of the workspace, handed out in order; with a NULL base it only counts. */
struct carve {
    char *base;
    size_t used;
};

static inline void *carve_bytes(struct carve *carve, size_t bytes)
{
    void *at = carve->base ? carve->base + carve->used : NULL;
    carve->used += round_up(bytes, 64);
    return at;
}

static inline float *carve_floats(struct carve *carve, size_t count)
{
    return carve_bytes(carve, count * sizeof(float));
}

/* Elementwise work: tasks of so many floats, and how many tasks that makes. */
enum { BLOCK = 16384 };

static inline size_t block_count(size_t count)
{
    return divide_up(count, BLOCK);
}

static inline size_t block_end(size_t count, size_t task)
{
    return least(count, (task + 1) * BLOCK);
}

/* Planes (one channel of one image) in a task, so that a task is worth starting. */
static inline size_t planes_in_task(size_t area)
{
    return most(1, BLOCK / most(1, area));
}

static inline size_t input_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->inputs[0]);
}

static inline size_t output_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->node->output);
}

static inline void run_tasks(const struct kernel_call *call, size_t tasks, pool_task *task,
                             const void *context)
{
    pool_run(call->pool, tasks, task, (void *)context);
}

/* to = from, or to += from. */
static inline void store_or_add(float *to, const float *from, size_t count, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            to[i] += from[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            to[i] = from[i];
    }
}

/* A sum in LANES interleaved parts: short enough for float32, the caller adds many in double. */
static inline float sum_floats(const float *values, size_t count)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

#endif
