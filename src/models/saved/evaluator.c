/* One pass over a data set: the data loader delivers batches in order, the plan computes them, and
 * the results of each image are added in double. */
#include "models/saved/evaluator.h"

#include "base/clock.h"
#include "base/memory.h"
#include "models/saved/class_match.h"
#include "models/saved/correct_images.h"
#include "models/saved/device_batch.h"
#include "models/saved/ranking.h"
#include "runs/values/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- creation --- */

size_t evaluator_batch(const struct network *network, size_t images)
{
    const size_t most = network->classes ? EVALUATOR_BATCH : 1;
    return most < images ? most : images;
}

/* Returns the settings of the loader for batches of this size. The targets of pairs are compared on
 * the host, so they must be normalised there. */
static struct data_loader_settings loader_settings(const struct evaluator_settings *settings,
                                                   size_t batch)
{
    struct data_loader_settings loader = {.batch = batch,
                                          .normalisation = *settings->normalisation,
                                          .strict = settings->strict,
                                          .threads = settings->readers};
    device_batch_set_up(settings->device, &loader);
    loader.samples = loader.samples && !dataset_facts(settings->dataset)->paired;
    return loader;
}

/* Takes the plan of the settings, or builds that of the largest batch that leaves memory for the
 * images: 100, 50, 25, ... */
static bool make_plan(struct evaluator *evaluator, const struct evaluator_settings *settings,
                      struct error *error)
{
    const struct data_loader_settings wanted = loader_settings(settings, 1);
    size_t images = dataset_facts(settings->dataset)->images;
    size_t batch = settings->batch ? settings->batch : evaluator_batch(settings->network, images);
    const size_t values = shape_count(settings->network->input);
    const bool paired = dataset_facts(settings->dataset)->paired;
    const bool has_samples = data_loader_has_samples(settings->dataset, &wanted);
    evaluator->plan = settings->plan;
    if (settings->plan && settings->plan->sample_batches == has_samples)
        return true;
    if (batch > images)
        batch = images;
    for (;; batch /= 2) {
        struct plan_settings plan = {.mode = PLAN_INFERENCE,
                                     .batch = batch,
                                     .threads = settings->device->threads,
                                     .strict_device = settings->device->strict,
                                     .precision = settings->device->precision,
                                     .device = settings->device,
                                     .machine = &settings->device->machine,
                                     .choices = settings->device->choices,
                                     .sample_batches = has_samples,
                                     .with_loss = true};
        evaluator->plan = evaluator->own_plan =
            plan_build(&settings->network->graph, settings->device->driver, &plan, error);
        if (!evaluator->plan)
            return false;
        const struct data_loader_settings loader = {.batch = batch, .threads = settings->readers};
        uint64_t needed = evaluator->plan->arena.bytes + evaluator->plan->prepared_bytes +
                          evaluator->plan->forecast.tables +
                          data_loader_bytes(&loader, images, values, paired, settings->stored);
        const bool fits = settings->memory_free == 0 || needed <= settings->memory_free;
        if (fits || (!settings->refuse_memory && (settings->batch || batch == 1)))
            return true;
        plan_free(evaluator->own_plan);
        evaluator->plan = evaluator->own_plan = NULL;
        if (settings->refuse_memory)
            return error_set_memory(error, "the evaluation", needed);
    }
}

bool evaluator_create(struct evaluator *evaluator, const struct evaluator_settings *settings,
                      struct error *error)
{
    *evaluator = (struct evaluator){.network = settings->network,
                                    .dataset = settings->dataset,
                                    .device = settings->device,
                                    .parts = 1,
                                    .watch = settings->watch,
                                    .watcher = settings->watcher};
    if (!class_match_labels(settings->network, settings->dataset, error) ||
        !make_plan(evaluator, settings, error))
        return false;
    for (size_t c = 0; c < 3;
         c++) /* slightly more than the tolerance, because samples were rounded */
        evaluator->tolerance[c] =
            (settings->tolerance + 0.001) / fabs((double)settings->normalisation->deviation[c]);
    evaluator->normalisation = *settings->normalisation;
    const struct data_loader_settings loader = loader_settings(settings, evaluator->plan->batch);
    evaluator->loader_settings = loader;
    evaluator->execution =
        execution_create(evaluator->plan, settings->device, settings->weights, NULL, 0, error);
    evaluator->loader =
        evaluator->execution ? data_loader_open(settings->dataset, &loader, error) : NULL;
    if (!evaluator->loader)
        return false;
    size_t batch = evaluator->plan->batch;
    evaluator->batches = data_loader_batches_per_epoch(evaluator->loader);
    if (settings->images > 0 && settings->images < evaluator->batches * batch)
        evaluator->batches = (settings->images + batch - 1) / batch;
    if (settings->warm_up)
        evaluator->warm_up = (EVALUATOR_WARM_UP + batch - 1) / batch;
    evaluator->times =
        memory_new(evaluator->batches, sizeof *evaluator->times, "the evaluation", error);
    evaluator->results = memory_new(batch, sizeof *evaluator->results, "the evaluation", error);
    if (settings->keep_losses)
        evaluator->losses = memory_new(evaluator->batches * batch, sizeof *evaluator->losses,
                                       "the evaluation", error);
    if (settings->network->classes)
        evaluator->right =
            memory_new(correct_images_bytes(dataset_facts(settings->dataset)->images), 1,
                       "the evaluation", error);
    return evaluator->times && evaluator->results &&
           (!settings->keep_losses || evaluator->losses) &&
           (!settings->network->classes || evaluator->right);
}

