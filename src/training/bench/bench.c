/* Builds network, device, plan and execution, and draws one batch. Then runs warm-up iterations
 * without timing (page faults, caches, clock rates), and times the others one by one. Measures the
 * device's limits last, within the same minute, with the memory that is then free.
 *
 * An iteration takes from one mark in the device's work to the next (device.h). On a GPU the host
 * runs ahead: execution_iterate returns when the loss is known, while the backward pass is still
 * being computed, and by the host's clock the first iteration would lack a backward pass. An
 * inference is also timed as its user sees it: from the images in the host's memory to the answer
 * there.
 *
 * Results are in `struct bench`; `struct workload` has the state that only the measurement needs.
 */
#include "training/bench/bench.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/devices/device.h"
#include "engine/execution/execution.h"
#include "engine/ops/op.h"
#include "engine/quantize/fold_batch_norm.h"
#include "engine/quantize/quantize.h"
#include "engine/weights/weights.h"
#include "runs/machine/tuned_device.h"
#include "runs/settings/settings.h"
#include "training/prepare/forecast.h"

#include <stdio.h>
#include <stdlib.h>

/* --- a quantized network made from an untrained one --- */

static const struct sample_range assumed = {-4, 4}, assumed_after_relu = {0, 4};

/* Quantizes a network without batch norms. */
static struct network *quantize(const struct network *network, const struct weights *weights,
                                struct error *error)
{
    const struct graph *graph = &network->graph;
    const size_t nodes = graph->node_count;
    bool *layers = memory_new(nodes, sizeof *layers, "the network", error);
    struct sample_range *ranges = memory_new(nodes, sizeof *ranges, "the network", error);
    struct quantization *grids = memory_new(nodes, sizeof *grids, "the network", error);
    struct quantize_plan plan = {0};
    struct weights quantized = {0};
    struct network *made = NULL;
    for (size_t i = 0; layers && ranges && i < nodes; i++) {
        layers[i] = quantize_has_weights(&graph->nodes[i]);
        ranges[i] = graph->nodes[i].op == &op_relu ? assumed_after_relu : assumed;
    }
    if (layers && ranges && grids && quantize_plan_make(&plan, graph, layers, false, error)) {
        quantize_set_grids(&plan, ranges, grids);
        made = quantize_network(&plan, network, weights, grids, true, NULL, &quantized, error);
    }
    if (made)
        weights_free(&quantized);
    quantize_plan_free(&plan);
    free(grids);
    free(ranges);
    free(layers);
    return made;
}

/* Returns the network with its batch norms folded and all of its layers in int8, which network_free
 * frees. The ranges of values are assumed, -4 to 4, or 0 to 4 after a relu: the times of integers
 * do not depend on them. Returns NULL with an error. */
static struct network *quantize_all(const struct network *network, uint64_t seed,
                                    struct error *error)
{
    struct weights weights = {0}, folded = {0};
    struct network *without_norms = NULL, *made = NULL;
    if (weights_create(&weights, &network->graph, error)) {
        weights_initialise(&weights, seed, NULL);
        without_norms = fold_batch_norm(network, &weights, &folded, error);
    }
    if (without_norms) {
        made = quantize(without_norms, &folded, error);
        weights_free(&folded);
    }
    network_free(without_norms);
    weights_free(&weights);
    return made;
}

enum { WARM_UP = 2, TRAIN_BATCH = 32, TRAIN_ITERATIONS = 10, INFER_ITERATIONS = 50 };
static const double GPU_WARM_UP_SECONDS = 1;
static const float alone_rate = 0.001f, gan_rate = 0.0002f, gan_main_weight = 100;

struct workload {
    struct weights weights;
    struct execution *execution; /* for a network without a discriminator */
    struct gan *gan;             /* or of a network with its discriminator */
    float *images, *targets;
    int32_t *labels;
    struct execution_batch batch;
    uint64_t iteration;
    float loss; /* loss of the last training iteration, without a discriminator */
};

/* --- the batch --- */

static bool reads_labels(const struct graph *graph)
{
    return graph->loss_count > 0 &&
           (graph->nodes[graph->losses[0]].op->traits & OP_READS_LABELS) != 0;
}

