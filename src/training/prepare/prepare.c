/* The order matters: the network's input determines how images are read, the data's classes how
 * many outputs the network has. Nothing large is allocated before the forecast says that it fits.
 * Samples are read before the decode workers of the data loader start. */
#include "base/memory.h"
#include "models/saved/class_match.h"
#include "models/saved/device_batch.h"
#include "runs/folder/computed_with.h"
#include "runs/machine/tuned_device.h"
#include "runs/settings/config_data.h"
#include "runs/settings/config_paths.h"
#include "training/prepare/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- network and data --- */

static bool open_data(struct preparation *prepared, struct error *error)
{
    struct shape input = prepared->network->input;
    struct dataset_request wish = {input.channels, input.height, input.width};
    char spec[CONFIG_SPEC];
    prepared->data = dataset_open_as(config_training_spec(prepared->config, spec), "train", &wish,
                                     &prepared->from.given, error);
    if (!prepared->data)
        return false;
    prepared->preprocessing = dataset_facts(prepared->data)->preprocessing;
    return prepare_open_validation(prepared, &wish, error) &&
           prepare_open_test(prepared, &wish, error);
}

/* Names the network of a file after the file, which may have another name inside; a saved model
 * keeps its own. */
static void name_network(const struct preparation *prepared)
{
    const char *path = prepared->settings.network.network;
    struct network *network = prepared->network;
    if (strchr(path, '/') && !network_is_model(path))
        config_network_name(path, network->name, sizeof network->name);
}

/* Gives the network as many outputs as the data have classes. A resumed run of an earlier version
 * may have more. */
static bool fit_classes(struct preparation *prepared, bool begins, struct error *error)
{
    if (!prepare_fit_classes(prepared, error))
        return false;
    name_network(prepared);
    return begins ? class_match_training(prepared->network, prepared->data, error)
                  : class_match_labels(prepared->network, prepared->data, error);
}

/* Opens the method, which reads the teacher if there is one. */
static bool open_method(struct preparation *prepared, struct error *error)
{
    return (prepared->method.type ||
            method_open(&prepared->method, prepared->config, prepared->network, error)) &&
           method_open_data(&prepared->method, prepared->config, prepared->data, error);
}

static bool check_stop_metric(const struct preparation *prepared, struct error *error)
{
    const struct early_stopping_settings *stopping = &prepared->settings.training.early_stopping;
    return stopping->patience == 0 || stopping->metric != EARLY_STOPPING_TOP1 ||
           prepared->network->classes > 0 ||
           error_set(error, ERROR_USAGE, OPTION(stop_metric), "give --stop-metric loss",
                     "%s makes pictures and has no accuracy", prepared->network->name);
}

/* Returns whether the normalisation is that of the run's record or of the model that it follows, if
 * that model has as many channels. */
static bool follows_normalisation(const struct preparation *prepared)
{
    const char *name = prepared->settings.data.normalise;
    const struct run_preprocessing *from = &prepared->from;
    return (!name[0] || strcmp(name, "auto") == 0) && from->given.normalisation.name[0] &&
           (from->recorded || from->model.channels == prepared->network->input.channels);
}

/* Chooses the normalisation. "auto" is that of the model that the run follows, or else the
 * network's usual one; for CIFAR the measured mean and deviation are known. */
static bool choose_normalisation(struct preparation *prepared, struct error *error)
{
    const char *name = prepared->settings.data.normalise,
               *kind = dataset_facts(prepared->data)->kind;
    struct normalisation normalisation = prepared->from.given.normalisation;
    if (!name[0] || strcmp(name, "auto") == 0) {
        name = prepared->network->normalisation;
        if (strcmp(name, "measured") == 0 && strncmp(kind, "cifar", 5) == 0)
            name = kind;
    }
    prepared->follows = follows_normalisation(prepared);
    if (!prepared->follows && !normalisation_choose(&normalisation, name, prepared->data, error))
        return false;
    prepared->preprocessing = preprocessing_of(prepared->data, &normalisation);
    return method_check_preprocessing(&prepared->method, &prepared->preprocessing,
                                      dataset_facts(prepared->data)->fixed, error);
}

/* --- memory --- */

