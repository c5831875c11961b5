/* Runs a training from start to end: prepares, begins or resumes, trains, saves, and reports how it
 * ended. At the end a snapshot whose status is final is always published, and run_wait wakes up. */
#include "training/observer.h"

#include "base/files/file.h"
#include "base/host/host.h"
#include "base/language.h"
#include "engine/devices/rank_device.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "training/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- preparing --- */

/* Finds the preprocessing that the run's pictures follow. A run without a record of its data,
 * because it was killed before or the damaged record was deleted, follows what a new one would. */
static bool find_preprocessing(const struct trainer *trainer, struct run_preprocessing *from)
{
    const struct run *run = trainer->run;
    char *ancestor = file_join(run->directory, "ancestor.safetensors");
    char *data = file_join(run->directory, "data.json");
    const bool found = ancestor && data;
    if (!found)
        error_set_memory(trainer->error, "a path", 0);
    else if (run->start.resumes && file_exists(data))
        *from = run_preprocessing_again(&run->config, run->directory);
    else
        *from = run_preprocessing_of(&run->config,
                                     run->early_facts.fork.weights_only ? ancestor : NULL);
    free(ancestor);
    free(data);
    return found;
}

/* Prepares the run, here and on the other ranks. */
static bool prepare_run(struct trainer *trainer, uint64_t first)
{
    const struct run *run = trainer->run;
    const struct resumption *resumption = &trainer->resumption;
    struct run_preprocessing from;
    if (!find_preprocessing(trainer, &from) ||
        !ranks_begin(run->cluster, &run->config, &from, first, trainer->error))
        return false;
    char device[DEVICE_NAME_SIZE]; /* of rank 0 the first GPU, which `cuda` names, too */
    const bool prepared =
        rank_device_choose(run->cluster, trainer->settings.machine.device, device,
                           trainer->error) &&
        prepare(&trainer->prepared, &run->config, &from, first,
                resumption->file.file ? &resumption->choices : NULL, run->cluster, trainer->error);
    trainer->shares =
        ranks_agree(run->cluster, &run->config, &trainer->prepared, prepared, trainer->error);
    return trainer->shares;
}

/* Initialises the schedule, the loss meter and the snapshot. */
static bool prepare_training(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    struct run_snapshot *now = &trainer->now;
    now->iterations = prepared->iterations;
    now->epochs = (double)prepared->iterations / (double)prepared->per_epoch;
    now->eta_seconds = -1;
    now->loss_discriminator = now->loss_l1 = NAN;
    now->validation.pixel_accuracy = NAN;
    trainer->schedule = training_schedule(&trainer->settings.training, prepared->iterations);
    trainer->lr_schedule_state = lr_schedule_begin();
    now->learning_rate = trainer->schedule.learning_rate;
    trainer->chosen = kernel_choices_text(prepare_inference_plan(prepared), trainer->error);
    return trainer->chosen &&
           loss_meter_create(&trainer->meter, trainer->settings.measurement.average_loss,
                             trainer->error);
}

/* --- beginning --- */

/* Reads the weights that a fork begins with. Its output layers keep their initial values if the
 * ancestor's have another number of outputs: it trains on a set of other classes. */
static bool load_ancestor(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    if (!run->early_facts.fork.weights_only)
        return true;
    if (!method_begins_with_weights(&trainer->prepared.method))
        return error_set(trainer->error, ERROR_UNSUPPORTED, trainer->settings.network.network,
                         "fork from a checkpoint, and leave batch, data and solver as they were",
                         "a network with a discriminator cannot begin with the weights alone");
    char *path = file_join(run->directory, "ancestor.safetensors");
    const struct weights_source source = {path, "", WEIGHTS_NAMES_OWN, WEIGHTS_OUTPUTS_FIT};
    const bool loaded = path ? weights_begin(&trainer->prepared.weights, &source,
                                             &trainer->prepared.match, trainer->error) &&
                                   prepare_order_outputs(&trainer->prepared, path, trainer->error)
                             : error_set_memory(trainer->error, "a path", 0);
    free(path);
    return loaded;
}

