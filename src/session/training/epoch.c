/* The end of an epoch: validation, and the step of the learning-rate schedule. The end of the run:
 * the test set, on rank 0 alone. */
#include "session/training/epoch.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "session/files/run_files.h"
#include "session/training/model_save.h"
#include "session/training/run_commands.h"
#include "session/training/saving.h"
#include "session/values/series_columns.h"

#include <math.h>
#include <stdlib.h>

/* --- validation --- */

static bool show_progress(void *context, uint64_t done, struct error *error)
{
    struct trainer *trainer = context;
    trainer->now.validation_done = done;
    trainer->now.elapsed_seconds = trainer_seconds(trainer, clock_nanoseconds());
    trainer_publish(trainer);
    run_commands_obey(trainer);
    if (!trainer_owns_folder(trainer, false))
        return false;
    return !trainer->stop ||
           error_set(error, ERROR_INTERRUPTED, "the validation", NULL, "it was stopped");
}

/* Saves the model if it is the best so far, by top-1 accuracy, or by loss if there is none. Returns
 * whether it is. */
static bool keep_best(struct trainer *trainer, const struct evaluation *evaluation)
{
    double reached = isnan(evaluation->top1) ? -evaluation->loss : evaluation->top1;
    if (isnan(reached) || (trainer->has_best && !(reached > trainer->best)))
        return false;
    trainer->has_best = true;
    trainer->best = reached;
    trainer->now.best_top1 = evaluation->top1;
    saving_best(trainer);
    return true;
}

/* Takes the images that were classified correctly; they are written with the next checkpoint. */
static void take_correct(struct trainer *trainer, const struct evaluation *evaluation, bool is_best)
{
    struct error failed;
    const unsigned char *bits = trainer->prepared.evaluator.right;
    if (!bits)
        return;
    if (trainer->run->resumes && !trainer->correct_read &&
        !correct_images_read(&trainer->correct, trainer->run->directory, &failed))
        trainer_record_lost(trainer, &failed);
    trainer->correct_read = true;
    if (!correct_images_take(&trainer->correct, bits, evaluation->images, trainer->moment.iteration,
                             is_best, &failed))
        trainer_record_lost(trainer, &failed);
}

static void stop_early(struct trainer *trainer, const struct evaluation *evaluation)
{
    struct finding finding;
    if (early_stopping_step(&trainer->early_stopping, &trainer->early_stopping_state,
                            evaluation->loss, evaluation->top1))
        return;
    trainer->ended = true;
    watcher_early_stop(trainer->moment, &trainer->early_stopping,
                       trainer->early_stopping_state.best, &finding);
    trainer_add_finding(trainer, &finding);
}

static void record_validation(struct trainer *trainer, const struct evaluation *evaluation)
{
    struct run_snapshot *now = &trainer->now;
    struct finding finding;
    struct series_validation validation = {
        .iteration = trainer->moment.iteration,
        .epoch = (float)trainer->moment.epoch,
        .loss = (float)evaluation->loss,
        .top1 = (float)evaluation->top1,
        .top5 = (float)evaluation->top5,
        .pixel_accuracy = (float)evaluation->pixel_accuracy,
        .loss_error = (float)evaluation->loss_error,
        .seconds = (float)trainer_seconds(trainer, clock_nanoseconds())};
    run_snapshot_take_validation_loss(now, evaluation->loss);
    now->has_validation = true;
    now->validation_loss = evaluation->loss;
    now->top1 = evaluation->top1;
    now->top5 = evaluation->top5;
    now->pixel_accuracy = evaluation->pixel_accuracy;
    series_add_validation(&trainer->run->own_series, &validation);
    journal_add_validation(&trainer->run->journal, &validation);
    run_events_add_validation(&trainer->events, &validation);
    const double image_error =
        lowest_losses_compare(&trainer->lowest, &trainer->run->own_series,
                              trainer->prepared.evaluator.losses, evaluation->images);
    if (watcher_validation(&trainer->watcher, trainer->moment, &trainer->run->own_series,
                           image_error, &finding))
        trainer_add_finding(trainer, &finding);
    take_correct(trainer, evaluation, keep_best(trainer, evaluation));
    stop_early(trainer, evaluation);
}

