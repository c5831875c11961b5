/* Opens the validation set and the test set, and makes their evaluators. Rank 0 needs them; other
 * ranks of a cluster record why they cannot validate, and leave it to those that can
 * (training/ranks). */
#include "engine/cluster/cluster.h"
#include "models/saved/class_match.h"
#include "runs/settings/config_data.h"
#include "training/prepare/internal.h"

bool prepare_open_validation(struct preparation *prepared, const struct dataset_request *wish,
                             struct error *error)
{
    char spec[CONFIG_SPEC];
    const bool first = cluster_rank(prepared->cluster) == 0;
    if (!config_validation_spec(prepared->config, spec)[0])
        return true;
    prepared->validation = dataset_open_as(spec, "test", wish, &prepared->preprocessing,
                                           first ? error : &prepared->no_validation);
    return prepared->validation || !first;
}

bool prepare_drop_validation(struct preparation *prepared, const struct error *error)
{
    if (cluster_rank(prepared->cluster) == 0)
        return false;
    prepared->no_validation = *error;
    dataset_free(prepared->validation);
    prepared->validation = NULL;
    return true;
}

bool prepare_check_class_names(const struct preparation *prepared, struct dataset *set,
                               struct error *error)
{
    return !set || class_match_sets(prepared->data, set, error);
}

struct weights *prepare_model_weights(struct preparation *prepared)
{
    return prepared->derived.values ? &prepared->derived : &prepared->weights;
}

/* Returns the settings of an evaluator of these weights on a set; `batch` 0: as large as fits. */
static struct evaluator_settings evaluator_settings_of(const struct preparation *prepared,
                                                       struct weights *weights,
                                                       const struct dataset *dataset, size_t batch)
{
    const uint64_t room = prepared->forecast.validation_available;
    const size_t images = dataset_facts(dataset)->images;
    const bool planned =
        batch == 0 && evaluator_batch(prepared->network, images) == prepared->inference_batch;
    return (struct evaluator_settings){
        .network = prepared->network,
        .weights = weights,
        .device = prepared->device,
        .dataset = dataset,
        .normalisation = &prepared->preprocessing.normalisation,
        .plan = planned ? prepared->inference : NULL,
        .batch = batch,
        .refuse_memory = batch > 0,
        .tolerance = measurement_settings(prepared->config).tolerance,
        .strict = prepared->cluster, /* as for training (prepare.c) */
        .stored = dataset_kind_of(dataset_facts(dataset)->spec)->stored,
        /* at least 1, because 0 means that the free memory is unknown */
        .memory_free = room == UINT64_MAX ? 0 : room + 1};
}

bool prepare_make_evaluator(struct preparation *prepared, size_t batch, struct error *error)
{
    struct evaluator_settings settings = evaluator_settings_of(
        prepared, prepare_model_weights(prepared), prepared->validation, batch);
    settings.keep_losses = true;
    return evaluator_create(&prepared->evaluator, &settings, error);
}

bool prepare_evaluator(struct preparation *prepared, size_t batch,
                       const struct plan_choices *choices, struct error *error)
{
    const struct plan_choices *usual = prepared->device->choices;
    if (!prepared->validation) {
        *error = prepared->no_validation;
        return false;
    }
    prepared->device->choices = choices;
    const bool made = prepare_make_evaluator(prepared, batch, error);
    prepared->device->choices = usual;
    if (!made)
        evaluator_free(&prepared->evaluator);
    return made;
}

/* --- the test set --- */

bool prepare_open_test(struct preparation *prepared, const struct dataset_request *wish,
                       struct error *error)
{
    char spec[CONFIG_SPEC];
    if (!config_test_spec(prepared->config, spec)[0] || cluster_rank(prepared->cluster) > 0)
        return true;
    prepared->test = dataset_open_as(spec, "test", wish, &prepared->preprocessing, error);
    return prepared->test;
}

bool prepare_test(struct preparation *prepared, const char *model, evaluator_progress *progress,
                  void *context, struct evaluation *evaluation, struct error *error)
{
    struct weights weights = {0};
    struct evaluator evaluator = {0};
    const struct recording_refusals refused =
        execution_recording_refusals(prepared->evaluator.execution);
    recording_refusals_add(&prepared->refused, &refused);
    prepared->refused.why = "";           /* the text belonged to the evaluator */
    evaluator_free(&prepared->evaluator); /* the new evaluator takes its memory */
    bool tested = weights_create(&weights, &prepared->network->graph, error) &&
                  weights_load(&weights, model, error);
    const struct evaluator_settings settings =
        evaluator_settings_of(prepared, &weights, prepared->test, 0);
    tested = tested && evaluator_create(&evaluator, &settings, error) &&
             evaluator_run(&evaluator, progress, context, evaluation, error);
    evaluator_free(&evaluator);
    weights_free(&weights);
    return tested;
}
