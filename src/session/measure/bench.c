/* Network, device, plan and execution are made once; the batch is drawn once; then warm-up
 * iterations run unmeasured (first touches of memory, caches, clock rates), and the measured ones
 * are timed one by one. The device's limits are measured last, in the memory that is then free and
 * in the same minute. Results are kept in `struct bench`, what only the measuring needs in
 * `struct stand`. */
#include "session/measure/bench.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/execution/execution.h"
#include "engine/ops/op.h"
#include "engine/weights/weights.h"
#include "session/measure/memory_check.h"

#include <stdlib.h>

enum { WARM_UP = 2, TRAIN_BATCH = 32 };
static const float alone_rate = 0.001f, gan_rate = 0.0002f, gan_main_weight = 100;

struct stand {
    struct weights weights;
    struct execution *execution; /* a network alone, */
    struct gan *gan;             /* or two */
    float *images, *targets;
    int32_t *labels;
    struct execution_batch batch;
    uint64_t iteration;
    float loss; /* of the last training iteration of a network alone */
};

/* --- the batch --- */

static bool reads_labels(const struct graph *graph)
{
    return graph->loss_count > 0 &&
           (graph->nodes[graph->losses[0]].op->traits & OP_READS_LABELS) != 0;
}

static bool draw_labels(struct stand *stand, const struct bench *bench, uint64_t seed,
                        struct error *error)
{
    struct random_stream stream = random_stream_at(seed, RANDOM_BENCH, 1, 0);
    const uint32_t classes = (uint32_t)bench->network->classes;
    stand->labels = memory_new(bench->batch, sizeof *stand->labels, "the labels", error);
    for (size_t i = 0; stand->labels && i < bench->batch; i++)
        stand->labels[i] = (int32_t)random_next_below(&stream, classes);
    return stand->labels;
}

static float *draw_images(const struct bench *bench, uint64_t seed, struct shape shape,
                          uint32_t stream, struct error *error)
{
    size_t count = shape_count(shape) * bench->batch; /* the plan has checked this product */
    float *images = memory_new_aligned(count, sizeof *images, "a synthetic batch", error);
    if (images)
        random_fill_gaussian(seed, RANDOM_BENCH, stream, 0, 0, 1, images, count);
    return images;
}

static bool draw_answers(struct stand *stand, const struct bench *bench, uint64_t seed,
                         struct error *error)
{
    const struct graph *graph = &bench->network->graph;
    if (reads_labels(graph))
        return draw_labels(stand, bench, seed, error);
    stand->targets = draw_images(bench, seed, graph->nodes[graph->output].output, 2, error);
    return stand->targets;
}

static bool draw_batch(struct stand *stand, const struct bench *bench, uint64_t seed,
                       struct error *error)
{
    stand->images = draw_images(bench, seed, bench->network->input, 0, error);
    if (!stand->images ||
        (bench->mode == PLAN_TRAINING && !draw_answers(stand, bench, seed, error)))
        return false;
    stand->batch = (struct execution_batch){.images = stand->images,
                                            .labels = stand->labels,
                                            .targets = stand->targets,
                                            .count = bench->batch};
    return true;
}

/* --- preparing --- */

static bool is_gan(const struct bench *bench)
{
    return bench->mode == PLAN_TRAINING && network_has_discriminator(bench->network);
}

static size_t usual_batch(const struct bench *bench)
{
    return bench->mode == PLAN_INFERENCE || is_gan(bench) ? 1 : TRAIN_BATCH;
}

static struct plan_settings choose_settings(const struct bench *bench, uint64_t memory_limit)
{
    static const struct solver_settings sgd = {
        .kind = SOLVER_SGD, .momentum = 0.9f, .weight_decay = 0.0005f};
    static const struct solver_settings adam = {
        .kind = SOLVER_ADAM, .momentum = 0.5f, .beta2 = 0.999f, .epsilon = 1e-8f};
    return (struct plan_settings){
        .mode = bench->mode,
        .batch = bench->batch,
        .threads = bench->device->threads,
        .ranks = bench->mode == PLAN_TRAINING ? bench->device->other_count + 1 : 1,
        .solver = is_gan(bench) ? adam : sgd,
        .memory_limit = memory_limit};
}

static bool build_plans(struct bench *bench, const struct plan_settings *settings,
                        struct error *error)
{
    struct network *network = bench->network;
    const struct device_driver *driver = bench->device->driver;
    bench->main.graph = &network->graph;
    if (!is_gan(bench)) {
        bench->main.plan = bench->plan = plan_build(&network->graph, driver, settings, error);
        if (bench->plan)
            bench->memory = bench->plan->forecast;
        return bench->plan;
    }
    network_set_loss_weight(network, gan_main_weight);
    if (!gan_plan_build(&bench->gan_plan, network, driver, settings, error))
        return false;
    bench->main.plan = bench->gan_plan.generator;
    bench->discriminator.graph = &network->discriminator;
    bench->discriminator.plan = bench->gan_plan.learner;
    bench->discriminator.judge = bench->gan_plan.judge;
    bench->memory = bench->gan_plan.forecast;
    return true;
}

static bool check_memory(const struct bench *bench, const struct plan_settings *settings,
                         struct error *error)
{
    struct forecast forecast = {.classes = bench->network->classes,
                                .input = bench->network->input,
                                .memory = bench->memory};
    const struct memory_check_request question = {.network = bench->network,
                                                  .driver = bench->device->driver,
                                                  .settings = settings,
                                                  .device = bench->device->name};
    memory_check(&question, &forecast);
    return forecast.fits || forecast_refuse(&forecast, bench->batch, error);
}