void evaluator_free(struct evaluator *evaluator)
{
    execution_free(evaluator->execution); /* before the loader, whose batches it may still read */
    data_loader_free(evaluator->loader);
    plan_free(evaluator->own_plan);
    free(evaluator->times);
    free(evaluator->losses);
    free(evaluator->results);
    free(evaluator->right);
    *evaluator = (struct evaluator){0};
}

/* --- a pass --- */

/* Returns how many of the batches a part has. */
static size_t batches_of(const struct evaluator *evaluator, size_t part)
{
    return (evaluator->batches - part + evaluator->parts - 1) / evaluator->parts;
}

struct tally {
    double loss, squares; /* sums over the images */
    size_t images, right1, right5;
    size_t pixels, right_pixels;
};

static struct shape output_shape(const struct evaluator *evaluator)
{
    const struct graph *graph = &evaluator->network->graph;
    return graph->nodes[graph->output].output;
}

/* Returns the number of correct pixels: every channel is within the tolerance of its target. */
static size_t count_right_pixels(const struct evaluator *evaluator, const float *output,
                                 const float *target)
{
    const struct shape shape = output_shape(evaluator);
    const size_t area = shape_area(shape);
    size_t count = 0;
    for (size_t p = 0; p < area; p++) {
        bool right = true;
        for (size_t c = 0; c < shape.channels; c++) {
            double difference = fabs((double)output[c * area + p] - (double)target[c * area + p]);
            right = right && difference <= evaluator->tolerance[c < 3 ? c : 2];
        }
        count += right;
    }
    return count;
}

static void report(const struct evaluator *evaluator, struct outcome outcome, const float *logits)
{
    if (evaluator->watch)
        evaluator->watch(evaluator->watcher, &outcome, logits);
}

/* Returns the score of image i of a batch, and reports its outcome. */
static size_t judge_image(const struct evaluator *evaluator, const struct data_batch *batch,
                          size_t i)
{
    const struct shape shape = output_shape(evaluator);
    const size_t classes = evaluator->network->classes;
    const float *output =
        execution_output(evaluator->execution) + i * (classes ? classes : shape_count(shape));
    if (!classes) {
        const size_t right =
            count_right_pixels(evaluator, output, batch->targets + i * shape_count(shape));
        const float share = (float)((double)right / (double)shape_area(shape));
        report(evaluator, (struct outcome){batch->indices[i], 0, 0, share}, NULL);
        return right;
    }
    if (evaluator->watch) {
        const uint32_t guess = ranking_first(output, classes);
        double share = 0;
        if (guess != RANKING_NONE) {
            const struct class_shares shares = ranking_shares(output, classes);
            share = ranking_share(&shares, output[guess]);
        }
        report(evaluator,
               (struct outcome){batch->indices[i], (uint32_t)batch->labels[i], guess, (float)share},
               output);
    }
    return ranking_of(output, classes, (size_t)batch->labels[i]);
}

/* Computes the next batch, number `number` of this evaluator, and fills results[count]. Returns
 * false with an error. */
static bool run_batch(struct evaluator *evaluator, size_t number, struct image_result *results,
                      size_t *count, struct error *error)
{
    struct data_batch batch;
    if (!data_loader_next(evaluator->loader, &batch, error))
        return false;
    const struct execution_batch bound =
        device_batch_of(evaluator->device, &batch, &evaluator->normalisation);
    for (size_t i = 0; number == 0 && i < evaluator->warm_up; i++) {
        execution_bind(evaluator->execution, &bound);
        execution_forward(evaluator->execution, 0);
    }
    uint64_t began = clock_nanoseconds();
    execution_bind(evaluator->execution, &bound);
    execution_forward(evaluator->execution, batch.number); /* for dropout that is always on */
    execution_wait(evaluator->execution);
    evaluator->times[number] =
        clock_seconds(began, clock_nanoseconds()) * 1e3 / (double)batch.count;
    const float *losses = execution_image_losses(evaluator->execution);
    for (size_t i = 0; i < batch.count; i++)
        results[i] = (struct image_result){batch.indices[i], losses[i],
                                           (uint32_t)judge_image(evaluator, &batch, i)};
    *count = batch.count;
    return device_check(evaluator->device, error);
}

static void add_results(struct evaluator *evaluator, const struct image_result *results,
                        size_t count, struct tally *tally)
{
    for (size_t i = 0; i < count; i++) {
        const struct image_result *result = &results[i];
        tally->loss += (double)result->loss;
        tally->squares += (double)result->loss * (double)result->loss;
        if (evaluator->losses)
            evaluator->losses[tally->images + i] = result->loss;
        if (!evaluator->network->classes) {
            tally->right_pixels += result->score;
            tally->pixels += shape_area(output_shape(evaluator));
            continue;
        }
        tally->right1 += result->score == 0;
        if (result->score == 0)
            correct_images_set(evaluator->right, result->index);
        tally->right5 += result->score < 5;
    }
    tally->images += count;
}