/* Begins the run, or resumes it. */
static bool begin(struct trainer *trainer)
{
    if (trainer->run->start.resumes && !resume_restore(trainer))
        return false;
    const bool restored = trainer->resumption.file.file;
    if ((!restored && !load_ancestor(trainer)) || !observers_open(trainer))
        return false;
    if (restored)
        resume_report(trainer);
    return true;
}

/* Divides the validations among the ranks, and adds a finding if some cannot take part. */
static bool divide_validation(struct trainer *trainer)
{
    char why[FINDING_SIZE];
    if (!ranks_divide_validation(trainer->run->cluster, &trainer->prepared, trainer->chosen,
                                 &trainer->validation, why, sizeof why, trainer->error))
        return false;
    if (why[0])
        trainer_note(trainer, FINDING_DATA, "%s", why);
    return true;
}

/* Prepares the run and begins or resumes it. */
static bool start(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    uint64_t first = 0;
    char scaling[FINDING_SIZE] = ""; /* whether one process would be as fast */
    if (run->start.compares)
        ranks_compare_with_one(run->cluster, &run->config, scaling, sizeof scaling);
    host_process_reset_peak();
    if ((run->start.resumes && !resume_find_checkpoint(trainer, &first)) ||
        !prepare_run(trainer, first) || !prepare_training(trainer) || !begin(trainer) ||
        !ranks_share_state(run->cluster, &trainer->prepared, trainer->error) ||
        !divide_validation(trainer))
        return false;
    if (scaling[0])
        trainer_note(trainer, FINDING_SCALING, "%s", scaling);
    return true;
}

/* --- the end of the training --- */

/* Saves the results, and lets the other ranks notice if this one hangs meanwhile. */
static bool finish(struct trainer *trainer)
{
    struct cluster *cluster = trainer->run->cluster;
    cluster_set_activity(cluster, CLUSTER_SAVING, 0);
    const bool saved = observers_finish(trainer);
    cluster_set_activity(cluster, CLUSTER_IDLE, 0);
    return saved || ranks_name_error(cluster, trainer->error);
}

/* Saves a stopped run. It is secured first, so that it can be resumed even if saving fails. */
static enum run_status stop(struct trainer *trainer)
{
    if (trainer->moment.iteration == 0)
        return RUN_STOPPED;
    TELL_OBSERVERS(trainer, secure);
    return finish(trainer) ? RUN_STOPPED : RUN_FAILED;
}

/* Evaluates the test set, if there is one, and returns how the run has ended. The trained weights
 * are secured before, so that a run that ends meanwhile needs only the test when it is resumed. */
static enum run_status test(struct trainer *trainer)
{
    if (!trainer->prepared.test)
        return RUN_DONE;
    TELL_OBSERVERS(trainer, secure);
    if (observers_test(trainer))
        return RUN_DONE;
    return trainer->stop && trainer->error->kind == ERROR_INTERRUPTED ? RUN_STOPPED : RUN_FAILED;
}

static enum run_status live(struct trainer *trainer)
{
    if (!observers_create(trainer) || !start(trainer))
        return RUN_REFUSED;
    if (!loop_train(trainer) || !trainer_owns_folder(trainer, true))
        return RUN_FAILED;
    TELL_OBSERVERS(trainer, trained);
    if (trainer->stop &&
        (trainer->moment.iteration < trainer->now.iterations || trainer->epoch.end_due))
        return stop(trainer);
    return finish(trainer) ? test(trainer) : RUN_FAILED;
}

/* --- the end of the run --- */

/* Returns whether to delete everything of the run: it is new, and was refused before it began. */
static bool is_discarded(const struct run *run, enum run_status status)
{
    return run->start.is_new && status == RUN_REFUSED;
}

