/* One iteration: a batch, forward, backward, update, and its record. Nothing here waits for a
 * reader. Measurements that cost time are taken rarely: memory and the data loader's state four
 * times a second, the energy once.
 *
 * The time of an iteration begins at the end of the one before, so it includes the wait for data.
 * It does not include a validation, a pause or a checkpoint in between. An iteration ends, for the
 * host, when its loss is known. A GPU then still computes the backward pass, which the host does
 * not wait for; so, from loss to loss, an iteration's time has the backward pass of the one before.
 * The first iteration, and each one that finds the device idle, has its own instead: the host
 * waits.
 *
 * The last iterations are inspected, so that views can show where the time went when the run is
 * over. */
#include "session/training/iteration.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "session/ranks/ranks.h"
#include "session/training/energy.h"

#include <math.h>
#include <string.h>

static const uint64_t measure_interval = 250000000; /* nanoseconds */

/* Names the pictures that could not be read: those that the loader found last, or else those that
 * were left out when the set was opened. */
static void name_broken(const struct preparation *prepared, char *names, size_t size)
{
    const struct broken_list *broken = dataset_facts(prepared->data)->broken;
    data_loader_broken(prepared->loader, names, size);
    if (!names[0] && broken)
        broken_list_words(broken, names, size);
}

void iteration_measure(struct trainer *trainer)
{
    struct data_loader_statistics loader;
    struct finding finding;
    struct preparation *prepared = &trainer->prepared;
    data_loader_statistics(prepared->loader, &loader);
    trainer->now.feed_wait_seconds = trainer->earlier_wait + loader.waited_seconds;
    const bool on_host = prepared->device->driver->computes_on_host;
    trainer->now.memory_measured =
        on_host ? host_process_memory() : device_memory_used(prepared->device);
    trainer->now.memory_highest = on_host ? host_process_peak() : trainer->now.memory_measured;
    if (watcher_memory(&trainer->watcher, trainer->moment, prepared->memory_expected,
                       trainer->now.memory_measured, &finding))
        trainer_add_finding(trainer, &finding);
    uint64_t skipped = dataset_facts(prepared->data)->skipped + loader.skipped;
    char names[200] = "";
    if (skipped > trainer->watcher.skipped)
        name_broken(prepared, names, sizeof names);
    if (watcher_data(&trainer->watcher, trainer->moment, skipped, trainer->run->config.data, names,
                     &finding))
        trainer_add_finding(trainer, &finding);
}

/* --- the record --- */

static double estimate_remaining(const struct trainer *trainer)
{
    return pace_remaining(&trainer->pace, trainer->now.iterations - trainer->moment.iteration);
}

static void update_snapshot(struct trainer *trainer, const struct series_point *point)
{
    struct run_snapshot *now = &trainer->now;
    now->iteration = point->iteration;
    now->epoch = trainer->moment.epoch;
    now->loss = point->loss;
    now->loss_caffe = point->loss_caffe;
    now->loss_mean = trainer->meter.exact;
    now->loss_discriminator = point->loss_discriminator;
    now->loss_l1 = point->loss_l1;
    now->learning_rate = (double)point->learning_rate;
    now->ms_per_image_now = tempo_now(&trainer->tempo);
    now->ms_per_image_median = tempo_median(&trainer->tempo);
    now->images_per_second = now->ms_per_image_now > 0 ? 1e3 / now->ms_per_image_now : 0;
    now->elapsed_seconds = (double)point->seconds;
    pace_add(&trainer->pace, (double)point->seconds, point->iteration);
    now->eta_seconds = estimate_remaining(trainer);
    trainer_publish(trainer);
}

/* Returns how the loss of the main network is scaled. The last step is not waited for, so it counts
 * one iteration later. */
static struct loss_scale scale_of(const struct trainer *trainer)
{
    return execution_last_loss_scale(trainer_execution(trainer));
}

