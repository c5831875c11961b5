/* The validation set and its evaluator. Rank 0 cannot do without; other ranks of a cluster note why
 * they cannot validate, and leave it to those that can (session/ranks). */
#include "engine/cluster/cluster.h"
#include "session/config/config_data.h"
#include "session/model/class_match.h"
#include "session/prepare/prepare_internal.h"

bool prepare_open_validation(struct preparation *prepared, const struct run_config *config,
                             const struct dataset_request *wish, struct error *error)
{
    char spec[CONFIG_SPEC];
    const bool first = cluster_rank(prepared->cluster) == 0;
    if (!config_validation_spec(config, spec)[0])
        return true;
    prepared->validation =
        dataset_open(spec, "test", wish, first ? error : &prepared->no_validation);
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

bool prepare_check_class_names(const struct preparation *prepared, struct error *error)
{
    return !prepared->validation || class_match_sets(prepared->data, prepared->validation, error);
}

struct weights *prepare_validated_weights(struct preparation *prepared)
{
    return prepared->average.values ? &prepared->average : &prepared->weights;
}

bool prepare_make_evaluator(struct preparation *prepared, const struct run_config *config,
                            size_t batch, struct error *error)
{
    const uint64_t room = prepared->forecast.validation_available;
    struct evaluator_settings settings = {
        .network = prepared->network,
        .weights = prepare_validated_weights(prepared),
        .device = prepared->device,
        .dataset = prepared->validation,
        .normalisation = &prepared->normalisation,
        .batch = batch,
        .refuse_memory = batch > 0,
        .tolerance = (double)config->tolerance,
        .keep_losses = true,
        .strict = prepared->cluster, /* as for training (prepare.c) */
        .stored = dataset_kind_of(dataset_facts(prepared->validation)->spec)->stored,
        /* at least 1, because 0 means that the free memory is unknown */
        .memory_free = room == UINT64_MAX ? 0 : room + 1};
    return evaluator_create(&prepared->evaluator, &settings, error);
}

bool prepare_evaluator(struct preparation *prepared, const struct run_config *config, size_t batch,
                       const struct plan_choices *choices, struct error *error)
{
    const struct plan_choices *usual = prepared->device->choices;
    if (!prepared->validation) {
        *error = prepared->no_validation;
        return false;
    }
    prepared->device->choices = choices;
    const bool made = prepare_make_evaluator(prepared, config, batch, error);
    prepared->device->choices = usual;
    if (!made)
        evaluator_free(&prepared->evaluator);
    return made;
}
