/* The life of a run: prepare, train, save, report how it ended. At the end a snapshot whose status
 * is final is always published, and run_wait wakes up. */
#include "session/training/worker.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/host.h"
#include "engine/devices/rank_device.h"
#include "engine/ops/class_outputs.h"
#include "session/columns/journal_columns.h"
#include "session/config/config_data.h"
#include "session/config/config_paths.h"
#include "session/files/kernel_choices.h"
#include "session/files/run_directory.h"
#include "session/files/run_files.h"
#include "session/ranks/ranks.h"
#include "session/record/last_checkpoint.h"
#include "session/training/begin.h"
#include "session/training/checkpoint.h"
#include "session/training/energy.h"
#include "session/training/epoch.h"
#include "session/training/experiment.h"
#include "session/training/iteration.h"
#include "session/training/model_save.h"
#include "session/training/resume_work.h"
#include "session/training/run_commands.h"
#include "session/training/saving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- training --- */

static bool is_epoch_over(const struct trainer *trainer)
{
    return trainer->moment.iteration % trainer->prepared.per_epoch == 0;
}

/* Does the rest of an epoch if the run was stopped within its validation. */
static bool finish_epoch(struct trainer *trainer)
{
    const bool due = trainer->epoch_end_due && is_epoch_over(trainer);
    trainer->epoch_end_due = false;
    return !due || epoch_end(trainer);
}

/* Stops the run when this process has trained for its maximum time. */
static void stop_in_time(struct trainer *trainer)
{
    struct finding finding;
    const double seconds = trainer_seconds(trainer, clock_nanoseconds()) - trainer->earlier_seconds;
    if (seconds < trainer->max_seconds)
        return;
    trainer->stop = true;
    watcher_time(trainer->moment, trainer->max_seconds, &finding);
    trainer_add_finding(trainer, &finding);
}

static bool train(struct trainer *trainer)
{
    bool epoch_over = trainer->moment.iteration > 0 && is_epoch_over(trainer);
    if (trainer->now.error.kind == ERROR_NONE)
        trainer->now.error = trainer->run->notice; /* of run_resume */
    trainer->run->notice = trainer->now.error;
    energy_begin(trainer);
    trainer->now.status = RUN_RUNNING;
    last_checkpoint_set(trainer->run->directory, trainer->now.checkpoint_iteration);
    trainer_publish(trainer);
    trainer->start_time = trainer->iteration_start = trainer->saving.tried = clock_nanoseconds();
    if (!finish_epoch(trainer))
        return false;
    while (trainer->moment.iteration < trainer->now.iterations && !trainer->ended) {
        run_commands_obey(trainer);
        if (trainer->stop)
            return true;
        if (!iteration_run(trainer, &epoch_over) || (epoch_over && !epoch_end(trainer)))
            return false;
        if (!trainer_owns_folder(trainer, false))
            return false;
        if (!saving_step(trainer, epoch_over))
            return false;
        stop_in_time(trainer);
    }
    iteration_measure(trainer);
    /* a run that ends within an epoch validates its last weights */
    return epoch_over || !trainer->prepared.validation || epoch_is_validated(trainer) ||
           epoch_validate(trainer);
}

/* --- the end --- */

static bool save_all(struct trainer *trainer)
{
    struct cluster *cluster = trainer->run->cluster;
    cluster_set_activity(cluster, CLUSTER_SAVING, 0);
    model_save_samples(trainer);
    const bool saved = model_save(trainer, trainer->error) && model_save_copy(trainer);
    cluster_set_activity(cluster, CLUSTER_IDLE, 0);
    return saved || ranks_name_error(cluster, trainer->error);
}

/* Saves a stopped run. The checkpoint comes first, because the run resumes from it. */
static bool save_stopped(struct trainer *trainer)
{
    if (trainer->moment.iteration == 0)
        return true;
    if (!saving_checkpoint(trainer))
        trainer_record_lost(trainer, &trainer->saving.unsaved);
    return save_all(trainer);
}

/* Evaluates the test set, if there is one, and returns how the run has ended. What is trained is
 * saved before, so that a run that ends meanwhile needs only the test when it is resumed. */
static enum run_status test(struct trainer *trainer)
{
    if (!trainer->prepared.test)
        return RUN_DONE;
    if (!saving_checkpoint(trainer))
        trainer_record_lost(trainer, &trainer->saving.unsaved);
    if (epoch_test(trainer))
        return RUN_DONE;
    if (trainer->stop && trainer->error->kind == ERROR_INTERRUPTED)
        return RUN_STOPPED;
    return RUN_FAILED;
}

static bool start(struct trainer *trainer)
{
    return begin_prepare(trainer) &&
           (trainer->run->resumes ? resume_restore(trainer) : begin_run(trainer));
}