static bool draw_labels(struct workload *workload, const struct bench *bench, uint64_t seed,
                        struct error *error)
{
    struct random_stream stream = random_stream_at(seed, RANDOM_BENCH, 1, 0);
    const uint32_t classes = (uint32_t)bench->network->classes;
    workload->labels = memory_new(bench->batch, sizeof *workload->labels, "the labels", error);
    for (size_t i = 0; workload->labels && i < bench->batch; i++)
        workload->labels[i] = (int32_t)random_next_below(&stream, classes);
    return workload->labels;
}

static float *draw_images(const struct bench *bench, uint64_t seed, struct shape shape,
                          uint32_t stream, struct error *error)
{
    size_t count = shape_count(shape) * bench->batch; /* the plan has checked it for overflow */
    float *images = memory_new_aligned(count, sizeof *images, "a synthetic batch", error);
    if (images)
        random_fill_gaussian(seed, RANDOM_BENCH, stream, 0, 0, 1, images, count);
    return images;
}

static bool draw_answers(struct workload *workload, const struct bench *bench, uint64_t seed,
                         struct error *error)
{
    const struct graph *graph = &bench->network->graph;
    if (reads_labels(graph))
        return draw_labels(workload, bench, seed, error);
    workload->targets = draw_images(bench, seed, graph->nodes[graph->output].output, 2, error);
    return workload->targets;
}

