/* The order matters: the network's input decides how images are read, the data's classes how many
 * outputs the network has. Nothing large is allocated before the forecast says that it fits.
 * Samples are read before the decode workers of the data loader start. */
#include "base/memory.h"
#include "engine/training/soft_targets.h"
#include "engine/weights/weights_average.h"
#include "session/config/config_data.h"
#include "session/config/config_paths.h"
#include "session/config/settings.h"
#include "session/machine/tuned_device.h"
#include "session/model/class_match.h"
#include "session/model/device_batch.h"
#include "session/prepare/class_weights.h"
#include "session/prepare/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- network and data --- */

static bool open_data(struct preparation *prepared, const struct run_config *config,
                      struct error *error)
{
    struct shape input = prepared->network->input;
    struct dataset_request wish = {input.channels, input.height, input.width};
    char spec[CONFIG_SPEC];
    prepared->data = dataset_open_as(config_training_spec(config, spec), "train", &wish,
                                     &prepared->from.given, error);
    if (!prepared->data)
        return false;
    prepared->preprocessing = dataset_facts(prepared->data)->preprocessing;
    return prepare_open_validation(prepared, config, &wish, error) &&
           prepare_open_test(prepared, config, &wish, error);
}

/* A network file may have another name inside; a saved model keeps its own. */
static void name_network(const struct run_config *config, struct network *network)
{
    if (strchr(config->network, '/') && !network_is_model(config->network))
        config_network_name(config->network, network->name, sizeof network->name);
}

/* Builds the network once more if the data set has another number of classes than was expected. A
 * run of an earlier version goes on with more. */
static bool fit_classes(struct preparation *prepared, const struct run_config *config, bool begins,
                        struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(prepared->data);
    const struct network *network = prepared->network;
    /* a model that a technique has made from another one keeps its outputs, unless asked */
    const bool kept = network->compression[0] && !config->reset_classes;
    if (!kept && !facts->paired && network->classes && network->classes != facts->classes) {
        prepare_drop_network(prepared);
        if (!prepare_network(prepared, config, facts->classes, error))
            return false;
    }
    name_network(config, prepared->network);
    return begins ? class_match_training(prepared->network, prepared->data, error)
                  : class_match_labels(prepared->network, prepared->data, error);
}

/* Checks that labels can be smoothed, mixed and weighted; `what` is the setting that does. */
static bool check_cross_entropy(const struct network *network, const char *what,
                                struct error *error)
{
    const char *loss = network_class_loss(network);
    if (network_has_cross_entropy(network))
        return true;
    if (!loss)
        return error_set(error, ERROR_USAGE, what, "train without it",
                         "%s has no loss over classes (softmax_cross_entropy)", network->name);
    return error_set(error, ERROR_USAGE, what,
                     "train without it, or with a network whose loss is softmax_cross_entropy",
                     "%s has the loss %s, which compares the label with the predicted class: "
                     "there are no target probabilities to smooth, mix or weight",
                     network->name, loss);
}

bool prepare_smooth_labels(struct preparation *prepared, const struct run_config *config,
                           struct error *error)
{
    return config->label_smoothing == 0 ||
           (check_cross_entropy(prepared->network, "--label-smoothing", error) &&
            network_set_label_smoothing(prepared->network, (float)config->label_smoothing));
}

/* Opens the method, which reads the teacher if there is one. */
static bool open_method(struct preparation *prepared, const struct run_config *config,
                        struct error *error)
{
    return (prepared->method.type ||
            method_open(&prepared->method, config, prepared->network, error)) &&
           method_open_data(&prepared->method, config, prepared->data, error);
}

