/* simd.h: helpers of the kernels: vectors, division of work into tasks, elementwise loops. Only the
 * kernels of this folder use it.
 *
 * Every kernel source is compiled once for each instruction set of base/host/instruction_sets.inc,
 * with TINCA_ISA as its name; KERNEL() adds that name to every exported symbol. Vectors are those
 * of GCC, as wide as the widest register: LANES floats.
 *
 * Results must not depend on the number of threads. Work is therefore divided into tasks by shapes
 * only, and a sum that several tasks share is a fixed number of partial results, added in order.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_SIMD_H
#define TINCA_ENGINE_DEVICES_CPU_SIMD_H

#include "base/threads/pool.h"
#include "engine/graph/kernel.h"
#include "engine/graph/micro_batch.h"
#include "engine/ops/op.h"
#include "engine/profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KERNEL_PASTE(name, isa)  cpu_##name##_##isa
#define KERNEL_EXPAND(name, isa) KERNEL_PASTE(name, isa)
#define KERNEL(name)             KERNEL_EXPAND(name, TINCA_ISA)

/* TILE_ROWS x TILE_VECTORS accumulators, a row of vectors and one broadcast fit into the registers.
 * On aarch64, whose multiply-add reads the factor from a register, all TILE_ROWS factors must fit
 * as well: 18 + 3 + 6 of 32 registers; with 8 rows the compiler would keep accumulators in memory.
 */
#if defined(__AVX512F__)
enum { LANES = 16, TILE_ROWS = 8, TILE_VECTORS = 3 };
#if defined(TINCA_AMX)
#define ISA_NAME "amx-bf16"
#elif defined(TINCA_BF16)
#define ISA_NAME "avx512-bf16"
#else
#define ISA_NAME "avx512"
#endif
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

/* Returns a vector with `value` in every lane. (Adding it to 0 would turn -0 into 0.) */
static inline vector vector_splat(float value)
{
    return value - (vector){0};
}

/* Returns a where it is larger than b, else b, also for NaN. Compilers know the loop as one
 * instruction. */
static inline vector vector_max(vector a, vector b)
{
    vector larger;
    for (int i = 0; i < LANES; i++)
        larger[i] = a[i] > b[i] ? a[i] : b[i];
    return larger;
}

/* Returns whether any bit of any lane is set. */
static inline bool vector_any(vector_indices lanes)
{
    uint64_t words[sizeof lanes / sizeof(uint64_t)], any = 0;
    memcpy(words, &lanes, sizeof lanes);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        any |= words[i];
    return any != 0;
}

/* Return the lanes that `places` names: of one vector, or of two, where LANES + i is lane i of the
 * second. clang lacks GCC's built-in function for places that are not constant. */
static inline vector vector_pick(vector value, vector_indices places)
{
#if defined(__clang__)
    vector picked = value;
    for (int i = 0; i < LANES; i++)
        picked[i] = value[places[i] & (LANES - 1)];
    return picked;
#else
    return __builtin_shuffle(value, places);
#endif
}

static inline vector vector_pick_two(vector first, vector second, vector_indices places)
{
#if defined(__clang__)
    vector picked = first;
    for (int i = 0; i < LANES; i++)
        picked[i] =
            places[i] & LANES ? second[places[i] & (LANES - 1)] : first[places[i] & (LANES - 1)];
    return picked;
#else
    return __builtin_shuffle(first, second, places);
#endif
}

/* Returns the sum of all lanes, added in a fixed order. */
static inline float vector_sum(vector value)
{
    float lane[LANES];
    vector_store(lane, value);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

/* Returns a / b, rounded up. */
static inline size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Returns the next multiple of b, a itself included. */
static inline size_t round_up(size_t a, size_t b)
{
    return divide_up(a, b) * b;
}

/* Returns the smaller of two sizes. */
static inline size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the larger of two sizes. */
static inline size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns where chunk i begins when `count` items are divided into `chunks` of nearly equal size.
 */
static inline size_t chunk_begin(size_t count, size_t chunks, size_t i)
{
    return count * i / chunks;
}

/* Divides a workspace into arrays, in order. With a NULL base it only counts the bytes. */
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

/* Floats of a task of an elementwise operator. */
enum { BLOCK = 16384 };

static inline size_t block_count(size_t count)
{
    return divide_up(count, BLOCK);
}

static inline size_t block_end(size_t count, size_t task)
{
    return min_size(count, (task + 1) * BLOCK);
}

/* Returns the number of planes (one channel of one image) in a task: enough to be worth starting a
 * task. */
static inline size_t planes_in_task(size_t area)
{
    return max_size(1, BLOCK / max_size(1, area));
}

static inline size_t input_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->inputs[0]);
}

/* Returns the floats of the output's array, the unused lanes of a channel-blocked one included. */
static inline size_t output_values(const struct kernel_call *call)
{
    return call->site->batch * tensor_image(call->site->output_layout, call->site->node->output);
}

/* Returns the factor of one image's gradient of a loss: weight / N, since the loss is a mean over
 * the batch. */
static inline float loss_scale(const struct kernel_call *call)
{
    const size_t images = call->micro_batch ? call->micro_batch->whole_images : call->site->batch;
    return call->site->node->attributes.loss.weight / (float)images;
}

static inline void run_tasks(const struct kernel_call *call, size_t tasks, pool_task *task,
                             const void *context)
{
    pool_run(call->pool, tasks, task, (void *)context);
}

/* Copies `from` to `to`, or adds it to `to` if `accumulate` is set. */
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

/* Returns the sum of a few thousand values at most, in LANES interleaved float32 sums. Callers with
 * more values add such sums in double. */
static inline float sum_floats(const float *values, size_t count)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

#endif