/* How often the end of a run syncs the journal: fsync reports each write error of the kernel once,
 * so the next call can succeed. */
enum { LAST_TRIES = 3 };

/* Tries to write the data that wait in memory; data that still cannot be written are lost. Returns
 * whether the journal is on the disk. */
static bool sync_all(struct trainer *trainer)
{
    struct journal *journal = &trainer->run->journal;
    struct error lost;
    bool synced = false;
    if (!observers_sync(trainer, &trainer->refusals.unsaved))
        trainer_record_lost(trainer, &trainer->refusals.unsaved);
    for (int tries = 0; tries < LAST_TRIES && !synced; tries++)
        synced = journal_sync(journal);
    if (!synced)
        trainer_record_lost(trainer, &journal->trouble);
    else if (journal->lost > 0) {
        error_set(&lost, ERROR_SYSTEM, journal->path, "the model is not affected", "%s",
                  _("some records could not be written: the curves have gaps"));
        trainer_record_lost(trainer, &lost);
    }
    return synced;
}

/* Writes the run's end and summary. A resumed run that could not continue keeps its earlier files.
 */
static void write_end(struct trainer *trainer, enum run_status status, const struct error *error)
{
    struct run *run = trainer->run;
    struct run_snapshot *now = &trainer->now;
    struct error lost = {0};
    const bool failed = status == RUN_FAILED || status == RUN_REFUSED;
    const bool writes = run->journal.path && !trainer->folder_lost && !is_discarded(run, status);
    TELL_OBSERVERS(trainer, end, status, writes);
    now->status = status;
    now->eta_seconds = 0;
    if (!writes) {
        now->error = *error;
        return;
    }
    journal_add_event(&run->journal, "end", NULL);
    const bool synced = sync_all(trainer);
    now->error = failed ? *error : trainer->refusals.lost;
    if (!failed && now->error.kind != ERROR_NONE)
        ranks_name_error(run->cluster, &now->error);
    if (!synced &&
        status == RUN_DONE) /* the last checkpoint is still there, so the run can be resumed */
        now->status = RUN_FAILED;
    if (!run_files_write_summary(run->directory, &run->journal, now, &run->ranks, &lost) &&
        !failed) {
        now->status = RUN_FAILED;
        now->error = lost;
    }
    if (now->status == RUN_DONE) {
        checkpoint_remove(run->directory);
        journal_forget_earlier(&run->journal);
    }
}

static void free_trainer(struct trainer *trainer)
{
    observers_free(trainer);
    ranks_validation_free(&trainer->validation);
    safetensors_close(&trainer->resumption.file);
    loss_meter_free(&trainer->meter);
    prepare_free(&trainer->prepared);
    kernel_choices_free(&trainer->resumption.choices);
    free(trainer->chosen);
}

static void announce_end(struct run *run)
{
    pthread_mutex_lock(&run->thread.lock);
    run->thread.over = true;
    pthread_cond_broadcast(&run->thread.became_over);
    pthread_mutex_unlock(&run->thread.lock);
}

void *worker_main(void *context)
{
    struct run *run = context;
    struct error error = {0};
    struct trainer trainer = {
        .run = run, .error = &error, .settings = trainer_settings(&run->config)};
    trainer.prepared = *run->start.planned;
    free(run->start.planned);
    snapshot_read(&run->snapshot, &trainer.now);
    const enum run_status status = live(&trainer);
    write_end(&trainer, status, &error);
    TELL_OBSERVERS(&trainer, afterwards, status);
    if (trainer.shares)
        ranks_end(run->cluster);
    free_trainer(&trainer);
    if (trainer.folder_lost || is_discarded(run, status))
        journal_abandon(&run->journal);
    if (is_discarded(run, status))
        run_directory_discard(run->directory, run->start.made_folder);
    journal_close(&run->journal);
    run_hold_release(&run->hold);
    trainer_publish(&trainer);
    announce_end(run);
    return NULL;
}