/* Makes the class weights and the memory of soft targets, if the run has them. */
static bool make_soft_targets(struct preparation *prepared, const struct run_config *config,
                              struct error *error)
{
    const struct network *network = prepared->network;
    const bool balanced = config->sampling == SAMPLING_BALANCED;
    if (!settings_soft_targets(config) && !balanced)
        return true;
    if (balanced && !network_class_loss(network)) /* any loss over classes will do */
        return check_cross_entropy(network, "--sampling balanced", error);
    if (settings_soft_targets(config) &&
        !check_cross_entropy(network, config->class_weights[0] ? "--class-weights" : "--augment",
                             error))
        return false;
    if (config->class_weights[0] &&
        !class_weights_make(&prepared->class_weights, config->class_weights, prepared->data,
                            network->classes, error))
        return false;
    if (!settings_soft_targets(config))
        return true;
    prepared->soft_targets =
        memory_new(config->batch, sizeof *prepared->soft_targets, "the soft targets", error);
    if (!prepared->class_weights || !prepared->cluster)
        return prepared->soft_targets;
    prepared->part_weights =
        memory_new(config->batch, sizeof *prepared->part_weights, "the soft targets", error);
    prepared->batch_weights =
        memory_new(config->batch, sizeof *prepared->batch_weights, "the soft targets", error);
    return prepared->soft_targets && prepared->part_weights && prepared->batch_weights;
}

static bool check_stop_metric(const struct preparation *prepared, const struct run_config *config,
                              struct error *error)
{
    return config->stop_patience == 0 || config->stop_metric != EARLY_STOPPING_TOP1 ||
           prepared->network->classes > 0 ||
           error_set(error, ERROR_USAGE, "--stop-metric", "give --stop-metric loss",
                     "%s makes pictures and has no accuracy", prepared->network->name);
}

/* Returns whether the normalisation is that of the run's record or of the model that it follows,
 * which fits if that reads as many channels. */
static bool follows_normalisation(const struct preparation *prepared,
                                  const struct run_config *config)
{
    const char *name = config->normalise;
    const struct run_preprocessing *from = &prepared->from;
    return (!name[0] || strcmp(name, "auto") == 0) && from->given.normalisation.name[0] &&
           (from->recorded || from->model.channels == prepared->network->input.channels);
}

/* Chooses the normalisation. "auto" is that of the model that the run follows, or without one what
 * the network expects; for CIFAR the measured mean and deviation are known. */
static bool choose_normalisation(struct preparation *prepared, const struct run_config *config,
                                 struct error *error)
{
    const char *name = config->normalise, *kind = dataset_facts(prepared->data)->kind;
    struct normalisation normalisation = prepared->from.given.normalisation;
    if (!name[0] || strcmp(name, "auto") == 0) {
        name = prepared->network->normalisation;
        if (strcmp(name, "measured") == 0 && strncmp(kind, "cifar", 5) == 0)
            name = kind;
    }
    prepared->follows = follows_normalisation(prepared, config);
    if (!prepared->follows && !normalisation_choose(&normalisation, name, prepared->data, error))
        return false;
    prepared->preprocessing = preprocessing_of(prepared->data, &normalisation);
    return method_check_preprocessing(&prepared->method, &prepared->preprocessing,
                                      dataset_facts(prepared->data)->fixed, error);
}

/* --- memory --- */

static struct data_loader_settings loader_settings(const struct preparation *prepared,
                                                   const struct run_config *config,
                                                   uint64_t first_iteration)
{
    struct data_loader_settings settings = {
        .batch = config->batch,
        .training = true,
        .balanced = config->sampling == SAMPLING_BALANCED,
        .augmentation = settings_augmentation(config, dataset_facts(prepared->data)),
        .seed = config->seed,
        .first_batch = first_iteration,
        .parts = cluster_ranks(prepared->cluster),
        .part = cluster_rank(prepared->cluster),
        /* only this host may lack the picture, and would take another one */
        .strict = prepared->cluster,
        .normalisation = prepared->preprocessing.normalisation};
    device_batch_set_up(prepared->device, &settings);
    return settings;
}

