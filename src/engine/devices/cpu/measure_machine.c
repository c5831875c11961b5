/* Measures the figures of machine_model.h with the kernels and the thread pool themselves. Each
 * figure is the best of a few repeats, because a disturbance can only slow a repeat down.
 *
 * Figures of one thread are measured on a pool of one thread, those of several threads on the pool
 * of the device. The arrays of a figure fit into the level-2 cache, except those of MACHINE_READ.
 * The figures of a kernel follow from its own prediction: the time of a convolution, divided by how
 * often its prediction has the figure. */
#include "engine/devices/cpu/cpu.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/pool.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_REPEATS = 5,
    WORK_TIME = 5000000, /* nanoseconds in which repeats begin */
    TRIES = 12,          /* waits for a moment in which other cores are free */
    JOBS = 4,            /* jobs of a repeat: one alone is too short for the clock */
    MANY_TASKS = 64,     /* tasks for each thread */
    SPIN_ROUNDS = 4000,  /* rounds of a task that takes some microseconds */
    ARRAY_FLOATS = 4096,
    READ_BYTES = 8 << 20, /* more than a level-2 cache has, as large as the weights of a layer */
};

/* Seconds: a time that is too short to be measured, and the pause between two tries. */
static const double NOTHING = 1e-9, PAUSE = 2e-3;
static const char what[] = N_("the machine's figures");

typedef void timed_run(void *subject);

/* Returns the seconds of the fastest of several runs, after one that is not timed. */
static double best_seconds(timed_run *run, void *subject)
{
    double best = INFINITY;
    run(subject);
    const uint64_t began = clock_nanoseconds();
    for (int i = 0; i < LEAST_REPEATS || clock_nanoseconds() - began < WORK_TIME; i++) {
        const uint64_t start = clock_nanoseconds();
        run(subject);
        best = fmin(best, clock_seconds(start, clock_nanoseconds()));
    }
    return best;
}

/* --- jobs --- */

struct job {
    struct pool *pool;
    size_t tasks;
    pool_task *task;
};

static void empty_task(void *context, size_t task, size_t thread)
{
    (void)context;
    (void)task;
    (void)thread;
}

/* Runs steps that each wait for the one before, so that every thread takes the same time. */
static void spin_task(void *context, size_t task, size_t thread)
{
    (void)context;
    (void)thread;
    float value = (float)task;
    for (int i = 0; i < SPIN_ROUNDS; i++)
        value = value * 0.5f + 1;
    volatile float kept = value; /* without it the compiler would drop the loop */
    (void)kept;
}

static void run_jobs(void *subject)
{
    const struct job *job = subject;
    for (int i = 0; i < JOBS; i++)
        pool_run(job->pool, job->tasks, job->task, NULL);
}

static double job_seconds(struct pool *pool, size_t tasks, pool_task *task)
{
    struct job job = {pool, tasks, task};
    return best_seconds(run_jobs, &job) / JOBS;
}

/* Returns how much longer a job of one task for each thread takes than one task. While other
 * programs keep all other cores, the calling thread computes all tasks by itself; another try waits
 * for a better moment. If none comes, returns NaN. */
static double hand_over_seconds(struct pool *pool, struct pool *one)
{
    const double alone = job_seconds(one, 1, spin_task);
    for (int i = 0; i < TRIES; i++) {
        const double more = job_seconds(pool, pool_threads(pool), spin_task) - alone;
        if (more < alone / 2)
            return fmax(more, NOTHING);
        clock_sleep(PAUSE);
    }
    return (double)NAN;
}

/* Sets the cost of a job beyond its tasks. One thread hands nothing over. */
static void measure_jobs(struct pool *pool, struct pool *one, struct machine_model *model)
{
    const size_t threads = pool_threads(pool);
    model->seconds[MACHINE_HAND_OVER] = model->seconds[MACHINE_TASK] = NOTHING;
    if (threads == 1)
        return;
    model->seconds[MACHINE_HAND_OVER] = hand_over_seconds(pool, one);
    const double few = job_seconds(pool, threads, empty_task);
    const double many = job_seconds(pool, MANY_TASKS * threads, empty_task);
    model->seconds[MACHINE_TASK] = fmax((many - few) / (MANY_TASKS - 1), NOTHING);
}

/* --- vector operations --- */