static bool draw_batch(struct workload *workload, const struct bench *bench, uint64_t seed,
                       struct error *error)
{
    workload->images = draw_images(bench, seed, bench->network->input, 0, error);
    if (!workload->images ||
        (bench->mode == PLAN_TRAINING && !draw_answers(workload, bench, seed, error)))
        return false;
    workload->batch = (struct execution_batch){.images = workload->images,
                                               .labels = workload->labels,
                                               .targets = workload->targets,
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

static bool on_gpus(const struct bench *bench)
{
    return !bench->device->driver->computes_on_host;
}

/* Returns how many GPUs share a batch: one of each process, or all of this process. */
static size_t ranks_of(const struct bench *bench, const struct bench_settings *settings)
{
    if (bench->mode != PLAN_TRAINING)
        return 1;
    return settings->cluster && on_gpus(bench) ? cluster_ranks(settings->cluster)
                                               : bench->device->other_count + 1;
}

static struct plan_settings choose_settings(const struct bench *bench,
                                            const struct bench_settings *settings)
{
    static const struct solver_settings sgd = {
        .kind = SOLVER_SGD, .momentum = 0.9f, .weight_decay = 0.0005f};
    static const struct solver_settings adam = {
        .kind = SOLVER_ADAM, .momentum = 0.5f, .beta2 = 0.999f, .epsilon = 1e-8f};
    return (struct plan_settings){
        .mode = bench->mode,
        .batch =
            settings->batch ? settings->batch : bench->batch * cluster_ranks(settings->cluster),
        .threads = bench->device->threads,
        .ranks = ranks_of(bench, settings),
        .image_blocks = settings->image_blocks,
        .processes = on_gpus(bench) ? 1 : cluster_ranks(settings->cluster),
        .solver = is_gan(bench) ? adam : sgd,
        .strict_device = settings->strict_device,
        .precision = bench->precision,
        .device = bench->device,
        .machine = &bench->device->machine,
        .choices = bench->device->choices,
        .memory_limit = settings->memory_limit};
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
    bench->discriminator.plan = bench->gan_plan.discriminator_step;
    bench->discriminator.frozen_discriminator = bench->gan_plan.frozen_discriminator;
    bench->memory = bench->gan_plan.forecast;
    return true;
}

static bool check_memory(const struct bench *bench, const struct plan_settings *settings,
                         struct error *error)
{
    struct forecast forecast = {.classes = bench->network->classes,
                                .input = bench->network->input,
                                .memory = bench->memory};
    const struct method method = method_of_network(bench->network, bench->mode);
    const struct memory_check_request question = {.method = &method,
                                                  .driver = bench->device->driver,
                                                  .settings = settings,
                                                  .device = bench->device->name};
    memory_check(&question, &forecast, NULL, NULL);
    return forecast.fits || forecast_refuse(&forecast, bench->batch, error);
}

static bool make_execution(struct workload *workload, const struct bench *bench,
                           const struct solver_settings *solver, uint64_t seed, struct error *error)
{
    if (!weights_create(&workload->weights, bench->main.graph, error))
        return false;
    weights_initialise(&workload->weights, seed, bench->device->pool);
    if (is_gan(bench)) {
        workload->gan =
            gan_create(&bench->gan_plan, bench->device, &workload->weights, solver, seed, error);
        return workload->gan;
    }
    workload->execution =
        execution_create(bench->plan, bench->device, &workload->weights, solver, seed, error);
    return workload->execution;
}

/* Returns the mode: inference if it is about int8, since training is in float32 (or bf16). */
static enum plan_mode mode_of(const struct bench *bench, const struct bench_settings *settings)
{
    const bool int8 = settings->precision_chosen ? settings->precision == PRECISION_INT8
                                                 : graph_is_quantized(&bench->network->graph);
    return settings->infers_int8 && int8 ? PLAN_INFERENCE : settings->mode;
}

/* Returns the precision; if none was chosen, a quantized network infers in int8 where the device
 * can. */
static enum device_precision precision_of(const struct bench *bench,
                                          const struct bench_settings *settings)
{
    const bool int8 = !settings->precision_chosen && bench->mode == PLAN_INFERENCE &&
                      graph_is_quantized(&bench->network->graph) &&
                      device_check_precision(bench->device->driver, PRECISION_INT8, NULL);
    return int8 ? PRECISION_INT8 : settings->precision;
}

/* Quantizes a network that should infer in int8 and is not quantized. */
static bool quantize_if_asked(struct bench *bench, const struct bench_settings *settings,
                              struct error *error)
{
    if (settings->precision != PRECISION_INT8 || bench->mode != PLAN_INFERENCE ||
        graph_is_quantized(&bench->network->graph) || !bench->network->classes)
        return true;
    struct network *quantized = quantize_all(bench->network, settings->seed, error);
    if (!quantized)
        return false;
    network_free(bench->network);
    bench->network = quantized;
    return bench->assumed_ranges = true;
}

static bool prepare_bench(struct bench *bench, struct workload *workload,
                          const struct bench_settings *settings, struct error *error)
{
    bench->network = network_build(&settings->network, error);
    bench->device =
        bench->network ? tuned_device_open(settings->device, settings->threads, NULL, error) : NULL;
    if (!bench->device)
        return false;
    bench->mode = mode_of(bench, settings);
    if (!quantize_if_asked(bench, settings, error))
        return false;
    bench->precision = precision_of(bench, settings);
    if (!device_set_precision(bench->device, bench->precision, error))
        return false;
    bench->device->cluster = settings->cluster;
    bench->batch =
        settings->batch ? settings->batch / cluster_ranks(settings->cluster) : usual_batch(bench);
    const struct plan_settings plans = choose_settings(bench, settings);
    return build_plans(bench, &plans, error) && check_memory(bench, &plans, error) &&
           make_execution(workload, bench, &plans.solver, settings->seed, error) &&
           draw_batch(workload, bench, settings->seed, error);
}

/* --- measuring --- */

static bool iterate_gan(struct workload *workload, struct error *error)
{
    struct gan_losses losses;
    return gan_iterate(workload->gan, &workload->batch, workload->iteration++, gan_rate, &losses) ||
           error_set(error, ERROR_DIVERGED, "the loss", "try another --seed",
                     "it became NaN or infinite on this synthetic batch");
}

static bool train_once(struct workload *workload, struct error *error)
{
    if (workload->gan)
        return iterate_gan(workload, error);
    workload->loss = execution_iterate(workload->execution, workload->iteration++, alone_rate);
    return true;
}

/* The measured times of the iterations, in milliseconds; NULL: not stored. */
struct times {
    double *per_image; /* on the device */
    double *latency;   /* of an inference of the whole batch */
};

/* Returns the seconds between marks i and i + 1, which take turns. */
static double mark_seconds(const struct device_timer *timer, size_t i)
{
    return device_timer_seconds(timer, i % DEVICE_TIMER_MARKS, (i + 1) % DEVICE_TIMER_MARKS);
}

/* Trains `times` iterations. Each is timed when the next one has begun, so that the host never
 * waits for the device. */
static bool train_times(struct workload *workload, const struct bench *bench, size_t times,
                        const struct times *measured, struct error *error)
{
    struct device_timer timer = {.device = bench->device};
    if (measured)
        device_timer_mark(&timer, 0);
    for (size_t i = 0; i < times; i++) {
        if (!train_once(workload, error) || !device_check(bench->device, error))
            return false;
        if (measured)
            device_timer_mark(&timer, (i + 1) % DEVICE_TIMER_MARKS);
        if (measured && i > 0)
            measured->per_image[i - 1] = 1e3 * mark_seconds(&timer, i - 1);
    }
    if (measured)
        measured->per_image[times - 1] = 1e3 * mark_seconds(&timer, times - 1);
    return device_check(bench->device, error);
}

static bool infer_times(struct workload *workload, const struct bench *bench, size_t times,
                        const struct times *measured, struct error *error)
{
    struct device_timer timer = {.device = bench->device};
    for (size_t i = 0; i < times; i++) {
        const uint64_t start = clock_nanoseconds();
        execution_bind(workload->execution, &workload->batch);
        if (measured)
            device_timer_mark(&timer, 0);
        execution_forward(workload->execution, workload->iteration++);
        if (measured)
            device_timer_mark(&timer, 1);
        execution_output(workload->execution);
        const uint64_t end = clock_nanoseconds();
        if (!device_check(bench->device, error))
            return false;
        if (!measured)
            continue;
        measured->latency[i] = 1e3 * clock_seconds(start, end);
        measured->per_image[i] = 1e3 * device_timer_seconds(&timer, 0, 1);
    }
    return device_check(bench->device, error);
}

/* Runs `times` iterations, and stores how long each took unless `measured` is NULL. */
static bool iterate_times(struct workload *workload, const struct bench *bench, size_t times,
                          const struct times *measured, struct error *error)
{
    const bool iterated = bench->mode == PLAN_TRAINING
                              ? train_times(workload, bench, times, measured, error)
                              : infer_times(workload, bench, times, measured, error);
    for (size_t i = 0; iterated && measured && i < times; i++)
        measured->per_image[i] /= (double)bench->batch;
    return iterated;
}

/* Returns rank 0's value of `mine` on all ranks. */
static bool first_says(struct cluster *cluster, bool mine)
{
    return (!cluster || cluster_broadcast(cluster, &mine, sizeof mine)) && mine;
}

/* Runs a few iterations that are not timed; a GPU also needs a second to raise its clock. */
static bool warm_up(struct workload *workload, struct bench *bench, struct cluster *cluster,
                    struct error *error)
{
    const double seconds = bench->device->driver->computes_on_host ? 0 : GPU_WARM_UP_SECONDS;
    const uint64_t start = clock_nanoseconds();
    bool good = iterate_times(workload, bench, WARM_UP, NULL, error);
    for (bench->warm_up = WARM_UP;
         good && seconds > 0 &&
         first_says(cluster, clock_seconds(start, clock_nanoseconds()) < seconds);
         bench->warm_up++)
        good = iterate_times(workload, bench, 1, NULL, error);
    return good;
}

static bool make_profile(struct bench_part *part, const struct bench *bench, struct error *error)
{
    if (part->graph)
        part->profile = profile_create(part->graph->node_count, bench->device->threads, error);
    return !part->graph || part->profile;
}

static bool measure_profile(struct bench *bench, struct workload *workload, struct error *error)
{
    if (!make_profile(&bench->main, bench, error) ||
        !make_profile(&bench->discriminator, bench, error))
        return false;
    if (workload->gan)
        gan_set_profiles(workload->gan, bench->main.profile, bench->discriminator.profile);
    else
        execution_set_profile(workload->execution, bench->main.profile);
    const uint64_t start = clock_nanoseconds();
    const bool measured = iterate_times(workload, bench, bench->iterations, NULL, error);
    bench->profiled_seconds = clock_seconds(start, clock_nanoseconds()) / (double)bench->iterations;
    return measured;
}

/* Times the iterations, and the energy that they use. */
static bool measure_times(struct bench *bench, struct workload *workload, struct cluster *cluster,
                          struct error *error)
{
    const size_t count = bench->iterations;
    const uint64_t waited = cluster ? cluster_waited(cluster) : 0;
    double *ms = memory_new(2 * count, sizeof *ms, "the measurements", error);
    const struct times times = {.per_image = ms, .latency = ms ? ms + count : NULL};
    struct energy_meter *meter = ms ? energy_meter_begin(bench->device, NULL) : NULL;
    bool measured = ms && iterate_times(workload, bench, count, &times, error);
    bench->energy = energy_meter_end(meter);
    if (cluster)
        bench->waited_ms = 1e-6 * (double)(cluster_waited(cluster) - waited) / (double)count;
    measured = measured && statistics_compute(ms, count, &bench->ms_per_image, error);
    if (measured && bench->mode == PLAN_INFERENCE)
        measured = statistics_compute(times.latency, count, &bench->latency_ms, error);
    free(ms);
    return measured;
}

static bool measure_all(struct bench *bench, struct workload *workload,
                        const struct bench_settings *settings, struct error *error)
{
    bench->iterations = settings->iterations            ? settings->iterations
                        : bench->mode == PLAN_INFERENCE ? INFER_ITERATIONS
                                                        : TRAIN_ITERATIONS;
    if (workload->execution)
        execution_bind(workload->execution, &workload->batch);
    const bool measured = warm_up(workload, bench, settings->cluster, error) &&
                          measure_times(bench, workload, settings->cluster, error);
    bench->peak_memory_bytes = bench->device->driver->computes_on_host
                                   ? host_process_peak()
                                   : device_memory_used(bench->device);
    const struct recording_refusals refusals =
        workload->gan ? gan_recording_refusals(workload->gan)
                      : execution_recording_refusals(workload->execution);
    snprintf(bench->recording_refusal, sizeof bench->recording_refusal, "%s", refusals.why);
    bench->refused_recordings = refusals.captures;
    bench->unrecorded_passes = refusals.passes;
    bench->images_per_second = 1e3 / bench->ms_per_image.median;
    return measured && (!settings->profile || measure_profile(bench, workload, error));
}

struct bench_settings bench_settings_of(const struct run_config *config)
{
    const struct training_settings training = training_settings(config);
    const struct machine_settings machine = machine_settings(config);
    return (struct bench_settings){.network = network_settings(config).request,
                                   .device = machine.device,
                                   .threads = machine.threads,
                                   .mode = PLAN_TRAINING,
                                   .batch =
                                       config_is_given(config, KEY(batch)) ? training.batch : 0,
                                   .seed = training.seed,
                                   .strict_device = machine.strict_device,
                                   .memory_limit = machine.memory_bytes,
                                   .precision = (enum device_precision)machine.precision,
                                   .precision_chosen = config_is_given(config, KEY(precision)),
                                   .image_blocks = training.blocks};
}

bool bench_run(const struct bench_settings *settings, struct bench *bench, struct error *error)
{
    struct workload workload = {0};
    *bench = (struct bench){0};
    bool measured = prepare_bench(bench, &workload, settings, error);
    /* a rank that is not prepared would let the others wait for its sums */
    measured = cluster_agree(settings->cluster, measured, error) &&
               (!workload.execution || execution_join(workload.execution, error));
    if (measured && !measure_all(bench, &workload, settings, error)) {
        measured = false;
        if (settings->cluster && cluster_check(settings->cluster, NULL))
            cluster_fail(settings->cluster, error);
    }
    execution_free(workload.execution);
    gan_free(workload.gan);
    weights_free(&workload.weights);
    free(workload.images);
    free(workload.targets);
    free(workload.labels);
    if (!measured)
        bench_free(bench);
    else if (settings->limits)
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
