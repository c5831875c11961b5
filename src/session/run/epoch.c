/* What comes between iterations: validation, the schedule, the user's commands, saving. */
#include "session/run/trainer.h"

#include "base/clock.h"
#include "base/files/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- saving --- */

/* Beside the last generator: what it was trained against. */
static bool save_discriminator(struct trainer *trainer, struct error *error)
{
    struct gan *gan = trainer->prepared.gan;
    if (!gan)
        return true;
    char *path = file_join(trainer->run->directory, "discriminator.safetensors");
    bool saved = path ? weights_save(gan_discriminator(gan), path, NULL, error)
                      : error_set_memory(error, "a path", 0);
    free(path);
    return saved;
}

void trainer_save_samples(struct trainer *trainer)
{
    char name[48];
    struct error failed;
    const struct samples *samples = &trainer->prepared.samples;
    if (samples->count == 0 || trainer->sampled == trainer->moment.iteration ||
        !trainer_holds(trainer, true))
        return;
    snprintf(name, sizeof name, "sample-%04.0f.png", ceil(trainer->moment.epoch));
    char *path = file_join(trainer->run->directory, name);
    bool saved =
        path ? samples_write(samples, path, &failed) : error_set_memory(&failed, "a path", 0);
    free(path);
    if (!saved)
        trainer_lose(trainer, &failed);
    trainer->sampled = trainer->moment.iteration;
    trainer->mark = clock_nanoseconds();
}

bool trainer_save(struct trainer *trainer, struct error *error)
{
    struct model_facts facts = prepare_model_facts(&trainer->prepared);
    if (!save_discriminator(trainer, error))
        return false;
    char *path = file_join(trainer->run->directory, "weights.safetensors");
    bool saved = path ? model_file_save(&facts, &trainer->prepared.weights, path, error)
                      : error_set_memory(error, "a path", 0);
    free(path);
    return saved;
}

/* What was asked for may fail without costing the run: the snapshot says so. The checkpoint is
 * written between this iteration and the next. */
static void save_now(struct trainer *trainer)
{
    struct error failed = {0};
    if (!trainer_holds(trainer, true))
        return;
    trainer_save(trainer, &failed);
    trainer->keeping.wanted = true;
    trainer->now.error = failed;
    trainer_publish(trainer);
    journal_add_event(&trainer->run->journal, "save", NULL);
}

/* --- looking inside --- */

/* Looking is not the run's business: when it fails, the snapshot says so and the run goes on. */
static void report_look(struct trainer *trainer, const struct error *failed)
{
    trainer->now.error = *failed;
    trainer_publish(trainer);
}

static void begin_look(struct trainer *trainer)
{
    struct error failed;
    if (!inspector_begin(&trainer->inspector, &trainer->prepared, trainer->moment.iteration,
                         &failed))
        report_look(trainer, &failed);
}

void trainer_end_look(struct trainer *trainer, bool last)
{
    struct error failed;
    const uint64_t began = clock_nanoseconds();
    if (!inspector_is_complete(&trainer->inspector, last))
        return;
    struct inspection *seen = inspector_end(&trainer->inspector, &trainer->prepared, &failed);
    bool good = seen && inspection_save(seen, trainer->run->directory, &failed);
    if (seen) {
        const uint64_t took = clock_nanoseconds() - began;
        trainer->mark += took;
        seen->cost += 1e-9 * (double)took;
        run_state_put_inspection(trainer->run, seen);
    }
    if (!good)
        report_look(trainer, &failed);
}

/* --- commands --- */

static void change_rate(struct trainer *trainer, double wanted)
{
    struct lr_schedule_state plain = trainer->lr_schedule_state;
    plain.scale = 1;
    double rate = lr_schedule_rate(&trainer->schedule, &plain, trainer->moment.iteration);
    if (rate > 0 && wanted >= 0 && isfinite(wanted))
        trainer->lr_schedule_state.scale = wanted / rate;
    trainer->keeping.wanted = true; /* nobody says it again when the run is resumed */
}

static void obey(struct trainer *trainer, const struct commands *commands)
{
    trainer->stop |= commands_have(commands, COMMAND_STOP);
    trainer->stop_at_epoch |= commands_have(commands, COMMAND_STOP_AT_EPOCH);
    if (commands_have(commands, COMMAND_LEARNING_RATE))
        change_rate(trainer, commands->learning_rate);
    if (commands_have(commands, COMMAND_INSPECT))
        begin_look(trainer);
    if (commands_have(commands, COMMAND_SAVE))
        save_now(trainer);
}

static void set_status(struct trainer *trainer, enum run_status status)
{
    trainer->now.status = status;
    trainer_publish(trainer);
}