bool epoch_validate(struct trainer *trainer)
{
    struct evaluation evaluation;
    execution_wait(trainer_execution(trainer)); /* which is not the validation's time */
    const uint64_t began = clock_nanoseconds();
    trainer->now.validation_of = dataset_facts(trainer->prepared.validation)->images;
    trainer->now.validation_done = 0;
    trainer_set_status(trainer, RUN_VALIDATING);
    journal_flush(&trainer->run->journal);
    run_events_flush(&trainer->events);
    data_loader_pause(trainer->prepared.loader);
    trainer->epoch_end_due = true; /* for a checkpoint within the validation: it is repeated */
    bool good = ranks_validate(trainer->prepared.cluster, &trainer->validation,
                               &trainer->prepared.evaluator, show_progress, trainer, &evaluation,
                               trainer->error);
    data_loader_continue(trainer->prepared.loader);
    if (good)
        record_validation(trainer, &evaluation);
    trainer->validation_seconds += clock_seconds(began, clock_nanoseconds());
    trainer->validations++;
    trainer_set_status(trainer, RUN_RUNNING);
    trainer_restart_clock(trainer);
    /* the run was stopped within the validation: there is no result, and nothing has failed */
    trainer->epoch_end_due = !good && trainer->stop && trainer->error->kind == ERROR_INTERRUPTED;
    return good || trainer->epoch_end_due;
}

bool epoch_is_validated(const struct trainer *trainer)
{
    const struct series *series = &trainer->run->own_series;
    const size_t count = series_validation_count(series);
    return count > 0 && series->validations[count - 1].iteration == trainer->moment.iteration;
}

/* --- the test --- */

/* Returns the epoch after which the best model was saved. */
static double best_epoch(const struct trainer *trainer)
{
    const struct series *series = &trainer->run->own_series;
    const size_t best = trainer->has_best ? series_best(series) : SIZE_MAX;
    return best == SIZE_MAX ? trainer->moment.epoch : (double)series->validations[best].epoch;
}

static bool evaluate_best(struct trainer *trainer, struct evaluation *evaluation)
{
    const struct run *run = trainer->run;
    if (trainer->saving.best) {
        *trainer->error = trainer->saving.unsaved;
        return false;
    }
    char *path =
        file_join(run->directory, trainer->has_best ? "best.safetensors" : "weights.safetensors");
    const bool good = path ? prepare_test(&trainer->prepared, &run->config, path, show_progress,
                                          trainer, evaluation, trainer->error)
                           : error_set_memory(trainer->error, "a path", 0);
    free(path);
    return good;
}

static void record_test(struct trainer *trainer, const struct evaluation *evaluation)
{
    struct series_validation row;
    struct json *event = json_new_object();
    trainer->now.test = (struct run_test){.images = evaluation->images,
                                          .epoch = best_epoch(trainer),
                                          .loss = evaluation->loss,
                                          .top1 = evaluation->top1,
                                          .top5 = evaluation->top5,
                                          .pixel_accuracy = evaluation->pixel_accuracy};
    if (json_add_string(event, "event", "test") && run_files_add_test(event, &trainer->now.test))
        journal_add_event(&trainer->run->journal, "test", event);
    else
        json_free(event);
    if (series_test_row(&trainer->now, &row))
        run_events_add_test(&trainer->events, &row);
}

bool epoch_test(struct trainer *trainer)
{
    struct evaluation evaluation;
    struct run_snapshot *now = &trainer->now;
    now->validation_of = dataset_facts(trainer->prepared.test)->images;
    now->validation_done = 0;
    now->testing = true;
    trainer_set_status(trainer, RUN_VALIDATING);
    data_loader_pause(trainer->prepared.loader);
    cluster_set_activity(trainer->run->cluster, CLUSTER_VALIDATING, 0);
    const bool good = evaluate_best(trainer, &evaluation);
    cluster_set_activity(trainer->run->cluster, CLUSTER_IDLE, 0);
    data_loader_continue(trainer->prepared.loader);
    now->testing = false;
    if (good)
        record_test(trainer, &evaluation);
    return good;
}

/* --- the end of an epoch --- */

static void update_schedule(struct trainer *trainer)
{
    struct finding finding;
    bool plateau;
    uint64_t iteration = trainer->moment.iteration;
    double mean = trainer->epoch_loss / (double)trainer->epoch_iterations;
    double old_rate = lr_schedule_rate(&trainer->schedule, &trainer->lr_schedule_state, iteration);
    const bool goes_on =
        lr_schedule_end_epoch(&trainer->schedule, &trainer->lr_schedule_state, mean, &plateau);
    trainer->ended |= !goes_on;
    if (!plateau)
        return;
    double new_rate = lr_schedule_rate(&trainer->schedule, &trainer->lr_schedule_state, iteration);
    watcher_plateau(trainer->moment, old_rate, new_rate, trainer->lr_schedule_state.plateaus_seen,
                    !goes_on, &finding);
    trainer_add_finding(trainer, &finding);
}

bool epoch_end(struct trainer *trainer)
{
    if (trainer->prepared.validation && !epoch_validate(trainer))
        return false;
    if (trainer->epoch_end_due)
        return true;
    model_save_samples(trainer);
    trainer_add_weights(trainer, false);
    update_schedule(trainer);
    trainer->epoch_loss = 0;
    trainer->epoch_iterations = 0;
    trainer->stop |= trainer->stop_at_epoch;
    return true;
}
