/* Saves the models of a run: the best one by its validations, with the images that it classifies
 * correctly, and the last one; and tests the one that is chosen.
 *
 * If writing the best model fails, it stays in memory until a checkpoint is due. A model is better
 * by top-1 accuracy, or by loss if there is none. */
#include "training/observer.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/memory.h"
#include "models/saved/correct_images.h"
#include "runs/folder/run_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct models {
    bool has_best;
    double best;                   /* score of the best model: larger is better */
    float *waiting;                /* values of a best model that could not be written; else NULL */
    struct correct_images correct; /* of the validations; a resumed run reads the earlier ones */
    bool correct_read;
};

/* Returns the format of the models that the run saves. */
static enum weights_format save_format(const struct trainer *trainer)
{
    return (enum weights_format)trainer->settings.record.save_precision;
}

/* Saves weights as a model file of this name in the run's folder. */
static bool save_model(const struct trainer *trainer, const struct weights *weights,
                       const char *name, struct error *error)
{
    const struct model_facts facts = prepare_model_facts(&trainer->prepared);
    char *path = file_join(trainer->run->directory, name);
    const bool saved = path ? model_file_save(&facts, weights, save_format(trainer), path, error)
                            : error_set_memory(error, "a path", 0);
    free(path);
    return saved;
}

/* --- the best model --- */

static bool write_best(struct trainer *trainer, float *values, struct error *error)
{
    struct cluster *cluster = trainer->run->cluster;
    const struct weights weights = {.graph = trainer->prepared.weights.graph, .values = values};
    /* lets the other ranks notice a hang while it saves, possibly within a validation */
    const enum cluster_activity before = cluster_set_activity(cluster, CLUSTER_SAVING, 0);
    const bool written = save_model(trainer, &weights, "best.safetensors", error);
    cluster_set_activity(cluster, before, 0);
    return written;
}

static void forget_waiting(struct models *models)
{
    free(models->waiting);
    models->waiting = NULL;
}

/* Saves the present model as the best one, or keeps it in memory until that works. */
static void save_best(struct models *models, struct trainer *trainer)
{
    struct error *unsaved = &trainer->refusals.unsaved;
    const struct weights *weights = prepare_model_weights(&trainer->prepared);
    const size_t count = weights->graph->total_floats;
    forget_waiting(models);
    if (!trainer_owns_folder(trainer, true))
        return;
    if (!weights_fetch(weights, unsaved)) {
        trainer_record_lost(trainer, unsaved);
        return;
    }
    if (write_best(trainer, weights->values, unsaved))
        return;
    models->waiting = memory_new_aligned(count, sizeof *weights->values, "the best model", NULL);
    if (models->waiting)
        memcpy(models->waiting, weights->values, count * sizeof *weights->values);
    else
        trainer_record_lost(trainer, unsaved);
    trainer_report_unsaved(trainer);
}

/* Saves the model if it is the best so far. Returns whether it is. */
static bool keep_best(struct models *models, struct trainer *trainer,
                      const struct evaluation *evaluation)
{
    const double reached = isnan(evaluation->top1) ? -evaluation->loss : evaluation->top1;
    if (isnan(reached) || (models->has_best && !(reached > models->best)))
        return false;
    models->has_best = true;
    models->best = reached;
    trainer->now.validation.best_top1 = evaluation->top1;
    save_best(models, trainer);
    return true;
}

/* Copies the record of correctly classified images, which is written with the next checkpoint. */
static void take_correct(struct models *models, struct trainer *trainer,
                         const struct evaluation *evaluation, bool is_best)
{
    struct error failed;
    const unsigned char *bits = trainer->prepared.evaluator.right;
    if (!bits)
        return;
    if (trainer->run->start.resumes && !models->correct_read &&
        !correct_images_read(&models->correct, trainer->run->directory, &failed))
        trainer_record_lost(trainer, &failed);
    models->correct_read = true;
    if (!correct_images_take(&models->correct, bits, evaluation->images, trainer->moment.iteration,
                             is_best, &failed))
        trainer_record_lost(trainer, &failed);
}

static void after_validation(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row)
{
    (void)row;
    take_correct(state, trainer, evaluation, keep_best(state, trainer, evaluation));
}

static bool sync_models(void *state, struct trainer *trainer, struct error *error)
{
    struct models *models = state;
    struct error other;
    const bool written = !models->waiting || write_best(trainer, models->waiting, error);
    if (written)
        forget_waiting(models);
    return correct_images_write(&models->correct, trainer->run->directory,
                                written ? error : &other) &&
           written;
}

/* --- the last model --- */

/* Saves the networks that were trained beside the one that is saved as the model. */
static bool save_others(struct trainer *trainer, struct error *error)
{
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(&trainer->prepared.method, networks);
    bool saved = true;
    for (size_t i = 1; saved && i < count; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s.safetensors", networks[i].name);
        char *path = file_join(trainer->run->directory, name);
        saved = path ? weights_save(networks[i].weights, save_format(trainer), path, NULL, error)
                     : error_set_memory(error, "a path", 0);
        free(path);
    }
    return saved;
}

static bool save_last(struct trainer *trainer, struct error *error)
{
    return save_others(trainer, error) &&
           save_model(trainer, prepare_model_weights(&trainer->prepared), "weights.safetensors",
                      error);
}