static struct data_loader_settings loader_settings(const struct preparation *prepared,
                                                   uint64_t first_iteration)
{
    const struct training_settings *training = &prepared->settings.training;
    struct data_loader_settings settings = {
        .batch = training->batch,
        .training = true,
        .balanced = training->sampling == SAMPLING_BALANCED,
        .augmentation = augmentation_for(&training->augmentation, dataset_facts(prepared->data)),
        .seed = training->seed,
        .first_batch = first_iteration,
        .parts = cluster_ranks(prepared->cluster),
        .part = cluster_rank(prepared->cluster),
        /* a missing picture may concern this host only, which would use another one */
        .strict = prepared->cluster,
        .normalisation = prepared->preprocessing.normalisation};
    device_batch_set_up(prepared->device, &settings);
    return settings;
}

static bool make_plan(struct preparation *prepared, struct error *error)
{
    const struct data_loader_settings loader = loader_settings(prepared, 0);
    struct plan_settings settings =
        settings_plan(prepared->config, prepared->device->threads, PLAN_TRAINING);
    settings.sample_batches = data_loader_has_samples(prepared->data, &loader);
    settings.device = prepared->device;
    settings.machine = &prepared->device->machine;
    settings.choices = prepared->device->choices;
    return prepare_plan(prepared, prepared->device->driver, &settings, error) &&
           prepare_fits_memory(prepared, &settings, error);
}

static bool allocate(struct preparation *prepared, struct error *error)
{
    if (!weights_create(&prepared->weights, &prepared->network->graph, error))
        return false;
    weights_initialise(&prepared->weights, prepared->settings.training.seed,
                       prepared->device->pool);
    return method_create(&prepared->method, prepared->device, &prepared->weights, prepared->config,
                         error) &&
           (!prepared->besides || prepared->besides->prepare(prepared, error));
}

/* Records the model that a network with a chain of techniques was made from. A resumed run has it
 * in its checkpoint. */
static void note_parent(struct preparation *prepared, const char *weights)
{
    struct model source = {0};
    if (prepared->network->compression[0] && model_file_describe(&source, weights, NULL))
        snprintf(prepared->parent, sizeof prepared->parent, "%s",
                 model_parent(prepared->network, &source));
    model_free(&source);
}

/* Reads the names of the classes of a file of weights into `source`. Returns false if it does not
 * have exactly one for each output. */
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

/* Reads the initial weights from a file; a resumed run has its own in its checkpoint. */
static bool begin_weights(struct preparation *prepared, uint64_t first_iteration,
                          struct error *error)
{
    const struct training_settings *training = &prepared->settings.training;
    const struct weights_source source = {training->weights, training->reset, training->names,
                                          training->reset_classes ? WEIGHTS_OUTPUTS_RESET
                                                                  : WEIGHTS_OUTPUTS_FIT};
    if (!training->weights[0] || first_iteration > 0)
        return true;
    note_parent(prepared, training->weights);
    return weights_begin(&prepared->weights, &source, &prepared->match, error) &&
           prepare_order_outputs(prepared, training->weights, error);
}

bool prepare_groups(struct preparation *prepared, uint64_t iteration, struct error *error)
{
    const struct training_settings *training = &prepared->settings.training;
    const struct parameter_rates rates = {.frozen = training->freeze,
                                          .rates = training->rates,
                                          .frozen_steps =
                                              training->unfreeze_at * prepared->per_epoch};
    const bool unfrozen = rates.frozen_steps > 0 && iteration >= rates.frozen_steps;
    if ((!training->freeze[0] && !training->rates[0]) ||
        (prepared->groups.count > 0 && prepared->unfrozen == unfrozen))
        return true;
    parameter_groups_free(&prepared->groups);
    prepared->unfrozen = unfrozen;
    return parameter_groups_make(&prepared->groups, &prepared->network->graph, &rates, iteration,
                                 error) &&
           execution_set_groups(method_execution(&prepared->method), &prepared->groups, error);
}

/* --- batches --- */

static bool open_feed(struct preparation *prepared, uint64_t first_iteration, struct error *error)
{
    const struct data_loader_settings settings = loader_settings(prepared, first_iteration);
    prepared->loader = data_loader_open(prepared->data, &settings, error);
    if (!prepared->loader)
        return false;
    const struct training_settings *training = &prepared->settings.training;
    prepared->per_epoch = data_loader_batches_per_epoch(prepared->loader);
    prepared->iterations =
        training->has_iterations ? training->iterations : prepared->per_epoch * training->epochs;
    return true;
}

/* Reads the samples from the validation set if there is one, because training has not seen its
 * pictures. */
