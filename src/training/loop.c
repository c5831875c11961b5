/* Runs the loop of a training: iterations, validations, the ends of epochs, and the user's commands
 * in between.
 *
 * An iteration is a batch, a step of the method, and its record. Nothing here waits for a reader.
 * The time of an iteration begins at the end of the one before, so it includes the wait for data,
 * but not a validation, a pause or a checkpoint in between. An iteration ends, for the host, when
 * its loss is known. A GPU then still computes the backward pass, which the host does not wait for;
 * so, from loss to loss, an iteration's time has the backward pass of the one before. The first
 * iteration, and each one that finds the device idle, has its own backward pass instead: the host
 * waits. */
#include "training/observer.h"

#include "base/clock.h"

#include <math.h>

/* --- the user's commands --- */

static void change_rate(struct trainer *trainer, double wanted)
{
    struct lr_schedule_state plain = trainer->lr_schedule_state;
    plain.scale = 1;
    const double rate = lr_schedule_rate(&trainer->schedule, &plain, trainer->moment.iteration);
    if (rate > 0 && wanted >= 0 && isfinite(wanted))
        trainer->lr_schedule_state.scale = wanted / rate;
}

static void obey(struct trainer *trainer, const struct commands *commands)
{
    trainer->stop |= commands_have(commands, COMMAND_STOP);
    trainer->stop_at_epoch |= commands_have(commands, COMMAND_STOP_AT_EPOCH);
    if (commands_have(commands, COMMAND_LEARNING_RATE))
        change_rate(trainer, commands->learning_rate);
    TELL_OBSERVERS(trainer, obey, commands);
    if (commands_have(commands, COMMAND_FLUSH)) {
        journal_flush(&trainer->run->journal);
        atomic_fetch_add(&trainer->run->flushes, 1);
    }
}

/* Waits until the user continues or stops the run. */
static void pause_run(struct trainer *trainer)
{
    const enum run_status before = trainer->now.status;
    const uint64_t began = clock_nanoseconds();
    bool going = false;
    TELL_OBSERVERS(trainer, pause, true);
    trainer_set_status(trainer, RUN_PAUSED);
    while (!going && !trainer->stop) {
        commands_wait(&trainer->run->commands);
        const struct commands commands = commands_take(&trainer->run->commands);
        obey(trainer, &commands);
        going = commands_have(&commands, COMMAND_GO_ON);
    }
    trainer->clock.paused += clock_nanoseconds() - began;
    TELL_OBSERVERS(trainer, pause, false);
    trainer_set_status(trainer, before);
}

/* Takes the pending commands (runs/record/run_state.h) and obeys them; waits while the run is
 * paused. */
static void obey_commands(struct trainer *trainer)
{
    const struct commands commands = commands_take(&trainer->run->commands);
    if (commands.set == 0)
        return;
    obey(trainer, &commands);
    if (commands_have(&commands, COMMAND_PAUSE) && !trainer->stop)
        pause_run(trainer);
    trainer_restart_clock(trainer);
}

/* --- the record of an iteration --- */

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
    now->eta_seconds = pace_remaining(&trainer->pace, now->iterations - trainer->moment.iteration);
    trainer_publish(trainer);
}

/* Returns the milliseconds per image of the iteration whose loss became known at `now`. */
static double take_time(struct trainer *trainer, uint64_t now)
{
    const uint64_t start = trainer->clock.iteration;
    uint64_t end = now;
    trainer->clock.iteration = now;
    if (!trainer->clock.in_flight) {
        execution_wait(trainer_execution(trainer));
        end = clock_nanoseconds();
    }
    trainer->clock.in_flight = true;
    return clock_seconds(start, end) * 1e3 / (double)trainer->settings.training.batch;
}

/* Counts an iteration, and informs all observers. */
static void record(struct trainer *trainer, const struct step_losses *losses, double rate,
                   bool diverged)
{
    const float loss = losses->total;
    struct iteration iteration = {.now = clock_nanoseconds(), .diverged = diverged};
    const double ms = take_time(trainer, iteration.now);
    loss_meter_add(&trainer->meter, loss);
    tempo_add(&trainer->tempo, ms);
    trainer->moment.iteration++;
    trainer->moment.epoch = (double)trainer->moment.iteration / (double)trainer->prepared.per_epoch;
    trainer->epoch.loss += (double)loss;
    trainer->epoch.iterations++;
    iteration.point =
        (struct series_point){.iteration = trainer->moment.iteration,
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
                              .seconds = (float)trainer_seconds(trainer, iteration.now)};
    TELL_OBSERVERS(trainer, after_iteration, &iteration);
    trainer_report_unsaved(trainer);
    update_snapshot(trainer, &iteration.point);
}