/* Copies the last model to the path of --save; with the preset cifar, the best model. Returns true
 * without --save. */
static bool copy_model(const struct models *models, struct trainer *trainer)
{
    const struct run *run = trainer->run;
    const bool best = strcmp(trainer->settings.training.preset, "cifar") == 0 && models->has_best;
    if (!run->save_path)
        return true;
    char *path = file_join(run->directory, best ? "best.safetensors" : "weights.safetensors");
    const bool saved = path ? output_file_copy(run->save_path, path, trainer->error)
                            : error_set_memory(trainer->error, "a path", 0);
    free(path);
    return saved;
}

/* Saves the model now, if the user asks for it. */
static void obey(void *state, struct trainer *trainer, const struct commands *commands)
{
    struct error failed = {0};
    (void)state;
    if (!commands_have(commands, COMMAND_SAVE) || !trainer_owns_folder(trainer, true))
        return;
    save_last(trainer, &failed);
    trainer->now.error = failed;
}

static bool finish(void *state, struct trainer *trainer)
{
    return save_last(trainer, trainer->error) && copy_model(state, trainer);
}

/* Saves the model to the path of --save if the run has failed because it has lost its folder. */
static void end(void *state, struct trainer *trainer, enum run_status status, bool writes)
{
    struct error unsaved;
    const struct model_facts facts = prepare_model_facts(&trainer->prepared);
    (void)state;
    (void)writes;
    if (trainer->folder_lost && status == RUN_FAILED && trainer->run->save_path)
        model_file_save(&facts, prepare_model_weights(&trainer->prepared), save_format(trainer),
                        trainer->run->save_path, &unsaved);
}

static void close_models(void *state, struct trainer *trainer)
{
    struct models *models = state;
    (void)trainer;
    forget_waiting(models);
    correct_images_free(&models->correct);
}

/* --- the test --- */

/* Returns the bytes of the weights that are read for the test. */
static uint64_t bytes_of_weights(const struct run_extent *extent)
{
    return extent->tests ? extent->network->graph.total_floats * sizeof(float) : 0;
}

/* Evaluates the best model that the run has saved or, without a validation, the last one. */
static bool evaluate(const struct models *models, struct trainer *trainer,
                     struct evaluation *evaluation)
{
    const struct run *run = trainer->run;
    if (models->waiting) {
        *trainer->error = trainer->refusals.unsaved;
        return false;
    }
    char *path =
        file_join(run->directory, models->has_best ? "best.safetensors" : "weights.safetensors");
    const bool good = path ? prepare_test(&trainer->prepared, path, loop_show_progress, trainer,
                                          evaluation, trainer->error)
                           : error_set_memory(trainer->error, "a path", 0);
    free(path);
    return good;
}

/* Returns the epoch after which the evaluated model was saved. */
static double epoch_of(const struct models *models, const struct trainer *trainer)
{
    const struct series *series = &trainer->run->own_series;
    const size_t best = models->has_best ? series_best(series) : SIZE_MAX;
    return best == SIZE_MAX ? trainer->moment.epoch : (double)series->validations[best].epoch;
}

static void record_test(const struct models *models, struct trainer *trainer,
                        const struct evaluation *evaluation)
{
    struct json *event = json_new_object();
    trainer->now.test = (struct run_test){.images = evaluation->images,
                                          .epoch = epoch_of(models, trainer),
                                          .loss = evaluation->loss,
                                          .top1 = evaluation->top1,
                                          .top5 = evaluation->top5,
                                          .pixel_accuracy = evaluation->pixel_accuracy};
    if (json_add_string(event, "event", "test") && run_files_add_test(event, &trainer->now.test))
        journal_add_event(&trainer->run->journal, "test", event);
    else
        json_free(event);
}

static bool test(void *state, struct trainer *trainer)
{
    struct evaluation evaluation;
    struct run_snapshot *now = &trainer->now;
    now->validation.of = dataset_facts(trainer->prepared.test)->images;
    now->validation.done = 0;
    now->testing = true;
    trainer_set_status(trainer, RUN_VALIDATING);
    data_loader_pause(trainer->prepared.loader);
    cluster_set_activity(trainer->run->cluster, CLUSTER_VALIDATING, 0);
    const bool good = evaluate(state, trainer, &evaluation);
    cluster_set_activity(trainer->run->cluster, CLUSTER_IDLE, 0);
    data_loader_continue(trainer->prepared.loader);
    now->testing = false;
    if (good)
        record_test(state, trainer, &evaluation);
    return good;
}

static const struct saved_number numbers[] = {
    SAVED(FLAG, "has_best", struct models, has_best),
    SAVED(NUMBER, "best", struct models, best),
    SAVED_OF_TRAINER(NUMBER, "best_top1", now.validation.best_top1),
    {0}};

const struct observer observer_models = {.name = "models",
                                         .bytes = bytes_of_weights,
                                         .state_bytes = sizeof(struct models),
                                         .numbers = numbers,
                                         .after_validation = after_validation,
                                         .sync = sync_models,
                                         .obey = obey,
                                         .finish = finish,
                                         .test = test,
                                         .end = end,
                                         .close = close_models};