/* Takes a scale that has changed into the snapshot and the journal. */
static void note_loss_scale(struct trainer *trainer, const struct loss_scale *scale)
{
    struct run_snapshot *now = &trainer->now;
    if (now->loss_scale == (double)scale->scale && now->skipped_steps == scale->skipped)
        return;
    now->loss_scale = (double)scale->scale;
    now->skipped_steps = scale->skipped;
    struct json *event = json_new_object();
    if (json_add_string(event, "event", "loss-scale") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_number(event, "scale", now->loss_scale) &&
        json_add_count(event, "skipped", now->skipped_steps))
        journal_add_event(&trainer->run->journal, "loss-scale", event);
    else
        json_free(event);
}

/* Returns the milliseconds per image of the iteration whose loss is known since `now`. */
static double take_time(struct trainer *trainer, uint64_t now)
{
    const uint64_t start = trainer->iteration_start;
    uint64_t end = now;
    trainer->iteration_start = now;
    if (!trainer->in_flight) {
        execution_wait(trainer_execution(trainer));
        end = clock_nanoseconds();
    }
    trainer->in_flight = true;
    return clock_seconds(start, end) * 1e3 / (double)trainer->run->config.batch;
}

static void record(struct trainer *trainer, const struct step_losses *losses, double rate)
{
    const float loss = losses->total;
    const struct preparation *prepared = &trainer->prepared;
    struct finding finding;
    uint64_t now = clock_nanoseconds();
    const double ms = take_time(trainer, now);
    loss_meter_add(&trainer->meter, loss);
    tempo_add(&trainer->tempo, ms);
    trainer->moment.iteration++;
    trainer->moment.epoch = (double)trainer->moment.iteration / (double)prepared->per_epoch;
    trainer->epoch_loss += (double)loss;
    trainer->epoch_iterations++;
    if (now - trainer->measured_at >= measure_interval) {
        trainer->measured_at = now;
        iteration_measure(trainer);
    }
    energy_step(trainer, now);
    ranks_record_step(&trainer->ranks, trainer->moment.iteration, now);
    struct series_point point = {.iteration = trainer->moment.iteration,
                                 .epoch = (float)trainer->moment.epoch,
                                 .loss = loss,
                                 .loss_caffe = trainer->meter.caffe,
                                 .loss_mean = (float)trainer->meter.exact,
                                 .loss_discriminator = losses->discriminator,
                                 .loss_l1 = losses->l1,
                                 .loss_labels = losses->labels,
                                 .loss_teacher = losses->teacher,
                                 .learning_rate = (float)rate,
                                 .ms_per_image = (float)ms,
                                 .seconds = (float)trainer_seconds(trainer, now),
                                 .memory_bytes = trainer->now.memory_measured};
    series_add(&trainer->run->own_series, &point);
    journal_add_point(&trainer->run->journal, &point, now);
    run_events_add_point(&trainer->events, &point, now);
    trainer_check_events(trainer, false);
    if (watcher_loss(&trainer->watcher, trainer->moment, loss, &trainer->meter, &finding))
        trainer_add_finding(trainer, &finding);
    const struct loss_scale scale = scale_of(trainer);
    note_loss_scale(trainer, &scale);
    trainer_report_unsaved(trainer);
    update_snapshot(trainer, &point);
}

/* --- the inspection of the last iterations --- */

static double iteration_seconds(const struct trainer *trainer)
{
    return tempo_median(&trainer->tempo) * 1e-3 * (double)trainer->run->config.batch;
}

/* Returns how long an inspection that nobody has asked for may delay the run: a hundredth of the
 * run's time, but at most a second. */
static double inspection_seconds(const struct trainer *trainer)
{
    return fmin(0.01 * trainer_seconds(trainer, clock_nanoseconds()), 1);
}

/* Begins an inspection that is worth its time. The weights are left out if there are too many; but
 * it replaces no inspection that has them, because somebody asked for that one. */
static bool begin_inspection(struct trainer *trainer, bool after_end)
{
    const double overhead = 2e-3; /* seconds: a generous estimate for writing the file */
    const double most = inspection_seconds(trainer);
    const struct inspector_request request = {
        .done = trainer->moment.iteration - after_end,
        .until_end = !after_end,
        .weights = overhead + inspector_weights_seconds(&trainer->prepared) <= most,
        .after_end = after_end};
    struct error failed;
    if (most < overhead || (trainer->weights_inspected && !request.weights))
        return false;
    if (inspector_begin(&trainer->inspector, &trainer->prepared, &request, &failed))
        return true;
    trainer_report_inspection_error(trainer, &failed);
    return false;
}

