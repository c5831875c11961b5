/* A run's life: prepare, train, save, say how it ended. Whatever happens, the last thing is a
 * published snapshot whose status is over, and run_wait woken. */
#include "session/run/checkpoint.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/host.h"
#include "session/config/settings.h"
#include "session/files/computed_with.h"
#include "session/files/run_files.h"
#include "session/run/experiment.h"
#include "session/run/worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the beginning --- */

struct run_facts worker_describe(const struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    struct run_facts facts = trainer->run->early_facts;
    network_full_name(prepared->network, facts.network, sizeof facts.network);
    snprintf(facts.technique, sizeof facts.technique, "%s",
             technique_name(prepared->network->technique));
    facts.parameters = prepared->forecast.parameters;
    facts.flops = prepared->forecast.flops;
    facts.discriminator_parameters =
        prepared->gan ? graph_parameter_count(&prepared->network->discriminator) : 0;
    facts.images = dataset_facts(prepared->data)->images;
    facts.classes = prepared->network->classes;
    facts.forecast = prepared->forecast.memory;
    facts.threads = prepared->device->threads;
    if (prepared->validation)
        facts.validation_images = dataset_facts(prepared->validation)->images;
    /* more is known since the data sets are open: how many images there are, and of what size */
    facts.memory_peak = forecast_peak(&prepared->forecast);
    return facts;
}

/* What does not depend on where the run stands. */
static bool set_out(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    const struct preparation *prepared = &trainer->prepared;
    trainer->now.iterations = prepared->iterations;
    trainer->now.epochs = (double)prepared->iterations / (double)prepared->per_epoch;
    trainer->now.eta_seconds = -1;
    trainer->now.loss_discriminator = trainer->now.loss_l1 = NAN;
    trainer->now.pixel_accuracy = NAN;
    trainer->schedule = settings_schedule(&run->config, prepared->iterations);
    trainer->lr_schedule_state = lr_schedule_begin();
    trainer->now.learning_rate = trainer->schedule.learning_rate;
    return loss_meter_create(&trainer->meter, run->config.average_loss, trainer->error);
}

/* From the first iteration. */
bool worker_begin(struct trainer *trainer)
{
    struct run *run = trainer->run;
    const struct run_facts facts = worker_describe(trainer);
    const size_t epochs = (size_t)ceil(trainer->now.epochs);
    if (!experiment_make(trainer))
        return false;
    if (!experiment_write(trainer, &trainer->keeping.unsaved))
        trainer_tell(trainer); /* it is tried again before the first checkpoint */
    struct json *event = run_files_start_event(&facts, &trainer->now);
    if (!event || !computed_with_add(event, run->config.device)) {
        json_free(event);
        return error_set_memory(trainer->error, "the journal", 0);
    }
    if (!series_create(&run->own_series, trainer->prepared.iterations, epochs, trainer->error)) {
        json_free(event);
        return false;
    }
    series_set_smoothing(&run->own_series, run->config.average_loss,
                         !facts.discriminator_parameters);
    run_state_publish(run, &facts);
    journal_add_event(&run->journal, "start", event);
    return true;
}

/* --- the middle --- */

static bool is_epoch_over(const struct trainer *trainer)
{
    return trainer->moment.iteration % trainer->prepared.per_epoch == 0;
}

/* What a run that was stopped within its validation still has to do. */
static bool catch_up(struct trainer *trainer)
{
    const bool due = trainer->epoch_end_due && is_epoch_over(trainer);
    trainer->epoch_end_due = false;
    return !due || trainer_end_epoch(trainer);
}

bool trainer_holds(struct trainer *trainer, bool now)
{
    const uint64_t pause = 250000000, time = clock_nanoseconds(); /* nanoseconds */
    if (trainer->evicted || (!now && time - trainer->held < pause))
        return !trainer->evicted;
    trainer->held = time;
    trainer->evicted =
        !run_hold_check(&trainer->run->hold, trainer->run->directory, trainer->error);
    return !trainer->evicted;
}

static bool train(struct trainer *trainer)
{
    bool epoch_over = is_epoch_over(trainer);
    trainer->run->notice = trainer->now.error;
    trainer->now.status = RUN_RUNNING;
    trainer_publish(trainer);
    trainer->began = trainer->mark = trainer->keeping.tried = clock_nanoseconds();
    if (!catch_up(trainer))
        return false;
    while (trainer->moment.iteration < trainer->now.iterations && !trainer->ended) {
        trainer_obey(trainer);
        if (trainer->stop)
            return true;
        if (!trainer_iterate(trainer, &epoch_over) || (epoch_over && !trainer_end_epoch(trainer)))
            return false;
        if (!trainer_holds(trainer, false))
            return false;
        trainer_keep(trainer, epoch_over);
    }
    trainer_look_around(trainer);
    /* a run that ends within an epoch has not seen its last weights validated */
    return epoch_over || !trainer->prepared.validation || trainer_validate(trainer);
}

/* --- the end --- */