/* Until the user says go on, or stop. */
static void pause_run(struct trainer *trainer)
{
    enum run_status before = trainer->now.status;
    uint64_t began = clock_nanoseconds();
    bool going = false;
    journal_add_event(&trainer->run->journal, "pause", NULL);
    set_status(trainer, RUN_PAUSED);
    while (!going && !trainer->stop) {
        commands_wait(&trainer->run->commands);
        struct commands commands = commands_take(&trainer->run->commands);
        obey(trainer, &commands);
        going = commands_have(&commands, COMMAND_GO_ON);
    }
    trainer->paused += clock_nanoseconds() - began;
    set_status(trainer, before);
    journal_add_event(&trainer->run->journal, "go-on", NULL);
}

void trainer_obey(struct trainer *trainer)
{
    struct commands commands = commands_take(&trainer->run->commands);
    if (commands.set == 0)
        return;
    obey(trainer, &commands);
    if (commands_have(&commands, COMMAND_PAUSE) && !trainer->stop)
        pause_run(trainer);
    trainer->mark = clock_nanoseconds();
}

/* --- validation --- */

static bool show_progress(void *context, uint64_t done, struct error *error)
{
    struct trainer *trainer = context;
    trainer->now.validation_done = done;
    trainer->now.elapsed_seconds = trainer_seconds(trainer, clock_nanoseconds());
    trainer_publish(trainer);
    trainer_obey(trainer);
    if (!trainer_holds(trainer, false))
        return false;
    return !trainer->stop ||
           error_set(error, ERROR_INTERRUPTED, "the validation", NULL, "it was stopped");
}

/* By accuracy, and by loss where there is none. */
static void keep_best(struct trainer *trainer, const struct evaluation *evaluation)
{
    double reached = isnan(evaluation->top1) ? -evaluation->loss : evaluation->top1;
    if (isnan(reached) || (trainer->has_best && !(reached > trainer->best)))
        return;
    trainer->has_best = true;
    trainer->best = reached;
    trainer->now.best_top1 = evaluation->top1;
    trainer_keep_best(trainer);
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
        .seconds = (float)trainer_seconds(trainer, clock_nanoseconds())};
    now->has_validation = true;
    now->validation_loss = evaluation->loss;
    now->top1 = evaluation->top1;
    now->top5 = evaluation->top5;
    now->pixel_accuracy = evaluation->pixel_accuracy;
    series_add_validation(&trainer->run->own_series, &validation);
    journal_add_validation(&trainer->run->journal, &validation);
    double train_loss = trainer->epoch_iterations
                            ? trainer->epoch_loss / (double)trainer->epoch_iterations
                            : trainer->meter.exact;
    if (watcher_validation(&trainer->watcher, trainer->moment, train_loss, evaluation->loss,
                           &finding))
        trainer_find(trainer, &finding);
    keep_best(trainer, evaluation);
}

bool trainer_validate(struct trainer *trainer)
{
    struct evaluation evaluation;
    uint64_t began = clock_nanoseconds();
    trainer->now.validation_of = dataset_facts(trainer->prepared.validation)->images;
    trainer->now.validation_done = 0;
    set_status(trainer, RUN_VALIDATING);
    journal_flush(&trainer->run->journal);
    data_loader_pause(trainer->prepared.loader);
    bool good = evaluator_run(&trainer->prepared.evaluator, show_progress, trainer, &evaluation,
                              trainer->error);
    data_loader_continue(trainer->prepared.loader);
    if (good)
        record_validation(trainer, &evaluation);
    trainer->validation_seconds += clock_seconds(began, clock_nanoseconds());
    trainer->validations++;
    set_status(trainer, RUN_RUNNING);
    trainer->mark = clock_nanoseconds();
    /* stopped in the middle: there is no result, and nothing has failed */
    trainer->epoch_end_due = !good && trainer->stop && trainer->error->kind == ERROR_INTERRUPTED;
    return good || trainer->epoch_end_due;
}

/* --- the end of an epoch --- */

static void ask_schedule(struct trainer *trainer)
{
    struct finding finding;
    bool plateau;
    uint64_t iteration = trainer->moment.iteration;
    double mean = trainer->epoch_loss / (double)trainer->epoch_iterations;
    double old_rate = lr_schedule_rate(&trainer->schedule, &trainer->lr_schedule_state, iteration);
    trainer->ended =
        !lr_schedule_end_epoch(&trainer->schedule, &trainer->lr_schedule_state, mean, &plateau);
    if (!plateau)
        return;
    double new_rate = lr_schedule_rate(&trainer->schedule, &trainer->lr_schedule_state, iteration);
    watcher_plateau(trainer->moment, old_rate, new_rate, trainer->lr_schedule_state.plateaus_seen,
                    trainer->ended, &finding);
    trainer_find(trainer, &finding);
}

bool trainer_end_epoch(struct trainer *trainer)
{
    if (trainer->prepared.validation && !trainer_validate(trainer))
        return false;
    if (trainer->epoch_end_due)
        return true;
    trainer_save_samples(trainer);
    ask_schedule(trainer);
    trainer->epoch_loss = 0;
    trainer->epoch_iterations = 0;
    trainer->stop |= trainer->stop_at_epoch;
    return true;
}