static bool make_execution(struct stand *stand, const struct bench *bench,
                           const struct solver_settings *solver, uint64_t seed, struct error *error)
{
    if (!weights_create(&stand->weights, bench->main.graph, error))
        return false;
    weights_initialise(&stand->weights, seed, bench->device->pool);
    if (is_gan(bench)) {
        stand->gan =
            gan_create(&bench->gan_plan, bench->device, &stand->weights, solver, seed, error);
        return stand->gan;
    }
    stand->execution =
        execution_create(bench->plan, bench->device, &stand->weights, solver, seed, error);
    return stand->execution;
}

static bool prepare_bench(struct bench *bench, struct stand *stand,
                          const struct bench_settings *settings, struct error *error)
{
    bench->mode = settings->mode;
    bench->precision = settings->precision;
    bench->network = network_build(&settings->network, error);
    bench->device = bench->network ? device_open(settings->device, settings->threads, error) : NULL;
    if (!bench->device || !device_set_precision(bench->device, settings->precision, error))
        return false;
    bench->batch = settings->batch ? settings->batch : usual_batch(bench);
    const struct plan_settings plans = choose_settings(bench, settings->memory_limit);
    return build_plans(bench, &plans, error) && check_memory(bench, &plans, error) &&
           make_execution(stand, bench, &plans.solver, settings->seed, error) &&
           draw_batch(stand, bench, settings->seed, error);
}

/* --- measuring --- */

static bool iterate_gan(struct stand *stand, struct error *error)
{
    struct gan_losses losses;
    return gan_iterate(stand->gan, &stand->batch, stand->iteration++, gan_rate, &losses) ||
           error_set(error, ERROR_DIVERGED, "the loss", "try another --seed",
                     "on this synthetic batch it stopped being a number");
}

static bool iterate(struct stand *stand, enum plan_mode mode, struct error *error)
{
    if (stand->gan)
        return iterate_gan(stand, error);
    if (mode == PLAN_TRAINING) {
        stand->loss = execution_iterate(stand->execution, stand->iteration++, alone_rate);
        return true;
    }
    execution_forward(stand->execution, stand->iteration++);
    execution_wait(stand->execution);
    return true;
}

/* `ms` is NULL where nobody looks at the clock. */
static bool iterate_times(struct stand *stand, const struct bench *bench, size_t times, double *ms,
                          struct error *error)
{
    for (size_t i = 0; i < times; i++) {
        uint64_t start = clock_nanoseconds();
        if (!iterate(stand, bench->mode, error) || !device_check(bench->device, error))
            return false;
        if (ms)
            ms[i] = 1e3 * clock_seconds(start, clock_nanoseconds()) / (double)bench->batch;
    }
    return true;
}

static bool make_profile(struct bench_part *part, const struct bench *bench, struct error *error)
{
    if (part->graph)
        part->profile = profile_create(part->graph->node_count, bench->device->threads, error);
    return !part->graph || part->profile;
}

static bool measure_profile(struct bench *bench, struct stand *stand, struct error *error)
{
    if (!make_profile(&bench->main, bench, error) ||
        !make_profile(&bench->discriminator, bench, error))
        return false;
    if (stand->gan)
        gan_set_profiles(stand->gan, bench->main.profile, bench->discriminator.profile);
    else
        execution_set_profile(stand->execution, bench->main.profile);
    const uint64_t start = clock_nanoseconds();
    const bool measured = iterate_times(stand, bench, bench->iterations, NULL, error);
    bench->profiled_seconds = clock_seconds(start, clock_nanoseconds()) / (double)bench->iterations;
    return measured;
}

static bool measure_all(struct bench *bench, struct stand *stand,
                        const struct bench_settings *settings, struct error *error)
{
    double *ms = memory_new(settings->iterations, sizeof *ms, "the measurements", error);
    bench->iterations = settings->iterations;
    if (stand->execution)
        execution_bind(stand->execution, &stand->batch);
    bool measured = ms && iterate_times(stand, bench, WARM_UP, NULL, error) &&
                    iterate_times(stand, bench, bench->iterations, ms, error) &&
                    statistics_compute(ms, bench->iterations, &bench->ms_per_image, error);
    free(ms);
    bench->peak_memory_bytes = bench->device->driver->computes_on_host
                                   ? host_process_peak()
                                   : device_memory_used(bench->device);
    bench->images_per_second = 1e3 / bench->ms_per_image.median;
    return measured && (!settings->profile || measure_profile(bench, stand, error));
}

bool bench_run(const struct bench_settings *settings, struct bench *bench, struct error *error)
{
    struct stand stand = {0};
    *bench = (struct bench){0};
    bool measured = prepare_bench(bench, &stand, settings, error) &&
                    measure_all(bench, &stand, settings, error);
    execution_free(stand.execution);
    gan_free(stand.gan);
    weights_free(&stand.weights);
    free(stand.images);
    free(stand.targets);
    free(stand.labels);
    if (!measured)
        bench_free(bench);
    else if (settings->profile)
        bench->limits_measured =
            device_measure_limits(bench->device, &bench->limits, &bench->limits_error);
    return measured;
}

void bench_free(struct bench *bench)
{
    profile_free(bench->main.profile);
    profile_free(bench->discriminator.profile);
    plan_free(bench->plan);
    gan_plan_free(&bench->gan_plan);
    device_close(bench->device);
    network_free(bench->network);
    *bench = (struct bench){0};
}