/* Adds a finding if the forecast says that the run will swap. */
static void warn_of_swap(struct trainer *trainer)
{
    const struct forecast *forecast = &trainer->prepared.forecast;
    struct finding finding = {.kind = FINDING_MEMORY,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    forecast_swap_text(forecast, trainer->run->config.batch, finding.text, sizeof finding.text);
    if (forecast->swaps)
        trainer_add_finding(trainer, &finding);
}

/* Adds a finding that names the layers without a kernel of the device, and the cost of the copies.
 */
static void warn_of_fallback(struct trainer *trainer)
{
    struct finding finding = {.kind = FINDING_FALLBACK,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    forecast_fallback_text(&trainer->prepared.forecast.memory, finding.text, sizeof finding.text);
    if (finding.text[0])
        trainer_add_finding(trainer, &finding);
}

/* Adds a finding if the first images of a set, which limit= takes, are not of all its classes. */
static void note_limit(struct trainer *trainer, const struct dataset *dataset)
{
    const struct dataset_facts *facts = dataset ? dataset_facts(dataset) : NULL;
    struct finding finding = {.kind = FINDING_DATA};
    if (!facts || facts->classes_left_out == 0)
        return;
    snprintf(
        finding.text, sizeof finding.text,
        "%.100s leaves out %zu classes: limit= takes the first images; sample= draws images of "
        "all classes",
        facts->spec, facts->classes_left_out);
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding if images of the test set were trained on, or have chosen the best model. */
static void note_overlap(struct trainer *trainer)
{
    char spec[CONFIG_SPEC];
    struct finding finding = {.kind = FINDING_DATA};
    const struct run_config *config = &trainer->run->config;
    const enum config_overlap overlap = config_test_overlap(config);
    if (overlap == OVERLAP_NONE || !trainer->prepared.test || trainer->moment.iteration > 0)
        return;
    snprintf(finding.text, sizeof finding.text,
             overlap == OVERLAP_TRAINING
                 ? "the test set %.100s has images that are trained on: what the model reaches on "
                   "it says little about others"
                 : "the test set %.100s has images of the validation, which choose the best model: "
                   "what that reaches on them is a little too good",
             config_test_spec(config, spec));
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding that says on which images the normalisation was measured, if not on all. */
static void note_measured(struct trainer *trainer)
{
    const struct normalisation *n = &trainer->prepared.preprocessing.normalisation;
    struct finding finding = {.kind = FINDING_DATA};
    const bool of_model = trainer->prepared.follows && !trainer->prepared.from.recorded;
    if (trainer->moment.iteration > 0 || of_model || n->measured == n->measured_of)
        return;
    if (n->drawn)
        snprintf(finding.text, sizeof finding.text,
                 "mean and deviation are those of %zu of the %zu images, drawn by the seed %llu",
                 n->measured, n->measured_of, (unsigned long long)n->seed);
    else
        snprintf(finding.text, sizeof finding.text,
                 "mean and deviation are those of the %zu of %zu images that could be read",
                 n->measured, n->measured_of);
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding if a new run prepares pictures otherwise than the model that it follows, because
 * its settings or its data say so, or as a file of weights that is not its network, too. */
static void note_preprocessing(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    const struct run_config *config = &trainer->run->config;
    const struct preprocessing *own = &prepared->preprocessing, *model = &prepared->from.model;
    const bool fixed = dataset_facts(prepared->data)->fixed;
    const char *path = prepared->from.path;
    struct finding finding = {.kind = FINDING_DATA};
    char name[512], by[96], here[96];
    if (trainer->moment.iteration > 0 || method_is_distilled(&prepared->method) || !path[0])
        return;
    config_short_value("weights", path, name, sizeof name);
    run_preprocessing_words(model, fixed, by, sizeof by);
    if (!run_preprocessing_same(model, own, fixed))
        snprintf(finding.text, sizeof finding.text,
                 "%.80s was trained on pictures that are prepared by %s; this run prepares them "
                 "otherwise, by %s",
                 name, by, run_preprocessing_words(own, fixed, here, sizeof here));
    else if (strcmp(path, config->weights) == 0 && strcmp(path, config->network) != 0)
        snprintf(finding.text, sizeof finding.text, "pictures are prepared as by %.80s: %s", name,
                 by);
    if (finding.text[0])
        trainer_add_finding(trainer, &finding);
}

/* Adds a finding that says what of the file of weights was used. */
static void note_weights(struct trainer *trainer)
{
    const struct weights_match *match = &trainer->prepared.match;
    struct finding finding = {.kind = FINDING_WEIGHTS};
    char path[512], unused[224] = "";
    if (match->loaded + match->reset == 0 || !trainer->run->config.weights[0])
        return;
    if (match->unused)
        snprintf(unused, sizeof unused, "; %zu of the file are unused, such as %s", match->unused,
                 match->example);
    snprintf(finding.text, sizeof finding.text,
             "the run begins with %zu arrays of %.80s%s%s; %zu begin anew%.60s", match->loaded,
             config_short_value("weights", trainer->run->config.weights, path, sizeof path),
             match->names[0] ? ", whose names it translates by the mapping " : "", match->names,
             match->reset, unused);
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding that says which layers were made anew for the classes of the data, or because they
 * were to be. Those that have the values of a file were not. */
static void note_outputs(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    const struct network *network = prepared->network;
    const bool read = prepared->match.loaded + prepared->match.reset > 0;
    const size_t before = read ? prepared->match.outputs : network->remade;
    struct finding finding = {.kind = FINDING_WEIGHTS};
    char names[192];
    if (before == 0 || trainer->moment.iteration > 0)
        return;
    graph_output_names(&network->graph, names, sizeof names);
    if (before == network->classes)
        snprintf(finding.text, sizeof finding.text,
                 "the output layers (%s) begin anew, with %zu outputs as before", names, before);
    else
        snprintf(finding.text, sizeof finding.text,
                 "the output layers (%s) are made anew: %zu outputs, for the classes of the data, "
                 "instead of %zu",
                 names, network->classes, before);
    trainer_add_finding(trainer, &finding);
}

/* Adds a finding that says by what the outputs of the file became those of the data's classes: by
 * their names, or by their numbers although the names differ. */
static void note_order(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    struct finding finding = {.kind = FINDING_WEIGHTS};
    if (trainer->moment.iteration > 0 || prepared->order == CLASS_ORDER_SAME)
        return;
    snprintf(finding.text, sizeof finding.text,
             prepared->order == CLASS_ORDER_OTHER
                 ? "the outputs were put into the order of the data's classes, by their names"
                 : "the classes of the data have other names than those of the weights: each takes "
                   "the output of its number");
    trainer_add_finding(trainer, &finding);
}

/* Finds out, with the other ranks, whether one process would be as fast, and returns the finding;
 * its text is empty if not. */
static struct finding compare_with_one(const struct run *run)
{
    struct finding finding = {.kind = FINDING_SCALING};
    if (run->compares)
        ranks_compare_with_one(run->cluster, &run->config, finding.text, sizeof finding.text);
    return finding;
}

/* Finds what the run's pictures follow. A run without a record of its data, because it was killed
 * before or the damaged record was deleted, follows what a new one would. */
static bool find_preprocessing(const struct trainer *trainer, struct run_preprocessing *from)
{
    const struct run *run = trainer->run;
    char *ancestor = file_join(run->directory, "ancestor.safetensors");
    char *data = file_join(run->directory, "data.json");
    const bool found = ancestor && data;
    if (!found)
        error_set_memory(trainer->error, "a path", 0);
    else if (run->resumes && file_exists(data))
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
    struct run_preprocessing from;
    if (!find_preprocessing(trainer, &from) ||
        !ranks_begin(run->cluster, &run->config, &from, first, trainer->error))
        return false;
    char device[DEVICE_NAME_SIZE]; /* of rank 0 the first GPU, which `cuda` names, too */
    const bool prepared =
        rank_device_choose(run->cluster, run->config.device, device, trainer->error) &&
        prepare(&trainer->prepared, &run->config, &from, first,
                trainer->checkpoint.file ? &trainer->recorded : NULL, run->cluster, trainer->error);
    trainer->shares =
        ranks_agree(run->cluster, &run->config, &trainer->prepared, prepared, trainer->error);
    return trainer->shares;
}

/* Divides the validations among the ranks, and adds a finding if some cannot take part. */
static bool divide_validation(struct trainer *trainer)
{
    struct finding finding = {.kind = FINDING_DATA,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    if (!ranks_divide_validation(trainer->run->cluster, &trainer->prepared, trainer->chosen,
                                 &trainer->validation, finding.text, sizeof finding.text,
                                 trainer->error))
        return false;
    if (finding.text[0])
        trainer_add_finding(trainer, &finding);
    return true;
}

static enum run_status live(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    uint64_t first = 0;
    struct finding scaling = compare_with_one(run);
    host_process_reset_peak();
    if (run->resumes && !resume_find_checkpoint(trainer, &first))
        return RUN_REFUSED;
    if (!resume_read_choices(trainer) || !prepare_run(trainer, first))
        return RUN_REFUSED;
    resume_read_parent(trainer);
    if (!start(trainer) || !ranks_share_state(run->cluster, &trainer->prepared, trainer->error) ||
        !divide_validation(trainer))
        return RUN_REFUSED;
    ranks_record_begin(&trainer->ranks, trainer->run);
    scaling.iteration = trainer->moment.iteration;
    scaling.epoch = trainer->moment.epoch;
    if (scaling.text[0])
        trainer_add_finding(trainer, &scaling);
    note_weights(trainer);
    note_measured(trainer);
    note_preprocessing(trainer);
    note_outputs(trainer);
    note_order(trainer);
    note_limit(trainer, trainer->prepared.data);
    note_limit(trainer, trainer->prepared.validation);
    note_limit(trainer, trainer->prepared.test);
    note_overlap(trainer);
    warn_of_swap(trainer);
    warn_of_fallback(trainer);
    if (!train(trainer) || !trainer_owns_folder(trainer, true)) {
        if (trainer->folder_lost)
            model_save_without_folder(trainer);
        return RUN_FAILED;
    }
    iteration_count_last_step(trainer);
    trainer_finish_inspection(trainer, true);
    bool stopped = trainer->stop &&
                   (trainer->moment.iteration < trainer->now.iterations || trainer->epoch_end_due);
    if (stopped)
        return save_stopped(trainer) ? RUN_STOPPED : RUN_FAILED;
    return save_all(trainer) ? test(trainer) : RUN_FAILED;
}

/* Returns whether nothing of the run is to remain: it is new, and was refused before it began. */
static bool is_discarded(const struct run *run, enum run_status status)
{
    return run->is_new && status == RUN_REFUSED;
}

/* Completes TensorBoard's event file. That of a stopped run goes on when it is resumed. */
static void end_events(struct trainer *trainer, enum run_status status)
{
    if (!trainer->events.file.path)
        return;
    if (status != RUN_FAILED && trainer->moment.iteration > 0)
        trainer_add_weights(trainer, true);
    if (status != RUN_STOPPED)
        run_events_add_end(&trainer->events, status == RUN_DONE);
    run_events_sync(&trainer->events); /* before the summary says that the run is over */
    trainer_check_events(trainer, true);
}

/* Writes the run's end and summary. A resumed run that could not continue stays as it was found. */
static void write_end(struct trainer *trainer, enum run_status status, const struct error *error)
{
    struct run *run = trainer->run;
    struct error lost = {0};
    bool failed = status == RUN_FAILED || status == RUN_REFUSED;
    energy_add_last(trainer);
    trainer->now.status = status;
    trainer->now.eta_seconds = 0;
    trainer->now.memory_highest = host_process_peak();
    if (!run->journal.path || trainer->folder_lost || is_discarded(run, status)) {
        trainer->now.error = *error;
        return;
    }
    ranks_record_end(&trainer->ranks, trainer->moment.iteration);
    iteration_note_end(trainer);
    end_events(trainer, status);
    journal_add_event(&run->journal, "end", NULL);
    const bool synced = saving_finish(trainer);
    trainer->now.error = failed ? *error : trainer->saving.lost;
    if (!failed && trainer->now.error.kind != ERROR_NONE)
        ranks_name_error(run->cluster, &trainer->now.error);
    if (!synced &&
        status == RUN_DONE) /* the last checkpoint is still there, so the run can be resumed */
        trainer->now.status = RUN_FAILED;
    if (!run_files_write_summary(run->directory, &run->journal, &trainer->now, &run->ranks,
                                 &lost) &&
        !failed) {
        trainer->now.status = RUN_FAILED;
        trainer->now.error = lost;
    }
    if (trainer->now.status == RUN_DONE)
        checkpoint_remove(run->directory);
    if (synced)
        journal_columns_write(run->directory, NULL); /* without it, reading takes longer */
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
    trainer.prepared = *run->planned;
    free(run->planned);
    snapshot_read(&run->snapshot, &trainer.now);
    enum run_status status = live(&trainer);
    write_end(&trainer, status, &error);
    last_checkpoint_set(NULL, 0);
    if (status == RUN_DONE || status == RUN_STOPPED)
        iteration_repeat_last(&trainer);
    if (trainer.shares)
        ranks_end(run->cluster);
    ranks_record_free(&trainer.ranks);
    ranks_validation_free(&trainer.validation);
    energy_end(&trainer);
    run_events_close(&trainer.events);
    inspector_abandon(&trainer.inspector, &trainer.prepared);
    safetensors_close(&trainer.checkpoint);
    experiment_free(&trainer);
    loss_meter_free(&trainer.meter);
    lowest_losses_free(&trainer.lowest);
    correct_images_free(&trainer.correct);
    prepare_free(&trainer.prepared);
    kernel_choices_free(&trainer.recorded);
    free(trainer.chosen);
    if (trainer.folder_lost || is_discarded(run, status))
        journal_abandon(&run->journal);
    if (is_discarded(run, status))
        run_directory_discard(run->directory, run->made_folder);
    journal_close(&run->journal);
    run_hold_release(&run->hold);
    trainer_publish(&trainer);
    announce_end(run);
    return NULL;
}
