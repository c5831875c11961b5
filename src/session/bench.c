/* Network, device, plan and execution are made once; the batch is drawn once; then warm-up
 * iterations run unmeasured (first touches of memory, caches, clock rates), and the measured ones
 * are timed one by one. Results are kept in `struct bench`, what only the measuring needs in
 * `struct stand`. */
#include "session/bench.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "engine/execution.h"
#include "engine/ops/op.h"
#include "engine/weights.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 2 };
static const float learning_rate = 0.001f;

struct stand {
    struct weights weights;
    struct execution *execution;
    float *images, *targets;
    int32_t *labels;
    uint64_t iteration;
    float loss; /* of the last training iteration */
};

/* --- the batch --- */

static bool reads_labels(const struct graph *graph)
{
    return graph->loss_count > 0 &&
           (graph->nodes[graph->losses[0]].op->traits & OP_READS_LABELS) != 0;
}

static bool draw_labels(struct stand *stand, const struct bench_settings *settings, size_t classes,
                        struct error *error)
{
    struct random_stream stream = random_stream_at(settings->seed, RANDOM_BENCH, 1, 0);
    stand->labels = memory_new(settings->batch, sizeof *stand->labels, "the labels", error);
    for (size_t i = 0; stand->labels && i < settings->batch; i++)
        stand->labels[i] = (int32_t)random_next_below(&stream, (uint32_t)classes);
    return stand->labels;
}

static float *draw_images(const struct bench_settings *settings, struct shape shape,
                          uint32_t stream, struct error *error)
{
    size_t count = shape_count(shape) * settings->batch; /* the plan has checked this product */
    float *images = memory_new_aligned(count, sizeof *images, "a synthetic batch", error);
    if (images)
        random_fill_gaussian(settings->seed, RANDOM_BENCH, stream, 0, 0, 1, images, count);
    return images;
}

static bool draw_batch(struct stand *stand, const struct bench_settings *settings,
                       const struct network *network, struct error *error)
{
    const struct graph *graph = &network->graph;
    stand->images = draw_images(settings, network->input, 0, error);
    if (!stand->images)
        return false;
    if (settings->mode == PLAN_INFERENCE)
        return true;
    if (reads_labels(graph))
        return draw_labels(stand, settings, network->classes, error);
    stand->targets = draw_images(settings, graph->nodes[graph->output].output, 2, error);
    return stand->targets;
}

/* --- preparing --- */

static bool check_memory(const struct bench *bench, const struct bench_settings *settings,
                         const struct plan_settings *plan_settings, struct error *error)
{
    uint64_t image = shape_count(bench->network->input) * sizeof(float);
    uint64_t needed = bench->plan->forecast.total + image * settings->batch;
    uint64_t available = host_memory_free();
    char need[32], have[32], advice[96] = "not even one image fits: choose a smaller network";
    if (!bench->device->driver->host_memory || available == 0 || needed <= available)
        return true;
    size_t fits = plan_largest_batch(&bench->network->graph, bench->device->driver, plan_settings,
                                     settings->batch, available);
    if (fits > 0)
        snprintf(advice, sizeof advice, "batch %zu fits: --batch %zu", fits, fits);
    return error_set(error, ERROR_MEMORY, bench->network->name, advice,
                     "batch %zu would take %s of memory, and %s are free", settings->batch,
                     text_bytes(needed, need, sizeof need),
                     text_bytes(available, have, sizeof have));
}

static bool prepare(struct bench *bench, struct stand *stand, const struct bench_settings *settings,
                    struct error *error)
{
    bench->network = network_build(&settings->network, error);
    bench->device = bench->network ? device_open(settings->device, settings->threads, error) : NULL;
    if (!bench->device)
        return false;
    struct plan_settings plan_settings = {
        .mode = settings->mode,
        .batch = settings->batch,
        .threads = bench->device->threads,
        .solver = {.kind = SOLVER_SGD, .momentum = 0.9f, .weight_decay = 0.0005f}};
    const struct graph *graph = &bench->network->graph;
    bench->plan = plan_build(graph, bench->device->driver, &plan_settings, error);
    if (!bench->plan || !check_memory(bench, settings, &plan_settings, error) ||
        !weights_create(&stand->weights, graph, error))
        return false;
    weights_initialise(&stand->weights, settings->seed, bench->device->pool);
    stand->execution = execution_create(bench->plan, bench->device, &stand->weights,
                                        &plan_settings.solver, settings->seed, error);
    return stand->execution && draw_batch(stand, settings, bench->network, error);
}

/* --- measuring --- */

static void iterate(struct stand *stand, const struct bench_settings *settings)
{
    execution_forward(stand->execution, stand->iteration++);
    if (settings->mode == PLAN_INFERENCE)
        return;
    stand->loss = execution_loss(stand->execution);
    execution_backward(stand->execution);
    execution_update(stand->execution, learning_rate);
}

static void measure(struct stand *stand, const struct bench_settings *settings, double *ms)
{
    for (size_t i = 0; i < settings->iterations; i++) {
        uint64_t start = clock_nanoseconds();
        iterate(stand, settings);
        ms[i] = 1e3 * clock_seconds(start, clock_nanoseconds()) / (double)settings->batch;
    }
}

static bool measure_profile(struct bench *bench, struct stand *stand,
                            const struct bench_settings *settings, struct error *error)
{
    bench->profile =
        profile_create(bench->network->graph.node_count, bench->device->threads, error);
    if (!bench->profile)
        return false;
    execution_set_profile(stand->execution, bench->profile);
    for (size_t i = 0; i < settings->iterations; i++)
        iterate(stand, settings);
    execution_set_profile(stand->execution, NULL);
    return true;
}

static bool measure_all(struct bench *bench, struct stand *stand,
                        const struct bench_settings *settings, struct error *error)
{
    double *ms = memory_new(settings->iterations, sizeof *ms, "the measurements", error);
    if (!ms)
        return false;
    execution_bind(stand->execution, &(struct execution_batch){.images = stand->images,
                                                               .labels = stand->labels,
                                                               .targets = stand->targets,
                                                               .count = settings->batch});
    for (size_t i = 0; i < WARM_UP; i++)
        iterate(stand, settings);
    measure(stand, settings, ms);
    bench->peak_memory_bytes = host_process_peak();
    bench->iterations = settings->iterations;
    bool computed = statistics_compute(ms, settings->iterations, &bench->ms_per_image, error);
    bench->images_per_second = 1e3 / bench->ms_per_image.median;
    free(ms);
    return computed && (!settings->profile || measure_profile(bench, stand, settings, error));
}

bool bench_run(const struct bench_settings *settings, struct bench *bench, struct error *error)
{
    struct stand stand = {0};
    *bench = (struct bench){0};
    bool measured =
        prepare(bench, &stand, settings, error) && measure_all(bench, &stand, settings, error);
    execution_free(stand.execution);
    weights_free(&stand.weights);
    free(stand.images);
    free(stand.targets);
    free(stand.labels);
    if (!measured)
        bench_free(bench);
    return measured;
}

void bench_free(struct bench *bench)
{
    profile_free(bench->profile);
    plan_free(bench->plan);
    device_close(bench->device);
    network_free(bench->network);
    *bench = (struct bench){0};
}