/* Returns how many iterations will follow, as far as that can be foreseen. */
static uint64_t iterations_left(const struct trainer *trainer)
{
    const uint64_t done = trainer->moment.iteration, per_epoch = trainer->prepared.per_epoch;
    const uint64_t left = trainer->now.iterations - done, of_epoch = per_epoch - done % per_epoch;
    return trainer->stop_at_epoch && of_epoch < left ? of_epoch : left;
}

/* Begins an inspection if it will cover the run's last iterations. */
static void begin_last_inspection(struct trainer *trainer)
{
    const uint64_t left = iterations_left(trainer);
    if (!inspector_is_active(&trainer->inspector) && left <= INSPECTOR_ITERATIONS &&
        (left == 1 || (double)left * iteration_seconds(trainer) <= INSPECTOR_SECONDS))
        begin_inspection(trainer, false);
}

/* --- the iteration --- */

/* Records the iteration whose loss is not finite, and names the first bad layer. Returns false. */
static bool diverge(struct trainer *trainer, const struct step_losses *losses, double rate)
{
    struct bad_layer layer;
    struct finding finding;
    const struct preparation *prepared = &trainer->prepared;
    const uint64_t iteration = trainer->moment.iteration;
    const bool found = ranks_find_first_bad_layer(prepared->cluster, prepared, iteration, &layer);
    record(trainer, losses, rate);
    watcher_divergence(trainer->moment, losses->total, found ? &layer : NULL, &finding);
    trainer_add_finding(trainer, &finding);
    trainer_publish(trainer);
    return error_set(trainer->error, ERROR_DIVERGED, found ? layer.node : "the loss",
                     "try a smaller learning rate",
                     "at iteration %llu the loss became NaN or infinite%s",
                     (unsigned long long)trainer->moment.iteration,
                     !found             ? ""
                     : layer.in_weights ? "; this layer's weights were the first to break"
                                        : "; this layer's values were the first to break");
}

/* Trains on trainer->batch for one step. Returns false if the loss is not finite. */
static bool step(struct trainer *trainer, double rate, struct step_losses *losses)
{
    struct preparation *prepared = &trainer->prepared;
    const uint64_t iteration = trainer->moment.iteration;
    prepare_momentum(prepared, &trainer->run->config, iteration);
    return method_step(&prepared->method, &trainer->batch, iteration, (float)rate, losses);
}

static double current_rate(const struct trainer *trainer)
{
    return lr_schedule_rate(&trainer->schedule, &trainer->lr_schedule_state,
                            trainer->moment.iteration);
}

/* Adds a finding, once, if the device refused to record passes: of training, of a validation, or of
 * the teacher. */