/* Records the iteration whose loss is not finite, and names the first bad layer. Returns false. */
static bool diverge(struct trainer *trainer, const struct step_losses *losses, double rate)
{
    struct bad_layer layer;
    struct finding finding;
    const struct preparation *prepared = &trainer->prepared;
    const uint64_t iteration = trainer->moment.iteration;
    const bool found = ranks_find_first_bad_layer(prepared->cluster, prepared, iteration, &layer);
    record(trainer, losses, rate, true);
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

/* --- an iteration --- */

/* Sets this rank's activity in the present iteration. */
static void set_activity(const struct trainer *trainer, enum cluster_activity activity)
{
    cluster_set_activity(trainer->prepared.cluster, activity, trainer->moment.iteration + 1);
}

/* Takes the next batch. If it cannot be read, tells the other ranks, which already compute the
 * step. */
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
    ranks_meter_add_data(&trainer->work, began);
    trainer->batch = prepare_batch(prepared, batch);
    return true;
}

/* Trains on trainer->batch for one step. Returns false if the loss is not finite. */
static bool step(struct trainer *trainer, double rate, struct step_losses *losses)
{
    struct preparation *prepared = &trainer->prepared;
    const uint64_t iteration = trainer->moment.iteration;
    prepare_momentum(prepared, iteration);
    return method_step(&prepared->method, &trainer->batch, iteration, (float)rate, losses);
}

/* Returns whether the results are valid; if not, tells the other ranks, whose GPUs would wait for
 * this one. */
static bool is_valid(const struct preparation *prepared, struct error *error)
{
    if (device_check(prepared->device, error))
        return cluster_check(prepared->cluster, error);
    if (prepared->cluster)
        cluster_fail(prepared->cluster, error);
    return false;
}

/* Trains on the next batch of the data loader and records the result. */
static bool iterate(struct trainer *trainer, bool *epoch_over)
{
    struct preparation *prepared = &trainer->prepared;
    const double rate = trainer_rate(trainer);
    struct data_batch batch;
    struct step_losses losses;
    if (!prepare_groups(prepared, trainer->moment.iteration, trainer->error))
        return false;
    /* before this rank takes its batch: then the loaders of all ranks read at the same time */
    ranks_step(prepared->cluster, trainer->moment.iteration, (float)rate, true);
    if (!take_batch(trainer, &batch))
        return false;
    set_activity(trainer, CLUSTER_COMPUTING);
    TELL_OBSERVERS(trainer, before_step);
    ranks_meter_start(&trainer->work);
    prepare_share(prepared, &trainer->batch);
    const bool stepped = step(trainer, rate, &losses);
    ranks_meter_stop(&trainer->work);
    if (!is_valid(prepared, trainer->error))
        return false;
    set_activity(trainer, stepped ? CLUSTER_SAVING : CLUSTER_IDLE);
    if (!stepped)
        return diverge(trainer, &losses, rate);
    prepare_follow(prepared, trainer->moment.iteration);
    TELL_OBSERVERS(trainer, after_step);
    *epoch_over = batch.last;
    record(trainer, &losses, rate, false);
    return true;
}

bool loop_repeat_step(struct trainer *trainer)
{
    struct error failed;
    struct step_losses losses;
    const struct preparation *prepared = &trainer->prepared;
    const double rate = trainer_rate(trainer);
    ranks_step(prepared->cluster, trainer->moment.iteration, (float)rate, false);
    return step(trainer, rate, &losses) && is_valid(prepared, &failed);
}

/* --- a validation --- */

bool loop_show_progress(void *context, uint64_t done, struct error *error)
{
    struct trainer *trainer = context;
    trainer->now.validation.done = done;
    trainer->now.elapsed_seconds = trainer_seconds(trainer, clock_nanoseconds());
    trainer_publish(trainer);
    obey_commands(trainer);
    if (!trainer_owns_folder(trainer, false))
        return false;
    return !trainer->stop ||
           error_set(error, ERROR_INTERRUPTED, "the validation", NULL, "it was stopped");
}

static void record_validation(struct trainer *trainer, const struct evaluation *evaluation)
{
    struct run_snapshot *now = &trainer->now;
    const struct series_validation row = {.iteration = trainer->moment.iteration,
                                          .epoch = (float)trainer->moment.epoch,
                                          .loss = (float)evaluation->loss,
                                          .top1 = (float)evaluation->top1,
                                          .top5 = (float)evaluation->top5,
                                          .pixel_accuracy = (float)evaluation->pixel_accuracy,
                                          .loss_error = (float)evaluation->loss_error,
                                          .seconds =
                                              (float)trainer_seconds(trainer, clock_nanoseconds())};
    run_snapshot_take_validation_loss(now, evaluation->loss);
    now->validation.known = true;
    now->validation.loss = evaluation->loss;
    now->validation.top1 = evaluation->top1;
    now->validation.top5 = evaluation->top5;
    now->validation.pixel_accuracy = evaluation->pixel_accuracy;
    TELL_OBSERVERS(trainer, after_validation, evaluation, &row);
}