static bool make_plan(struct preparation *prepared, const struct run_config *config,
                      struct error *error)
{
    const struct data_loader_settings loader = loader_settings(prepared, config, 0);
    struct plan_settings settings = settings_plan(config, prepared->device->threads, PLAN_TRAINING);
    settings.sample_batches = data_loader_has_samples(prepared->data, &loader);
    settings.device = prepared->device;
    settings.machine = &prepared->device->machine;
    settings.choices = prepared->device->choices;
    return prepare_plan(prepared, prepared->device->driver, &settings, error) &&
           prepare_fits_memory(prepared, config, &settings, error);
}

static bool allocate(struct preparation *prepared, const struct run_config *config,
                     struct error *error)
{
    if (!weights_create(&prepared->weights, &prepared->network->graph, error))
        return false;
    weights_initialise(&prepared->weights, config->seed, prepared->device->pool);
    return method_create(&prepared->method, prepared->device, &prepared->weights, config, error);
}

static bool allocate_average(struct preparation *prepared, const struct run_config *config,
                             struct error *error)
{
    return config->ema == 0 ||
           (weights_create(&prepared->average, &prepared->network->graph, error) &&
            weights_on_device(&prepared->average, prepared->device, error));
}

/* Notes which model a network with a chain of techniques was made from. A resumed run has it in its
 * checkpoint. */
static void note_parent(struct preparation *prepared, const char *weights)
{
    struct model source = {0};
    if (prepared->network->compression[0] && model_file_describe(&source, weights, NULL))
        snprintf(prepared->parent, sizeof prepared->parent, "%s",
                 model_parent(prepared->network, &source));
    model_free(&source);
}

/* Reads the names of the classes of a file of weights into `source`. Returns false if it has none,
 * or others than one for each output. */
static bool read_names(struct model *source, const char *weights)
{
    struct safetensors file;
    if (!safetensors_open(&file, weights, NULL))
        return false;
    const bool read = model_describe_classes(source, &file, NULL);
    safetensors_close(&file);
    return read;
}

bool prepare_order_outputs(struct preparation *prepared, const char *weights, struct error *error)
{
    struct model source = {.network = prepared->network};
    size_t *numbers = NULL;
    bool ordered = true;
    if (prepared->match.outputs == 0 && prepared->network->classes > 0 &&
        read_names(&source, weights)) {
        const struct class_list list = class_list_of_model(&source);
        const struct class_list data = class_list_of_set(prepared->data);
        ordered = class_order_find(&list, prepared->data, &prepared->order, &numbers, error) &&
                  (!numbers || weights_order_outputs(&prepared->weights, numbers, error));
        free(numbers);
        if (class_list_is_numbered(&list) || class_list_is_numbered(&data))
            prepared->order =
                prepared->order == CLASS_ORDER_OTHER ? CLASS_ORDER_OTHER : CLASS_ORDER_SAME;
    }
    free(source.class_names);
    return ordered;
}

/* Reads the weights to begin with; a resumed run has its own in its checkpoint. */
static bool begin_weights(struct preparation *prepared, const struct run_config *config,
                          uint64_t first_iteration, struct error *error)
{
    const struct weights_source source = {config->weights, config->reset, config->names,
                                          config->reset_classes ? WEIGHTS_OUTPUTS_RESET
                                                                : WEIGHTS_OUTPUTS_FIT};
    if (!config->weights[0] || first_iteration > 0)
        return true;
    note_parent(prepared, config->weights);
    return weights_begin(&prepared->weights, &source, &prepared->match, error) &&
           prepare_order_outputs(prepared, config->weights, error);
}