static void begin_tally(const struct evaluator *evaluator, struct tally *tally)
{
    *tally = (struct tally){0};
    if (evaluator->right)
        memset(evaluator->right, 0,
               correct_images_bytes(dataset_facts(evaluator->dataset)->images));
}

/* Returns the standard error of the mean loss over the images; NaN if there is but one. */
static double loss_error(const struct tally *tally)
{
    const double images = (double)tally->images;
    const double variance = (tally->squares - tally->loss * tally->loss / images) / (images - 1);
    return tally->images < 2 ? (double)NAN : sqrt(fmax(variance, 0) / images);
}

static bool conclude(const struct evaluator *evaluator, const struct tally *tally,
                     struct evaluation *evaluation, struct error *error)
{
    struct statistics times;
    double images = (double)tally->images;
    bool classes = evaluator->network->classes;
    const size_t timed = batches_of(evaluator, evaluator->part);
    if (!statistics_compute(evaluator->times, timed, &times, error))
        return false;
    double low = NAN, high = NAN;
    if (classes)
        statistics_wilson(tally->right1, tally->images, &low, &high);
    *evaluation = (struct evaluation){
        .images = tally->images,
        .loss = isnan(tally->loss) ? NAN : tally->loss / images, /* without a sign */
        .loss_error = loss_error(tally),
        .top1 = classes ? 100 * (double)tally->right1 / images : NAN,
        .top5 = classes ? 100 * (double)tally->right5 / images : NAN,
        .top1_low = low,
        .top1_high = high,
        .pixel_accuracy =
            tally->pixels ? 100 * (double)tally->right_pixels / (double)tally->pixels : NAN,
        .ms_mean = times.mean,
        .ms_sd = times.sd,
        .ms_ci95 = times.ci95,
        .ms_median = times.median,
        .ms_min = times.min,
        .batch = evaluator->plan->batch,
        .memory_bytes = evaluator->plan->forecast.total};
    return true;
}

bool evaluator_run(struct evaluator *evaluator, evaluator_progress *progress, void *context,
                   struct evaluation *evaluation, struct error *error)
{
    struct tally tally;
    size_t count;
    begin_tally(evaluator, &tally);
    for (size_t i = 0; i < evaluator->batches; i++) {
        if (!run_batch(evaluator, i, evaluator->results, &count, error))
            return false;
        add_results(evaluator, evaluator->results, count, &tally);
        if (progress && !progress(context, tally.images, error))
            return false;
    }
    return conclude(evaluator, &tally, evaluation, error);
}

/* --- a pass that is divided --- */

/* Returns how many results a part has room for: that of any part of the same pass. */
static size_t evaluator_part_images(const struct evaluator *evaluator)
{
    return batches_of(evaluator, 0) * evaluator->plan->batch; /* no part has more than the first */
}

bool evaluator_divide(struct evaluator *evaluator, size_t parts, size_t part, struct error *error)
{
    struct data_loader_settings loader = evaluator->loader_settings;
    evaluator->parts = loader.parts = parts;
    evaluator->part = loader.part = part;
    data_loader_free(evaluator->loader);
    free(evaluator->results);
    evaluator->results = NULL;
    evaluator->loader = data_loader_open(evaluator->dataset, &loader, error);
    if (evaluator->loader)
        evaluator->results = memory_new(evaluator_part_images(evaluator),
                                        sizeof *evaluator->results, "the evaluation", error);
    return evaluator->results;
}

bool evaluator_run_part(struct evaluator *evaluator, evaluator_progress *progress, void *context,
                        struct error *error)
{
    const size_t images = dataset_facts(evaluator->dataset)->images;
    const size_t own = batches_of(evaluator, evaluator->part);
    size_t done = 0, count;
    for (size_t i = 0; i < own; i++) {
        if (!run_batch(evaluator, i, evaluator->results + done, &count, error))
            return false;
        done += count;
        const size_t all = done * evaluator->parts;
        if (progress && !progress(context, all < images ? all : images, error))
            return false;
    }
    return true;
}

bool evaluator_join(struct evaluator *evaluator, const struct image_result *all,
                    const size_t *places, struct evaluation *evaluation, struct error *error)
{
    const size_t images = dataset_facts(evaluator->dataset)->images;
    const size_t batch = evaluator->plan->batch, room = evaluator_part_images(evaluator);
    struct tally tally;
    begin_tally(evaluator, &tally);
    for (size_t b = 0; b < evaluator->batches; b++) {
        const size_t left = images - tally.images, at = b / evaluator->parts * batch;
        add_results(evaluator, all + places[b % evaluator->parts] * room + at,
                    left < batch ? left : batch, &tally);
    }
    return conclude(evaluator, &tally, evaluation, error);
}