/* Validates at any time. Returns false with *trainer->error if the run fails. */
static bool validate(struct trainer *trainer)
{
    struct evaluation evaluation;
    struct preparation *prepared = &trainer->prepared;
    execution_wait(
        trainer_execution(trainer)); /* so that the validation's time does not include it */
    const uint64_t began = clock_nanoseconds();
    trainer->now.validation.of = dataset_facts(prepared->validation)->images;
    trainer->now.validation.done = 0;
    trainer_set_status(trainer, RUN_VALIDATING);
    TELL_OBSERVERS(trainer, before_validation);
    data_loader_pause(prepared->loader);
    trainer->epoch.end_due = true; /* so that a checkpoint within the validation repeats it */
    const bool good = ranks_validate(prepared->cluster, &trainer->validation, &prepared->evaluator,
                                     loop_show_progress, trainer, &evaluation, trainer->error);
    data_loader_continue(prepared->loader);
    if (good)
        record_validation(trainer, &evaluation);
    trainer->clock.validation_seconds += clock_seconds(began, clock_nanoseconds());
    trainer->validations++;
    trainer_set_status(trainer, RUN_RUNNING);
    trainer_restart_clock(trainer);
    /* the run was stopped within the validation: there is no result, and nothing has failed */
    trainer->epoch.end_due = !good && trainer->stop && trainer->error->kind == ERROR_INTERRUPTED;
    return good || trainer->epoch.end_due;
}

/* Returns whether the present weights have been validated. */
static bool is_validated(const struct trainer *trainer)
{
    const struct series *series = &trainer->run->own_series;
    const size_t count = series_validation_count(series);
    return count > 0 && series->validations[count - 1].iteration == trainer->moment.iteration;
}

/* --- the end of an epoch --- */

static void update_schedule(struct trainer *trainer)
{
    struct finding finding;
    bool plateau;
    const double mean = trainer->epoch.loss / (double)trainer->epoch.iterations;
    const double old_rate = trainer_rate(trainer);
    const bool goes_on =
        lr_schedule_end_epoch(&trainer->schedule, &trainer->lr_schedule_state, mean, &plateau);
    trainer->ended |= !goes_on;
    if (!plateau)
        return;
    watcher_plateau(trainer->moment, old_rate, trainer_rate(trainer),
                    trainer->lr_schedule_state.plateaus_seen, !goes_on, &finding);
    trainer_add_finding(trainer, &finding);
}

/* Validates if there is validation data, and updates the learning-rate schedule. */
static bool end_epoch(struct trainer *trainer)
{
    if (trainer->prepared.validation && !validate(trainer))
        return false;
    if (trainer->epoch.end_due)
        return true;
    TELL_OBSERVERS(trainer, after_epoch);
    update_schedule(trainer);
    trainer->epoch.loss = 0;
    trainer->epoch.iterations = 0;
    trainer->stop |= trainer->stop_at_epoch;
    return true;
}

static bool is_epoch_over(const struct trainer *trainer)
{
    return trainer->moment.iteration % trainer->prepared.per_epoch == 0;
}

/* Does the rest of an epoch if the run was stopped within its validation. */
static bool finish_epoch(struct trainer *trainer)
{
    const bool due = trainer->epoch.end_due && is_epoch_over(trainer);
    trainer->epoch.end_due = false;
    return !due || end_epoch(trainer);
}

/* --- the loop --- */

static void begin(struct trainer *trainer)
{
    if (trainer->now.error.kind == ERROR_NONE)
        trainer->now.error = trainer->run->notice; /* a message of run_resume */
    trainer->run->notice = trainer->now.error;
    TELL_OBSERVERS(trainer, begin);
    trainer_set_status(trainer, RUN_RUNNING);
    trainer->clock.start = trainer->clock.iteration = clock_nanoseconds();
}

bool loop_train(struct trainer *trainer)
{
    bool epoch_over = trainer->moment.iteration > 0 && is_epoch_over(trainer);
    begin(trainer);
    if (!finish_epoch(trainer))
        return false;
    while (!trainer_is_over(trainer)) {
        obey_commands(trainer);
        if (trainer->stop)
            return true;
        const bool iterated = iterate(trainer, &epoch_over);
        set_activity(trainer, CLUSTER_IDLE);
        if (!iterated || (epoch_over && !end_epoch(trainer)) ||
            !trainer_owns_folder(trainer, false) || !observers_between(trainer, epoch_over))
            return false;
    }
    /* a run that ends within an epoch validates its last weights */
    return epoch_over || !trainer->prepared.validation || is_validated(trainer) ||
           validate(trainer);
}