struct triad {
    const struct cpu_table *table;
    struct pool *one;
    float *arrays;
};

static void run_triad(void *subject)
{
    const struct triad *t = subject;
    t->table->triad(t->one, t->arrays, t->arrays + ARRAY_FLOATS, t->arrays + 2 * ARRAY_FLOATS,
                    ARRAY_FLOATS);
}

static bool measure_operation(const struct cpu_table *table, struct pool *one,
                              struct machine_model *model, struct error *error)
{
    struct triad triad = {.table = table, .one = one};
    const double operations = 3.0 * ARRAY_FLOATS / (double)table->channel_block;
    triad.arrays = memory_new((size_t)3 * ARRAY_FLOATS, sizeof(float), what, error);
    if (triad.arrays)
        model->seconds[MACHINE_OPERATION] = best_seconds(run_triad, &triad) / operations;
    free(triad.arrays);
    return triad.arrays;
}

/* --- convolutions --- */

/* A convolution of 3x3 on channel-blocked arrays of one image. */
struct conv_trial {
    const struct kernel *kernel;
    struct node node;
    struct kernel_site site;
    struct kernel_call call;
    void *memory; /* owned: all arrays of the call */
};

/* Returns the kernel of inference with this name. */
static const struct kernel *find_kernel(const struct cpu_table *table, const char *name)
{
    for (const struct kernel *const *kernel = table->kernels; *kernel; kernel++)
        if (strcmp((*kernel)->name, name) == 0 && !((*kernel)->traits & KERNEL_TRAINS_ONLY))
            return *kernel;
    return NULL;
}

/* Takes `bytes` bytes from a block of memory; with a NULL block it only counts them. */
static void *take(char *block, size_t *used, size_t bytes)
{
    void *at = block ? block + *used : NULL;
    *used += memory_round_up(bytes);
    return at;
}

/* Sets the arrays of the call; returns their bytes. */
static size_t place_arrays(struct conv_trial *trial, char *block)
{
    const struct kernel_site *site = &trial->site;
    const struct kernel *kernel = trial->kernel;
    const size_t weights = site->inputs[0].channels * trial->node.output.channels * 9;
    size_t used = 0;
    trial->call.inputs[0] =
        take(block, &used, tensor_image(site->layouts[0], site->inputs[0]) * sizeof(float));
    trial->call.output =
        take(block, &used, tensor_image(site->output_layout, trial->node.output) * sizeof(float));
    trial->call.parameters[0] = take(block, &used, weights * sizeof(float));
    trial->call.prepared = take(block, &used, kernel->prepared_bytes(site));
    trial->call.workspace = take(block, &used, kernel->workspace_bytes(site));
    return used;
}

static void run_conv(void *subject)
{
    const struct conv_trial *trial = subject;
    trial->kernel->forward(&trial->call);
}

/* A convolution in figures: its time, and how often the kernel's prediction has each figure. */
struct conv_time {
    double seconds, units[MACHINE_FIGURES];
};

/* Predicts the time with a model in which one figure is a second and the others take no time. */
static void count_units(struct conv_trial *trial, double units[MACHINE_FIGURES])
{
    for (size_t i = 0; i < MACHINE_FIGURES; i++) {
        struct machine_model model = {.measured = true};
        model.seconds[i] = 1;
        trial->site.machine = &model;
        units[i] = trial->kernel->seconds(&trial->site);
    }
    trial->site.machine = NULL;
}

/* Times a convolution of a square image, with as many blocks of input and output channels. Returns
 * false with an error if out of memory. */
static bool time_conv(const struct cpu_table *table, const char *kernel, struct pool *one,
                      size_t side, size_t in_blocks, size_t out_blocks, struct conv_time *time,
                      struct error *error)
{
    const size_t outputs = out_blocks * table->channel_block;
    struct conv_trial trial = {.kernel = find_kernel(table, kernel),
                               .node = {.op = &op_conv,
                                        .output = {outputs, side, side},
                                        .attributes.conv = {.window = {3, 3, 1, 1, 1, 1},
                                                            .outputs = outputs,
                                                            .groups = 1}},
                               .site = {.inputs[0] = {in_blocks * table->channel_block, side, side},
                                        .batch = 1,
                                        .threads = 1,
                                        .layouts[0] = {.block = table->channel_block, .pad = 1},
                                        .output_layout = {.block = table->channel_block}},
                               .call = {.pool = one}};
    trial.site.node = &trial.node;
    trial.call.site = &trial.site;
    count_units(&trial, time->units);
    const size_t bytes = place_arrays(&trial, NULL);
    trial.memory = memory_new_aligned(1, bytes, what, error);
    if (!trial.memory)
        return false;
    memset(trial.memory, 0, bytes);
    place_arrays(&trial, trial.memory);
    trial.kernel->prepare(&trial.call);
    time->seconds = best_seconds(run_conv, &trial);
    free(trial.memory);
    return true;
}