static void note_recording_refusal(struct trainer *trainer)
{
    const struct recording_refusals refusals = prepare_recording_refusals(&trainer->prepared);
    struct finding finding = {.kind = FINDING_GRAPH,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    if (refusals.captures == 0 || trainer->recording_refused)
        return;
    trainer->recording_refused = true;
    snprintf(finding.text, sizeof finding.text,
             "the driver refused to record a pass as a CUDA graph (%s): each kernel is launched by "
             "itself, which takes longer with small layers",
             refusals.why);
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding for each pass of a layer that cuDNN has refused to compute. */
static void note_refused_calls(struct trainer *trainer)
{
    struct device_refusal refusal;
    while (device_refused_call(trainer->prepared.device, trainer->refusals_reported, &refusal)) {
        struct finding finding = {.kind = FINDING_CUDNN,
                                  .iteration = trainer->moment.iteration,
                                  .epoch = trainer->moment.epoch};
        trainer->refusals_reported++;
        snprintf(finding.text, sizeof finding.text,
                 "%.50s: cuDNN refused %s (%.120s): %s computes it, which may take longer",
                 refusal.layer, refusal.pass, refusal.why, refusal.kernel);
        trainer_add_finding(trainer, &finding);
    }
}

/* Adds a finding, once, if the ranks are on one host, but could not have the memory to share. */
static void note_sharing_failure(struct trainer *trainer)
{
    const struct cluster *cluster = trainer->run->cluster;
    struct finding finding = {.kind = FINDING_SCALING,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    if (!cluster || trainer->sharing_reported || config_on_gpu(&trainer->run->config) ||
        !cluster_sharing_failure(cluster)[0])
        return; /* NCCL moves the values of GPUs */
    trainer->sharing_reported = true;
    snprintf(
        finding.text, sizeof finding.text,
        "MPI moves the values between the ranks, which takes longer than shared memory: %.180s",
        cluster_sharing_failure(cluster));
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding, once, if the loss is scaled down: then gradients overflow in float16 although
 * nothing magnifies them, and small ones are lost. */
static void note_low_scale(struct trainer *trainer)
{
    const struct loss_scale scale = scale_of(trainer);
    struct finding finding = {.kind = FINDING_LOSS_SCALE,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    if (!(scale.scale > 0) || scale.scale >= 1 || trainer->low_scale_reported)
        return;
    trainer->low_scale_reported = true;
    snprintf(finding.text, sizeof finding.text,
             "the loss is scaled by %g, which is below 1: gradients overflow in fp16 without any "
             "magnification (%llu steps skipped), and small ones become 0; lower the learning "
             "rate, check the data, or train in bf16 or tf32",
             (double)scale.scale, (unsigned long long)scale.skipped);
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding, once, if a step was skipped because a gradient overflowed in float16. The last
 * step is not waited for, so it is reported one iteration later. */
static void note_skipped_step(struct trainer *trainer)
{
    const struct loss_scale scale = scale_of(trainer);
    struct finding finding = {.kind = FINDING_LOSS_SCALE,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    if (scale.skipped == 0 || trainer->skip_reported)
        return;
    trainer->skip_reported = true;
    snprintf(
        finding.text, sizeof finding.text,
        "a gradient overflowed in fp16: the step was skipped, and the loss is scaled by %g from "
        "now on; further steps that are skipped are only counted (the run screen shows them)",
        (double)scale.scale);
    trainer_add_finding(trainer, &finding);
}

void iteration_count_last_step(struct trainer *trainer)
{
    const struct loss_scale scale = execution_loss_scale(trainer_execution(trainer));
    note_loss_scale(trainer, &scale);
    note_skipped_step(trainer);
    note_low_scale(trainer);
}

/* Measures the weights before an inspected iteration, outside its time. */
static void prepare_inspection(struct trainer *trainer)
{
    const uint64_t began = clock_nanoseconds();
    execution_wait(trainer_execution(trainer));
    trainer->in_flight = false;
    trainer->iteration_start += clock_nanoseconds() - began;
    trainer->iteration_start += inspector_before(&trainer->inspector, &trainer->prepared);
}

/* Adds pictures of the first batch to TensorBoard's event file, outside the iteration's time. */
static void show_first_batch(struct trainer *trainer)
{
    const uint64_t began = clock_nanoseconds();
    if (trainer->moment.iteration > 0 || !trainer->events.file.path)
        return;
    run_events_add_batch(&trainer->events, &trainer->prepared, &trainer->batch);
    trainer->iteration_start += clock_nanoseconds() - began;
}

/* Returns whether what was computed is valid; tells the other ranks if it is not, since their GPUs
 * would wait for this one. */
static bool is_valid(const struct preparation *prepared, struct error *error)
{
    if (device_check(prepared->device, error))
        return cluster_check(prepared->cluster, error);
    if (prepared->cluster)
        cluster_fail(prepared->cluster, error);
    return false;
}

/* Says what this rank does from now on in the present iteration. */
static void set_activity(const struct trainer *trainer, enum cluster_activity activity)
{
    cluster_set_activity(trainer->prepared.cluster, activity, trainer->moment.iteration + 1);
}

/* Takes the next batch. If it cannot be read, the other ranks, which compute the step by now, are
 * told. */
static bool take_batch(struct trainer *trainer, struct data_batch *batch)
{
    struct preparation *prepared = &trainer->prepared;
    const uint64_t began = clock_nanoseconds();
    set_activity(trainer, CLUSTER_READING);
    if (!data_loader_next(prepared->loader, batch, trainer->error)) {
        if (prepared->cluster)
            cluster_fail(prepared->cluster, trainer->error);
        return ranks_name_error(prepared->cluster, trainer->error);
    }
    ranks_meter_add_data(&trainer->ranks.meter, began);
    trainer->batch = prepare_batch(prepared, batch);
    show_first_batch(trainer);
    return true;
}

static bool iterate(struct trainer *trainer, bool *epoch_over)
{
    struct preparation *prepared = &trainer->prepared;
    const double rate = current_rate(trainer);
    struct data_batch batch;
    struct step_losses losses;
    begin_last_inspection(trainer);
    if (!prepare_groups(prepared, &trainer->run->config, trainer->moment.iteration, trainer->error))
        return false;
    /* before this rank takes its batch: then the loaders of all ranks read at the same time */
    ranks_step(prepared->cluster, trainer->moment.iteration, (float)rate, true);
    if (!take_batch(trainer, &batch))
        return false;
    const bool looking = inspector_is_active(&trainer->inspector);
    set_activity(trainer, CLUSTER_COMPUTING);
    if (looking)
        prepare_inspection(trainer);
    ranks_meter_start(&trainer->ranks.meter);
    prepare_share(prepared, &trainer->batch);
    const bool stepped = step(trainer, rate, &losses);
    ranks_meter_stop(&trainer->ranks.meter);
    if (!is_valid(prepared, trainer->error))
        return false;
    set_activity(trainer, stepped ? CLUSTER_SAVING : CLUSTER_IDLE);
    if (!stepped)
        return diverge(trainer, &losses, rate);
    prepare_average(prepared, &trainer->run->config, trainer->moment.iteration);
    if (looking)
        trainer->iteration_start += inspector_after(&trainer->inspector, prepared, batch.count);
    *epoch_over = batch.last;
    record(trainer, &losses, rate);
    note_recording_refusal(trainer);
    note_refused_calls(trainer);
    note_sharing_failure(trainer);
    note_skipped_step(trainer);
    note_low_scale(trainer);
    if (looking) {
        trainer->in_flight = false; /* a profile has waited for every pass */
        trainer_finish_inspection(trainer, false);
    }
    return true;
}

bool iteration_run(struct trainer *trainer, bool *epoch_over)
{
    const bool good = iterate(trainer, epoch_over);
    set_activity(trainer, CLUSTER_IDLE);
    return good;
}

/* --- the end of the run --- */

void iteration_note_end(struct trainer *trainer)
{
    const struct recording_refusals refusals = prepare_recording_refusals(&trainer->prepared);
    struct finding finding = {.kind = FINDING_GRAPH,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    note_recording_refusal(trainer);
    note_refused_calls(trainer);
    if (refusals.captures == 0)
        return;
    snprintf(finding.text, sizeof finding.text,
             "CUDA graphs that the driver refused: %llu; passes of full batches that therefore "
             "ran without one: %llu",
             (unsigned long long)refusals.captures, (unsigned long long)refusals.passes);
    trainer_add_finding(trainer, &finding);
}

void iteration_repeat_last(struct trainer *trainer)
{
    struct step_losses losses;
    struct error failed;
    struct preparation *prepared = &trainer->prepared;
    const double each = iteration_seconds(trainer), most = inspection_seconds(trainer);
    const double rate = current_rate(trainer);
    if (trainer->batch.count == 0 || trainer->inspected == trainer->moment.iteration ||
        !(each > 0 && each <= most) || !trainer_owns_folder(trainer, true))
        return;
    inspector_abandon(&trainer->inspector, prepared); /* one that has measured nothing yet */
    if (!begin_inspection(trainer, true))
        return;
    const uint64_t began = clock_nanoseconds();
    do {
        inspector_before(&trainer->inspector, prepared);
        ranks_step(prepared->cluster, trainer->moment.iteration, (float)rate, false);
        if (!step(trainer, rate, &losses) || !is_valid(prepared, &failed))
            return; /* worker.c abandons the inspection */
        inspector_after(&trainer->inspector, prepared, trainer->batch.count);
    } while (clock_seconds(began, clock_nanoseconds()) + each <= most &&
             !inspector_is_complete(&trainer->inspector, false));
    trainer_finish_inspection(trainer, true);
}