bool prepare_groups(struct preparation *prepared, const struct run_config *config,
                    uint64_t iteration, struct error *error)
{
    const struct parameter_rates rates = {.frozen = config->freeze,
                                          .rates = config->rates,
                                          .frozen_steps =
                                              config->unfreeze_at * prepared->per_epoch};
    const bool unfrozen = rates.frozen_steps > 0 && iteration >= rates.frozen_steps;
    if ((!config->freeze[0] && !config->rates[0]) ||
        (prepared->groups.count > 0 && prepared->unfrozen == unfrozen))
        return true;
    parameter_groups_free(&prepared->groups);
    prepared->unfrozen = unfrozen;
    return parameter_groups_make(&prepared->groups, &prepared->network->graph, &rates, iteration,
                                 error) &&
           execution_set_groups(method_execution(&prepared->method), &prepared->groups, error);
}

/* --- batches --- */

static bool open_feed(struct preparation *prepared, const struct run_config *config,
                      uint64_t first_iteration, struct error *error)
{
    const struct data_loader_settings settings = loader_settings(prepared, config, first_iteration);
    prepared->loader = data_loader_open(prepared->data, &settings, error);
    if (!prepared->loader)
        return false;
    prepared->per_epoch = data_loader_batches_per_epoch(prepared->loader);
    prepared->iterations =
        config->has_iterations ? config->iterations : prepared->per_epoch * config->epochs;
    return true;
}

const struct weights *prepare_model_weights(const struct preparation *prepared)
{
    return prepared->average.values ? &prepared->average : &prepared->weights;
}

/* Reads the samples from the validation set if there is one: training has not seen its pictures. */
static bool make_samples(struct preparation *prepared, struct error *error)
{
    const struct dataset *dataset = prepared->validation ? prepared->validation : prepared->data;
    return prepared->network->classes || cluster_rank(prepared->cluster) > 0 ||
           samples_create(&prepared->samples, prepared->network,
                          prepare_validated_weights(prepared), prepared->device, dataset,
                          &prepared->preprocessing.normalisation, prepared->inference, error);
}

void prepare_momentum(struct preparation *prepared, const struct run_config *config,
                      uint64_t iteration)
{
    const struct lr_schedule_settings schedule = settings_schedule(config, prepared->iterations);
    if (schedule.low_momentum > 0)
        method_set_momentum(&prepared->method, (float)lr_schedule_momentum(&schedule, iteration));
}

void prepare_average(struct preparation *prepared, const struct run_config *config,
                     uint64_t iteration)
{
    if (!prepared->average.values)
        return;
    if (iteration == 0)
        weights_average_begin(&prepared->average, &prepared->weights);
    else
        weights_average_update(&prepared->average, &prepared->weights, config->ema,
                               prepared->device->pool);
}

/* --- everything --- */

static bool set_up_device(struct device *device, const struct run_config *config,
                          const struct plan_choices *choices, struct cluster *cluster,
                          struct error *error)
{
    device->choices = choices;
    device->cluster = cluster;
    device->strict = config->strict_device;
    return device_set_precision(device, (enum device_precision)config->precision, error);
}

static bool prepare_all(struct preparation *prepared, const struct run_config *config,
                        uint64_t first_iteration, const struct plan_choices *choices,
                        struct error *error)
{
    const bool begins = !choices && first_iteration == 0;
    if ((!prepared->network && !prepare_network(prepared, config, 0, error)) ||
        !open_data(prepared, config, error) || !fit_classes(prepared, config, begins, error) ||
        !open_method(prepared, config, error) || !prepare_smooth_labels(prepared, config, error) ||
        !make_soft_targets(prepared, config, error) ||
        !method_check(&prepared->method, config, prepared->cluster, error) ||
        !check_stop_metric(prepared, config, error) ||
        (!prepare_check_class_names(prepared, prepared->validation, error) &&
         !prepare_drop_validation(prepared, error)) ||
        !prepare_check_class_names(prepared, prepared->test, error) ||
        !(prepared->device = tuned_device_open(config->device, config->threads, NULL, error)) ||
        !set_up_device(prepared->device, config, choices, prepared->cluster, error) ||
        !choose_normalisation(prepared, config, error) || !make_plan(prepared, config, error) ||
        !allocate(prepared, config, error) || !allocate_average(prepared, config, error) ||
        !begin_weights(prepared, config, first_iteration, error) ||
        !make_samples(prepared, error) || !open_feed(prepared, config, first_iteration, error) ||
        !prepare_groups(prepared, config, first_iteration, error) ||
        (prepared->validation && cluster_rank(prepared->cluster) == 0 &&
         !prepare_make_evaluator(prepared, config, 0, error)))
        return false;
    prepared->memory_expected = prepared->device->driver->computes_on_host
                                    ? forecast_peak(&prepared->forecast)
                                    : device_memory_used(prepared->device);
    return true;
}