/* Returns the part of a time that remains for one figure when the other one is known; a quarter of
 * it at least, because two measured times can disagree. */
static double remaining(const struct conv_time *time, enum machine_figure figure,
                        enum machine_figure known, double seconds)
{
    const double all = time->seconds / time->units[figure];
    return fmax(all - seconds * time->units[known] / time->units[figure], all / 4);
}

/* Measures direct convolution with tiles of one block of channels, and of two. */
static bool measure_direct(const struct cpu_table *table, struct pool *one,
                           struct machine_model *model, struct error *error)
{
    struct conv_time single, pair;
    if (!time_conv(table, "conv blocked", one, 16, 4, 1, &single, error) ||
        !time_conv(table, "conv blocked", one, 14, 4, 2, &pair, error))
        return false;
    model->seconds[MACHINE_CONV_1] = single.seconds / single.units[MACHINE_CONV_1];
    model->seconds[MACHINE_CONV_2] = pair.seconds / pair.units[MACHINE_CONV_2];
    return true;
}

/* Measures Winograd's convolution: one with many products for each transform, and one with few,
 * give two equations for the two figures. */
static bool measure_winograd(const struct cpu_table *table, struct pool *one,
                             struct machine_model *model, struct error *error)
{
    struct conv_time many, few, single;
    if (!time_conv(table, "conv winograd", one, 16, 4, 8, &many, error) ||
        !time_conv(table, "conv winograd", one, 16, 1, 2, &few, error) ||
        !time_conv(table, "conv winograd", one, 16, 4, 1, &single, error))
        return false;
    const double p = many.units[MACHINE_PRODUCT_2], q = few.units[MACHINE_PRODUCT_2];
    const double x = many.units[MACHINE_TRANSFORM], y = few.units[MACHINE_TRANSFORM];
    const double product = (many.seconds * y - few.seconds * x) / (p * y - q * x);
    model->seconds[MACHINE_TRANSFORM] =
        remaining(&few, MACHINE_TRANSFORM, MACHINE_PRODUCT_2, fmax(product, 0));
    model->seconds[MACHINE_PRODUCT_2] =
        remaining(&many, MACHINE_PRODUCT_2, MACHINE_TRANSFORM, model->seconds[MACHINE_TRANSFORM]);
    model->seconds[MACHINE_PRODUCT_1] =
        remaining(&single, MACHINE_PRODUCT_1, MACHINE_TRANSFORM, model->seconds[MACHINE_TRANSFORM]);
    return true;
}

/* --- memory --- */

struct reading {
    const struct cpu_table *table;
    struct pool *one;
    float *values;
};

static void run_reading(void *subject)
{
    const struct reading *r = subject;
    r->table->read(r->one, r->values, READ_BYTES / sizeof(float));
}

static bool measure_reading(const struct cpu_table *table, struct pool *one,
                            struct machine_model *model, struct error *error)
{
    struct reading reading = {.table = table, .one = one};
    reading.values = memory_new_aligned(1, READ_BYTES, what, error);
    if (!reading.values)
        return false;
    memset(reading.values, 0, READ_BYTES);
    model->seconds[MACHINE_READ] = best_seconds(run_reading, &reading) / READ_BYTES;
    free(reading.values);
    return true;
}

bool cpu_measure_machine(struct device *device, struct machine_model *model, struct error *error)
{
    const struct cpu_table *table = device->state;
    struct pool *one = pool_create(1, error);
    if (one)
        measure_jobs(device->pool, one, model);
    const bool measured = one && measure_operation(table, one, model, error) &&
                          measure_direct(table, one, model, error) &&
                          measure_winograd(table, one, model, error) &&
                          measure_reading(table, one, model, error);
    pool_free(one);
    return measured;
}