/* --save gets a copy of the last model, which the run's folder has by now; under the protocol of
 * the preset cifar, of the best one. */
static bool save_where_asked(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    const bool best = strcmp(run->config.preset, "cifar") == 0 && trainer->has_best;
    if (!run->save_path)
        return true;
    char *path = file_join(run->directory, best ? "best.safetensors" : "weights.safetensors");
    bool saved = path ? output_file_copy(run->save_path, path, trainer->error)
                      : error_set_memory(trainer->error, "a path", 0);
    free(path);
    return saved;
}

/* A run that has lost its folder still saves its weights where --save says. */
static void save_elsewhere(struct trainer *trainer)
{
    struct error unsaved;
    const struct model_facts facts = prepare_model_facts(&trainer->prepared);
    if (trainer->run->save_path)
        model_file_save(&facts, &trainer->prepared.weights, trainer->run->save_path, &unsaved);
}

static bool save_all(struct trainer *trainer)
{
    trainer_save_samples(trainer);
    return trainer_save(trainer, trainer->error) && save_where_asked(trainer);
}

/* The checkpoint is written before all else: a run that is stopped goes on from there. */
static bool save_stopped(struct trainer *trainer)
{
    if (trainer->moment.iteration == 0)
        return true;
    if (!trainer_checkpoint(trainer))
        trainer_lose(trainer, &trainer->keeping.unsaved);
    return save_all(trainer);
}

static bool start(struct trainer *trainer)
{
    return set_out(trainer) &&
           (trainer->run->resumes ? resume_begin(trainer) : worker_begin(trainer));
}

/* Known before the first iteration, and said for as long as the run is kept. */
static void warn_of_swap(struct trainer *trainer)
{
    const struct forecast *forecast = &trainer->prepared.forecast;
    struct finding finding = {.kind = FINDING_MEMORY,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    forecast_swap_text(forecast, trainer->run->config.batch, finding.text, sizeof finding.text);
    if (forecast->swaps)
        trainer_find(trainer, &finding);
}

static enum run_status live(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    uint64_t first = 0;
    host_process_reset_peak();
    if (run->resumes && !resume_look(trainer, &first))
        return RUN_REFUSED;
    if (!prepare(&trainer->prepared, &run->config, first, trainer->error))
        return RUN_REFUSED;
    if (!start(trainer))
        return run->resumes ? RUN_REFUSED : RUN_FAILED;
    warn_of_swap(trainer);
    if (!train(trainer) || !trainer_holds(trainer, true)) {
        if (trainer->evicted)
            save_elsewhere(trainer);
        return RUN_FAILED;
    }
    trainer_end_look(trainer, true);
    bool stopped = trainer->stop &&
                   (trainer->moment.iteration < trainer->now.iterations || trainer->epoch_end_due);
    if (stopped)
        return save_stopped(trainer) ? RUN_STOPPED : RUN_FAILED;
    return save_all(trainer) ? RUN_DONE : RUN_FAILED;
}

/* A resumed run that could not go on stays as it was found. */
static void write_end(struct trainer *trainer, enum run_status status, const struct error *error)
{
    struct run *run = trainer->run;
    struct error lost = {0};
    bool failed = status == RUN_FAILED || status == RUN_REFUSED;
    trainer->now.status = status;
    trainer->now.eta_seconds = 0;
    trainer->now.memory_highest = host_process_peak();
    if (!run->journal.path || trainer->evicted) {
        trainer->now.error = *error;
        return;
    }
    journal_add_event(&run->journal, "end", NULL);
    const bool synced = trainer_keep_last(trainer);
    trainer->now.error = failed ? *error : trainer->keeping.lost;
    if (!synced && status == RUN_DONE) /* it can be resumed: its last checkpoint is still there */
        trainer->now.status = RUN_FAILED;
    if (!run_files_write_summary(run->directory, &run->journal, &trainer->now, &lost) && !failed) {
        trainer->now.status = RUN_FAILED;
        trainer->now.error = lost;
    }
    if (trainer->now.status == RUN_DONE)
        checkpoint_remove(run->directory);
}

static void announce_end(struct run *run)
{
    pthread_mutex_lock(&run->lock_over);
    run->over = true;
    pthread_cond_broadcast(&run->became_over);
    pthread_mutex_unlock(&run->lock_over);
}

void *worker_main(void *context)
{
    struct run *run = context;
    struct error error = {0};
    struct trainer trainer = {.run = run, .error = &error};
    snapshot_read(&run->snapshot, &trainer.now);
    enum run_status status = live(&trainer);
    write_end(&trainer, status, &error);
    inspector_abandon(&trainer.inspector, &trainer.prepared);
    safetensors_close(&trainer.checkpoint);
    experiment_free(&trainer);
    loss_meter_free(&trainer.meter);
    prepare_free(&trainer.prepared);
    if (trainer.evicted)
        journal_abandon(&run->journal);
    journal_close(&run->journal);
    run_hold_release(&run->hold);
    trainer_publish(&trainer);
    announce_end(run);
    return NULL;
}