bool prepare(struct preparation *prepared, const struct run_config *config,
             const struct run_preprocessing *from, uint64_t first_iteration,
             const struct plan_choices *choices, struct cluster *cluster, struct error *error)
{
    prepared->cluster = cluster;
    prepared->from = *from;
    if (prepare_all(prepared, config, first_iteration, choices, error))
        return true;
    prepare_free(prepared);
    return false;
}

struct execution_batch prepare_batch(const struct preparation *prepared,
                                     const struct data_batch *batch)
{
    if (prepared->part_weights)
        soft_targets_fill_part(prepared->soft_targets, batch->labels, batch->partner_labels,
                               batch->shares, prepared->class_weights, batch->count,
                               prepared->part_weights);
    else if (prepared->soft_targets)
        soft_targets_fill(prepared->soft_targets, batch->labels, batch->partner_labels,
                          batch->shares, prepared->class_weights, batch->count);
    struct execution_batch bound =
        device_batch_of(prepared->device, batch, &prepared->preprocessing.normalisation);
    bound.soft_targets = prepared->soft_targets;
    bound.class_weights = prepared->class_weights;
    return bound;
}

void prepare_share(const struct preparation *prepared, const struct execution_batch *batch)
{
    if (prepared->part_weights &&
        cluster_gather(prepared->cluster, prepared->part_weights,
                       batch->count * sizeof *prepared->part_weights, prepared->batch_weights))
        soft_targets_scale(prepared->soft_targets, batch->count, prepared->batch_weights,
                           batch->count * cluster_ranks(prepared->cluster));
}

struct recording_refusals prepare_recording_refusals(const struct preparation *prepared)
{
    const struct recording_refusals validation =
        execution_recording_refusals(prepared->evaluator.execution);
    struct recording_refusals sum = method_recording_refusals(&prepared->method);
    recording_refusals_add(&sum, &prepared->refused);
    recording_refusals_add(&sum, &validation);
    return sum;
}

const struct plan *prepare_inference_plan(const struct preparation *prepared)
{
    return prepared->evaluator.plan ? prepared->evaluator.plan : prepared->samples.plan;
}

void prepare_free(struct preparation *prepared)
{
    samples_free(&prepared->samples);
    evaluator_free(&prepared->evaluator);
    method_close(&prepared->method);
    plan_free(prepared->inference);
    data_loader_free(prepared->loader); /* the executions may have been reading its batches */
    free(prepared->soft_targets);
    free(prepared->class_weights);
    if (cluster_check(prepared->cluster, NULL)) { /* else MPI may still write to them */
        free(prepared->part_weights);
        free(prepared->batch_weights);
    }
    parameter_groups_free(&prepared->groups);
    weights_free(&prepared->average);
    weights_free(&prepared->weights);
    device_close(prepared->device);
    dataset_free(prepared->validation);
    dataset_free(prepared->test);
    dataset_free(prepared->data);
    network_free(prepared->network);
    *prepared = (struct preparation){0};
}

struct model_facts prepare_model_facts(const struct preparation *prepared)
{
    return (struct model_facts){.network = prepared->network,
                                .dataset = prepared->data,
                                .preprocessing = prepared->preprocessing,
                                .parent = prepared->parent};
}