static bool make_samples(struct preparation *prepared, struct error *error)
{
    const struct dataset *dataset = prepared->validation ? prepared->validation : prepared->data;
    return !prepare_has_samples(prepared) ||
           samples_create(&prepared->samples, prepared->network, prepare_model_weights(prepared),
                          prepared->device, dataset, &prepared->preprocessing.normalisation,
                          prepared->inference, error);
}

void prepare_momentum(struct preparation *prepared, uint64_t iteration)
{
    const struct lr_schedule_settings schedule =
        training_schedule(&prepared->settings.training, prepared->iterations);
    if (schedule.low_momentum > 0)
        method_set_momentum(&prepared->method, (float)lr_schedule_momentum(&schedule, iteration));
}

void prepare_follow(struct preparation *prepared, uint64_t iteration)
{
    if (prepared->besides)
        prepared->besides->follow(prepared, iteration);
}

/* --- all parts --- */

/* Opens the device that belongs to this thread. Returns false with an error. */
static bool open_device(struct preparation *prepared, const struct plan_choices *choices,
                        struct error *error)
{
    const struct machine_settings *machine = &prepared->settings.machine;
    prepared->device = tuned_device_open(machine->device, machine->threads, NULL, error);
    if (!prepared->device)
        return false;
    prepared->device->choices = choices;
    prepared->device->cluster = prepared->cluster;
    prepared->device->strict = machine->strict_device;
    return device_set_precision(prepared->device, (enum device_precision)machine->precision, error);
}

static bool prepare_all(struct preparation *prepared, uint64_t first_iteration,
                        const struct plan_choices *choices, struct error *error)
{
    const bool begins = !choices && first_iteration == 0;
    const char *data = prepared->settings.data.data;
    if ((!prepared->network &&
         !prepare_network(prepared, dataset_expected_classes(data, "train"), error)) ||
        !open_data(prepared, error) || !fit_classes(prepared, begins, error) ||
        !open_method(prepared, error) || !prepare_smooth_labels(prepared, error) ||
        !prepare_soft_targets(prepared, error) ||
        (prepared->besides && !prepared->besides->check(prepared, error)) ||
        !method_check(&prepared->method, prepared->config, prepared->cluster, error) ||
        !check_stop_metric(prepared, error) ||
        (!prepare_check_class_names(prepared, prepared->validation, error) &&
         !prepare_drop_validation(prepared, error)) ||
        !prepare_check_class_names(prepared, prepared->test, error) ||
        !open_device(prepared, choices, error) || !choose_normalisation(prepared, error) ||
        !make_plan(prepared, error) || !allocate(prepared, error) ||
        !begin_weights(prepared, first_iteration, error) || !make_samples(prepared, error) ||
        !open_feed(prepared, first_iteration, error) ||
        !prepare_groups(prepared, first_iteration, error) ||
        (prepared->validation && cluster_rank(prepared->cluster) == 0 &&
         !prepare_make_evaluator(prepared, 0, error)))
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
    prepare_take_settings(prepared, config);
    prepared->cluster = cluster;
    prepared->from = *from;
    if (prepare_all(prepared, first_iteration, choices, error))
        return true;
    prepare_free(prepared);
    return false;
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
    kernel_choices_free(&prepared->recorded);
    data_loader_free(prepared->loader); /* the executions may have been reading its batches */
    free(prepared->soft_targets);
    free(prepared->class_weights);
    if (cluster_check(prepared->cluster, NULL)) { /* else MPI may still write to them */
        free(prepared->part_weights);
        free(prepared->batch_weights);
    }
    parameter_groups_free(&prepared->groups);
    weights_free(&prepared->derived);
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

bool prepare_plans(struct preparation *prepared, const struct run_config *config, size_t classes,
                   struct plan_choices *choices, const struct run_besides *besides,
                   struct error *error)
{
    *prepared = (struct preparation){.besides = besides, .goes_on = choices};
    if (choices) {
        prepared->recorded = *choices;
        *choices = (struct plan_choices){0};
    }
    prepare_take_settings(prepared, config);
    if (prepare_unopened(prepared, classes, error))
        return true;
    prepare_free(prepared);
    return false;
}

uint64_t prepare_flops(const struct run_config *config)
{
    struct preparation prepared = {0};
    struct error unused;
    prepare_take_settings(&prepared, config);
    const uint64_t flops =
        prepare_expected_network(&prepared, 0, &unused) ? graph_flops(&prepared.network->graph) : 0;
    prepare_free(&prepared);
    return flops;
}
